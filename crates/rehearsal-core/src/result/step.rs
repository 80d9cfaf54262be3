//! What a step of a scenario came to.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ConversationResult, EvaluationResult};
use crate::{StepKind, Timestamp};

/// What a step came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepResult {
    /// Its number, from 1.
    pub step: usize,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it does.
    pub kind: StepKind,
    /// What it came to.
    pub status: StepStatus,
    /// What there is to say about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How it was executed; nothing for a step that was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionResult>,
    /// What its evaluations found.
    pub evaluations: Vec<EvaluationResult>,
    /// Its conversation, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationResult>,
}

impl StepResult {
    /// What was asked of it and in it, in the order it was asked.
    pub fn evaluations(&self) -> impl Iterator<Item = &EvaluationResult> {
        let conversation = self.conversation.iter().flat_map(|conversation| {
            let turns = conversation.turns.iter().flat_map(|turn| &turn.turn_evaluations);
            turns.chain(&conversation.final_evaluations)
        });
        conversation.chain(&self.evaluations)
    }
}

/// What a step came to, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// All its evaluations passed.
    Passed,
    /// One of its evaluations did not pass.
    Failed,
    /// It came to its end, and nothing was asked of it.
    Unjudged,
    /// It did not come to its end.
    Errored,
    /// It was not begun.
    Skipped,
}

/// How a step or a turn was executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecutionResult {
    /// How its code ended; 0 for one that talked and came to its end, nothing for one that did not.
    pub exit_code: Option<i32>,
    /// What its code wrote, or what was said.
    pub stdout: String,
    /// What its code complained of.
    pub stderr: String,
    /// The files in the environment, by path: the text, or an object that says why there is none.
    pub files: Map<String, Value>,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// When it ended.
    pub ended_at_ms: i64,
    /// How long it took.
    pub duration_ms: i64,
    /// What the agent did.
    pub trajectory: Vec<TrajectoryStep>,
}

/// Something the agent did or was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrajectoryStep {
    /// What kind of thing.
    #[serde(rename = "type")]
    pub kind: TrajectoryKind,
    /// When.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub timestamp: Timestamp,
    /// The number of its event on the ledger.
    pub event: u64,
    /// What.
    pub content: Value,
}

/// A kind of thing that the agent does or is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TrajectoryKind {
    /// What its model thought.
    Thought,
    /// A call of a tool.
    Action,
    /// What a tool gave.
    Observation,
    /// What it said.
    Message,
}
