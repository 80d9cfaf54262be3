//! The files that a benchmark comes in.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 256 * 1024 * 1024;

/// Why a benchmark could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The folder is not the one that is meant.
    #[error("`{}` is not {what}: it has no `{missing}`", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What it should be.
        what: &'static str,
        /// What it lacks.
        missing: String,
        /// Where the right one is.
        hint: &'static str,
    },
    /// A file could not be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file has another form.
    #[error("`{}` has another form than is known: {what}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// There is nothing of that name.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What is looked for.
        what: &'static str,
        /// Its name.
        name: String,
        /// What there is.
        hint: String,
    },
}

impl ImportError {
    /// What would help, where that is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Folder { hint, .. } => Some(hint),
            Self::Unknown { hint, .. } => Some(hint),
            Self::Form { .. } => {
                Some("the versions that are known are inspect-evals 0.26 and bfcl-eval 2026.3")
            }
            Self::Read { .. } => None,
        }
    }
}

/// The folder itself, or the one in it that has the file: whoever names the package means its data.
pub(crate) fn home(folder: &Path, below: &[&str], file: &str) -> PathBuf {
    let inside = below.iter().map(|each| folder.join(each));
    let mut places = std::iter::once(folder.to_owned()).chain(inside);
    places.find(|place| place.join(file).is_file()).unwrap_or_else(|| folder.to_owned())
}

/// The text of a file, unpacked where its name ends in `.gz`.
pub(crate) fn text(path: &Path) -> Result<String, ImportError> {
    let failed = |source| ImportError::Read { path: path.to_owned(), source };
    let file = fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    let read = if path.extension().is_some_and(|end| end == "gz") {
        GzDecoder::new(file).take(LONGEST).read_to_string(&mut text)
    } else {
        file.take(LONGEST).read_to_string(&mut text)
    };
    read.map_err(failed)?;
    Ok(text)
}

/// The list that a file of JSON holds.
pub(crate) fn list(path: &Path) -> Result<Vec<Value>, ImportError> {
    match rehearsal_core::json::from_str(&text(path)?) {
        Ok(Value::Array(list)) => Ok(list),
        Ok(_) => Err(form(path, "it is no list")),
        Err(error) => Err(form(path, error.to_string())),
    }
}

/// The values of a file that has one on each line.
pub(crate) fn lines(path: &Path) -> Result<Vec<Value>, ImportError> {
    let text = text(path)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
    lines
        .map(|(index, line)| {
            let read = rehearsal_core::json::from_str(line);
            read.map_err(|error| form(path, format!("line {}: {error}", index + 1)))
        })
        .collect()
}

pub(crate) fn form(path: &Path, what: impl Into<String>) -> ImportError {
    ImportError::Form { path: path.to_owned(), what: what.into() }
}

/// The text at a path of keys; empty where there is none.
pub(crate) fn said<'v>(value: &'v Value, keys: &[&str]) -> &'v str {
    at(value, keys).as_str().unwrap_or_default()
}

/// The list at a path of keys; empty where there is none.
pub(crate) fn items<'v>(value: &'v Value, keys: &[&str]) -> &'v [Value] {
    at(value, keys).as_array().map_or(&[], Vec::as_slice)
}

/// The value at a path of keys; null where there is none.
pub(crate) fn at<'v>(value: &'v Value, keys: &[&str]) -> &'v Value {
    keys.iter().fold(value, |value, key| &value[*key])
}
