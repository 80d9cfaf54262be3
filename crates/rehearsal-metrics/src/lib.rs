//! Pure functions of a ledger: metrics, evaluators, statistics

mod custom;
mod equality;
mod event_count;
mod excerpt;
mod final_response;
mod judge;
mod metric;
mod query_evidence;
mod rouge;
mod score;
mod state;
mod statistics;
#[cfg(test)]
mod testing;
mod trajectory;

pub use custom::Custom;
pub use event_count::EventCountMetric;
pub use final_response::{FinalResponse, InvalidPattern, final_response};
pub use judge::LlmJudge;
pub use metric::{Assessment, Metric, MetricRef, Question};
pub use rouge::{Rouge, adk_text, porter_stem, rouge_tokens, rouge1};
pub use score::score;
pub use state::StateMetric;
pub use statistics::{Z_95, pass_at_k, pass_hat_k, repeat_statistics, wilson};
pub use trajectory::{AdkArgs, AdkMatch, ExpectedCall, TrajectoryMetric, adk_trajectory_score};
