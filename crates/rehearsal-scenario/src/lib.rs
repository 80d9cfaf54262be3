//! YAML in, case out: scenario files, their schema and their diagnostics.
//!
//! [`check`] reads a file and says all that is wrong with it, each problem with its place and what would be right.

mod compile;
pub mod environment;
mod evaluate;
mod file;
pub mod js;
mod notes;
mod play;
mod problem;
mod read;
pub mod remote;
mod report;
mod schema;
mod score;
pub mod yaml;

pub use compile::{Backstage, BuildModel, ReadVariable, compile, compile_agent};
pub use evaluate::{EvaluationScope, Evaluator};
pub use file::{
    Action, AgentFile, AgentUnderTest, AnswerPath, ArgumentPattern, CallStatus, Check, CheckOptions, Checked,
    CommandLine, Conversation, ConversationUser, Evaluation, Expectation, FlowPattern, HttpEndpoint,
    Implementation, InlineAgent, JsonPathCheck, JudgeEvaluation, Knowledge, LlmCondition, Mock, MockError,
    MockWhen, ModelChoice, NamedModel, Place, Plugin, Price, Prices, Reached, SatisfactionMethod, Scenario,
    ScriptedCondition, ScriptedReply, ScriptedRule, Server, Setup, Step, Strategy, TerminationCondition,
    TerminationKind, ToolCalled, ToolDefinition, UserSimulator, ValueQuery, Variable, check, check_agent,
    check_with,
};
pub use notes::{CommandRun, ConversationEnd, StepEnded, StepKind, StepStarted, StepView, TurnView};
pub use problem::{Problem, Severity, Style};
pub use read::Dialect;
pub use report::{
    ConversationMetrics, ConversationResult, ConversationTokens, ConversationTurn, EvaluationResult,
    ExecutionResult, MockAnswer, MockReport, ScenarioResult, StepResult, StepStatus, TrajectoryStep,
};
pub use schema::{agent_schema, scenario_schema};
pub use score::NotScorable;
