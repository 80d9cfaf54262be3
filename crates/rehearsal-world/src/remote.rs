//! Agents under test that run elsewhere: behind an HTTP endpoint, or as a process that speaks JSON lines.
//!
//! Both are an [`Agent`](rehearsal_agent::Agent) like any other: what they say is on the ledger, and the tools of a
//! [`CommandAgent`] are called through the port, so that mocks answer them.

use std::sync::Arc;

use rehearsal_agent::Context;
use rehearsal_core::{Clock, Decision, Event, EventBody, Player, Timestamp, elapsed};
use serde_json::{Map, Value, json};

mod command;
#[cfg(feature = "http")]
mod http;
mod socket;
#[cfg(feature = "http")]
mod template;

pub use crate::program::{Connection, Guard, Launcher};
pub use command::CommandAgent;
#[cfg(feature = "http")]
pub use http::{CallPaths, HttpAgent, HttpAgentError, HttpSettings, UsagePaths};
#[cfg(feature = "http")]
pub use http::{build_client, header_secrets};
#[cfg(feature = "http")]
pub(crate) use http::{causes, parse_url};
pub use socket::Listening;
#[cfg(feature = "http")]
pub use template::{PathError, TemplateError};

/// A plugin of the agent.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// Whether it is used.
    pub enabled: bool,
    /// Its settings.
    pub config: Map<String, Value>,
}

/// What an agent is told about the scenario besides the messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Introduction {
    /// Its plugins; those that are not enabled are left out.
    pub plugins: Vec<Plugin>,
    /// Whatever else it should know.
    pub context: Value,
}

impl Introduction {
    fn plugins(&self) -> Value {
        let enabled = self.plugins.iter().filter(|plugin| plugin.enabled);
        enabled
            .map(|plugin| json!({"name": plugin.name, "version": plugin.version, "config": plugin.config}))
            .collect()
    }
}

/// One message of a conversation.
struct Said {
    role: &'static str,
    text: String,
}

/// The conversation as an agent takes part in it: what it is to answer, and what was said before that.
struct Conversation {
    earlier: Vec<Said>,
    /// Nothing where the agent speaks first.
    message: Option<String>,
}

impl Conversation {
    /// Reads the conversation up to the last message of the user; before the first one there is nothing to answer, and the
    /// agent speaks first.
    fn read(cx: &Context<'_>) -> Self {
        let own = cx.invocation().enclosure();
        let is_own =
            |event: &&Arc<Event>| event.invocation.as_ref().map_or("", |path| path.enclosure()) == own;
        let mut earlier: Vec<Said> =
            cx.ledger().events().iter().filter(is_own).filter_map(|event| said(event)).collect();
        let last = earlier.iter().rposition(|said| said.role == "user").unwrap_or(earlier.len());
        let message = earlier.drain(last..).next().map(|said| said.text);
        Self { earlier, message }
    }
}

fn said(event: &Event) -> Option<Said> {
    match &event.body {
        EventBody::UserMessage { content } => Some(Said { role: "user", text: content.text() }),
        EventBody::ModelResponse(response) => {
            let text = response.content.text();
            (!text.is_empty()).then_some(Said { role: "assistant", text })
        }
        _ => None,
    }
}

/// Which execution of the agent in its session this is, from 1.
fn turn_number(cx: &Context<'_>, agent: &Arc<str>) -> u64 {
    let began =
        |event: &&Arc<Event>| matches!(event.body, EventBody::AgentStarted { .. }) && event.author == *agent;
    cx.ledger().events().iter().filter(began).count() as u64
}

/// The name of the scenario, where the session belongs to one.
fn scenario(cx: &Context<'_>) -> Value {
    cx.ledger().started().and_then(|started| started.case.as_deref()).into()
}

/// Says that the agent itself answered, and how long it took.
fn decision(agent: &Arc<str>, clock: &dyn Clock, began: Timestamp) -> Decision {
    let micros = u64::try_from(elapsed(began, clock.now()).as_micros()).unwrap_or(u64::MAX);
    Decision { by: Player::Agent, name: Some(agent.clone()), micros }
}
