//! The project's own chores: set-up, test, doors, bench, book, dist.
//!
//! Each command is one file, named for it. Exit codes are those of the product: 0 passed, 1 not passed, 2 bad
//! input or set-up.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a chore speaks to the person who runs it")]

mod bench;
mod book;
mod child;
mod dist;
mod doors;
mod failure;
mod kept;
mod postgres;
mod server;
mod setup;
mod test;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// The chores of the Rehearsal workspace.
///
/// `cargo xtask test` is what a change has to pass; it sets up what it needs.
///
/// Exit codes: 0 passed, 1 not passed, 2 bad input or set-up.
#[derive(Debug, Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Install what the tests need: packages for Python and JavaScript, and `PostgreSQL`.
    ///
    /// Quick when all is there. The Python packages go into environments below cargo's target directory: those of
    /// the oracles into `oracle/venv`, at the versions of `oracle/python/requirements.txt`; the Google ADK, newest and
    /// oldest, the published plugin, and benchmarks that worlds play into `python/`, at the versions of
    /// `python/requirements/`. The JavaScript packages go into `oracle/js/node_modules` and `tests/worlds/node_modules`,
    /// at the versions of the `package-lock.json` beside them. `PostgreSQL` is installed only where there is none, only
    /// on Debian and its kin, and only by root.
    ///
    /// Needs `python3` (3.11 or newer, with venv), `node` and `npm`.
    Setup,
    Test(test::TestArgs),
    /// Check that crates depend only on those below them, and that modules of the large ones keep their walls.
    ///
    /// The tables of who may use whom are in `xtask/src/doors.rs`. Dev-dependencies are free, except on a program.
    Doors,
    Bench(bench::BenchArgs),
    /// Build the documentation as a book, and follow its links.
    ///
    /// The pages are those of `docs/SUMMARY.md`, in its order; the book is in `book/html` below cargo's target
    /// directory. Installs mdBook, at the version of `python/requirements/book.txt`.
    Book,
    Dist(dist::DistArgs),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = Workspace::load().and_then(|workspace| match args.command {
        Command::Setup => setup::run(&workspace),
        Command::Test(args) => Ok(test::run(&workspace, &args)),
        Command::Doors => doors::run(&workspace),
        Command::Bench(args) => bench::run(&workspace, &args),
        Command::Book => book::run(&workspace),
        Command::Dist(args) => dist::run(&workspace, &args),
    });
    outcome.unwrap_or_else(|failure| {
        eprintln!("{failure}");
        ExitCode::from(2)
    })
}
