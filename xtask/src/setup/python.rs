//! The Python environments, one for each set of packages that cannot or need not live together.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::{entries, expect_success, is_stamped, read, remove, write};
use crate::child;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The oldest Python that the pinned packages install on.
const PYTHON: (u32, u32) = (3, 11);

/// The scripts that tests compare with.
pub(crate) const ORACLE: Environment = Environment {
    name: "python oracle",
    folder: "oracle/venv",
    requirements: "oracle/python/requirements.txt",
    cost: "half a minute or more, 250 MB",
    shares: None,
    pip: &[],
    imports: "pass",
};

/// The newest Google ADK with all that its evaluations need, and the tools that check Python code.
pub(crate) const ADK: Environment = Environment {
    name: "python adk",
    folder: "python/adk",
    requirements: "python/requirements/adk.txt",
    cost: "two minutes or more, 1 GB",
    shares: None,
    pip: LOCKED,
    imports: "import google.adk.version, pytest",
};

/// The oldest Google ADK that the Python package supports.
pub(crate) const ADK_OLDEST: Environment = Environment {
    name: "python adk 1.21",
    folder: "python/adk121",
    requirements: "python/requirements/adk121.txt",
    cost: "a minute or more, 700 MB",
    shares: None,
    pip: LOCKED,
    imports: "import google.adk.version, pytest",
};

/// The plugin and the server that others published.
pub(crate) const PUBLISHED: Environment = Environment {
    name: "python published plugin",
    folder: "python/published",
    requirements: "python/requirements/published.txt",
    cost: "a few seconds, 50 MB",
    shares: Some(&ADK),
    pip: &["--no-deps", "--no-compile", "--ignore-requires-python"],
    imports: "import adk_agent_sim.plugin, adk_sim_server.services.simulator_service",
};

/// Benchmarks that others published, whose tools worlds play.
pub(crate) const BENCHMARKS: Environment = Environment {
    name: "python benchmarks",
    folder: "python/benchmarks",
    requirements: "python/requirements/benchmarks.txt",
    cost: "a few seconds, 110 MB",
    shares: None,
    pip: LOCKED,
    imports: "import bfcl_eval, mpmath, pydantic, toml, yaml; from importlib.util import find_spec; assert find_spec('inspect_evals')",
};

/// Ray, over whose nodes runs are spread.
pub(crate) const RAY: Environment = Environment {
    name: "python ray",
    folder: "python/ray",
    requirements: "python/requirements/ray.txt",
    cost: "half a minute or more, 300 MB",
    shares: None,
    pip: LOCKED,
    imports: "import httpx, pytest, ray",
};

/// What people analyse runs with.
pub(crate) const ANALYSIS: Environment = Environment {
    name: "python analysis",
    folder: "python/analysis",
    requirements: "python/requirements/analysis.txt",
    cost: "a few seconds, 270 MB",
    shares: None,
    pip: LOCKED,
    imports: "import duckdb, polars, pytest",
};

/// mdBook, which is a program that somebody put into a wheel: nothing is compiled for it.
pub(crate) const BOOK: Environment = Environment {
    name: "mdbook",
    folder: "python/book",
    requirements: "python/requirements/book.txt",
    cost: "a few seconds, 20 MB",
    shares: None,
    pip: LOCKED,
    imports: "pass",
};

/// For requirement files that name everything: nothing is left to resolve, and only what is imported gets compiled.
const LOCKED: &[&str] = &["--no-deps", "--no-compile"];

/// One virtual environment.
#[derive(Debug)]
pub(crate) struct Environment {
    name: &'static str,
    /// Below cargo's target directory.
    folder: &'static str,
    /// Relative to the workspace's root.
    requirements: &'static str,
    cost: &'static str,
    /// Another environment whose packages this one sees behind its own.
    shares: Option<&'static Environment>,
    /// How pip is to read the requirements.
    pip: &'static [&'static str],
    /// A statement that works when the packages are there and fit together.
    imports: &'static str,
}

impl Environment {
    /// A program of the environment: its interpreter, or one that came with a package.
    pub(crate) fn program(&self, workspace: &Workspace, name: &str) -> PathBuf {
        self.path(workspace).join("bin").join(name)
    }

    /// A program of the environment, which finds the others of that environment on PATH.
    pub(crate) fn command(&self, workspace: &Workspace, name: &str) -> Command {
        let program = self.program(workspace, name);
        let mut folders: Vec<PathBuf> = program.parent().map(Path::to_owned).into_iter().collect();
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let mut command = child::outside_cargo(Command::new(program));
        // A folder whose name has a colon cannot be on PATH; without it, only what is asked for by name is missed.
        if let Ok(path) = env::join_paths(folders) {
            command.env("PATH", path);
        }
        command
    }

    fn path(&self, workspace: &Workspace) -> PathBuf {
        workspace.target.join(self.folder)
    }

    fn python(&self, workspace: &Workspace) -> PathBuf {
        self.program(workspace, "python")
    }

