//! What a conversation came to.

use serde::{Deserialize, Serialize};

use super::{EvaluationResult, ExecutionResult, TrajectoryStep};

/// A conversation and what it came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConversationResult {
    /// Its turns, in order.
    pub turns: Vec<ConversationTurn>,
    /// How long it took, in milliseconds.
    pub total_duration: i64,
    /// Whether it ended before the most turns were taken.
    pub terminated_early: bool,
    /// What ended it.
    pub termination_reason: Option<String>,
    /// Why that was found to hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination_detail: Option<String>,
    /// What its final evaluations found.
    pub final_evaluations: Vec<EvaluationResult>,
    /// What was said; nothing when the file does not want it exported.
    pub conversation_transcript: Option<String>,
    /// Whether every turn was answered and every turn and final evaluation passed.
    pub success: bool,
    /// Counts and times.
    pub metrics: ConversationMetrics,
}

/// One exchange with the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConversationTurn {
    /// Its number, from 1.
    pub turn_number: usize,
    /// What the user said.
    pub user_input: String,
    /// What the agent answered.
    pub agent_response: String,
    /// The session it belongs to.
    pub room_id: String,
    /// What the agent did.
    pub trajectory: Vec<TrajectoryStep>,
    /// How long it took, in milliseconds.
    pub duration: i64,
    /// How it was executed.
    pub execution_result: ExecutionResult,
    /// What the evaluations of this turn found.
    pub turn_evaluations: Vec<EvaluationResult>,
}

/// Counts and times of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConversationMetrics {
    /// How long it took, in milliseconds.
    pub total_duration: i64,
    /// How many turns were taken.
    pub turn_count: usize,
    /// How long a turn took on average, in milliseconds.
    pub avg_turn_duration: f64,
    /// How often models were asked in a turn on average: the agent's, the simulated user's and the judge's.
    pub llm_calls_per_turn: f64,
    /// The tokens that were used; nothing where a provider did not say.
    pub token_usage: ConversationTokens,
}

/// Tokens of a conversation, read and written together; nothing where a provider did not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ConversationTokens {
    /// All of them.
    pub total: Option<u64>,
    /// The simulated user's.
    pub user_simulation: Option<u64>,
    /// The agent's.
    pub agent_responses: Option<u64>,
    /// The judge's.
    pub evaluations: Option<u64>,
}
