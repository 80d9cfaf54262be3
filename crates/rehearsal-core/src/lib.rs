//! The words of Rehearsal: content, schema, event, ledger, state, query and results.
//!
//! This crate knows nobody: it does no I/O of its own and calls nothing. Start from [`Ledger`], the ordered
//! events of a session, from which everything else is read.

mod chance;
mod clock;
mod content;
mod event;
mod id;
pub mod json;
pub mod keys;
mod ledger;
pub mod mask;
mod model;
pub mod query;
mod result;
pub mod schema;
mod state;
mod step;
mod text;
mod transcript;
mod words;

pub use chance::Chance;
pub use clock::{Clock, FixedClock, SteadyClock, SystemClock, elapsed};
pub use content::{
    Blob, Content, FileData, FunctionCall, FunctionResponse, Part, PartData, Role, into_object,
};
pub use event::{
    ArtifactSaved, CueDismissed, Decision, Draft, EndReason, Event, EventBody, Failure, HangUp,
    LEDGER_VERSION, LaterResult, PendingCall, Phase, Player, ReachedLimit, RequestRecord, Seam, SessionPart,
    SessionStarted, ToolError, ToolOutcome, ToolResult, TurnDecision, UserHungUp, UserSimulation,
    WorldReference, WorldStarted, Yield,
};
pub use id::{CallId, Ids, InvocationId, SessionId, TurnId};
pub use jiff::Timestamp;
pub use ledger::{CallView, Inconsistent, LastRequest, Ledger, ReadLedgerError, Snapshot};
pub use model::{FinishReason, ModelRequest, ModelResponse, ModelSetup, Settings, ToolChoice, Usage};
pub use query::{Query, QueryClause, QueryError};
pub use result::{
    BudgetReport, CaseResult, CaseTable, ConversationMetrics, ConversationResult, ConversationTokens,
    ConversationTurn, EvaluationResult, EvaluationScope, Evidence, ExecutionResult, Fault, MetricResult,
    MetricStatus, MockAnswer, MockReport, ModelCalls, ModelPrice, ParseShardError, RESULT_VERSION,
    RepeatStatistics, RunPart, RunProgress, RunResult, Shard, Spent, StepResult, StepStatus, SuiteResult,
    Summary, TableCell, TableRow, TableVariant, TokenUsage, TrajectoryKind, TrajectoryStep, Verdict,
    upgraded,
};
pub use schema::{InvalidSchema, Schema, ToolDeclaration, Unchecked, Violation};
pub use state::{
    NotAnObject, Overwrite, SCENARIO, SESSION, State, StatePatch, USER, merge_patch, strip_nulls,
};
pub use step::{CommandRun, ConversationEnd, StepEnded, StepKind, StepStarted, TurnEnded};
pub use text::shorten;
pub use transcript::{Line, LineKind, transcript};
pub use words::edit_distance;
