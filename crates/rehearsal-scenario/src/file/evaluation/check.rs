//! What can be asked.

use rehearsal_core::{Query, Schema};
use serde_json::{Map, Value};

use super::{AnswerPath, ArgumentPattern, Expectation, JsonPathCheck, LooksAt};

/// What an evaluation asks.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Check {
    /// The reply contains this.
    StringContains {
        /// The text.
        value: String,
        /// Whether upper and lower case differ.
        case_sensitive: bool,
    },
    /// The reply matches this pattern.
    RegexMatch {
        /// The pattern, in JavaScript's syntax.
        pattern: String,
        /// Whether upper and lower case differ.
        case_sensitive: bool,
    },
    /// A file is there.
    FileExists {
        /// Its path.
        path: String,
    },
    /// A file contains this.
    FileContains {
        /// Its path.
        path: String,
        /// The text.
        value: String,
        /// Whether upper and lower case differ.
        case_sensitive: bool,
    },
    /// A command ends with this code.
    CommandExitCodeIs {
        /// The command.
        command: String,
        /// The code.
        expected_code: u64,
    },
    /// The agent did this.
    TrajectoryContainsAction {
        /// The action.
        action: String,
    },
    /// The agent called a tool.
    ToolCalled(ToolCalled),
    /// The agent did not call a tool.
    ToolNotCalled {
        /// The tool.
        tool: String,
        /// The arguments with which it must not be called; none asks that it is not called at all.
        args: Option<ArgumentPattern>,
    },
    /// The agent called as many tools as it should.
    StepCount {
        /// At least.
        min_steps: Option<u64>,
        /// At most.
        max_steps: Option<u64>,
        /// About; only told.
        target_steps: Option<u64>,
        /// How the names of the tools that count begin.
        action_prefix: Option<String>,
    },
    /// The agent's models used no more tokens than they should.
    TokenCount {
        /// Tokens read, at most.
        max_input_tokens: Option<u64>,
        /// Tokens written, at most.
        max_output_tokens: Option<u64>,
        /// Both together, at most.
        max_total_tokens: Option<u64>,
    },
    /// The agent's models cost no more than they should.
    Cost {
        /// US dollars, at most.
        max_cost_usd: f64,
    },
    /// The state is as it should be.
    State {
        /// What is asked of it.
        matches: Query,
    },
    /// A value in the final answer is as it should be.
    JsonPath {
        /// Where it stands.
        path: AnswerPath,
        /// What is asked of it.
        check: JsonPathCheck,
    },
    /// The final answer has the form it should have.
    AnswerSchema {
        /// The form.
        schema: Schema,
    },
    /// A judge says so.
    LlmJudge(JudgeEvaluation),
    /// It took as long as it should.
    ExecutionTime {
        /// At most, in milliseconds.
        max_duration_ms: f64,
        /// At least.
        min_duration_ms: Option<f64>,
        /// About; only told.
        target_duration_ms: Option<f64>,
    },
    /// The conversation was as long as it should be.
    ConversationLength {
        /// At least.
        min_turns: Option<u64>,
        /// At most.
        max_turns: Option<u64>,
        /// At best; only told.
        optimal_turns: Option<u64>,
        /// Between these.
        target_range: Option<(u64, u64)>,
    },
    /// The conversation went through these patterns.
    ConversationFlow {
        /// The patterns.
        required_patterns: Vec<FlowPattern>,
        /// The share of them that must be there.
        flow_quality_threshold: f64,
    },
    /// The user was content.
    UserSatisfaction {
        /// How content.
        satisfaction_threshold: f64,
        /// Words that show it, where the author names them.
        positive: Option<Vec<String>>,
        /// Words that show the opposite, where the author names them.
        negative: Option<Vec<String>>,
        /// How it is measured.
        measurement_method: SatisfactionMethod,
    },
    /// The agent remembered.
    ContextRetention {
        /// What.
        test_memory_of: Vec<String>,
        /// For how many turns.
        retention_turns: u64,
        /// How well.
        memory_accuracy_threshold: f64,
    },
}

