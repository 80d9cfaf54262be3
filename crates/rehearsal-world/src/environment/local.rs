//! A temporary folder on this machine.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_core::mask::Masker;
use rehearsal_core::{Clock, SystemClock};

use super::files::{Files, snapshot};
use super::paths::{check_paths, make_way};
use super::process::{self, Place, Process};
use super::{Command, Commands, Environment, EnvironmentError, Execution, Program};
use rehearsal_js::WorkerCommand;

/// Where programs are looked for unless told.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// How a local environment is set up.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// Whether the folder stays when the environment is closed.
    pub keep: bool,
    /// Where the folder is made; the system's place for temporary files unless told.
    pub parent: Option<PathBuf>,
    /// Variables that every command gets, beside `PATH`, `HOME`, `LANG`, `LC_ALL` and `TMPDIR`.
    pub variables: BTreeMap<String, String>,
    /// What commands get as `PATH`; the system's usual places unless told.
    pub search_path: Option<OsString>,
    /// How much is kept, and how long is waited.
    pub limits: Limits,
    /// Where durations are taken from.
    pub clock: Arc<dyn Clock>,
    /// How to start a process that calls [`supervise_main`](super::supervise_main) with further words. On Linux all that a
    /// command started then ends with it; otherwise what left its process group gets away.
    pub supervisor: Option<WorkerCommand>,
    /// Hides secrets in what commands write, on their outputs and in files. A process that is started to be talked with
    /// writes to whoever reads it, who hides them then.
    pub masker: Masker,
    /// Whether programs may be started at all.
    pub commands: Commands,
}

impl Default for LocalOptions {
    fn default() -> Self {
        Self {
            keep: false,
            parent: None,
            variables: BTreeMap::new(),
            search_path: None,
            limits: Limits::default(),
            clock: Arc::new(SystemClock),
            supervisor: None,
            masker: Masker::default(),
            commands: Commands::default(),
        }
    }
}

/// How much of what commands do is kept, and how long they are waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes of each of a command's two outputs are kept: 1 MiB.
    pub output_bytes: usize,
    /// How many bytes a file in a snapshot may have: 64 KiB.
    pub file_bytes: u64,
    /// How many bytes all files in a snapshot may have: 1 MiB.
    pub snapshot_bytes: u64,
    /// How many files a snapshot may have: 1,000.
    pub snapshot_files: usize,
    /// How many bytes a line of a long-running process may have: 8 MiB.
    pub line_bytes: usize,
    /// How many bytes of a long-running process's errors are kept, the last ones: 64 KiB.
    pub errors_bytes: usize,
    /// How long processes have between being asked to end and being ended: 2 seconds.
    pub grace: Duration,
    /// How long output is waited for after the process that was started has ended: half a second.
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            output_bytes: 1024 * 1024,
            file_bytes: 64 * 1024,
            snapshot_bytes: 1024 * 1024,
            snapshot_files: 1000,
            line_bytes: 8 * 1024 * 1024,
            errors_bytes: 64 * 1024,
            grace: Duration::from_secs(2),
            drain: Duration::from_millis(500),
        }
    }
}

/// A fresh temporary folder on this machine, removed when it is closed or dropped.
#[derive(Debug)]
pub struct LocalEnvironment {
    /// Holds the folder, the place for temporary files, and code that is too long to be an argument.
    root: PathBuf,
    place: Place,
    keep: bool,
}

