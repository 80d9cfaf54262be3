//! The files of a folder at one moment.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rehearsal_core::mask::Masker;
use serde::{Deserialize, Serialize};

use super::local::Limits;
use super::paths::check_path;

/// The files of a folder at one moment.
///
/// As JSON it is `{"files": {"a.txt": "hello", "b.bin": {"binary": {"bytes": 12}}}, "truncated": 3}`; `truncated` is
/// left out when it is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Each file by its path from the folder, with `/` between folders; folders themselves are not listed.
    pub files: BTreeMap<String, File>,
    /// How many more files there are than [`Limits::snapshot_files`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated: usize,
}

impl Files {
    /// The file with this path, which may be written with `./` and doubled `/`.
    pub fn get(&self, path: &str) -> Option<&File> {
        self.files.get(check_path(path).ok()?.to_str()?)
    }

    /// The same files without secrets, in their contents, links and names.
    pub(super) fn masked(mut self, masker: &Masker) -> Self {
        if masker.is_empty() {
            return self;
        }
        let hide = |(path, mut file): (String, File)| {
            if let File::Text(text) | File::Link(text) = &mut file {
                masker.mask_text(text);
            }
            (masker.mask(&path).into_owned(), file)
        };
        self.files = self.files.into_iter().map(hide).collect();
        self
    }
}

/// A file, as far as it was kept.
///
/// As JSON a text is a string, and everything else an object with one key, such as `{"link": "/etc"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum File {
    /// A symbolic link and what it says; it is not followed.
    Link(String),
    /// Not UTF-8.
    Binary {
        /// Its size.
        bytes: u64,
    },
    /// Larger than one file may be, or than what was left for all files together.
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// A file or a folder that could not be read, and why.
    Unreadable(String),
    /// A pipe, a socket or a device, by name; it is not opened.
    Special(String),
    /// A text.
    #[serde(untagged)]
    Text(String),
}

/// Looks at every file below `folder`; those nearest to it come first when there are too many.
pub(super) fn snapshot(folder: &Path, limits: &Limits) -> io::Result<Files> {
    let mut files = Files::default();
    let mut bytes_left = limits.snapshot_bytes;
    let mut folders: Vec<(PathBuf, String)> = Vec::new();
    let mut entries = list(folder)?;
    let mut prefix = String::new();
    loop {
        let mut inner = Vec::new();
        for entry in entries {
            let key = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                inner.push((entry.path(), key));
            } else if files.files.len() < limits.snapshot_files {
                let file = look(&entry, limits, bytes_left).unwrap_or_else(|why| unreadable(&why));
                if let File::Text(text) = &file {
                    bytes_left = bytes_left.saturating_sub(text.len() as u64);
                }
                files.files.insert(key, file);
            } else {
                files.truncated += 1;
            }
        }
        folders.extend(inner.into_iter().rev());
        (entries, prefix) = loop {
            let Some((path, key)) = folders.pop() else { return Ok(files) };
            match list(&path) {
                Ok(entries) => break (entries, format!("{key}/")),
                Err(why) if files.files.len() < limits.snapshot_files => {
                    files.files.insert(key, unreadable(&why));
                }
                Err(_) => files.truncated += 1,
            }
        };
    }
}

fn list(folder: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(DirEntry::file_name);
    Ok(entries)
}

fn look(entry: &DirEntry, limits: &Limits, bytes_left: u64) -> io::Result<File> {
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return Ok(File::Link(fs::read_link(entry.path())?.to_string_lossy().into_owned()));
    }
    if !kind.is_file() {
        let name = match () {
            () if kind.is_fifo() => "pipe",
            () if kind.is_socket() => "socket",
            () => "device",
        };
        return Ok(File::Special(name.to_owned()));
    }
    let bytes = entry.metadata()?.len();
    let limit = limits.file_bytes.min(bytes_left);
    if bytes > limit {
        return Ok(File::TooLarge { bytes });
    }
    let mut content = Vec::new();
    fs::File::open(entry.path())?.take(limit.saturating_add(1)).read_to_end(&mut content)?;
    let bytes = content.len() as u64;
    if bytes > limit {
        return Ok(File::TooLarge { bytes: entry.metadata()?.len().max(bytes) });
    }
    Ok(String::from_utf8(content).map_or(File::Binary { bytes }, File::Text))
}

fn unreadable(why: &io::Error) -> File {
    File::Unreadable(why.kind().to_string())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