/// A tool that should be called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCalled {
    /// The tool.
    pub tool: String,
    /// Its arguments; none takes any.
    pub args: Option<ArgumentPattern>,
    /// How often at least.
    pub min_count: u64,
    /// How often at most.
    pub max_count: Option<u64>,
    /// A tool of which a call comes later.
    pub before: Option<String>,
    /// A tool of which a call comes earlier.
    pub after: Option<String>,
    /// Which calls count.
    pub status: CallStatus,
}

/// Which calls of a tool count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// Those that gave something.
    Succeeded,
    /// Those that failed.
    Failed,
    /// All, also those that were never answered.
    Any,
}

/// A question for the judge.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeEvaluation {
    /// The question.
    pub prompt: String,
    /// The answer that passes.
    pub expected: Expectation,
    /// The model that judges, by its key in `models`.
    pub model_type: Option<String>,
    /// How freely it judges.
    pub temperature: Option<f64>,
    /// The form its answer must have.
    pub json_schema: Option<Map<String, Value>>,
    /// What the agent should be able to do, each asked for by itself.
    pub capabilities: Vec<String>,
}

/// Patterns of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPattern {
    /// The agent asks, the user answers.
    QuestionThenAnswer,
    /// The user states a problem, the agent solves it.
    ProblemThenSolution,
    /// Something is made clear in several steps.
    ClarificationCycle,
    /// The agent shows that it cares before it solves.
    EmpathyThenSolution,
    /// The agent hands over where it should.
    EscalationPattern,
}

/// How satisfaction is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SatisfactionMethod {
    /// By words.
    KeywordAnalysis,
    /// By a judge who looks at how the mood goes.
    SentimentAnalysis,
    /// By a judge who looks at everything.
    LlmJudge,
}

