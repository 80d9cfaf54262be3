//! What the page is checked with: its npm packages, and a browser.

use std::path::PathBuf;

use super::{apt_install, npm};
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The browser's program, by the names it has on different systems.
const CHROMIUM: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Installs the packages of `web/` and, where there is none and we may, Chromium.
pub(super) fn install(workspace: &Workspace) -> Result<(), Failure> {
    npm::install(workspace, "web")?;
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