impl LocalEnvironment {
    /// Makes the folder.
    pub fn new(options: LocalOptions) -> Result<Self, EnvironmentError> {
        process::check_variables(&options.variables)?;
        let parent = options.parent.unwrap_or_else(env::temp_dir);
        let (root, folder, temporary) =
            make_root(&parent).map_err(|source| EnvironmentError::Create { parent, source })?;
        let fixed = [
            ("PATH", options.search_path.unwrap_or_else(|| SEARCH_PATH.into())),
            ("HOME", folder.clone().into()),
            ("LANG", "C.UTF-8".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TMPDIR", temporary.into()),
        ];
        let mut variables: BTreeMap<String, OsString> =
            fixed.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        variables.extend(options.variables.into_iter().map(|(name, value)| (name, value.into())));
        let (limits, clock, supervisor) = (options.limits, options.clock, options.supervisor);
        let (masker, commands) = (options.masker, options.commands);
        let place =
            Place { folder, scripts: root.clone(), variables, limits, clock, supervisor, masker, commands };
        Ok(Self { root, place, keep: options.keep })
    }
}

#[async_trait]
impl Environment for LocalEnvironment {
    async fn write(&self, files: &[(String, String)]) -> Result<(), EnvironmentError> {
        let places = check_paths(files.iter().map(|(path, _)| path.as_str()))?;
        self.place.check()?;
        for (inside, (path, content)) in places.into_iter().zip(files) {
            let (root, folder, content) = (self.root.clone(), self.place.folder.clone(), content.clone());
            let written = blocking(move || write(&root, &folder, &inside, &content)).await;
            written.unwrap_or_else(|source| Err(EnvironmentError::Write { path: path.clone(), source }))?;
        }
        Ok(())
    }

    async fn run(&self, command: &Command) -> Result<Execution, EnvironmentError> {
        process::run(&self.place, command).await
    }

    async fn files(&self) -> Result<Files, EnvironmentError> {
        self.place.check()?;
        let (folder, limits, masker) =
            (self.place.folder.clone(), self.place.limits.clone(), self.place.masker.clone());
        let seen =
            blocking(move || snapshot(&folder, &limits).map(|files| files.masked(&masker))).await.flatten();
        seen.map_err(|source| EnvironmentError::Read { folder: self.place.folder.clone(), source })
    }

    async fn close(&self) -> Result<(), EnvironmentError> {
        if self.keep {
            return Ok(());
        }
        let root = self.root.clone();
        let removed = blocking(move || remove(&root)).await.flatten();
        removed.map_err(|source| EnvironmentError::Remove { folder: self.root.clone(), source })
    }

    fn folder(&self) -> &Path {
        &self.place.folder
    }

    async fn start(
        &self,
        program: &Program,
        variables: &BTreeMap<String, String>,
        directory: Option<&Path>,
    ) -> Result<Process, EnvironmentError> {
        process::start(&self.place, directory, program, variables).await
    }
}

impl Drop for LocalEnvironment {
    fn drop(&mut self) {
        if !self.keep {
            // There is nobody left to tell; `close` tells.
            drop(remove(&self.root));
        }
    }
}

/// Runs work that waits for the file system where waiting is allowed.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)
}

/// Makes the root, the folder in it and the folder for temporary files.
fn make_root(parent: &Path) -> io::Result<(PathBuf, PathBuf, PathBuf)> {
    let mut builder = tempfile::Builder::new();
    let made = builder.prefix("rehearsal-").permissions(Permissions::from_mode(0o700)).tempdir_in(parent)?;
    let root = made.path().canonicalize()?;
    let (folder, temporary) = (root.join("folder"), root.join("tmp"));
    fs::create_dir(&folder)?;
    fs::create_dir(&temporary)?;
    // From here on it is removed with the environment.
    drop(made.keep());
    Ok((root, folder, temporary))
}

/// Puts a finished file in its place, so that a file that is there is replaced and never written through.
fn write(root: &Path, folder: &Path, inside: &Path, content: &str) -> Result<(), EnvironmentError> {
    let failed = |source| EnvironmentError::Write { path: inside.to_string_lossy().into_owned(), source };
    let target = make_way(folder, inside).map_err(failed)??;
    let permissions = Permissions::from_mode(0o644);
    let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(root).map_err(failed)?;
    file.write_all(content.as_bytes()).map_err(failed)?;
    file.persist(target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Removes a folder, also when a command has made folders in it read-only or is still adding to it.
fn remove(root: &Path) -> io::Result<()> {
    for _ in 0..3 {
        match fs::remove_dir_all(root) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => unlock(root),
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(()),
        }
    }
    fs::remove_dir_all(root)
}

/// Makes every folder below `root` one that can be emptied.
fn unlock(root: &Path) {
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        // What cannot be changed shows when the folder is removed.
        drop(fs::set_permissions(&folder, Permissions::from_mode(0o700)));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()),
        );
    }
}
