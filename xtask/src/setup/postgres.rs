//! The programs of `PostgreSQL`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{apt_install, entries};
use crate::child;
use crate::failure::Failure;

/// Where Debian keeps the programs that it puts on nobody's PATH, in one folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The folder that holds `initdb`, `postgres` and the others.
#[derive(Debug)]
pub(crate) struct Programs(PathBuf);

impl Programs {
    /// Finds them on PATH or where Debian keeps them.
    pub(crate) fn find() -> Result<Self, Failure> {
        let on_path = env::var_os("PATH").unwrap_or_default();
        // Of several versions the newest comes first: 15 after 9, and before 14.
        let mut versions = entries(Path::new(DEBIAN));
        versions.sort_by_key(|path| std::cmp::Reverse(version(path)));
        let mut folders = env::split_paths(&on_path).chain(versions.into_iter().map(|each| each.join("bin")));
        folders.find_map(|folder| Self::beside(&folder)).ok_or_else(|| {
            Failure::new(format!("`initdb` of PostgreSQL is neither on PATH nor below {DEBIAN}")).hint(
                "install PostgreSQL 14 or newer (Debian, Ubuntu: apt install postgresql; macOS: brew install \
                 postgresql), or run `cargo xtask setup` as root on Debian or Ubuntu, which installs it",
            )
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    fn beside(folder: &Path) -> Option<Self> {
        // A link on PATH may lead to one program alone; the others are where it leads to.
        let initdb = folder.join("initdb").canonicalize().ok()?;
        let folder = initdb.parent()?;
        folder.join("postgres").is_file().then(|| Self(folder.to_owned()))
    }
}

/// Installs the distribution's package where there is no `PostgreSQL` and we may.
pub(super) fn install() -> Result<(), Failure> {
    let missing = match Programs::find() {
        Ok(programs) => {
            println!("postgresql: found in {}", programs.folder().display());
            return Ok(());
        }
        Err(missing) => missing,
    };
    println!("postgresql: installing the package `postgresql`");
    apt_install("postgresql").map_err(|_| missing)?;
    Programs::find().map(|_| ())
}

/// Whether we may do everything: install packages, and not run a database.
pub(crate) fn is_root() -> Result<bool, Failure> {
    Ok(child::read(Command::new("id").arg("-u"))?.trim() == "0")
}

fn version(folder: &Path) -> Option<u32> {
    folder.file_name()?.to_str()?.parse().ok()
}
