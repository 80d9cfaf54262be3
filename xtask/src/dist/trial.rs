//! Each of them installed where nothing can be compiled, and used there for the first time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cannot;
use crate::child;
use crate::failure::Failure;
use crate::server::Server;
use crate::setup::{self, ADK, expect_success};
use crate::workspace::Workspace;

/// All that is on PATH there.
const THERE: [&str; 9] = ["sh", "cat", "mktemp", "rm", "sleep", "tar", "gzip", "node", "npm"];

/// What must not be: with one of these something could be compiled.
const NOT_THERE: [&str; 9] = ["cargo", "rustc", "cc", "gcc", "g++", "clang", "ld", "make", "maturin"];

/// A scenario, and a program that runs it against a function of its own, through either kind of module.
const SCENARIO: &str = "\
name: Greets
description: Somebody says hello
environment: {type: local}
agent: {tools: []}
run:
  - input: hello
    evaluations: [{type: string_contains, value: hello yourself}]
judgment: {strategy: all_pass}
";
const LIBRARY: &str = "\
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { runScenario } from 'agent-rehearsal';

const required = createRequire(import.meta.url)('agent-rehearsal');
assert.equal(required.runScenario, runScenario);
const agent = (message) => `${message} yourself`;
const result = await runScenario('greets.scenario.yaml', { agent });
assert(result.passed, result.report());
";

/// A place with little in it.
#[derive(Debug)]
pub(super) struct Trial {
    folder: PathBuf,
    path: PathBuf,
    version: String,
}

impl Trial {
    pub(super) fn new(workspace: &Workspace, version: String) -> Result<Self, Failure> {
        let folder = workspace.target.join("xtask/trial");
        setup::remove(&folder)?;
        let path = folder.join("path");
        fs::create_dir_all(&path).map_err(|error| cannot(&path, &error))?;
        for name in THERE {
            let real = found(name)?;
            let link = path.join(name);
            symlink(real, &link).map_err(|error| cannot(&link, &error))?;
        }
        let trial = Self { folder, path, version };
        for name in NOT_THERE {
            let mut look = trial.command("sh");
            if child::read(look.args(["-c", "command -v \"$1\"", "sh", name])).is_ok() {
                return Err(Failure::new(format!("`{name}` is where nothing may be compiled")));
            }
        }
        Ok(trial)
    }

    /// Unpacks the archive; gives the program.
    pub(super) fn archive(&self, archive: &Path) -> Result<PathBuf, Failure> {
        let folder = self.fresh("archive")?;
        expect_success(self.command("tar").arg("-xzf").arg(archive).arg("-C").arg(&folder))?;
        let unpacked = setup::entries(&folder).pop();
        unpacked.map(|folder| folder.join("rehearse")).ok_or_else(|| Failure::new("the archive is empty"))
    }

    /// Installs the wheel into an environment that has nothing else, without an index; gives the program.
    pub(super) fn wheel(&self, workspace: &Workspace, wheel: &Path) -> Result<PathBuf, Failure> {
        let folder = self.fresh("wheel")?;
        let mut python = ADK.command(workspace, "python");
        python.env("PATH", &self.path).args(["-m", "venv", "--without-pip"]).arg(&folder);
        expect_success(&mut python)?;
        // The environment has no pip of its own: the one we have installs into it.
        let mut install = ADK.command(workspace, "python");
        install.env("PATH", &self.path).args(["-m", "pip", "--python"]).arg(folder.join("bin/python"));
        install.args(["install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]);
        install.args(["--no-index", "--find-links"]).arg(setup::wheelhouse(workspace)).arg(wheel);
        let needs = "what the wheel asks for is in python/requirements/wheel.txt; name there what is missing";
        expect_success(&mut install).map_err(|failure| failure.hint(needs))?;
        // Away from the sources: what is imported is what was installed.
        let mut python = Command::new(folder.join("bin/python"));
        child::read(python.current_dir(&folder).env("PATH", &self.path).args(["-c", "import rehearsal"]))?;
        Ok(folder.join("bin/rehearse"))
    }

    /// Installs the packages without a registry and without their scripts, and has the library run a scenario; gives
    /// the command they bring.
    pub(super) fn npm(&self, packages: &[PathBuf]) -> Result<PathBuf, Failure> {
        let folder = self.fresh("npm")?;
        setup::write(&folder.join("package.json"), "{\"private\": true}\n")?;
        let mut npm = self.command("npm");
        npm.args(["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
        npm.arg("--no-update-notifier");
        expect_success(npm.args(packages).current_dir(&folder))?;
        setup::write(&folder.join("greets.scenario.yaml"), SCENARIO)?;
        setup::write(&folder.join("greets.mjs"), LIBRARY)?;
        child::read(self.command("node").arg("greets.mjs").current_dir(&folder))?;
        Ok(folder.join("node_modules/.bin/rehearse"))
    }

    /// What somebody does first: asks which version it is, makes a scenario, runs it, opens the page.
    pub(super) fn uses(&self, program: &Path) -> Result<(), Failure> {
        let folder = self.fresh("first")?;
        let mut asked = Command::new(program);
        let said = child::read(asked.env("PATH", &self.path).arg("--version"))?;
        expect(said.trim() == format!("rehearse {}", self.version), || format!("it says it is {said:?}"))?;
        let mut init = Command::new(program);
        child::read(init.env("PATH", &self.path).arg("init").arg(&folder))?;
        let server = Server::start(program, &folder, Some(&self.path))?;
        let (status, page) = server.get("/", Some(&server.token))?;
        let script = page.split_once("src=\"/").and_then(|(_, rest)| rest.split_once('"'));
        let (script, _) = script.ok_or_else(|| Failure::new(format!("GET / gives no page:\n{page}")))?;
        expect(status == 200, || format!("GET / gives {status}:\n{page}"))?;
        let (status, _) = server.get(&format!("/{script}"), Some(&server.token))?;
        expect(status == 200, || format!("GET /{script} gives {status}"))?;
        let (status, answer) = server.get("/v1/sessions", None)?;
        expect(status == 401, || format!("GET /v1/sessions without a token gives {status}:\n{answer}"))
    }

    /// A program with only what is there.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.path.join(name));
        command.env_clear().env("PATH", &self.path).env("HOME", &self.folder).env("LANG", "C.UTF-8");
        command
    }

    fn fresh(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(name);
        setup::remove(&folder)?;
        fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
        Ok(folder)
    }
}

fn expect(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(Failure::new(otherwise())) }
}

/// A program on the PATH of this machine.
fn found(name: &str) -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| Failure::new(format!("there is no `{name}` on PATH")))
}
