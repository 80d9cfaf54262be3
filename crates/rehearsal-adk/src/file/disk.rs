//! Files that are replaced whole, by one process at a time.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::AppendError;

/// As many links as Linux follows.
const MAX_LINKS: u32 = 40;

/// Where a path leads when it is a link, there or not: a link must not be replaced by a file.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, AppendError> {
    let mut found = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&found) {
            Ok(target) => found = folder(&found).join(target),
            Err(_) => return Ok(found),
        }
    }
    Err(AppendError::Links { path: path.to_owned() })
}

/// Waits until nobody else writes into the folder of the file. The lock is given back when it is dropped, or when the
/// process ends; the folder itself is locked, so that no file stays behind.
pub(super) fn lock(target: &Path) -> Result<File, AppendError> {
    let folder = folder(target);
    fs::create_dir_all(folder).map_err(|source| AppendError::Folder { path: folder.to_owned(), source })?;
    let locked = open_folder(folder).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|source| AppendError::Lock { path: folder.to_owned(), source })
}

#[cfg(not(windows))]
fn open_folder(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Windows locks no folders. What stands for one there is a file among the temporary ones.
#[cfg(windows)]
fn open_folder(folder: &Path) -> io::Result<File> {
    use std::hash::{Hash as _, Hasher as _};
    let mut hasher = std::hash::DefaultHasher::new();
    fs::canonicalize(folder)?.hash(&mut hasher);
    let name = format!("rehearsal-{:016x}.lock", hasher.finish());
    File::options().create(true).truncate(false).write(true).open(std::env::temp_dir().join(name))
}

/// The text of a file that may be written; nothing where there is no file.
pub(super) fn read(target: &Path) -> Result<Option<String>, AppendError> {
    let text = match fs::read_to_string(target) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(AppendError::Read { path: target.to_owned(), source }),
    };
    let is_protected = fs::metadata(target).is_ok_and(|metadata| metadata.permissions().readonly());
    if is_protected { Err(AppendError::Protected { path: target.to_owned() }) } else { Ok(Some(text)) }
}

/// Replaces a file by one with this text, or makes it. Whatever happens, there is the old file or the new one.
pub(super) fn replace(target: &Path, text: &str) -> io::Result<()> {
    let folder = folder(target);
    sweep(folder);
    #[cfg(target_os = "linux")]
    let written = nameless::replace(folder, target, text)?;
    #[cfg(not(target_os = "linux"))]
    let written = false;
    if !written {
        replace_by_name(folder, target, text)?;
    }
    // The new name survives a power cut only once the folder is written down. Where that fails the file is there all
    // the same, and an error would say that it is not.
    #[cfg(unix)]
    drop(File::open(folder).and_then(|folder| folder.sync_all()));
    Ok(())
}

const PREFIX: &str = ".rehearsal-";
const SUFFIX: &str = ".tmp";

/// Removes what exports left that were ended in the middle: whoever has the lock is alone.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn replace_by_name(folder: &Path, target: &Path, text: &str) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    let permissions = {
        use std::os::unix::fs::PermissionsExt as _;
        // What a new file may be is the process's own decision: its mask takes away from this.
        fs::Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(permissions);
    let mut fresh = builder.tempfile_in(folder)?;
    fill(fresh.as_file_mut(), target, text)?;
    fresh.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// Writes a new file, with the permissions of the one it replaces, to the disk.
fn fill(fresh: &mut File, target: &Path, text: &str) -> io::Result<()> {
    fresh.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(target) {
        fresh.set_permissions(metadata.permissions())?;
    }
    fresh.sync_all()
}

/// Files without a name, which are gone with the process that writes them until they get one.
#[cfg(target_os = "linux")]
mod nameless {
    use std::fs::{self, File};
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags};

    /// Whether the file was replaced; it is not where the file system has no such files.
    pub(super) fn replace(folder: &Path, target: &Path, text: &str) -> io::Result<bool> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        // What a new file may be is the process's own decision: its mask takes away from this.
        let Ok(fresh) = rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)) else { return Ok(false) };
        let mut fresh = File::from(fresh);
        super::fill(&mut fresh, target, text)?;
        let own = format!("/proc/self/fd/{}", fresh.as_raw_fd());
        let name = |path: &Path| rustix::fs::linkat(CWD, own.as_str(), CWD, path, AtFlags::SYMLINK_FOLLOW);
        if !target.exists() && name(target).is_ok() {
            return Ok(true);
        }
        // A name cannot be taken from another file in one go, so it has one of its own for a moment.
        let moment = folder.join(format!("{}{}{}", super::PREFIX, std::process::id(), super::SUFFIX));
        if name(&moment).is_err() {
            return Ok(false);
        }
        fs::rename(&moment, target).inspect_err(|_| drop(fs::remove_file(&moment)))?;
        Ok(true)
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
