//! Pure functions of a ledger: metrics, evaluators, statistics

mod custom;
mod equality;
mod event_count;
mod excerpt;
mod metric;
mod rouge;
mod statistics;
#[cfg(test)]
mod testing;

pub use custom::Custom;
pub use event_count::EventCountMetric;
pub use metric::{Assessment, Metric, MetricRef, Question};
pub use rouge::{Rouge, adk_text, porter_stem, rouge_tokens, rouge1};
pub use statistics::{Z_95, pass_at_k, pass_hat_k, repeat_statistics, wilson};
