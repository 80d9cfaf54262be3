//! The npm packages that `web/` and `js/` are made of and checked with, and the servers of `tests/worlds/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{expect_success, is_stamped, read, write};
use crate::child;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The folder of the npm package that people name: its launcher, and the library that tests use.
pub(crate) const LIBRARY: &str = "js";

/// The folder of the tests of worlds, with the MCP servers that they start.
pub(crate) const SERVERS: &str = "tests/worlds";

/// Installs what a folder's lock file names.
pub(super) fn install(workspace: &Workspace, name: &str) -> Result<(), Failure> {
    let folder: &Path = &workspace.root.join(name);
    let wanted = read(&folder.join("package-lock.json"))?;
    let stamp = folder.join("node_modules/.package-lock.stamp");
    if is_stamped(&stamp, &wanted) {
        println!("{name}: up to date");
        return Ok(());
    }
    println!("{name}: installing into {name}/node_modules");
    child::read(Command::new("npm").arg("--version"))
        .map_err(|failure| failure.hint("install Node.js 20 or newer, which brings `node` and `npm`"))?;
    // Not `npm ci`: it refuses a lock file that has not the binaries of every other system.
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund"]).current_dir(folder);
    // Playwright would fetch browsers of its own.
    expect_success(npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"))
        .map_err(|failure| failure.hint("npm needs a registry it can reach"))?;
    write(&stamp, &wanted)
}

/// A program of a folder's packages.
pub(crate) fn tool_of(folder: &Path, name: &str) -> Command {
    let mut command = child::outside_cargo(Command::new(folder.join("node_modules/.bin").join(name)));
    command.current_dir(folder);
    command
}

/// Compiles the library of `js/` into its `dist`; gives the folder of the package.
pub(crate) fn compile_library(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.root.join(LIBRARY);
    let mut node = child::outside_cargo(Command::new("node"));
    expect_success(node.arg("scripts/build.mjs").current_dir(&folder))?;
    Ok(folder)
}
