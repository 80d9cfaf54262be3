//! Finding scenario files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rehearsal_scenario::yaml;

/// Why scenario files could not be found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("there is no scenario file in `{}`\n\nhint: scenario files end in .scenario.yaml or .scenario.yml", path.display())]
    Nothing { path: PathBuf },
}

/// Why a scenario file could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("cannot read `{}`: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` has {bytes} bytes, more than the {} that are read", path.display(), yaml::MAX_BYTES)]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("`{}` is not text in UTF-8", path.display())]
    NotText { path: PathBuf },
}

/// The text of a scenario file. A file that is too large is refused before it is read.
pub(crate) fn read(path: &Path) -> Result<String, ReadError> {
    let failed = |source| ReadError::Read { path: path.to_owned(), source };
    let bytes = fs::metadata(path).map_err(failed)?.len();
    if bytes > yaml::MAX_BYTES as u64 {
        return Err(ReadError::TooLarge { path: path.to_owned(), bytes });
    }
    String::from_utf8(fs::read(path).map_err(failed)?)
        .map_err(|_| ReadError::NotText { path: path.to_owned() })
}

/// The scenario files at these paths: files as they are, and every scenario file below a folder, in order.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FindError> {
    let mut found = Vec::new();
    for path in paths {
        let before = found.len();
        let metadata = fs::metadata(path).map_err(|source| FindError::Read { path: path.clone(), source })?;
        if metadata.is_dir() {
            walk(path, &mut found)?;
            if found.len() == before {
                return Err(FindError::Nothing { path: path.clone() });
            }
        } else {
            found.push(path.clone());
        }
    }
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
