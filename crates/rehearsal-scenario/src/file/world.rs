//! The world in a scenario file, or in that of an agent: who plays the tools of a case.

use std::ops::Range;
use std::path::PathBuf;

use rehearsal_world::mcp::Protocol;

use super::agent::{read_command, read_headers, report_address};
use super::keys::{MCP, WORLD};
use super::{AgentUnderTest, CommandLine, calls_elsewhere};
use crate::Problem;
use crate::read::{Dialect, Fields, Reader};
use crate::yaml::Node;

/// A living program that plays the tools of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// Where it is.
    pub reached: WorldReached,
    /// The scope in which its state stands.
    pub scope: String,
    /// How long its start and each of its answers may take.
    pub timeout_ms: u64,
    /// The folder in which its commands run, where it is not that of the scenario.
    pub directory: Option<PathBuf>,
    /// Where it stands in the file.
    pub span: Range<usize>,
}

/// Where a world is.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldReached {
    /// A program that speaks JSON lines.
    Command(CommandLine),
    /// An MCP server that is started.
    McpCommand {
        /// What starts it.
        command: CommandLine,
        /// Which protocol is spoken.
        protocol: Protocol,
    },
    /// An MCP server at an address.
    McpUrl {
        /// The address.
        url: String,
        /// Headers to send; `${env.NAME}` in a value is taken from the environment.
        headers: Vec<(String, String)>,
        /// Which protocol is spoken.
        protocol: Protocol,
    },
}

impl World {
    /// The scope in which the state of a world stands, unless told.
    pub const SCOPE: &'static str = "world";

    /// Whether it is a program that is started.
    pub(crate) fn starts_program(&self) -> bool {
        match self.reached {
            WorldReached::Command(_) | WorldReached::McpCommand { .. } => true,
            WorldReached::McpUrl { .. } => false,
        }
    }
}

/// Reads the world of a file.
pub(super) fn read(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    agent: Option<&AgentUnderTest>,
) -> Option<World> {
    let place = fields.key_span("world");
    let node = fields.get("world")?;
    if let (Some(agent), Some(place)) = (agent, place)
        && let Some(problem) = unreachable_world(agent, place)
        && reader.dialect == Dialect::Rehearsal
    {
        reader.report(problem);
    }
    read_world(reader, node)
}

/// What is wrong with a world for an agent whose tool calls never reach us.
pub(crate) fn unreachable_world(agent: &AgentUnderTest, place: Range<usize>) -> Option<Problem> {
    let message = "this world can play no tool: the tool calls of an agent behind HTTP never reach us";
    let help = "remove it, or reach the agent by `command`, where its tool calls come to us";
    calls_elsewhere(agent).then(|| Problem::error("no-effect", place, message).help(help))
}

fn read_world(reader: &mut Reader<'_>, node: &Node) -> Option<World> {
    let mut fields = reader.fields(node, "`world`", &WORLD)?;
    let reached = match (fields.get("command"), fields.get("mcp")) {
        (Some(node), None) => read_command(reader, node, "`command` of `world`").map(WorldReached::Command),
        (None, Some(node)) => read_mcp(reader, node),
        (Some(_), Some(_)) => {
            let message = "a world is a program (`command`) or an MCP server (`mcp`), not both";
            reader.report(Problem::error("two-worlds", fields.span(), message).help("keep one of them"));
            None
        }
        (None, None) => {
            let message = "`world` does not say what plays the tools";
            let problem = Problem::error("missing-key", fields.span(), message);
            reader.report(
                problem.help("add: command: [python3, world.py]   # or mcp: {command: [npx, my-server]}"),
            );
            None
        }
    };
    let scope = fields.text(reader, "scope").unwrap_or_else(|| World::SCOPE.to_owned());
    if let Some(node) = fields.get("scope").filter(|_| !is_scope(&scope)) {
        let message = format!("`{scope}` cannot be the scope of a world's state");
        let problem = Problem::error("bad-scope", node.span.clone(), message);
        reader.report(problem.help("write a word without dots, and none of: session, user, scenario"));
    }
    let timeout_ms = fields.integer(reader, "timeout_ms").unwrap_or_default();
    fields.finish(reader);
    Some(World {
        reached: reached?,
        scope,
        timeout_ms,
        directory: reader.shared_folder(node.span.start),
        span: reader.line_span(node.span.start),
    })
}

fn is_scope(scope: &str) -> bool {
    let taken = matches!(scope, "session" | "user" | "scenario");
    !taken && !scope.is_empty() && !scope.contains(|c: char| c == '.' || c == '$' || c.is_whitespace())
}

fn read_mcp(reader: &mut Reader<'_>, node: &Node) -> Option<WorldReached> {
    let mut fields = reader.fields(node, "`mcp`", &MCP)?;
    let protocol = match fields.word(reader, "protocol") {
        Some("sessions") => Protocol::Sessions,
        Some("stateless") => Protocol::Stateless,
        _ => Protocol::Negotiated,
    };
    let reached = match (fields.get("command"), fields.get("url")) {
        (Some(node), None) => {
            if let Some(place) = fields.key_span("headers") {
                fields.get("headers");
                let message = "a server that is started is sent no headers";
                let problem = Problem::error("no-effect", place, message);
                reader.report(problem.help("remove `headers`; `environment.variables` gives it variables"));
            }
            let command = read_command(reader, node, "`command` of `mcp`");
            command.map(|command| WorldReached::McpCommand { command, protocol })
        }
        (None, Some(_)) => {
            let url = fields.text(reader, "url").unwrap_or_default();
            report_address(reader, &mut fields, &url);
            let headers = read_headers(reader, &mut fields);
            Some(WorldReached::McpUrl { url, headers, protocol })
        }
        (Some(_), Some(_)) => {
            let message = "an MCP server is started (`command`) or is at an address (`url`), not both";
            reader.report(Problem::error("two-worlds", fields.span(), message).help("keep one of them"));
            None
        }
        (None, None) => {
            let problem =
                Problem::error("missing-key", fields.span(), "`mcp` does not say where the server is");
            reader
                .report(problem.help("add: command: [npx, my-server]   # or url: http://127.0.0.1:8080/mcp"));
            None
        }
    };
    fields.finish(reader);
    reached
}
