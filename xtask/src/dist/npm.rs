//! The npm packages: one that people name, and one for each system that has the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{Built, copy, node_system, read_json};
use crate::failure::Failure;
use crate::setup::{self, expect_success};
use crate::workspace::Workspace;

/// Where there is a program for.
const SYSTEMS: [(&str, &str); 4] =
    [("linux", "x64"), ("linux", "arm64"), ("darwin", "x64"), ("darwin", "arm64")];

/// Packs both packages; gives their files.
pub(super) fn make(
    workspace: &Workspace,
    built: &Built,
    version: &str,
    to: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let (os, cpu) = node_system()?;
    let work = workspace.target.join("xtask/npm");
    setup::remove(&work)?;
    let sources = workspace.root.join("npm");
    let name = |os: &str, cpu: &str| format!("@agent-rehearsal/{os}-{cpu}");

    let system = work.join("system");
    let mut package = read_json(&sources.join("platform/package.json"))?;
    package["name"] = json!(name(os, cpu));
    package["version"] = json!(version);
    package["os"] = json!([os]);
    package["cpu"] = json!([cpu]);
    copy(&built.program, &system.join("bin/rehearse"))?;
    copy(&sources.join("platform/README.md"), &system.join("README.md"))?;
    finish(workspace, &package, &system)?;

    let named = work.join("named");
    let library = setup::compile_library(workspace)?;
    let mut package = read_json(&library.join("package.json"))?;
    if let Some(keys) = package.as_object_mut() {
        // What it is made and tried with is of no use to those who install it; and only what is packed here, with
        // the programs that belong to it, is published.
        keys.retain(|key, _| !matches!(key.as_str(), "private" | "scripts" | "devDependencies"));
    }
    package["version"] = json!(version);
    for (os, cpu) in SYSTEMS {
        package["optionalDependencies"][name(os, cpu)] = json!(version);
    }
    for file in ["README.md", "bin/rehearse.js"] {
        copy(&library.join(file), &named.join(file))?;
    }
    for file in setup::entries(&library.join("dist")) {
        copy(&file, &named.join("dist").join(file.file_name().unwrap_or_default()))?;
    }
    finish(workspace, &package, &named)?;

    let before = setup::entries(to);
    for folder in [&system, &named] {
        // Nothing of theirs runs, here or where they are installed.
        let mut npm = Command::new("npm");
        npm.args(["pack", "--silent", "--ignore-scripts", "--no-update-notifier", "--pack-destination"])
            .arg(to);
        expect_success(npm.current_dir(folder))?;
    }
    Ok(setup::entries(to).into_iter().filter(|file| !before.contains(file)).collect())
}

fn finish(workspace: &Workspace, package: &Value, folder: &Path) -> Result<(), Failure> {
    copy(&workspace.root.join("LICENSE"), &folder.join("LICENSE"))?;
    setup::write(&folder.join("package.json"), &format!("{package:#}\n"))
}
