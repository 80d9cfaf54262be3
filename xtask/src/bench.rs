//! `cargo xtask bench`.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::workspace::Workspace;
use crate::{child, setup};

/// Run one of the benchmarks, in release mode.
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
    /// The server: durable appends, answers to many waiting agents and their memory, beside the published server
    Server,
}

impl Bench {
    /// The package and its bench target.
    fn target(self) -> (&'static str, &'static str) {
        match self {
            Self::Engine => ("rehearsal", "engine"),
            Self::Run => ("rehearsal-cli", "run"),
            Self::Server => ("rehearsal-server", "server"),
        }
    }
}

/// Runs the benchmark and returns its exit code.
pub(crate) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<ExitCode, Failure> {
    let mut cargo = child::cargo();
    cargo.current_dir(&workspace.root);
    let (package, target) = args.bench.target();
    cargo.args(["bench", "--locked", "--package", package, "--bench", target, "--"]);
    if matches!(args.bench, Bench::Server) {
        // The published server's figures stand beside ours.
        setup::install_published(workspace)?;
        cargo.env("REHEARSAL_PUBLISHED_PYTHON", setup::PUBLISHED.program(workspace, "python"));
    }
    let status = child::run(cargo.args(&args.args))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
