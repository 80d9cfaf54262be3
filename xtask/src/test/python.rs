//! The steps that run Python: the package, the plugin that others published, and worlds over what others wrote.

use std::path::Path;
use std::process::Command;

use super::counts::Counts;
use super::parallel::{self, Job};
use super::stage::Stage;
use crate::failure::Failure;
use crate::setup::{ADK, ADK_OLDEST, ANALYSIS, BENCHMARKS, Environment, PUBLISHED, RAY};

/// Python beside the package: the tests that speak to us through other people's software.
const TESTS: &str = "tests";

/// Python that the program brings along.
const WORKER: &str = "crates/rehearsal-scenario/src/play/checks/worker.py";

/// Format, lints, types, and the tests with the newest and the oldest Google ADK.
pub(super) fn package(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let folder = stage.folder("python", "pyproject.toml")?;
    stage.folder("python", "tests")?;
    stage.binary()?;
    let root = &stage.workspace.root;

    let ruff = |args: &[&str]| {
        let mut ruff = stage.program(&ADK, "ruff");
        ruff.current_dir(&folder).args(args).args(["--no-cache", "--quiet", "."]);
        ruff
    };
    // Python beside the package keeps to the package's rules.
    let beside = |args: &[&str]| {
        let mut ruff = stage.program(&ADK, "ruff");
        ruff.current_dir(root).args(args).args(["--no-cache", "--quiet", "--config"]);
        ruff.arg(folder.join("pyproject.toml")).arg(TESTS).arg(WORKER);
        ruff
    };
    let mut pyright = stage.program(&ADK, "pyright");
    pyright.current_dir(&folder).arg("--pythonpath").arg(ADK.program(stage.workspace, "python"));

    let mut counts = parallel::run(vec![
        vec![
            Job::check("ruff format", ruff(&["format", "--check"])),
            Job::check("ruff check", ruff(&["check"])),
            Job::check("ruff format, tests beside the package", beside(&["format", "--check"])),
            Job::check("ruff check, tests beside the package", beside(&["check"])),
            Job::check("pyright", pyright),
        ],
        vec![Job::pytest("pytest, google-adk 1.21, side by side", side_by_side(stage, &ADK_OLDEST, &folder))],
    ])?;
    let newest = Job::pytest("pytest, google-adk 2, side by side", side_by_side(stage, &ADK, &folder));
    counts.add(parallel::run(vec![vec![newest]])?);
    for (name, environment) in [("pytest, google-adk 1.21", &ADK_OLDEST), ("pytest, google-adk 2", &ADK)] {
        let mut alone = pytest(stage, environment, &folder);
        alone.args(ALONE);
        counts.add(parallel::run(vec![vec![Job::pytest(name, alone)]])?);
    }
    Ok(counts)
}

/// The tests of faults: they keep many processes busy, and wait for each of them only so long.
const ALONE: [&str; 2] = ["tests/test_faults.py", "tests/test_program.py"];

/// All other tests, those of two files at once.
fn side_by_side(stage: &Stage<'_>, environment: &Environment, folder: &Path) -> Command {
    let mut pytest = pytest(stage, environment, folder);
    pytest.args(["-n", "2", "--dist", "loadfile"]);
    pytest.args(ALONE.iter().flat_map(|file| ["--ignore", file]));
    pytest
}

/// The published plugin, unmodified, against our server.
pub(super) fn published(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let folder = stage.folder("tests/published", "test_published_plugin.py")?;
    stage.binary()?;
    parallel::run(vec![vec![Job::pytest(
        "pytest, published plugin 0.1.22",
        pytest(stage, &PUBLISHED, &folder),
    )]])
}

/// Benchmarks and MCP servers that others published, as worlds.
pub(super) fn worlds(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let folder = stage.folder("tests/worlds", "test_tau2.py")?;
    stage.binary()?;
    let mut pytest = pytest(stage, &ADK, &folder);
    pytest.env("REHEARSAL_BENCHMARKS_PYTHON", BENCHMARKS.program(stage.workspace, "python"));
    parallel::run(vec![vec![Job::pytest("pytest, worlds that others wrote", pytest)]])
}

/// Runs that are spread over the nodes of a Ray cluster, one of which dies.
pub(super) fn ray(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let folder = stage.folder("tests/ray", "test_spread.py")?;
    stage.binary()?;
    let mut pytest = pytest(stage, &RAY, &folder);
    // The nodes, too, find the package here.
    pytest.env("PYTHONPATH", stage.workspace.root.join("python"));
    parallel::run(vec![vec![Job::pytest("pytest, a cluster of Ray", pytest)]])
}

/// The tables of runs, read with the engines that people have.
pub(super) fn analysis(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let folder = stage.folder("tests/analysis", "test_tables.py")?;
    stage.binary()?;
    parallel::run(vec![vec![Job::pytest("pytest, DuckDB and Polars", pytest(stage, &ANALYSIS, &folder))]])
}

fn pytest(stage: &Stage<'_>, environment: &Environment, folder: &Path) -> Command {
    let mut pytest = stage.program(environment, "python");
    stage.equip(&mut pytest);
    pytest.current_dir(folder).args([
        "-m",
        "pytest",
        "--color=no",
        "--durations=5",
        "-p",
        "no:cacheprovider",
    ]);
    // A test that waits for ever shows where, and ends the run.
    pytest.args(["-o", "faulthandler_timeout=900", "-o", "faulthandler_exit_on_timeout=true"]);
    pytest
}
