//! What really runs: tools with an implementation, the processes of command agents, and servers of HTTP agents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt as _};
use rehearsal_agent::{FunctionTool, ToolContext, ToolOutput, ToolRef};
use rehearsal_core::mask::Masker;
use rehearsal_core::{ToolDeclaration, ToolError};
use serde_json::{Value, json};

use super::http_tool::HttpTool;
use super::{describe, program, told};
use rehearsal_world::environment::{Background, Command, Environment};
use rehearsal_world::remote::{Connection, Guard, Launcher};

use crate::file::agent::object;
use crate::filled::filled_command;
use crate::{CommandLine, CompileError, Implementation, Server, ToolDefinition};

/// How long a real tool may take.
pub(super) const TOOL_TIMEOUT: Duration = Duration::from_mins(1);

/// Where programs of an agent run: in the folder of its file, knowing the folder of the run.
#[derive(Clone, Debug)]
pub(crate) struct Workplace {
    pub(crate) folder: Arc<dyn Environment>,
    /// The folder of the scenario's file.
    pub(crate) directory: PathBuf,
    /// The folder of the file that has the agent, where its programs run.
    pub(crate) home: PathBuf,
}

impl Workplace {
    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        variables(&*self.folder, &self.directory)
    }
}

fn variables(folder: &dyn Environment, directory: &Path) -> BTreeMap<String, String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    BTreeMap::from([
        ("REHEARSAL_FOLDER".to_owned(), text(folder.folder())),
        ("REHEARSAL_SCENARIO_DIR".to_owned(), text(directory)),
    ])
}

/// The declaration that the model sees.
pub(crate) fn declaration(tool: &ToolDefinition) -> ToolDeclaration {
    let declaration = ToolDeclaration::new(&tool.name, &tool.description);
    let mut parameters = object(tool.parameters.as_ref());
    if let Value::Object(fields) = &mut parameters {
        fields.entry("type").or_insert_with(|| "object".into());
    }
    let declaration = declaration.parameters(parameters);
    match &tool.output {
        Some(output) => declaration.output(output.clone()),
        None => declaration,
    }
}

/// A tool that is only declared: a mock answers in its place, or nobody does.
pub(crate) fn declared(tool: &ToolDefinition) -> ToolRef {
    let name = tool.name.clone();
    let refuse = move |_: Value, _: ToolContext| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let error = ToolError::new("NotImplemented", format!("tool `{name}` has nothing that could run"));
        futures::future::ready(Err(error)).boxed()
    };
    FunctionTool::raw(declaration(tool), refuse).into()
}

/// A tool that runs for real, if it has an implementation.
pub(crate) fn real(
    tool: &ToolDefinition,
    place: Option<&Workplace>,
    variable: &dyn Fn(&str) -> Option<String>,
    masker: &Masker,
) -> Result<Option<ToolRef>, CompileError> {
    match (&tool.implementation, place) {
        (Some(Implementation::Command(command)), Some(place)) => {
            let command = filled_command(command, variable)?;
            let (mut place, reads) = (place.clone(), Reads::of(tool));
            // A tool that several scenarios share runs where its file is.
            place.home = tool.home.clone().unwrap_or(place.home);
            let run = move |args, _| run_command(command.clone(), place.clone(), reads, args).boxed();
            Ok(Some(FunctionTool::raw(declaration(tool), run).into()))
        }
        (Some(Implementation::Http { url, method, headers }), _) => {
            HttpTool { url, method, headers }.tool(tool, variable, masker).map(Some)
        }
        _ => Ok(None),
    }
}

async fn run_command(
    command: CommandLine,
    place: Workplace,
    reads: Reads,
    args: Value,
) -> Result<ToolOutput, ToolError> {
    let failed = |why: String| ToolError::new("CommandFailed", why);
    let command = Command {
        stdin: Some(rehearsal_core::json::text(&args).into_bytes()),
        variables: place.variables(),
        timeout: TOOL_TIMEOUT,
        directory: Some(place.home.clone()),
        ..Command::new(program(&command))
    };
    let run = place.folder.run(&command).await.map_err(|error| failed(told(&error)))?;
    if run.exit_code != Some(0) || run.timed_out {
        return Err(failed(describe(&run)));
    }
    if run.stdout_omitted > 0 {
        return Err(failed(format!("its result is {} bytes longer than what is kept", run.stdout_omitted)));
    }
    Ok(ToolOutput::new(reads.value(&run.stdout)))
}

