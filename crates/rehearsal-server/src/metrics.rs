//! Figures for Prometheus.

use std::sync::Arc;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rehearsal_store::{CueQuery, CueStatus};

use crate::Problem;
use crate::desk::Desk;

/// What is counted.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    registry: Arc<Registry>,
    /// Events that agents elsewhere sent.
    pub(crate) events: Counter,
    /// Model turns that were taken in.
    pub(crate) turns: Counter,
    /// Answers that were taken.
    pub(crate) answers: Counter,
    /// Calls that were refused at the door.
    pub(crate) refused: Counter,
    waiting: Gauge,
    hosts_waiting: Gauge,
    open_cues: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("rehearsal");
        let (events, turns, answers, refused) =
            (Counter::default(), Counter::default(), Counter::default(), Counter::default());
        let (waiting, hosts_waiting, open_cues) = (Gauge::default(), Gauge::default(), Gauge::default());
        registry.register("events", "Events that agents elsewhere sent", events.clone());
        registry.register("turns", "Model turns that were taken in", turns.clone());
        registry.register("answers", "Answers that were taken", answers.clone());
        registry.register("refused", "Calls refused at the door", refused.clone());
        registry.register("waiting", "Agents that wait here", waiting.clone());
        registry.register("hosts_waiting", "Hosts that wait here for work", hosts_waiting.clone());
        registry.register(
            "open_cues",
            "Cues that wait for an answer (at most 1000 are counted)",
            open_cues.clone(),
        );
        Self {
            registry: Arc::new(registry),
            events,
            turns,
            answers,
            refused,
            waiting,
            hosts_waiting,
            open_cues,
        }
    }
}

impl Metrics {
    /// The figures as text.
    pub(crate) async fn render(&self, desk: &Desk) -> Result<String, Problem> {
        let (agents, hosts) = desk.presence.counts();
        self.waiting.set(i64::try_from(agents).unwrap_or(i64::MAX));
        self.hosts_waiting.set(i64::try_from(hosts).unwrap_or(i64::MAX));
        let query = CueQuery { session: None, statuses: vec![CueStatus::Open], limit: 1000 };
        let open = desk.store().cues(&query).await?.len();
        self.open_cues.set(i64::try_from(open).unwrap_or(i64::MAX));
        let mut text = String::new();
        encode(&mut text, &self.registry).map_err(|error| {
            Problem::new(
                crate::problem::Class::Internal,
                crate::Kind::Internal,
                format!("cannot write figures: {error}"),
            )
        })?;
        Ok(text)
    }
}
