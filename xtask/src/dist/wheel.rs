//! The wheel: the Python package with the program inside.

use std::path::{Path, PathBuf};

use super::{Built, Profile, for_release};
use crate::failure::Failure;
use crate::setup::{self, ADK, expect_success};
use crate::workspace::Workspace;

/// Packs the wheel around what is already built.
pub(super) fn make(workspace: &Workspace, built: &Built, to: &Path) -> Result<PathBuf, Failure> {
    let mut maturin = ADK.command(workspace, "maturin");
    maturin.current_dir(workspace.root.join("python"));
    // With the options of the build before, maturin asks cargo for what is there, and only packs it.
    maturin
        .args(["build", "--locked", "--strip", "false", "--features", crate::test::RELEASED, "--out"])
        .arg(to);
    match built.profile {
        Profile::Dev => {
            maturin.args(["--profile", "dev", "--auditwheel", "skip", "--compression-method", "stored"]);
        }
        Profile::Release if cfg!(target_os = "linux") => {
            // What is linked statically runs wherever the oldest of these do.
            maturin.args(["--auditwheel", "skip", "--compatibility", "manylinux2014"]);
        }
        Profile::Release => {}
    }
    for_release(&mut maturin, built.profile)?;
    let before = setup::entries(to);
    expect_success(&mut maturin)?;
    let made = setup::entries(to).into_iter().find(|file| !before.contains(file));
    made.ok_or_else(|| Failure::new("maturin built no wheel"))
}
