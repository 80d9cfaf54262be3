//! YAML in, case out: scenario files, their schema and their diagnostics.
//!
//! [`check`] reads a file and says all that is wrong with it, each problem with its place and what would be right.

mod file;
mod notes;
mod problem;
mod read;
pub mod yaml;

pub use file::{
    Action, Checked, Conversation, Evaluation, FlowPattern, JudgeEvaluation, Knowledge, LlmCondition, Mock,
    MockError, MockWhen, Plugin, SatisfactionMethod, Scenario, Setup, Step, Strategy, TerminationCondition,
    TerminationKind, UserSimulator, check,
};
pub use notes::{CommandRun, ConversationEnd, StepEnded, StepKind, StepStarted, StepView, TurnView};
pub use problem::{Problem, Severity, Style};
pub use read::Dialect;
