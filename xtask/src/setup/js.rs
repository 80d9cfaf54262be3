//! The oracle packages for JavaScript.

use std::process::Command;

use super::{expect_success, is_stamped, read, write};
use crate::child;
use crate::failure::Failure;
use crate::workspace::Workspace;

pub(super) fn install(workspace: &Workspace) -> Result<(), Failure> {
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
