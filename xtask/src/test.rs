//! `cargo xtask test`: all that a change has to pass, in one command.

mod api;
mod counts;
mod js;
mod parallel;
mod python;
mod stage;
mod summary;
mod web;

use std::process::{Command, ExitCode};

use clap::{Args, ValueEnum};

use self::counts::Counts;
pub(crate) use self::stage::{RELEASED, executable};
use self::stage::{Setup, Stage};
use self::summary::Summary;
use crate::failure::Failure;
use crate::workspace::Workspace;
use crate::{book, child, dist, doors};

/// Set up what the tests need, then run every check.
///
/// All steps run even when one fails. The last line is always `N passed, N failed`: each test counts as one,
/// and so does each check that has no tests, such as fmt. A step whose build fails counts as one failed.
///
/// The set-up runs beside the first steps, which do not need it. One throw-away `PostgreSQL` and one build of
/// `rehearse` serve all steps. Tests find them through `REHEARSAL_TEST_POSTGRES` (set it to use a server of your
/// own) and `REHEARSAL_BIN`, and the Python with the oracle packages through `REHEARSAL_ORACLE_PYTHON`; this command
/// sets all three.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Run only this step; may be given several times
    #[arg(long, value_name = "STEP")]
    only: Vec<Step>,
    /// List the steps in the order they run, and do nothing else
    #[arg(long, conflicts_with = "only")]
    list: bool,
}

/// One thing to check. They run in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The code is formatted
    Fmt,
    /// Clippy has nothing to say
    Clippy,
    /// Crates depend only on those below them
    Doors,
    /// The documentation builds without a warning
    Doc,
    /// The book builds, and its links lead somewhere
    Book,
    /// Unit and integration tests
    Test,
    /// The examples in the documentation
    DocTest,
    /// The Python package: format, lints, types, tests with the newest and the oldest Google ADK
    Python,
    /// The plugin that others published plays a session on our server
    Published,
    /// tau2-bench, BFCL and MCP servers that others wrote are worlds
    Worlds,
    /// A run is spread over the nodes of a Ray cluster, one of which dies
    Ray,
    /// `DuckDB` and Polars read the tables that runs are exported to
    Analysis,
    /// The server keeps to its `OpenAPI` description, whatever it is asked
    Api,
    /// The page: types, lints, format, unit tests
    Web,
    /// The npm package: types, lints, tests with Vitest and Jest
    Js,
    /// The page in a browser, with the real server and real agents
    Browser,
    /// What people install: each form of it, where nothing can be compiled
    Dist,
}

/// Runs the steps; the exit code is 0 when something ran and nothing failed.
pub(crate) fn run(workspace: &Workspace, args: &TestArgs) -> ExitCode {
    if args.list {
        return list();
    }
    let chosen = |step: &&Step| args.only.is_empty() || args.only.contains(step);
    let steps: Vec<Step> = Step::value_variants().iter().filter(chosen).copied().collect();

    let mut summary = Summary::default();
    let mut stage = Stage::new(workspace);
    let (before, after): (Vec<Step>, Vec<Step>) = steps.into_iter().partition(|step| !step.needs_setup());
    let setup = (!after.is_empty())
        .then(|| if before.is_empty() { Setup::start() } else { Setup::start_aside(workspace) });
    for step in before {
        summary.time(&step.name(), || step.run(&stage));
    }
    if let Some(setup) = setup {
        summary.time("setup", || setup.and_then(Setup::wait).map(|()| Counts::default()));
    }
    if after.iter().any(|step| step.needs_postgres()) {
        summary.time("postgres", || stage.start_postgres().map(|()| Counts::default()));
    }
    for step in after {
        if step.needs_binary() && !stage.has_tried_build() {
            summary.time("build", || stage.build().map(|()| Counts::default()));
        }
        summary.time(&step.name(), || step.run(&stage));
    }
    drop(stage);
    println!("\n{summary}");
    if summary.is_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn list() -> ExitCode {
    for step in Step::value_variants() {
        let value = step.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help()).map(ToString::to_string);
        println!("{:<9} {}", step.name(), help.unwrap_or_default());
    }
    ExitCode::SUCCESS
}

impl Step {
    /// The name as typed after `--only`.
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn needs_setup(self) -> bool {
        !matches!(self, Self::Fmt | Self::Clippy | Self::Doors | Self::Doc)
    }

    fn needs_postgres(self) -> bool {
        matches!(self, Self::Test | Self::DocTest | Self::Python)
    }

    fn needs_binary(self) -> bool {
        matches!(
            self,
            Self::Python
                | Self::Published
                | Self::Worlds
                | Self::Ray
                | Self::Analysis
                | Self::Api
                | Self::Js
                | Self::Browser
                | Self::Dist
        )
    }

    fn run(self, stage: &Stage<'_>) -> Result<Counts, Failure> {
        let mut cargo = child::cargo();
        cargo.current_dir(&stage.workspace.root);
        match self {
            Self::Fmt => check(cargo.args(["fmt", "--all", "--check"])),
            Self::Clippy => check(
                cargo
                    .args(["clippy", "--workspace", "--all-targets", "--all-features", "--locked"])
                    .args(["--", "-D", "warnings"]),
            ),
            Self::Doors => Ok(Counts::of_check(doors::run(stage.workspace)? == ExitCode::SUCCESS)),
            Self::Doc => {
                let flags = std::env::var("RUSTDOCFLAGS").unwrap_or_default();
                cargo.env("RUSTDOCFLAGS", format!("{flags} -D warnings").trim_start());
                check(cargo.args(["doc", "--workspace", "--no-deps", "--locked"]))
            }
            Self::Book => Ok(Counts::of_check(book::build(stage.workspace)?)),
            Self::Test => {
                let targets = ["--lib", "--bins", "--tests", "--examples"];
                cargo_test(cargo.args(["test", "--workspace"]).args(targets), stage)
            }
            Self::DocTest => cargo_test(cargo.args(["test", "--workspace", "--doc"]), stage),
            Self::Python => python::package(stage),
            Self::Published => python::published(stage),
            Self::Worlds => python::worlds(stage),
            Self::Ray => python::ray(stage),
            Self::Analysis => python::analysis(stage),
            Self::Api => api::check(stage),
            Self::Web => web::check(stage),
            Self::Js => js::check(stage),
            Self::Browser => web::browser(stage),
            Self::Dist => packed(stage),
        }
    }
}

/// Every form of what people install, around the program that the tests ran.
fn packed(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let program = stage.binary()?.to_owned();
    let tried = dist::check(stage.workspace, &dist::Built { program, profile: dist::Profile::Dev })?;
    Ok(Counts { passed: tried, ..Counts::default() })
}

/// A program that has no tests of its own to count: one check.
fn check(command: &mut Command) -> Result<Counts, Failure> {
    Ok(Counts::of_check(child::run(command)?.success()))
}

fn cargo_test(cargo: &mut Command, stage: &Stage<'_>) -> Result<Counts, Failure> {
    cargo.args(["--locked", "--no-fail-fast"]);
    stage.equip(cargo);
    let mut counts = Counts::default();
    let status = child::tee(cargo, |line| {
        if let Some(more) = Counts::parse_rust(line) {
            counts.add(more);
        }
    })?;
    Ok(counts.of_program(status.success()))
}
