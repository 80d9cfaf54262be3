//! Finding scenario files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rehearsal_scenario::yaml;

use crate::error::CommandError;

/// Why scenario files could not be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("there is no scenario file in `{}`", path.display())]
    Nothing { path: PathBuf },
    #[error("no file fits `{pattern}`")]
    NoFit { pattern: String },
    #[error("`{pattern}` is no pattern for files: {why}")]
    Pattern { pattern: String, why: String },
}

impl From<FindError> for CommandError {
    fn from(error: FindError) -> Self {
        let hint = match &error {
            FindError::Nothing { .. } => {
                Some("scenario files end in .scenario.yaml or .scenario.yml".to_owned())
            }
            FindError::Read { path, source } => beside(path, source),
            FindError::NoFit { .. } | FindError::Pattern { .. } => None,
        };
        Self::user(error).hints(hint)
    }
}

/// The most files that are named where one is not there.
const MAX_NAMED: usize = 5;

/// What is there in place of a file that is not.
fn beside(path: &Path, why: &io::Error) -> Option<String> {
    if why.kind() != io::ErrorKind::NotFound {
        return None;
    }
    let folder = path.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.is_dir())?;
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = fs::read_dir(here).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| [Some("yaml".as_ref()), Some("yml".as_ref())].contains(&Path::new(name).extension()))
        .collect();
    names.sort();
    let shown: Vec<String> =
        names.iter().take(MAX_NAMED).map(|name| folder.join(name).display().to_string()).collect();
    let more = if names.len() > MAX_NAMED { "\n  …" } else { "" };
    Some(match shown.as_slice() {
        [] => format!(
            "there is no YAML file in `{}`; paths are taken from where the command is run",
            here.display()
        ),
        _ => format!("there are:\n  {}{more}", shown.join("\n  ")),
    })
}

/// Why a scenario file could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` has {bytes}; at most {} bytes are read", path.display(), yaml::MAX_BYTES)]
    TooLarge { path: PathBuf, bytes: String },
    #[error("`{}` is not text in UTF-8", path.display())]
    NotText { path: PathBuf },
}

impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> Self {
        let hint = match &error {
            ReadError::Read { path, source } => beside(path, source),
            ReadError::TooLarge { .. } | ReadError::NotText { .. } => None,
        };
        Self::user(error).hints(hint)
    }
}

/// The text of a file. One that is too large is refused before it is read, and of one that does not know its size,
/// such as a pipe, only so much is read.
pub(crate) fn read(path: &Path) -> Result<String, ReadError> {
    let failed = |source| ReadError::Read { path: path.to_owned(), source };
    let too_large = |bytes| ReadError::TooLarge { path: path.to_owned(), bytes };
    let most = yaml::MAX_BYTES as u64;
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length > most {
        return Err(too_large(format!("{length} bytes")));
    }
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > most {
        return Err(too_large("no end".to_owned()));
    }
    String::from_utf8(bytes).map_err(|_| ReadError::NotText { path: path.to_owned() })
}

/// The folder of a file, whole.
pub(crate) fn folder(path: &Path) -> Result<PathBuf, CommandError> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::canonicalize(folder).map_err(|error| {
        CommandError::setup(format_args!("cannot find the folder of `{}`: {error}", path.display()))
    })
}

/// The scenario files at these paths: files as they are, every scenario file below a folder, and what a pattern such
/// as `tests/**/*.yaml` fits; in order, each once.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FindError> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in paths {
        let pattern = path.to_string_lossy();
        if pattern.contains(['*', '?', '[']) && !path.exists() {
            let bad = |error: glob::PatternError| FindError::Pattern {
                pattern: pattern.to_string(),
                why: error.msg.to_owned(),
            };
            let before = found.len();
            for fit in glob::glob(&pattern).map_err(bad)? {
                let fit = fit.map_err(|error| FindError::Read {
                    path: error.path().to_owned(),
                    source: error.into(),
                })?;
                if fit.is_dir() { walk(&fit, &mut found)? } else { found.push(fit) }
            }
            if found.len() == before {
                return Err(FindError::NoFit { pattern: pattern.into_owned() });
            }
            continue;
        }
        let metadata = fs::metadata(path).map_err(|source| FindError::Read { path: path.clone(), source })?;
        if metadata.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            if found.len() == before {
                return Err(FindError::Nothing { path: path.clone() });
            }
        } else {
            found.push(path.clone());
        }
    }
    for path in &mut found {
        if let Ok(short) = path.strip_prefix(".") {
            *path = short.to_owned();
        }
    }
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), FindError> {
    let failed = |source| FindError::Read { path: folder.to_owned(), source };
    let mut entries: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for path in entries {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() && !path.is_symlink() && !name.starts_with('.') {
            walk(&path, found)?;
        } else if name.ends_with(".scenario.yaml") || name.ends_with(".scenario.yml") {
            found.push(path);
        }
    }
    Ok(())
}
