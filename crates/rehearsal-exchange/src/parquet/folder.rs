//! The folder of an export: its files are seen when all of them are whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use tempfile::NamedTempFile;

use super::sheet::PROGRAM;
use super::{ExportError, Replace};

/// The folder into which an export goes.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    replace: Replace,
    /// Whether it was made for this export, and nothing is in it yet.
    is_empty: bool,
}

/// A file that is being written beside the place where it goes.
#[derive(Debug)]
pub(super) struct Part {
    file: NamedTempFile,
    pub(super) path: PathBuf,
}

impl Folder {
    /// Makes the folder where it is missing, and sees to it that these files may be written.
    pub(super) fn open(path: &Path, replace: Replace, names: &[&str]) -> Result<Self, ExportError> {
        let is_empty = !path.exists();
        fs::create_dir_all(path).map_err(|source| unwritable(path, source))?;
        let folder = Self { path: path.to_owned(), replace, is_empty };
        for name in names {
            folder.check(&folder.place(name))?;
        }
        Ok(folder)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.parquet"))
    }

    fn check(&self, path: &Path) -> Result<(), ExportError> {
        match (path.symlink_metadata(), self.replace) {
            (Err(error), _) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            (Err(source), _) => Err(unwritable(path, source)),
            (Ok(_), Replace::Nothing) => Err(ExportError::Taken(path.to_owned())),
            (Ok(_), Replace::Exports) if is_export(path) => Ok(()),
            (Ok(_), Replace::Exports) => Err(ExportError::Foreign(path.to_owned())),
        }
    }

    /// Begins a file. It is gone when nobody puts it in place.
    pub(super) fn begin(&self, name: &str) -> Result<Part, ExportError> {
        let mut builder = tempfile::Builder::new();
        let prefix = format!(".{name}-");
        builder.prefix(&prefix).suffix(".parquet.part");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(&self.path).map_err(|source| unwritable(&self.path, source))?;
        Ok(Part { file, path: self.place(name) })
    }

    /// Puts a file in place, and tells how large it is.
    pub(super) fn put(&mut self, part: Part) -> Result<u64, ExportError> {
        let Part { file, path } = part;
        let failed = |source| unwritable(&path, source);
        file.as_file().sync_all().map_err(failed)?;
        let bytes = file.as_file().metadata().map_err(failed)?.len();
        match self.replace {
            Replace::Nothing => file.persist_noclobber(&path),
            Replace::Exports => file.persist(&path),
        }
        .map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => ExportError::Taken(path.clone()),
            _ => failed(error.error),
        })?;
        self.is_empty = false;
        Ok(bytes)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_empty {
            // Where somebody has put something into it meanwhile, it stays.
            let _removed = fs::remove_dir(&self.path);
        }
    }
}

impl Part {
    /// The file, to write to it.
    pub(super) fn file(&self) -> Result<File, ExportError> {
        self.file.as_file().try_clone().map_err(|source| unwritable(&self.path, source))
    }
}

/// Whether a file was written by this program.
fn is_export(path: &Path) -> bool {
    let reader = File::open(path).ok().and_then(|file| SerializedFileReader::new(file).ok());
    let by = reader.and_then(|reader| reader.metadata().file_metadata().created_by().map(str::to_owned));
    by.is_some_and(|by| by.starts_with(PROGRAM))
}

fn unwritable(path: &Path, source: io::Error) -> ExportError {
    ExportError::Unwritable { path: path.to_owned(), source }
}
