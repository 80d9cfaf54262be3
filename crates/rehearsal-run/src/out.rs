//! The folder for the files that a run is asked to leave.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder for the files that a run is asked to leave.
#[derive(Debug)]
pub struct OutFolder {
    folder: PathBuf,
}

/// A folder for results that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the folder `{}` for results: {source}", folder.display())]
pub struct OutFolderError {
    folder: PathBuf,
    source: io::Error,
}

/// Names the ledgers of runs.
#[derive(Clone, Debug)]
pub struct Stems {
    folder: PathBuf,
}

impl OutFolder {
    /// Makes the folder.
    ///
    /// # Errors
    /// It cannot be made, or what an earlier run left in it cannot be removed.
    pub fn new(folder: &Path) -> Result<Self, OutFolderError> {
        prepare(folder).map_err(|source| OutFolderError { folder: folder.to_owned(), source })?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The names of its ledgers.
    pub fn stems(&self) -> Stems {
        Stems { folder: self.folder.join("ledgers") }
    }
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

impl Stems {
    /// The path of a case's ledgers, without their endings.
    pub fn stem(&self, index: usize, name: &str, repeat: u32) -> PathBuf {
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
