//! `cargo xtask setup`.
//!
//! Tests compare with oracles and meet other people's software: the providers' own SDKs, the reference scorers, the
//! Google ADK, a plugin that others published, `PostgreSQL`. What is installed for them carries a stamp, a copy of
//! the text that named its versions. The stamp is written last, so that an installation which was cut short has none
//! and is made again.

mod js;
mod npm;
mod postgres;
mod python;
mod web;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

pub(crate) use npm::{LIBRARY, SERVERS, compile_library, tool_of};
pub(crate) use postgres::{Programs, is_root};
pub(crate) use python::{
    ADK, ADK_OLDEST, ANALYSIS, BENCHMARKS, BOOK, Environment, ORACLE, PUBLISHED, RAY, wheelhouse,
};
pub(crate) use web::chromium;

use crate::child;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// Runs the chore and says what it did.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    install(workspace)?;
    Ok(ExitCode::SUCCESS)
}

/// Installs what is missing or no longer as asked for.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    // Two chores at once would build the same environment into each other; the second waits here.
    let _lock = lock(&workspace.target.join("oracle"))?;
    js::install(workspace)?;
    web::install(workspace)?;
    npm::install(workspace, LIBRARY)?;
    npm::install(workspace, SERVERS)?;
    postgres::install()?;
    python::install(workspace)
}

/// Installs only what the page is checked with.
pub(crate) fn install_web(workspace: &Workspace) -> Result<(), Failure> {
    let _lock = lock(&workspace.target.join("oracle"))?;
    web::install(workspace)
}

/// Installs only the published plugin and server, and what they share.
pub(crate) fn install_published(workspace: &Workspace) -> Result<(), Failure> {
    let _lock = lock(&workspace.target.join("oracle"))?;
    python::install_published(workspace)
}

/// Installs only what packs the program for Python and for Node.js.
pub(crate) fn install_packing(workspace: &Workspace) -> Result<(), Failure> {
    let _lock = lock(&workspace.target.join("oracle"))?;
    npm::install(workspace, LIBRARY)?;
    python::install_wheel(workspace)
}

/// Installs only what the book is built with.
pub(crate) fn install_book(workspace: &Workspace) -> Result<(), Failure> {
    let _lock = lock(&workspace.target.join("oracle"))?;
    python::install_book(workspace)
}

fn lock(folder: &Path) -> Result<File, Failure> {
    let path = folder.join("setup.lock");
    fs::create_dir_all(folder)
        .and_then(|()| File::create(&path))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| Failure::new(format!("cannot lock `{}`: {error}", path.display())))
}

/// Installs a package of the distribution, where we may.
fn apt_install(package: &str) -> Result<(), Failure> {
    if !is_root()? || child::read(Command::new("apt-get").arg("--version")).is_err() {
        return Err(Failure::new(format!(
            "the package `{package}` cannot be installed: that takes root and apt-get"
        )));
    }
    let apt = |args: &[&str]| {
        let mut apt = Command::new("apt-get");
        expect_success(apt.env("DEBIAN_FRONTEND", "noninteractive").args(["--quiet", "--yes"]).args(args))
            .map_err(|failure| {
                failure.hint("apt-get needs a package mirror it can reach; check the network, then run again")
            })
    };
    apt(&["update"])?;
    apt(&["install", "--no-install-recommends", package])
}

fn is_stamped(stamp: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|stamped| stamped == wanted)
}

pub(crate) fn expect_success(command: &mut Command) -> Result<(), Failure> {
    let status = child::run(command)?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` failed ({status})", child::shown(command))))
    }
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", path.display())))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text))
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))
}

pub(crate) fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::new(format!("cannot remove `{}`: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// The files and folders in a folder, in order of their names; none where there is no such folder.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    found.sort();
    found
}
