//! Metrics that watch a case while it runs, and end it.

use std::sync::{Arc, OnceLock};

use rehearsal_agent::{Session, Watch};
use rehearsal_core::{Event, Failure, Ledger, MetricResult, Phase};
use rehearsal_metrics::{Breach, MetricRef, Watcher};

use crate::judge::caught;

/// What the metrics that watch a case have found, once one of them has ended it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched(Arc<OnceLock<Found>>);

#[derive(Debug)]
struct Found {
    metric: String,
    /// How its rule was broken, or how the metric itself came to grief.
    what: Result<Breach, MetricResult>,
}

impl Watched {
    /// Lets those of the metrics that watch follow a session; where none does, nothing is looked at.
    pub(crate) fn of<'a>(metrics: impl Iterator<Item = &'a MetricRef>, session: &mut Session) -> Self {
        let watched = Self::default();
        let watchers: Vec<(String, Box<dyn Watcher>)> =
            metrics.filter_map(|metric| Some((metric.name().to_owned(), metric.watch()?))).collect();
        if !watchers.is_empty() {
            session.watch(Box::new(Watching { watchers, watched: watched.clone() }));
        }
        watched
    }

    /// Whether a metric ended the case; a metric that panicked is a failure of the case.
    pub(crate) fn end(&self) -> Option<Result<(), Failure>> {
        let found = self.0.get()?;
        Some(match &found.what {
            Ok(_) => Ok(()),
            Err(error) => {
                let why = error.evidence.first().map_or("no reason given", |evidence| &evidence.text);
                let message = format!("metric `{}` could not be decided: {why}", found.metric);
                Err(Failure { phase: Phase::Metric, kind: "metric".to_owned(), message })
            }
        })
    }

    /// The result of the metric that ended the case, by its name.
    pub(crate) fn result(&self) -> Option<(String, MetricResult)> {
        let found = self.0.get()?;
        let result = found.what.clone().map_or_else(|error| error, MetricResult::from);
        Some((found.metric.clone(), result))
    }
}

/// The metrics that watch one session, in their order.
#[derive(Debug)]
struct Watching {
    watchers: Vec<(String, Box<dyn Watcher>)>,
    watched: Watched,
}

impl Watch for Watching {
    fn see(&mut self, events: &[Arc<Event>], ledger: &Ledger) -> Option<String> {
        for event in events {
            for (metric, watcher) in &mut self.watchers {
                let what = caught(|| watcher.see(event, ledger)).transpose();
                let Some(what) = what else { continue };
                // One that panicked has no reason to be given: it is the case's error.
                let why =
                    what.as_ref().map_or_else(|_| "it panicked".to_owned(), |breach| breach.why.clone());
                let metric = watcher.breached().unwrap_or_else(|| metric.clone());
                // Only the first counts; the session stops at it.
                self.watched.0.get_or_init(|| Found { metric: metric.clone(), what });
                return Some(format!("metric `{metric}`: {why}"));
            }
        }
        None
    }
}
