//! Steps of a scenario, as its ledger keeps them.
//!
//! A scenario has steps, and code steps leave output and files. All of it stands on the ledger of the agent's session, so
//! that judgments read nothing but the ledger and give the same for a session that was stored last year.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a step does, as the ledger names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Says something to the agent once.
    Input,
    /// Talks to the agent.
    Conversation,
    /// Runs code in the environment.
    Code,
}

/// A step began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// Its number, from 1.
    pub step: usize,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    pub kind: StepKind,
    /// What its author says is known around its calls.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
}

/// A step came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEnded {
    /// Its number, from 1.
    pub step: usize,
    /// How its code ended; 0 for a step that talked and came to its end.
    pub exit_code: Option<i32>,
    /// What its code wrote, or what was said.
    pub stdout: String,
    /// What its code complained of.
    pub stderr: String,
    /// The files in the environment, by path: the text, or an object that says why there is none.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub files: Map<String, Value>,
    /// Files that the snapshot left out, because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_left_out: usize,
    /// The commands its evaluations asked for, run when it ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
    /// How its conversation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationEnd>,
}

/// A turn of a conversation came to its end, in an environment that has files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEnded {
    /// The step, from 1.
    pub step: usize,
    /// The turn in it, from 1.
    pub turn: usize,
    /// The files in the environment, by path: the text, or an object that says why there is none.
    pub files: Map<String, Value>,
    /// Files that the snapshot left out, because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_left_out: usize,
}

/// A command that was run for an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command.
    pub command: String,
    /// How it ended; nothing when it was ended by a signal or could not be run.
    pub exit_code: Option<i32>,
    /// What it wrote.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
    /// Why it could not be run to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How a conversation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationEnd {
    /// Whether it ended before the most turns were taken.
    pub terminated_early: bool,
    /// What ended it: the type of a termination condition, `max_turns_reached`, `script_ended` or
    /// `user_ended`.
    pub reason: String,
    /// Why that was found to hold.
    pub detail: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
