//! `cargo xtask setup`.
//!
//! Tests compare with oracles: the providers' own SDKs and the reference scorers, in Python and JavaScript.
//! Each language's packages are installed once and carry a stamp, a copy of the text that named their
//! versions. The stamp is written last, so that an installation which was cut short has none and is made again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::child;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The oldest Python that the pinned packages install on.
const PYTHON: (u32, u32) = (3, 11);

/// Runs the chore and says what it did.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    install(workspace)?;
    Ok(ExitCode::SUCCESS)
}

/// Installs what is missing or no longer as asked for.
pub(crate) fn install(workspace: &Workspace) -> Result<(), Failure> {
    // Two chores at once would build the same environment into each other; the second waits here.
    let _lock = lock(&workspace.target.join("oracle"))?;
    install_python(workspace)?;
    install_js(workspace)
}

/// The interpreter that the oracle scripts run with.
pub(crate) fn oracle_python(workspace: &Workspace) -> PathBuf {
    venv(workspace).join("bin/python")
}

fn install_python(workspace: &Workspace) -> Result<(), Failure> {
    let requirements = workspace.root.join("oracle/python/requirements.txt");
    let wanted = read(&requirements)?;
    let venv = venv(workspace);
    let python = oracle_python(workspace);
    let stamp = venv.join("requirements.stamp");
    // An interpreter that was there can be gone: a venv only links to the one it was made with.
    if is_stamped(&stamp, &wanted) && child::read(Command::new(&python).args(["-c", "pass"])).is_ok() {
        println!("python oracle: up to date");
        return Ok(());
    }

    check_python()?;
    println!("python oracle: installing into {} (half a minute or more, 250 MB)", venv.display());
    remove(&venv)?;
    expect_success(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--requirement",
    ]);
    expect_success(pip.arg(&requirements)).map_err(|failure| {
        failure.hint(
            "pip needs a package index it can reach; check the network and pip's settings, then run again",
        )
    })?;
    write(&stamp, &wanted)
}

/// Finds out early and by name what `python3 -m venv` would fail on half-way.
fn check_python() -> Result<(), Failure> {
    let (major, minor) = PYTHON;
    let install = format!("install Python {major}.{minor} or newer and put `python3` on PATH");
    let version =
        child::read(Command::new("python3").args(["-c", "import sys; print(*sys.version_info[:2])"]))
            .map_err(|failure| failure.hint(install.clone()))?;
    match parse_version(&version) {
        Some(found) if found >= PYTHON => {}
        Some((major, minor)) => {
            return Err(
                Failure::new(format!("`python3` is Python {major}.{minor}, which is too old")).hint(install)
            );
        }
        None => return Err(Failure::new(format!("`python3` gave no version but {version:?}")).hint(install)),
    }
    child::read(Command::new("python3").args(["-c", "import venv, ensurepip"])).map_err(|_| {
        Failure::new("this `python3` cannot make virtual environments: it lacks venv or ensurepip")
            .hint("on Debian and Ubuntu: apt install python3-venv")
    })?;
    Ok(())
}

fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn install_js(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.root.join("oracle/js");
    if !folder.join("package.json").exists() {
        println!("js oracle: nothing to install, there is no oracle/js/package.json");
        return Ok(());
    }
    let wanted = read(&folder.join("package-lock.json")).map_err(|failure| {
        failure.hint("write the lock file: (cd oracle/js && npm install --package-lock-only)")
    })?;
    let install = "install Node.js 20 or newer, which brings `node` and `npm`, and put both on PATH";
    child::read(Command::new("node").arg("--version")).map_err(|failure| failure.hint(install))?;
    // `npm ci` begins by deleting node_modules, and the stamp with it.
    let stamp = folder.join("node_modules/.package-lock.stamp");
    if is_stamped(&stamp, &wanted) {
        println!("js oracle: up to date");
        return Ok(());
    }

    child::read(Command::new("npm").arg("--version")).map_err(|failure| failure.hint(install))?;
    println!("js oracle: installing into oracle/js/node_modules");
    expect_success(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder))
        .map_err(|failure| {
            failure.hint(
                "npm needs a registry it can reach, and a package-lock.json that fits package.json: \
             (cd oracle/js && npm install) writes one",
            )
        })?;
    write(&stamp, &wanted)
}

fn venv(workspace: &Workspace) -> PathBuf {
    workspace.target.join("oracle/venv")
}

fn lock(folder: &Path) -> Result<File, Failure> {
    let path = folder.join("setup.lock");
    fs::create_dir_all(folder)
        .and_then(|()| File::create(&path))
        .and_then(|file| file.lock().map(|()| file))
        .map_err(|error| Failure::new(format!("cannot lock `{}`: {error}", path.display())))
}

fn is_stamped(stamp: &Path, wanted: &str) -> bool {
    fs::read_to_string(stamp).is_ok_and(|stamped| stamped == wanted)
}

fn expect_success(command: &mut Command) -> Result<(), Failure> {
    let status = child::run(command)?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::new(format!("`{}` failed ({status})", child::shown(command))))
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text))
        .map_err(|error| Failure::new(format!("cannot write `{}`: {error}", path.display())))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::new(format!("cannot remove `{}`: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_versions_compare_as_numbers() {
        for (text, enough) in
            [("3 11\n", true), ("3 9\n", false), ("3 14\n", true), ("2 7\n", false), ("4 0", true)]
        {
            assert_eq!(parse_version(text).is_some_and(|found| found >= PYTHON), enough, "{text:?}");
        }
        assert_eq!(parse_version("pyenv: python3: command not found"), None);
    }
}
