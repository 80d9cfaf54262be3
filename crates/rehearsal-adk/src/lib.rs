//! ADK file formats: golden traces out, `EvalSet`s in.
//!
//! | to do | start from |
//! |---|---|
//! | export a completed session as an eval case | [`GoldenTrace::from_ledger`] |
//! | put it into an `EvalSet` file | [`append_to_file`] |
//! | read an `EvalSet` file, of whatever dialect | [`EvalSet::read`] |
//! | read a `test_config.json` | [`Criteria::read`] |
//! | run the cases of an `EvalSet` against an agent | [`EvalRun`] |
//! | score a ledger that is there already | [`score_ledger`] |
//! | show a session as a list of five kinds of entries | [`history`] |
//!
//! What is written is the subset that `google-adk` 1.21 and 2.13 both take, in the form in which their own
//! `LocalEvalSetsManager` writes it. What is read and cannot be honoured is named, never left out silently.

mod caution;
mod conversation;
mod criteria;
mod eval_set;
mod file;
mod golden_tools;
mod history;
mod import;
mod name;
mod run;
mod score;
mod state;
mod trace;

pub use caution::{Caution, Obstacle};
pub use criteria::{Criteria, CriteriaError, Criterion, RESPONSE_MATCH, TOOL_TRAJECTORY};
pub use eval_set::{
    Conversation, ConversationScenario, EvalCase, EvalSet, IntermediateData, Invocation, SessionInput,
    ToolUse,
};
pub use file::{AppendError, EvalSetDefaults, Written, append_once_to_file, append_to_file};
pub use golden_tools::{GOLDEN_TOOLS, NO_RESPONSE_IN_TRACE, NOT_IN_TRACE};
pub use history::{HistoryEntry, history};
pub use import::{Dialect, ImportError, Imported, MAX_BYTES, Note};
pub use name::{eval_set_id, snake_case};
pub use run::{EvalRun, conversation_agent};
pub use score::{FINAL_STATE, golden_metrics, score_ledger};
pub use state::{flat_state, scoped_state};
pub use trace::{GoldenTrace, NotExportable, TraceOptions};
