//! The step that builds the wheel and installs it where there is nothing else.

use std::process::Command;

use super::counts::Counts;
use super::parallel::{self, Job};
use super::stage::Stage;
use crate::child;
use crate::failure::Failure;
use crate::setup::{self, ADK};

/// Builds the wheel from the program that the tests ran, installs it, and asks it who it is.
pub(super) fn check(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let folder = stage.folder("python", "pyproject.toml")?;
    stage.binary()?;
    let wheels = stage.workspace.target.join("python/wheels");
    let fresh = stage.workspace.target.join("python/fresh");
    setup::remove(&wheels)?;
    setup::remove(&fresh)?;

    // With these options maturin asks cargo for what is already built, and only packs it.
    let mut maturin = stage.program(&ADK, "maturin");
    maturin.current_dir(&folder).args(["build", "--profile", "dev", "--locked", "--strip", "false"]);
    maturin.args(["--auditwheel", "skip", "--compression-method", "stored", "--out"]).arg(&wheels);
    let built = child::run(&mut maturin)?.success();
    if !built {
        return Ok(Counts::of_check(false));
    }
    let wheel =
        setup::entries(&wheels).into_iter().find(|path| path.extension().is_some_and(|it| it == "whl"));
    let wheel = wheel.ok_or_else(|| Failure::new("maturin built no wheel"))?;

    // The environment has no pip of its own: the one we have installs into it.
    setup::expect_success(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&fresh))?;
    let mut install = stage.program(&ADK, "python");
    install.args(["-m", "pip", "--python"]).arg(fresh.join("bin/python"));
    install.args(["install", "--quiet", "--disable-pip-version-check", "--no-index", "--find-links"]);
    setup::expect_success(install.arg(setup::wheelhouse(stage.workspace)).arg(&wheel)).map_err(
        |failure| {
            failure.hint(
                "what the wheel asks for is in python/requirements/wheel.txt; name there what is missing",
            )
        },
    )?;

    let fresh_program = |name: &str, args: &[&str]| {
        let mut command = Command::new(fresh.join("bin").join(name));
        // Away from the sources: what is imported is what was installed.
        command.current_dir(&fresh).args(args);
        command
    };
    let mut counts = Counts::of_check(built);
    counts.add(parallel::run(vec![vec![
        Job::check("rehearse --version", fresh_program("rehearse", &["--version"])),
        Job::check("import rehearsal", fresh_program("python", &["-c", "import rehearsal"])),
    ]])?);
    Ok(counts)
}
