//! YAML in, case out: scenario files, their schema and their diagnostics.
//!
//! [`check`] reads a file and says all that is wrong with it, each problem with its place and what would be right.

mod cases;
mod compile;
mod file;
mod filled;
mod lint;
mod personas;
mod play;
mod problem;
mod project;
mod read;
mod record;
mod report;
mod schema;
mod score;
mod sources;
pub mod yaml;

pub use cases::{Cases, Gathering, Opened, Origin, RowCommands};
pub use compile::{
    Backstage, BuildModel, CompileError, ModelUnusable, ReadVariable, compile, compile_agent, compile_in,
    make,
};
pub use file::{
    Action, AgentFile, AgentUnderTest, AnsweredBy, BridgeExpressions, CallsInAnswer, CheckOptions, Checked,
    CommandLine, Conversation, ConversationOpening, ConversationUser, Evaluation, HttpEndpoint,
    Implementation, InlineAgent, Knowledge, LlmCondition, MadeFrom, Mock, MockError, MockWhen, ModelChoice,
    NamedModel, Plugin, Reached, Scenario, ScriptTurn, ScriptedCall, ScriptedCondition, ScriptedReply,
    ScriptedRule, Server, Setup, SimulatedUser, Step, Strategy, TerminationCondition, TerminationKind,
    ToolDefinition, ToolUser, UserSimulator, UserTool, Variable, World, WorldReached, check, check_agent,
    check_with,
};
pub use personas::{Persona, personas};
pub use play::checks::PythonWorkers;
pub use problem::{Problem, Severity, Style, line_and_column};
pub use project::{Gift, PROJECT_FILE, Project, RunBudget, Setting};
pub use read::Dialect;
pub use record::{NotRecordable, Recorded};
pub use rehearsal_core::{CommandRun, ConversationEnd, StepEnded, StepKind, StepStarted};
pub use rehearsal_metrics::evaluator::{
    AnswerPath, ArgumentPattern, CallStatus, Check, Expectation, FlowPattern, JsonPathCheck, Place,
    SatisfactionMethod, ToolCalled, ValueQuery,
};
pub use rehearsal_metrics::{Price, Prices, Scope, StepView, TurnView};
pub use rehearsal_world::environment::{Commands, Environment, EnvironmentProvider, LocalProvider};
pub use schema::{agent_schema, config_schema, scenario_schema};
pub use score::NotScorable;
pub use sources::Sources;
