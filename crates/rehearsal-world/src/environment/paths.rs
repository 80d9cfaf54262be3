//! Paths of files that a scenario puts in its folder.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why a path cannot be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathProblem {
    /// It is empty.
    Empty,
    /// It has a NUL character in it.
    Nul {
        /// The path.
        path: String,
    },
    /// It begins at the root of the file system.
    Absolute {
        /// The path.
        path: String,
    },
    /// It has `..` in it.
    Parent {
        /// The path.
        path: String,
    },
    /// It names a folder.
    Folder {
        /// The path.
        path: String,
    },
    /// It is the same file as another path.
    Twice {
        /// The path.
        path: String,
        /// The path that came before.
        first: String,
    },
    /// A folder on its way is a file.
    UnderFile {
        /// The path.
        path: String,
        /// The file on its way.
        file: String,
    },
    /// It is, or leads through, a symbolic link.
    Link {
        /// The path.
        path: String,
        /// The link.
        link: String,
    },
}

impl PathProblem {
    /// What is wrong.
    pub fn message(&self) -> String {
        match self {
            Self::Empty => "a file has an empty path".to_owned(),
            Self::Nul { path } => format!("the path {path:?} has a NUL character in it"),
            Self::Absolute { path } => {
                format!("`{path}` is not inside the scenario's folder: it begins with `/`")
            }
            Self::Parent { path } => format!("`{path}` may leave the scenario's folder: it has `..` in it"),
            Self::Folder { path } => format!("`{path}` is a folder, not a file"),
            Self::Twice { path, first } if path == first => format!("`{path}` is given twice"),
            Self::Twice { path, first } => format!("`{path}` and `{first}` are the same file"),
            Self::UnderFile { path, file } => format!("`{path}` cannot be made, because `{file}` is a file"),
            Self::Link { path, link } if path == link => format!("`{path}` is a symbolic link"),
            Self::Link { path, link } => format!("`{path}` leads through the symbolic link `{link}`"),
        }
    }

    /// What would be right.
    pub fn hint(&self) -> String {
        match self {
            Self::Empty => "give a path such as `notes/a.txt`".to_owned(),
            Self::Nul { .. } => "remove the character".to_owned(),
            Self::Absolute { path } => match path.trim_matches('/') {
                "" => "give a path such as `notes/a.txt`".to_owned(),
                inside => format!("write `{inside}`; paths begin at the scenario's folder"),
            },
            Self::Parent { .. } => "write the path from the scenario's folder, without `..`".to_owned(),
            Self::Folder { .. } => {
                "name a file in it, such as `a.txt`; folders are made as needed".to_owned()
            }
            Self::Twice { .. } => "keep one of them".to_owned(),
            Self::UnderFile { .. } => "rename one of them".to_owned(),
            Self::Link { .. } => "choose another path; files are not written through links".to_owned(),
        }
    }
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n\nhint: {}", self.message(), self.hint())
    }
}

impl std::error::Error for PathProblem {}

/// The path without `.` and doubled `/`, if it names a file inside whatever folder it is joined to.
///
/// It looks at the text only: whether a link or a file is in the way shows when the file is written.
///
/// ```
/// use rehearsal_world::environment::{PathProblem, check_path};
///
/// assert_eq!(check_path("./notes//a.txt"), Ok("notes/a.txt".into()));
/// assert_eq!(check_path("../a.txt"), Err(PathProblem::Parent { path: "../a.txt".into() }));
/// ```
pub fn check_path(path: &str) -> Result<PathBuf, PathProblem> {
    let named = || path.to_owned();
    if path.is_empty() {
        return Err(PathProblem::Empty);
    }
    if path.contains('\0') {
        return Err(PathProblem::Nul { path: named() });
    }
    if path.starts_with('/') {
        return Err(PathProblem::Absolute { path: named() });
    }
    let mut inside = PathBuf::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(PathProblem::Parent { path: named() }),
            name => inside.push(name),
        }
    }
    if matches!(path.rsplit('/').next(), Some("" | ".")) {
        return Err(PathProblem::Folder { path: named() });
    }
    Ok(inside)
}

/// Checks each path, and that all of them can be files of one folder.
pub fn check_paths<'a>(paths: impl IntoIterator<Item = &'a str>) -> Result<Vec<PathBuf>, PathProblem> {
    let mut seen: BTreeMap<PathBuf, &str> = BTreeMap::new();
    let mut checked = Vec::new();
    for path in paths {
        let inside = check_path(path)?;
        if let Some(first) = seen.insert(inside.clone(), path) {
            return Err(PathProblem::Twice { path: path.to_owned(), first: first.to_owned() });
        }
        checked.push(inside);
    }
    for (inside, path) in &seen {
        if let Some(file) = inside.ancestors().skip(1).find_map(|parent| seen.get(parent)) {
            return Err(PathProblem::UnderFile { path: (*path).to_owned(), file: (*file).to_owned() });
        }
    }
    Ok(checked)
}

/// Makes the folders that lead to a checked path and returns where the file belongs; no link is followed.
pub(super) fn make_way(folder: &Path, inside: &Path) -> io::Result<Result<PathBuf, PathProblem>> {
    let path = inside.to_string_lossy().into_owned();
    let mut at = folder.to_path_buf();
    let mut parts = inside.components().peekable();
    while let Some(part) = parts.next() {
        at.push(part);
        let last = parts.peek().is_none();
        let here = || at.strip_prefix(folder).unwrap_or(&at).to_string_lossy().into_owned();
        match fs::symlink_metadata(&at) {
            Ok(there) if there.is_symlink() => return Ok(Err(PathProblem::Link { path, link: here() })),
            Ok(there) if last && there.is_dir() => return Ok(Err(PathProblem::Folder { path })),
            Ok(there) if !last && !there.is_dir() => {
                return Ok(Err(PathProblem::UnderFile { path, file: here() }));
            }
            Ok(_) => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Err(_) if last => {}
            Err(_) => fs::create_dir(&at)?,
        }
    }
    Ok(Ok(at))
}
