//! Results: what metrics, evaluations, steps, cases, suites and runs came to.
//!
//! There is one form of them, in memory as in JSON: what runs, scores and keeps results writes it, and what shows them
//! reads it. [`upgraded`] makes it of what earlier versions wrote.

mod case;
mod conversation;
mod earlier;
mod evaluation;
mod fault;
mod metric;
mod part;
mod price;
mod progress;
mod run;
mod spent;
mod step;
mod suite;
mod table;

pub use case::{CaseResult, MockAnswer, MockReport, TokenUsage, Verdict};
pub use conversation::{ConversationMetrics, ConversationResult, ConversationTokens, ConversationTurn};
pub use earlier::upgraded;
pub use evaluation::{EvaluationResult, EvaluationScope};
pub use fault::Fault;
pub use metric::{Evidence, MetricResult, MetricStatus};
pub use part::{ParseShardError, RunPart, Shard};
pub use price::ModelPrice;
pub use progress::RunProgress;
pub use run::{RESULT_VERSION, RunResult};
pub use spent::{BudgetReport, ModelCalls, Spent};
pub use step::{ExecutionResult, StepResult, StepStatus, TrajectoryKind, TrajectoryStep};
pub use suite::{RepeatStatistics, SuiteResult, Summary};
pub use table::{CaseTable, TableCell, TableRow, TableVariant};