    fn stamp(&self, workspace: &Workspace) -> PathBuf {
        self.path(workspace).join("requirements.stamp")
    }

    /// What the stamp has to say. An environment that sees another one's packages is as old as both.
    fn wanted(&self, workspace: &Workspace) -> Result<String, Failure> {
        let shared = self.shares.map_or(Ok(String::new()), |shared| shared.wanted(workspace))?;
        Ok(read(&workspace.root.join(self.requirements))? + &shared)
    }

    fn install(&self, workspace: &Workspace) -> Result<(), Failure> {
        let wanted = self.wanted(workspace)?;
        let python = self.python(workspace);
        let stamp = self.stamp(workspace);
        // An interpreter that was there can be gone: a venv only links to the one it was made with.
        if is_stamped(&stamp, &wanted) && child::read(Command::new(&python).args(["-c", "pass"])).is_ok() {
            println!("{}: up to date", self.name);
            return Ok(());
        }

        check_python()?;
        let folder = self.path(workspace);
        println!("{}: installing into {} ({})", self.name, folder.display(), self.cost);
        remove(&folder)?;
        // Packages of one Python cannot be seen from another.
        let maker = self.shares.map_or_else(|| "python3".into(), |shared| shared.python(workspace));
        expect_success(Command::new(maker).args(["-m", "venv"]).arg(&folder))?;
        if let Some(shared) = self.shares {
            let link = site_packages(&folder)?.join("shared.pth");
            write(&link, &site_packages(&shared.path(workspace))?.to_string_lossy())?;
        }
        let mut install = pip(&python, "install");
        install.args(self.pip).arg("--requirement").arg(workspace.root.join(self.requirements));
        expect_success(&mut install).map_err(needs_index)?;
        child::read(Command::new(&python).args(["-c", self.imports])).map_err(|failure| {
            failure.hint(format!("{} does not name all that its packages import", self.requirements))
        })?;
        write(&stamp, &wanted)
    }
}

/// Installs every environment, and keeps what the wheel asks for.
pub(super) fn install(workspace: &Workspace) -> Result<(), Failure> {
    // pip keeps one core busy, so two side by side take half as long.
    thread::scope(|scope| {
        let others = scope.spawn(|| {
            let done = ORACLE.install(workspace).and_then(|()| ADK_OLDEST.install(workspace));
            let done = done.and_then(|()| BENCHMARKS.install(workspace));
            done.and_then(|()| ANALYSIS.install(workspace)).and_then(|()| RAY.install(workspace))
        });
        let newest = install_published(workspace);
        let others = others.join().unwrap_or_else(|_| Err(Failure::new("a thread of this chore panicked")));
        newest.and(others)
    })?;
    install_book(workspace)?;
    fill_wheelhouse(workspace)
}

pub(super) fn install_published(workspace: &Workspace) -> Result<(), Failure> {
    ADK.install(workspace)?;
    PUBLISHED.install(workspace)
}

/// What builds the wheel, and what the wheel asks for.
pub(super) fn install_wheel(workspace: &Workspace) -> Result<(), Failure> {
    ADK.install(workspace)?;
    fill_wheelhouse(workspace)
}

pub(super) fn install_book(workspace: &Workspace) -> Result<(), Failure> {
    BOOK.install(workspace)
}

/// The packages that our wheel asks for, as files: what installs it needs no index.
pub(crate) fn wheelhouse(workspace: &Workspace) -> PathBuf {
    workspace.target.join("python/wheelhouse")
}

fn fill_wheelhouse(workspace: &Workspace) -> Result<(), Failure> {
    let requirements = workspace.root.join("python/requirements/wheel.txt");
    let wanted = read(&requirements)?;
    let folder = wheelhouse(workspace);
    let stamp = folder.join("requirements.stamp");
    if is_stamped(&stamp, &wanted) {
        println!("python wheelhouse: up to date");
        return Ok(());
    }
    println!("python wheelhouse: downloading into {}", folder.display());
    remove(&folder)?;
    let mut download = pip(&ADK.python(workspace), "download");
    download.args(["--no-deps", "--only-binary", ":all:", "--dest"]).arg(&folder);
    download.arg("--requirement").arg(&requirements);
    expect_success(&mut download).map_err(needs_index)?;
    write(&stamp, &wanted)
}

fn pip(python: &Path, verb: &str) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", verb, "--quiet", "--no-input", "--disable-pip-version-check"]);
    pip
}

fn needs_index(failure: Failure) -> Failure {
    failure
        .hint("pip needs a package index it can reach; check the network and pip's settings, then run again")
}

/// Where an environment keeps its packages: `lib/pythonX.Y/site-packages`.
fn site_packages(environment: &Path) -> Result<PathBuf, Failure> {
    let lib = environment.join("lib");
    let found = entries(&lib).into_iter().map(|each| each.join("site-packages")).find(|each| each.is_dir());
    let found = found.and_then(|folder| fs::canonicalize(folder).ok());
    found.ok_or_else(|| Failure::new(format!("there is no `site-packages` below `{}`", lib.display())))
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
