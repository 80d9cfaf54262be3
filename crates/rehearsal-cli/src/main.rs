//! The `rehearse` command.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::error::CommandError;

mod checkout;
mod client;
mod commands;
mod complete;
mod digest;
mod error;
mod exit;
mod files;
mod filter;
mod findings;
mod load;
mod memory;
mod output;
mod place;
mod process;
mod project;
mod rows;
mod shelf;
mod signals;
mod times;
mod token;
mod variables;
mod words;

/// Conversations are many small allocations; this allocator takes a tenth off the CPU of a run.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The hidden command that evaluates JavaScript in a process of its own.
const JS_WORKER: &str = "__js-worker";

/// The hidden command that runs another one and ends all that came of it.
const SUPERVISOR: &str = "__supervise";

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
    Run(Box<commands::run::RunArgs>),
    Matrix(Box<commands::run::matrix::MatrixArgs>),
    Plan(commands::plan::PlanArgs),
    Merge(Box<commands::run::merge::MergeArgs>),
    Check(Box<commands::check::CheckArgs>),
    Score(Box<commands::score::ScoreArgs>),
    Serve(Box<commands::serve::ServeArgs>),
    Runs(commands::runs::RunsArgs),
    Report(commands::report::ReportArgs),
    Sessions(Box<commands::sessions::SessionsArgs>),
    Gc(commands::gc::GcArgs),
    Export(Box<commands::export::ExportArgs>),
    Import(commands::import::ImportArgs),
    Eval(Box<commands::run::eval::EvalArgs>),
    Init(commands::init::InitArgs),
    Config(commands::config::ConfigArgs),
    Personas(commands::personas::PersonasArgs),
    Schema(commands::schema::SchemaArgs),
    Completions(commands::completions::CompletionsArgs),
    Man(commands::man::ManArgs),
    #[command(name = JS_WORKER, hide = true)]
    JsWorker,
}

fn main() -> ExitCode {
    // Its words are another program's, and it starts before every one of those.
    #[cfg(target_os = "linux")]
    if std::env::args_os().nth(1).is_some_and(|word| word == SUPERVISOR) {
        return match rehearsal_world::environment::supervise_main(std::env::args_os().skip(2)) {
            Ok(()) => exit::PASSED,
            Err(_) => exit::not_passed(),
        };
    }
    clap_complete::CompleteEnv::with_factory(Cli::command).complete();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misused(&error),
    };
    match dispatch(cli.command) {
        Ok(code) => code,
        Err(error) => {
            if !error.is_shown() {
                output::message(&error.to_string());
            }
            error.exit_code()
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode, CommandError> {
    let done = match command {
        Command::Run(mut args) => return commands::run::run(&mut args),
        Command::Matrix(args) => return commands::run::matrix::run(*args),
        Command::Config(args) => commands::config::run(&args),
        Command::Eval(args) => return commands::run::eval::run(&args),
        Command::Merge(args) => return commands::run::merge::run(&args),
        Command::Score(args) => return commands::score::run(&args),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Serve(args) => commands::serve::run(&args),
        Command::Runs(args) => commands::runs::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Sessions(args) => commands::sessions::run(&args),
        Command::Gc(args) => commands::gc::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Import(args) => commands::import::run(&args),
        Command::Init(args) => commands::init::run(&args),
        Command::Schema(args) => {
            commands::schema::run(&args);
            Ok(())
        }
        Command::Personas(args) => {
            commands::personas::run(&args);
            Ok(())
        }
        Command::Completions(args) => commands::completions::run(&args),
        Command::Man(args) => commands::man::run(&args),
        Command::JsWorker => rehearsal_js::worker_main().map_err(CommandError::internal),
    };
    done.map(|()| exit::PASSED)
}

/// Shows what is wrong with the arguments, or the help that was asked for. What they hold is shown as anything else is:
/// words of a command line may come from somebody else, such as the names of files.
fn misused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A reader that went away is nobody to tell.
        drop(error.print());
        return exit::PASSED;
    }
    let coloured = load::Colour::Auto.for_stream(&std::io::stderr());
    let told = error.render();
    let told = if coloured { told.ansi().to_string() } else { told.to_string() };
    output::message(told.trim_end());
    exit::bad_input()
}
