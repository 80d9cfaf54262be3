//! Judging a session that was stored.

use std::sync::Arc;

use rehearsal_agent::{Session, Surroundings};
use rehearsal_core::{
    CaseResult, EndReason, EventBody, Failure, Ids, Ledger, Phase, SessionPart, SessionStarted, TokenUsage,
    elapsed,
};
use rehearsal_metrics::MetricRef;

use crate::fault::fault_of;
use crate::judge::evaluate;
use crate::simulation::{by_name, end_part, metric_failure, millis, system, taken_part, verdict};
use crate::{CaseRun, Judges, Judgment};

/// Judges the session of an agent again. Nothing of it is run; judges are asked as they are while a case runs.
///
/// Metrics come in groups: those that were evaluated at one moment of the case. A judge that answers by a script sees the
/// groups one after the other. How the session ended counts as it does in a run, and one that has no end is an error.
pub async fn judge_ledger(
    main: Ledger,
    groups: &[Vec<MetricRef>],
    judges: &Judges,
    judgment: Judgment,
) -> CaseRun {
    let started = main.started().cloned().unwrap_or_default();
    let seed = started.seed.unwrap_or_default();
    let mut error = failure(&main);
    let mut found = Vec::new();
    let mut judge = None;
    match judging(&main, &started, seed) {
        Err(failed) => error = error.or(Some(failed)),
        Ok(mut session) => {
            for metrics in groups {
                let first = found.len();
                found.extend(evaluate(judges, metrics, first, &main, &mut session, true).await);
            }
            if let Err(failed) = end_part(&mut session, EndReason::Completed).await {
                error.get_or_insert_with(|| system(&failed));
            }
            judge = taken_part(session);
        }
    }
    let metrics = by_name(found.into_iter());
    let error = error.or_else(|| metric_failure(judgment, &metrics));
    let end = main.end().unwrap_or(EndReason::Error);
    let limit = !matches!(end, EndReason::Completed | EndReason::Error);
    let times = (main.events().first(), main.events().last());
    let took = times.0.zip(times.1).map(|(first, last)| elapsed(first.at, last.at));
    let status = verdict(end, error.as_ref(), judgment, &metrics);
    let result = CaseResult {
        fault: fault_of(status, end, error.as_ref()),
        duration_ms: millis(took.unwrap_or_default()),
        turns: main.turns(),
        token_usage: TokenUsage {
            agent: main.usage(),
            user: None,
            judge: judge.as_ref().and_then(Ledger::usage),
        },
        termination_reason: limit.then_some(end),
        sessions: std::iter::once(&main).chain(&judge).map(|ledger| ledger.session().clone()).collect(),
        metrics,
        error,
        ..CaseResult::new(started.case.as_deref().unwrap_or_default(), status, seed)
    };
    CaseRun { result, main, users: None, judge }
}

/// What went wrong in a session, if something did.
fn failure(main: &Ledger) -> Option<Failure> {
    let of_run = |message: String| Failure { phase: Phase::System, kind: "unended".to_owned(), message };
    let Some(end) = main.end() else {
        let last = main.events().last().map_or(0, |event| event.seq);
        return Some(of_run(format!("the session did not come to its end; its last event is #{last}")));
    };
    let told = main.events().iter().rev().find_map(|event| match &event.body {
        EventBody::Error(failure) => Some(failure.clone()),
        _ => None,
    });
    match end {
        EndReason::Error => Some(told.unwrap_or_else(|| of_run("the session ended in an error".to_owned()))),
        _ => None,
    }
}

/// A session for the judge, as a case has one.
fn judging(main: &Ledger, started: &SessionStarted, seed: u64) -> Result<Session, Failure> {
    let name = started.case.as_deref().unwrap_or_default();
    let start = SessionStarted {
        part: SessionPart::Judge,
        agent: "judge".into(),
        case: started.case.clone(),
        parent: Some(main.session().clone()),
        ..SessionStarted::default()
    };
    let id = Ids::seeded(seed).session(name, 2);
    let session = Session::start(id, start, Arc::new(Surroundings::seeded(seed)));
    session.map_err(|error| system(&error))
}
