//! `rehearse serve`.

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use rehearsal_core::SystemClock;
use rehearsal_server::{Server, ServerConfig};
use rehearsal_store::StoreRef;

use crate::error::CommandError;
use crate::output;
use crate::place::{self, Place};
use crate::signals::Signals;
use crate::token::{self, Token};

/// Threads for what waits for the disk. The store reads with a few connections; more threads than that only cost memory.
const BLOCKING_THREADS: usize = 8;

/// Serve sessions that agents elsewhere play, and the people who answer them.
///
/// Agents stop at each model call and wait here for a person; nothing they say or are told is lost. Everything is kept
/// in the store, so the server can be ended at any moment and started again: agents reconnect and get their answers.
///
/// HTTP and gRPC share one port, on loopback unless told otherwise. Every call needs the token that the first start
/// makes; `.rehearsal/token` has it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse serve
  rehearse serve --port 0 --store runs/team.db
  rehearse serve --store postgres://rehearsal@db.internal/rehearsal --host 0.0.0.0 --token-file /run/secrets/rehearsal

Exit codes: 0 it was ended; 2 the set-up is wrong.")]
pub(crate) struct ServeArgs {
    /// The port for HTTP and gRPC; 0 takes any that is free
    #[arg(long, value_name = "N", default_value_t = 4200)]
    port: u16,
    /// The address to listen on. Anything but loopback needs `--token-file` or `REHEARSAL_TOKEN`
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,
    #[command(flatten)]
    place: Place,
    /// Also listen on this loopback port for the published simulator plugin, which sends no token: whoever can reach
    /// it, every program on this machine, can read and answer
    #[arg(long, value_name = "N")]
    grpc_port: Option<u16>,
    /// The file with the token, instead of one that is made; `REHEARSAL_TOKEN` does the same
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// A name under which the server is called, besides localhost; calls under other names are refused
    #[arg(long = "allow-host", value_name = "NAME")]
    names: Vec<String>,
    /// How long an agent may be gone before its cue counts as abandoned, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    grace: u32,
    /// How much to log, such as `info` or `rehearsal_server=debug`
    #[arg(long, value_name = "FILTER", default_value = "warn", env = "REHEARSAL_LOG")]
    log: String,
    /// How to log
    #[arg(long, value_name = "FORM", default_value = "text")]
    log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// For people
    Text,
    /// A JSON object a line
    Json,
}

pub(crate) fn run(args: &ServeArgs) -> Result<(), CommandError> {
    crate::memory::give_back();
    log_to_stderr(args)?;
    allow_many_connections();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .build()
        .map_err(|error| CommandError::setup(format_args!("cannot start: {error}")))?;
    runtime.block_on(serve(args))
}

async fn serve(args: &ServeArgs) -> Result<(), CommandError> {
    if args.grpc_port.is_some_and(|grpc| grpc == args.port && grpc != 0) {
        let port = args.port;
        return Err(CommandError::user(format_args!(
            "--port and --grpc-port are both {port}; they must be two: one asks for the token, one does not"
        )));
    }
    let mut signals = Signals::new()
        .map_err(|error| CommandError::setup(format_args!("cannot listen for signals: {error}")))?;
    let store = args.place.open().await?;
    let (server, token) = loop {
        let token = find_token(args)?;
        let server = bind(args, &token, store.clone()).await?;
        // A new token is shown once. So it is kept only when the server is sure to start and to show it.
        if token.keep().map_err(elsewhere)? {
            break (server, token);
        }
    };
    let unknown =
        |error: std::io::Error| CommandError::setup(format_args!("cannot tell where it listens: {error}"));
    let address = server.address().map_err(unknown)?;
    let grpc = server.grpc_address().map_err(unknown)?;
    announce(address, grpc, &token, &store.place());
    server
        .serve(async {
            signals.next().await;
        })
        .await;
    output::message("Ended; everything is kept.");
    Ok(())
}

async fn bind(args: &ServeArgs, token: &Token, store: StoreRef) -> Result<Server, CommandError> {
    let config = ServerConfig {
        host: args.host,
        port: args.port,
        grpc_port: args.grpc_port,
        token: token.text.clone(),
        ended_visits: Some(place::token_file().with_file_name("ended-visits")),
        names: args.names.clone(),
        grace: Duration::from_secs(args.grace.into()),
    };
    Server::bind(config, store, Arc::new(SystemClock)).await.map_err(CommandError::setup)
}

/// Each connection is an open file, and the system's usual bound is far below the server's own.
fn allow_many_connections() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Where it may not be raised, fewer connections are taken.
        let _as_before = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// The token: given, kept from an earlier start, or a new one.
fn find_token(args: &ServeArgs) -> Result<Token, CommandError> {
    if let Some(given) = token::given(args.token_file.as_deref())? {
        return Ok(given);
    }
    if !args.host.is_loopback() {
        return Err(CommandError::user(format_args!(
            "--host {} can be reached from other machines, so the token must be given: write one into a file and name it \
             with --token-file, or set REHEARSAL_TOKEN",
            args.host
        )));
    }
    token::kept_or_new(&place::token_file()).map_err(elsewhere)
}

/// Why a token cannot be kept here, and what to do.
fn elsewhere(why: CommandError) -> CommandError {
    why.hint(format_args!(
        "the token is kept in the working folder; start the server in another one, or give it a token: --token-file \
         FILE, or {}",
        token::VARIABLE
    ))
}

fn announce(address: SocketAddr, grpc: Option<SocketAddr>, token: &Token, store: &str) {
    let query = if token.is_new { format!("/?token={}", token.text) } else { String::new() };
    output::data(&format!("Rehearsal listens on http://{address}{query}"));
    match &token.file {
        Some(file) if token.is_new => output::data(&format!("The token is kept in {}", shown(file))),
        Some(file) => output::data(&format!("The token is in {}", shown(file))),
        None => {}
    }
    output::data(&format!("Everything is kept in {store}"));
    if let Some(grpc) = grpc {
        output::data(&format!(
            "gRPC without a token on {grpc}: every program on this machine can read and answer there (--grpc-port)"
        ));
    }
}

fn shown(path: &Path) -> std::path::Display<'_> {
    path.display()
}

fn log_to_stderr(args: &ServeArgs) -> Result<(), CommandError> {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_new(&args.log).map_err(|error| {
        CommandError::user(format_args!(
            "--log {}: {error}; try `info` or `rehearsal_server=debug`",
            args.log
        ))
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| CommandError::internal(format_args!("cannot log: {error}")))
}
