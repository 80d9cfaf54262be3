//! The `--store` option: where things are kept.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use rehearsal_store::StoreRef;

use crate::commands::run::show::quoted;
use crate::error::CommandError;
use crate::project;

/// The folder in which things are kept unless told otherwise.
pub(crate) const FOLDER: &str = ".rehearsal";

/// Where ledgers, cues and runs are kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct Place {
    /// Where everything is kept: a `SQLite` file (also as `sqlite:///…`), or `postgres://…` [default:
    /// .rehearsal/rehearsal.db]
    #[arg(long, value_name = "FILE|URL", env = "REHEARSAL_STORE", hide_env_values = true)]
    pub(crate) store: Option<String>,
}

impl Place {
    /// The store's file or address; a file is its path, however it was written.
    pub(crate) fn text(&self) -> String {
        match &self.store {
            Some(place) => rehearsal_store::file_of(place).unwrap_or(place).to_owned(),
            None => project::store()
                .unwrap_or_else(|| PathBuf::from(FOLDER).join("rehearsal.db").display().to_string()),
        }
    }

    /// Opens the store, which is made where it is missing.
    pub(crate) async fn open(&self) -> Result<StoreRef, CommandError> {
        let store = rehearsal_store::open(&self.text()).await.map_err(CommandError::setup)?;
        if Path::new(&self.text()).parent() == Some(Path::new(FOLDER)) {
            leave_out_of_version_control(Path::new(FOLDER))?;
        }
        Ok(store)
    }

    /// Opens the store to look at what it has. One that is not there has nothing, and is not made for that.
    pub(crate) async fn open_kept(&self) -> Result<StoreRef, CommandError> {
        let text = self.text();
        if rehearsal_store::file_of(&text).is_some_and(|path| !Path::new(path).exists()) {
            return Err(CommandError::user(format_args!("nothing is kept here yet: there is no `{text}`")).hint(
                "`rehearse run PATH` keeps its runs there, `rehearse serve` its sessions; `--store` names another place",
            ));
        }
        self.open().await
    }

    /// What to add to another command so that it uses the same store; nothing for the default. An address may hold a
    /// password, so it is not repeated.
    pub(crate) fn option(&self) -> String {
        match self.store.as_deref().map(rehearsal_store::file_of) {
            None => String::new(),
            Some(None) => " --store …".to_owned(),
            Some(Some(path)) => format!(" --store {}", quoted(path)),
        }
    }
}

/// Makes the folder in which things are kept, for its owner alone.
pub(crate) fn make_folder(home: &Path) -> Result<(), CommandError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(home)
        .map_err(|error| CommandError::setup(format_args!("cannot make {}: {error}", home.display())))?;
    leave_out_of_version_control(home)
}

/// What agents said, and the token to ask for it, belong to nobody's history.
fn leave_out_of_version_control(home: &Path) -> Result<(), CommandError> {
    let path = home.join(".gitignore");
    if path.exists() {
        return Ok(());
    }
    fs::write(&path, "*\n")
        .map_err(|error| CommandError::setup(format_args!("cannot write `{}`: {error}", path.display())))
}

/// The file with the token of servers that are started in this folder.
pub(crate) fn token_file() -> PathBuf {
    PathBuf::from(FOLDER).join("token")
}
