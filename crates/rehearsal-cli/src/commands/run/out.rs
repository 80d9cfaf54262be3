//! The folder that keeps what a run leaves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rehearsal_core::{Clock as _, SystemClock};

/// The folder that keeps what a run leaves.
pub(super) struct OutFolder {
    pub(super) folder: PathBuf,
}

/// Names the ledgers of runs.
#[derive(Clone)]
pub(super) struct Stems {
    folder: PathBuf,
}

impl OutFolder {
    /// Makes the folder that was asked for, or one of its own for this run.
    pub(super) fn new(given: Option<&Path>) -> Result<Self, String> {
        match given {
            Some(folder) => {
                prepare(folder).map_err(|error| failed(folder, &error))?;
                Ok(Self { folder: folder.to_owned() })
            }
            None => Self::of_its_own(Path::new(".rehearsal")),
        }
    }

    /// A folder named after the time; two runs of the same moment get two.
    fn of_its_own(home: &Path) -> Result<Self, String> {
        let runs = home.join("runs");
        let made = fs::create_dir_all(&runs).and_then(|()| leave_out_of_version_control(home));
        made.map_err(|error| failed(&runs, &error))?;
        let now = SystemClock.now().strftime("%Y-%m-%dT%H-%M-%S%.3f").to_string();
        let mut folder = runs.join(&now);
        let mut others = 1;
        loop {
            match fs::create_dir(&folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    others += 1;
                    folder = runs.join(format!("{now}-{others}"));
                }
                made => {
                    let made = made.and_then(|()| prepare(&folder));
                    made.map_err(|error| failed(&folder, &error))?;
                    return Ok(Self { folder });
                }
            }
        }
    }

    pub(super) fn stems(&self) -> Stems {
        Stems { folder: self.folder.join("ledgers") }
    }
}

fn failed(folder: &Path, error: &io::Error) -> String {
    format!(
        "cannot make the folder `{}` for results: {error}\n\nhint: `--out DIR` names another",
        folder.display()
    )
}

/// Makes the folder, without what an earlier run left in it: a ledger is only ever appended to.
fn prepare(folder: &Path) -> io::Result<()> {
    let ledgers = folder.join("ledgers");
    fs::create_dir_all(&ledgers)?;
    for entry in fs::read_dir(&ledgers)? {
        let entry = entry?;
        if is_ledger(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path())?;
        }
    }
    match fs::remove_file(folder.join("result.json")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a file is named as [`Stems`] names ledgers; others are not ours to remove.
fn is_ledger(name: &str) -> bool {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let is_jsonl = Path::new(name).extension().is_some_and(|extension| extension == "jsonl");
    digits >= 3 && name[digits..].starts_with('-') && is_jsonl
}

/// What agents said belongs to nobody's history.
fn leave_out_of_version_control(home: &Path) -> io::Result<()> {
    let path = home.join(".gitignore");
    if path.exists() { Ok(()) } else { fs::write(path, "*\n") }
}

impl Stems {
    pub(super) fn stem(&self, index: usize, name: &str, repeat: u32) -> PathBuf {
        let words: Vec<String> = name
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let mut slug = words.join("-");
        // File systems count the bytes of a name.
        slug.truncate(slug.floor_char_boundary(100));
        let repeat = if repeat == 0 { String::new() } else { format!("-{}", repeat + 1) };
        self.folder.join(format!("{:03}-{slug}{repeat}", index + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ledgers_are_ledgers() {
        let stems = Stems { folder: PathBuf::from("x") };
        for name in ["Gets a refund", "", "…"] {
            let stem = stems.stem(41, name, 1);
            assert!(is_ledger(&format!("{}.user.jsonl", stem.file_name().unwrap().to_string_lossy())));
        }
        for name in ["notes.jsonl", "12-a.jsonl", "001.jsonl", "001-a.json", "é01-a.jsonl"] {
            assert!(!is_ledger(name), "{name}");
        }
    }
}
