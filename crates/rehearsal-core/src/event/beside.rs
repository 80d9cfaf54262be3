//! Events beside the conversation: what our own programs tell of a run without being part of what was said.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{EventBody, ToolError, ToolOutcome};
use crate::{CallId, Part};

/// The world of a case when it was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldStarted {
    /// The scope of the state in which its state stands.
    pub scope: String,
    /// The agent's tools that it plays, by name.
    pub tools: Vec<String>,
    /// The user's tools that it plays, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub user_tools: Vec<String>,
}

/// A state with which an evaluation compares that of the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldReference {
    /// What it is the state of: `{"after": [calls]}` or `{"file": path}`, as the evaluation has it.
    pub of: Value,
    /// The state; nothing where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Map<String, Value>>,
    /// What the calls that failed said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Why there is no state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A limit of time that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReachedLimit {
    /// Which one, in the words of whoever set it.
    pub limit: String,
    /// How long it was, in milliseconds, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millis: Option<u64>,
}

/// Whether a condition ended a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnDecision {
    /// The step, from 1.
    pub step: usize,
    /// How many turns had been taken.
    pub turn: usize,
    /// The type of the condition.
    pub condition: String,
    /// Whether it held.
    pub holds: bool,
    /// Why.
    pub why: String,
}

/// What a simulated user was asked, and what it said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSimulation {
    /// The step, from 1.
    pub step: usize,
    /// What it was told.
    pub prompt: String,
    /// What it said.
    pub message: String,
}

/// The user of a conversation ended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserHungUp {
    /// The step, from 1.
    pub step: usize,
    /// How.
    pub how: HangUp,
    /// What they said as they went. The agent was not given it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub said: String,
    /// The stop word that was said, or the reason that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How a user ended a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HangUp {
    /// A stop word stood in what they said.
    StopWord,
    /// The simulated user decided to.
    Decision,
    /// The script of the user has it.
    Script,
}

/// Where an agent meets the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seam {
    /// The model that decides.
    Model,
    /// A tool that acts.
    Tool,
    /// The user who asks.
    User,
}

/// A cue that somebody put away without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CueDismissed {
    /// The cue.
    pub cue: String,
    /// Where it stood.
    pub kind: Seam,
    /// The agent that asked.
    #[serde(default)]
    pub agent: Option<String>,
}

/// What a call gave after it had been answered, or after the session had ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaterResult {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: Arc<str>,
    /// What came of it.
    pub outcome: ToolOutcome,
}

/// An artifact that an agent saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArtifactSaved {
    /// What it is called.
    pub name: String,
    /// Its version, from 0.
    pub version: u64,
    /// The call of the tool that saved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What kind of content it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// How many bytes it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Why the content is not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// The content.
    // The last: where the event is cut for a list, all that is known of it comes first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// Reads the body of an event. What an earlier version wrote as a note is read as the event that it is; a note that only
/// has such a name, and other content, stays the note of some other program.
pub(super) fn read_body<'de, D: Deserializer<'de>>(reader: D) -> Result<EventBody, D::Error> {
    Ok(match EventBody::deserialize(reader)? {
        EventBody::Note { name, data } => EventBody::of_note(name, data),
        body => body,
    })
}

impl EventBody {
    /// What a note says, as the event that it is: earlier versions wrote what stands beside the conversation as notes.
    pub fn of_note(name: Arc<str>, data: Value) -> Self {
        from_note(&name, &data).unwrap_or(Self::Note { name, data })
    }
}

fn from_note(name: &str, data: &Value) -> Option<EventBody> {
    if name == "note" || !EventBody::KINDS.contains(&name) {
        return None;
    }
    let mut fields = match data {
        Value::Object(fields) => fields.clone(),
        Value::Array(_) if name == "step_commands" => Map::from_iter([("commands".to_owned(), data.clone())]),
        _ => return None,
    };
    if matches!(name, "late_result" | "repeated_result") {
        let outcome = outcome(&mut fields)?;
        fields.insert("outcome".to_owned(), serde_json::to_value(outcome).ok()?);
    }
    fields.insert("type".to_owned(), name.into());
    // No note ever stood for what was said and done.
    EventBody::deserialize(Value::Object(fields)).ok().filter(EventBody::is_beside)
}

/// A result was kept as an output and an error, one of them null.
fn outcome(fields: &mut Map<String, Value>) -> Option<ToolOutcome> {
    let output = fields.remove("output").unwrap_or_default();
    match fields.remove("error") {
        None | Some(Value::Null) => Some(ToolOutcome::Output(output)),
        Some(error) => ToolError::deserialize(error).ok().map(ToolOutcome::Error),
    }
}
