//! What the page is checked with: its npm packages, and a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{apt_install, expect_success, is_stamped, read, write};
use crate::child;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The browser's program, by the names it has on different systems.
const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Installs the packages of `web/` and, where there is none and we may, Chromium.
pub(super) fn install(workspace: &Workspace) -> Result<(), Failure> {
    packages(workspace)?;
    if let Ok(found) = chromium() {
        println!("chromium: found at {}", found.display());
        return Ok(());
    }
    println!("chromium: installing the package `chromium`");
    apt_install("chromium").and_then(|()| chromium().map(|_| ())).map_err(|failure| {
        failure.hint("install Chromium (Debian: apt install chromium), or name one in CHROMIUM=/path/to/it")
    })
}

/// The browser: the one that CHROMIUM names, or one on PATH.
pub(crate) fn chromium() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        return Ok(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = CHROMIUM
        .iter()
        .find_map(|name| folders.iter().map(|each| each.join(name)).find(|file| file.is_file()));
    found.ok_or_else(|| Failure::new("there is no Chromium on PATH"))
}

fn packages(workspace: &Workspace) -> Result<(), Failure> {
    let folder: &Path = &workspace.root.join("web");
    let wanted = read(&folder.join("package-lock.json"))?;
    let stamp = folder.join("node_modules/.package-lock.stamp");
    if is_stamped(&stamp, &wanted) {
        println!("web: up to date");
        return Ok(());
    }
    println!("web: installing into web/node_modules");
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
