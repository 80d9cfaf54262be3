//! What an evaluation of a step, a turn or a conversation found.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::MetricResult;

/// What an evaluation found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvaluationResult {
    /// Its name in the case.
    pub name: String,
    /// What it asks, without where.
    pub label: String,
    /// What it looked at.
    pub scope: EvaluationScope,
    /// Its type, such as `string_contains`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The line it stands at in the file.
    pub line: usize,
    /// Why it is asked, in the words of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it passed.
    pub success: bool,
    /// What was looked for and what was found: its first piece of evidence.
    pub message: String,
    /// What it came to, as a metric.
    #[serde(flatten)]
    pub metric: MetricResult,
}

/// What an evaluation looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum EvaluationScope {
    /// The whole session, or what an earlier version did not say.
    Session,
    /// A step.
    Step {
        /// Its number, from 1.
        step: usize,
    },
    /// A turn of a conversation.
    Turn {
        /// The number of the step, from 1.
        step: usize,
        /// The number of the turn in it, from 1.
        turn: usize,
    },
    /// A conversation, when it had ended.
    Final {
        /// The number of the step, from 1.
        step: usize,
    },
}

/// Where it stands in the names of a case.
impl fmt::Display for EvaluationScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => Ok(()),
            Self::Step { step } => write!(f, "{step}"),
            Self::Turn { step, turn } => write!(f, "{step}.{turn}"),
            Self::Final { step } => write!(f, "{step} final"),
        }
    }
}
