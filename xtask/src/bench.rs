//! `cargo xtask bench`.

use std::ffi::OsString;
use std::process::{Command, ExitCode, ExitStatus};

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::workspace::Workspace;
use crate::{child, setup};

/// The profile of what people install, which is the one that is measured.
pub(crate) const PROFILE: &str = "released";

/// Run one of the benchmarks, built as what people install is.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Which benchmark to run
    bench: Bench,
    /// Handed on to the benchmark
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Bench {
    /// The simulation loop: scripted model and mocked tools, so that only our own time is measured
    Engine,
    /// The `rehearse` command: how fast it starts, and what conversations cost beside a bare client
    Run,
    /// The page: its size, its first view, an event in a second tab, scrolling through a long session
    Page,
    /// The server: durable appends, answers to many waiting agents and their memory, beside the published server
    Server,
}

impl Bench {
    /// The package and its bench target; nothing for what is measured in a browser.
    fn target(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Engine => Some(("rehearsal", "engine")),
            Self::Run => Some(("rehearsal-cli", "run")),
            Self::Page => None,
            Self::Server => Some(("rehearsal-server", "server")),
        }
    }
}

/// Runs the benchmark and returns its exit code.
pub(crate) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<ExitCode, Failure> {
    let mut cargo = child::cargo();
    cargo.current_dir(&workspace.root);
    let Some((package, target)) = args.bench.target() else { return page(workspace, cargo, &args.args) };
    cargo.args(["bench", "--locked", "--profile", PROFILE, "--package", package, "--bench", target, "--"]);
    if matches!(args.bench, Bench::Server) {
        // The published server's figures stand beside ours.
        setup::install_published(workspace)?;
        cargo.env("REHEARSAL_PUBLISHED_PYTHON", setup::PUBLISHED.program(workspace, "python"));
    }
    Ok(exit_code(child::run(cargo.args(&args.args))?))
}

/// Builds the program and measures its page in a browser.
fn page(workspace: &Workspace, mut cargo: Command, args: &[OsString]) -> Result<ExitCode, Failure> {
    setup::install_web(workspace)?;
    cargo.args([
        "build",
        "--profile",
        PROFILE,
        "--locked",
        "--package",
        "rehearsal-cli",
        "--bin",
        "rehearse",
    ]);
    setup::expect_success(&mut cargo)?;
    let mut node = child::outside_cargo(Command::new("node"));
    node.arg("bench/page.mjs").args(args).current_dir(workspace.root.join("web"));
    node.env("REHEARSAL_BIN", workspace.target.join(PROFILE).join("rehearse"))
        .env("CHROMIUM", setup::chromium()?);
    Ok(exit_code(child::run(&mut node)?))
}

fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}
