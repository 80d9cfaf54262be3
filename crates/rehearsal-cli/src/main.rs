//! The `rehearse` command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod commands;
mod exit;
mod files;
mod output;

/// Rehearse AI agents before they meet the world.
#[derive(Debug, Parser)]
#[command(name = "rehearse", version, propagate_version = true, disable_help_subcommand = true)]
#[command(
    after_help = "Exit codes: 0 all passed, 1 something did not pass, 2 the input or set-up is wrong, 130 interrupted."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(commands::check::CheckArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Command::Check(args) => commands::check::run(&args),
    }
}
