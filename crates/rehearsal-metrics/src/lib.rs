//! Pure functions of a ledger: metrics, evaluators, statistics.
//!
//! A metric looks at the events of a session and says whether the agent did well, how well, and why; see
//! [`Metric`]. It runs nothing and reads nothing else, so [`score`] scores any stored ledger again. Metrics that
//! need a judge, or a look at something outside, hand out requests instead of doing that themselves, and one may watch
//! a session while it goes on.
//!
//! | metric | asks |
//! |---|---|
//! | [`StateMetric`] | what did a value in the state come to? |
//! | [`EventCountMetric`] | how often did something happen? |
//! | [`TrajectoryMetric`] | which tools were called, with what, in which order? |
//! | [`FinalResponse`] | what did the agent say last? |
//! | [`LlmJudge`] | what does a model think of the session? |
//! | [`Custom`] | whatever a closure over the ledger asks |
//!
//! Every metric fails closed: what it cannot decide is [`Error`] or [`Unscored`] and says why, never passed.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rehearsal_core::{Clock, Draft, EventBody, FixedClock, Ledger, SessionStarted, StatePatch};
//! use rehearsal_metrics::{EventCountMetric, MetricRef, StateMetric, score};
//! use serde_json::json;
//!
//! let now = FixedClock::default().now();
//! let mut ledger = Ledger::new("s-1".into());
//! let started = EventBody::SessionStarted(SessionStarted { agent: "triage".into(), ..Default::default() });
//! ledger.append(Draft::new(now, "rehearsal", started))?;
//! let changes = StatePatch::one("session", "escalation", json!({"urgency": "emergency_999"}));
//! ledger.append(Draft::new(now, "rehearsal", EventBody::StateChange { changes }))?;
//!
//! let metrics: [MetricRef; 2] = [
//!     Arc::new(StateMetric::new("escalated", "session", "escalation.urgency").equals("emergency_999")),
//!     Arc::new(EventCountMetric::new("few_questions", "tool_call").tool("ask").at_most(5)),
//! ];
//! let results = score(&ledger, &metrics);
//! assert!(results.values().all(|result| result.passed()));
//! # Ok::<(), rehearsal_core::Inconsistent>(())
//! ```
//!
//! Beside the metrics stand the scores of the Agent Development Kit as plain functions, [`rouge1`] and
//! [`adk_trajectory_score`], and what repeats of a case say together: [`pass_at_k`], [`pass_hat_k`], [`wilson`].
//!
//! [`Error`]: rehearsal_core::MetricStatus::Error
//! [`Unscored`]: rehearsal_core::MetricStatus::Unscored

#![cfg_attr(test, expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them"))]

mod check_record;
mod custom;
mod equality;
pub mod evaluator;
mod event_count;
mod excerpt;
mod final_response;
mod fold;
mod judge;
mod metric;
mod prices;
mod query_evidence;
mod rouge;
mod score;
mod state;
mod statistics;
mod tally;
#[cfg(test)]
mod testing;
mod trajectory;
mod view;
mod watch;

pub use custom::Custom;
pub use equality::is_same;
pub use event_count::EventCountMetric;
pub use final_response::{FinalResponse, InvalidPattern, final_response};
pub use fold::folded;
pub use judge::LlmJudge;
pub use judge::answer::InvalidAnswer;
pub use metric::{Assessment, Metric, MetricRef, Question, Request};
pub use prices::{Price, Prices};
pub use rouge::{Rouge, adk_text, porter_stem, rouge_tokens, rouge1};
pub use score::score;
pub use state::StateMetric;
pub use statistics::{Z_95, pass_at_k, pass_hat_k, repeat_statistics, wilson};
pub use tally::Tally;
pub use trajectory::{
    AdkArgs, AdkCall, AdkMatch, ExpectedCall, MatchKind, TrajectoryMetric, adk_trajectory_score,
};
pub use view::{NotInView, Scope, StepView, TurnView, View, last_said};
pub use watch::{Breach, EveryTurn, Watcher};