/// How what a tool wrote is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    /// Whether its `output` schema says that it is JSON.
    is_json: bool,
}

impl Reads {
    pub(super) fn of(tool: &ToolDefinition) -> Self {
        Self { is_json: tool.output.is_some() }
    }

    /// JSON where it is JSON, else the text. A number that JSON would write in another way (`481.50`) is only a number
    /// where the tool says so.
    pub(super) fn value(self, text: &str) -> Value {
        let as_text = || Value::from(rehearsal_core::json::plain(text.trim_end()));
        match rehearsal_core::json::from_str::<Value>(text) {
            Ok(Value::Number(number)) if !self.is_json && number.to_string() != text.trim() => as_text(),
            Ok(value) => value,
            Err(_) => as_text(),
        }
    }
}

/// Starts the process of a command agent, or of a world.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) command: CommandLine,
    pub(crate) place: Workplace,
}

#[async_trait]
impl Launcher for Process {
    async fn start(&self) -> Result<Connection, String> {
        let (variables, directory) = (self.place.variables(), Some(&*self.place.home));
        let process = self.place.folder.start(&program(&self.command), &variables, directory).await;
        let process = process.map_err(|error| told(&error))?;
        let (input, output, process) = process.into_parts();
        Ok(Connection {
            input: Box::new(input),
            output: Box::new(output),
            guard: Box::new(Held { process, exit: None }),
        })
    }
}

/// Holds the process of a command agent.
struct Held {
    process: Background,
    exit: Option<String>,
}

#[async_trait]
impl Guard for Held {
    async fn ended(&mut self) {
        self.exit = self.process.wait().await.ok().map(|exit| exit.to_string());
    }

    fn stderr_tail(&self) -> String {
        self.process.stderr()
    }

    fn exit(&self) -> Option<String> {
        self.exit.clone()
    }
}

/// Starts the server of an HTTP agent and waits until it accepts connections.
pub(crate) async fn start_server(
    server: &Server,
    port: u16,
    folder: &dyn Environment,
    directory: &Path,
    home: &Path,
) -> Result<Background, String> {
    let mut variables = variables(folder, directory);
    variables.insert("PORT".to_owned(), port.to_string());
    let command = match &server.command {
        CommandLine::Shell(line) => CommandLine::Shell(line.replace("${port}", &port.to_string())),
        CommandLine::Words(words) => {
            CommandLine::Words(words.iter().map(|word| word.replace("${port}", &port.to_string())).collect())
        }
    };
    let process = folder.start(&program(&command), &variables, Some(home)).await;
    let mut process = process.map_err(|error| told(&error))?.into_background();
    let ready = async {
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let limit = Duration::from_millis(server.ready_within_ms);
    let problem = tokio::select! {
        () = ready => return Ok(process),
        ended = process.wait() => match ended {
            Ok(exit) => format!("it ended before it accepted connections: {exit}"),
            Err(error) => told(&error),
        },
        () = tokio::time::sleep(limit) => format!(
            "it accepts no connections at 127.0.0.1:{port} after {limit:?}\n\nhint: it finds its port in the variable \
             PORT; `start: {{command: …, ready_within_ms: …}}` allows more time"
        ),
    };
    let errors = process.stderr();
    Err(if errors.trim().is_empty() { problem } else { format!("{problem}\n{}", errors.trim()) })
}

/// A port that nobody listens on at this moment.
pub(crate) fn free_port() -> std::io::Result<u16> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Tells a command agent that it has tools it can call.
pub(crate) fn introduction_context(directory: &Path, folder: Option<&dyn Environment>) -> Value {
    json!({"scenario_dir": directory, "folder": folder.map(|folder| folder.folder().to_path_buf())})
}