impl Check {
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::StringContains { .. } => "string_contains",
            Self::RegexMatch { .. } => "regex_match",
            Self::FileExists { .. } => "file_exists",
            Self::FileContains { .. } => "file_contains",
            Self::CommandExitCodeIs { .. } => "command_exit_code_is",
            Self::TrajectoryContainsAction { .. } => "trajectory_contains_action",
            Self::ToolCalled(_) => "tool_called",
            Self::ToolNotCalled { .. } => "tool_not_called",
            Self::StepCount { .. } => "step_count",
            Self::TokenCount { .. } => "token_count",
            Self::Cost { .. } => "cost",
            Self::State { .. } => "state",
            Self::JsonPath { .. } => "json_path",
            Self::AnswerSchema { .. } => "answer_schema",
            Self::LlmJudge(_) => "llm_judge",
            Self::ExecutionTime { .. } => "execution_time",
            Self::ConversationLength { .. } => "conversation_length",
            Self::ConversationFlow { .. } => "conversation_flow",
            Self::UserSatisfaction { .. } => "user_satisfaction",
            Self::ContextRetention { .. } => "context_retention",
        }
    }

    pub(super) fn looks_at(&self) -> LooksAt {
        match self {
            Self::FileExists { .. } | Self::FileContains { .. } | Self::CommandExitCodeIs { .. } => {
                LooksAt::Environment
            }
            Self::TrajectoryContainsAction { .. }
            | Self::ToolCalled(_)
            | Self::ToolNotCalled { .. }
            | Self::StepCount { .. }
            | Self::TokenCount { .. }
            | Self::Cost { .. } => LooksAt::Agent,
            Self::ConversationLength { .. }
            | Self::ConversationFlow { .. }
            | Self::UserSatisfaction { .. }
            | Self::ContextRetention { .. } => LooksAt::Conversation,
            _ => LooksAt::Reply,
        }
    }

    pub(super) fn label(&self) -> String {
        let detail = self.detail();
        if detail.is_empty() { self.type_name().to_owned() } else { format!("{} {detail}", self.type_name()) }
    }

    fn detail(&self) -> String {
        match self {
            Self::StringContains { value, .. } => format!("{:?}", short(value)),
            Self::RegexMatch { pattern, .. } => format!("/{}/", short(pattern)),
            Self::FileExists { path } => path.clone(),
            Self::FileContains { path, value, .. } => format!("{path} {:?}", short(value)),
            Self::CommandExitCodeIs { command, expected_code } => {
                format!("{:?} {expected_code}", short(command))
            }
            Self::TrajectoryContainsAction { action } => action.clone(),
            Self::ToolCalled(called) => called.detail(),
            Self::ToolNotCalled { tool, .. } => tool.clone(),
            Self::StepCount { min_steps, max_steps, action_prefix, .. } => {
                let prefix = action_prefix.iter().map(|prefix| format!("{prefix}… "));
                format!("{}{}", prefix.collect::<String>(), bounds(*min_steps, *max_steps))
            }
            Self::TokenCount { max_input_tokens, max_output_tokens, max_total_tokens } => {
                let parts =
                    [("input", max_input_tokens), ("output", max_output_tokens), ("total", max_total_tokens)];
                let parts = parts.iter().filter_map(|(name, most)| Some(format!("{name} ≤{}", (**most)?)));
                parts.collect::<Vec<_>>().join(", ")
            }
            Self::Cost { max_cost_usd } => format!("≤${max_cost_usd}"),
            Self::State { matches } => short(&matches.source().to_string()),
            Self::JsonPath { path, check } => format!("{path} {}", short(&check.to_string())),
            Self::LlmJudge(judge) => format!("{:?}", short(&judge.prompt)),
            Self::ExecutionTime { max_duration_ms, .. } => format!("≤{max_duration_ms} ms"),
            Self::ConversationLength { min_turns, max_turns, target_range, .. } => {
                let (low, high) = target_range.unzip();
                bounds(low.max(*min_turns), [high, *max_turns].into_iter().flatten().min())
            }
            Self::ConversationFlow { required_patterns, .. } => {
                required_patterns.iter().map(|pattern| pattern.name()).collect::<Vec<_>>().join(", ")
            }
            Self::UserSatisfaction { satisfaction_threshold, .. } => format!("≥{satisfaction_threshold}"),
            Self::ContextRetention { test_memory_of, .. } => short(&test_memory_of.join(", ")),
            Self::AnswerSchema { .. } => String::new(),
        }
    }
}

impl ToolCalled {
    fn detail(&self) -> String {
        let args = self.args.iter().map(|args| short(&args.to_string()));
        let count = match (self.min_count, self.max_count) {
            (1, None) => None,
            (low, Some(high)) if low == high => Some(format!("×{low}")),
            (low, None) => Some(format!("×{low} or more")),
            (low, Some(high)) => Some(format!("×{low} to {high}")),
        };
        let before = self.before.iter().map(|other| format!("before {other}"));
        let after = self.after.iter().map(|other| format!("after {other}"));
        let failed = (self.status == CallStatus::Failed).then(|| "(failed)".to_owned());
        let parts = [self.tool.clone()].into_iter().chain(args).chain(count).chain(before).chain(after);
        parts.chain(failed).collect::<Vec<_>>().join(" ")
    }
}

impl FlowPattern {
    /// The word that stands for it in a file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::QuestionThenAnswer => "question_then_answer",
            Self::ProblemThenSolution => "problem_then_solution",
            Self::ClarificationCycle => "clarification_cycle",
            Self::EmpathyThenSolution => "empathy_then_solution",
            Self::EscalationPattern => "escalation_pattern",
        }
    }
}

fn bounds(low: Option<u64>, high: Option<u64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) => format!("≥{low}"),
        (None, Some(high)) => format!("≤{high}"),
        (None, None) => String::new(),
    }
}

/// The first line, and no more than 40 characters of it.
fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut kept: String = line.chars().take(40).collect();
    if kept.len() < text.trim().len() {
        kept.push('…');
    }
    kept
}
