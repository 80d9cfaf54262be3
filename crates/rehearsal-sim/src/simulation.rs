//! The simulation loop: the agent runs, yields, is answered, and runs on.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::future::FutureExt;
use rehearsal_agent::{Flow, RunError, Session, Surroundings, Voices, run};
use rehearsal_core::{
    CaseResult, Chance, Clock, EndReason, Event, Failure, Ids, Ledger, MetricStatus, Phase, SessionPart,
    SessionStarted, State, SystemClock, Timestamp, TokenUsage, Verdict, Yield, elapsed,
};

use crate::judge::{evaluate, panic_text};
use crate::users::{Stop, answer_loop, answer_tools};
use crate::{Case, Opening};

/// What a run of a case takes from outside.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where ids and chance come from.
    pub seed: u64,
    /// Which repeat of the case it is.
    pub repeat: u32,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Default for RunOptions {
    /// The machine's clock, and seed 0.
    fn default() -> Self {
        Self { seed: 0, repeat: 0, clock: Arc::new(SystemClock) }
    }
}

/// A case that was run: its result and its ledgers.
#[derive(Clone, Debug)]
pub struct CaseRun {
    /// What it came to.
    pub result: CaseResult,
    /// The agent's session.
    pub main: Ledger,
    /// The users' session, where users took part.
    pub users: Option<Ledger>,
    /// The judge's session, where a judge was asked.
    pub judge: Option<Ledger>,
}

impl CaseRun {
    /// Whether the case passed.
    pub fn passed(&self) -> bool {
        self.result.status == Verdict::Passed
    }

    /// The events of the agent's session.
    pub fn events(&self) -> &[Arc<Event>] {
        self.main.events()
    }

    /// The state of the agent's session at its end.
    pub fn state(&self) -> &State {
        self.main.state()
    }

    /// A run that came to nothing, because the engine itself panicked.
    pub(crate) fn broken(case: &Case, options: &RunOptions, panic: &(dyn std::any::Any + Send)) -> Self {
        let message = format!("the case panicked: {}", panic_text(panic));
        let error = Failure { phase: Phase::System, kind: "panic".to_owned(), message };
        let main = Ledger::new(Ids::seeded(options.seed).session(&case.name, 0));
        let result = CaseResult {
            name: case.name.to_string(),
            repeat: options.repeat,
            status: Verdict::Error,
            metrics: Metrics::new(),
            duration_ms: 0,
            turns: 0,
            token_usage: TokenUsage::default(),
            error: Some(error),
            termination_reason: None,
            seed: options.seed,
            sessions: Vec::new(),
        };
        Self { result, main, users: None, judge: None }
    }

    /// All its ledgers.
    pub fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        std::iter::once(&self.main).chain(&self.users).chain(&self.judge)
    }
}

impl Case {
    /// Runs the case and judges it.
    pub async fn run(&self, options: &RunOptions) -> CaseRun {
        let began = options.clock.now();
        let mut stage = match Stage::set(self, options) {
            Ok(stage) => stage,
            Err(error) => unreachable!("a new session takes its first event: {error}"),
        };
        let played = AssertUnwindSafe(stage.play(self, began)).catch_unwind().await;
        let played = played.unwrap_or_else(|panic| {
            let message = format!("a tool, mock or agent panicked: {}", panic_text(&*panic));
            Err(Failure { phase: Phase::System, kind: "panic".to_owned(), message })
        });
        stage.close(self, options, began, played).await
    }
}

/// The sessions of one run.
struct Stage {
    main: Session,
    users: Session,
    judging: Session,
}

impl Stage {
    fn set(case: &Case, options: &RunOptions) -> Result<Self, RunError> {
        let chance = Chance::seeded(options.seed);
        let ids = Ids::seeded(options.seed);
        let around = Surroundings { clock: options.clock.clone(), ids, chance, journal: None };
        let around = Arc::new(around);
        let id = ids.session(&case.name, 0);
        let start = SessionStarted {
            agent: case.agent.name().clone(),
            case: Some(case.name.clone()),
            seed: Some(options.seed),
            state: case.initial_state.clone(),
            ..SessionStarted::default()
        };
        let linked = |part, agent: &str, number| {
            let start = SessionStarted {
                part,
                agent: agent.into(),
                case: Some(case.name.clone()),
                parent: Some(id.clone()),
                ..SessionStarted::default()
            };
            Session::start(ids.session(&case.name, number), start, around.clone())
        };
        let users = linked(SessionPart::User, "users", 1)?.voices(Voices::One);
        let judging = linked(SessionPart::Judge, "judge", 2)?;
        let main = Session::start(id.clone(), start, around.clone())?;
        Ok(Self { main, users, judging })
    }

    /// Plays the case until something ends it.
    async fn play(&mut self, case: &Case, began: Timestamp) -> Result<EndReason, Failure> {
        if !case.problems.is_empty() {
            let message = format!("the case cannot be run:\n  {}", case.problems.join("\n  "));
            return Err(Failure { phase: Phase::System, kind: "invalid_case".to_owned(), message });
        }
        // The clock decides where the case can be measured, the timer where something hangs in between.
        match case.termination.max_duration {
            None => self.turns(case, began).await,
            Some(limit) => match tokio::time::timeout(limit, self.turns(case, began)).await {
                Ok(end) => end,
                Err(_) => Ok(EndReason::MaxDuration),
            },
        }
    }

    async fn turns(&mut self, case: &Case, began: Timestamp) -> Result<EndReason, Failure> {
        match &case.opening {
            Opening::Message(content) => {
                self.main.say(content.clone(), None).map_err(|error| system(&error))?;
            }
            Opening::User => {
                answer_loop(case, &mut self.main, &mut self.users, None).await.map_err(stopped)?;
            }
            Opening::Agent => {}
        }
        loop {
            let flow =
                run(&case.agent, &mut self.main, &case.casting).await.map_err(|error| system(&error))?;
            let waiting = match flow {
                Flow::Done(_) => return Ok(EndReason::Completed),
                Flow::Waiting(waiting) => waiting,
            };
            if let Some(end) = self.limit_reached(case, began) {
                return Ok(end);
            }
            let answered = match waiting {
                Yield::Loop { invocation } => {
                    answer_loop(case, &mut self.main, &mut self.users, Some(invocation)).await
                }
                Yield::Tools { calls } => answer_tools(case, &mut self.main, &mut self.users, &calls).await,
            };
            answered.map_err(stopped)?;
            if self.state_matches(case) {
                return Ok(EndReason::StateMatches);
            }
        }
    }

    /// Looked at when the agent yields: what was reached by then needs no further answer.
    fn limit_reached(&self, case: &Case, began: Timestamp) -> Option<EndReason> {
        let limits = &case.termination;
        if self.state_matches(case) {
            return Some(EndReason::StateMatches);
        }
        if self.main.ledger().turns() >= limits.max_turns {
            return Some(EndReason::MaxTurns);
        }
        let passed = elapsed(began, self.main.around().clock.now());
        limits.max_duration.filter(|limit| passed >= *limit).map(|_| EndReason::MaxDuration)
    }

    fn state_matches(&self, case: &Case) -> bool {
        let query = case.termination.state_matches.as_ref();
        query.is_some_and(|query| query.matches(&self.main.state().to_value()))
    }

    /// Ends the session and judges it.
    async fn close(
        mut self,
        case: &Case,
        options: &RunOptions,
        began: Timestamp,
        played: Result<EndReason, Failure>,
    ) -> CaseRun {
        let (end, mut error) = match played {
            Ok(end) => (end, None),
            Err(failure) => (EndReason::Error, Some(failure)),
        };
        let closed = match &error {
            None => self.main.end(end),
            Some(failure) => self.main.fail(failure.clone()),
        };
        if let Err(failed) = closed {
            error.get_or_insert_with(|| system(&failed));
        }
        let main = self.main.into_ledger();
        let mut metrics = indexmap::IndexMap::new();
        for (name, result) in evaluate(case, &main, &mut self.judging, error.is_none()).await {
            let slot = metrics.entry(name.clone());
            if let indexmap::map::Entry::Occupied(mut taken) = slot {
                let why = format!("two metrics are called `{name}`; give them different names");
                taken.insert(rehearsal_core::MetricResult::error(why));
            } else {
                slot.or_insert(result);
            }
        }
        let error = error.or_else(|| metric_failure(&metrics));
        let (users, judge) = (taken_part(self.users), taken_part(self.judging));
        let usage = |ledger: &Option<Ledger>| ledger.as_ref().and_then(Ledger::usage);
        let limit = matches!(end, EndReason::MaxTurns | EndReason::MaxDuration | EndReason::StateMatches);
        let result = CaseResult {
            name: case.name.to_string(),
            repeat: options.repeat,
            status: verdict(end, error.as_ref(), &metrics),
            duration_ms: millis(elapsed(began, options.clock.now())),
            turns: main.turns(),
            token_usage: TokenUsage { agent: main.usage(), user: usage(&users), judge: usage(&judge) },
            termination_reason: limit.then_some(end),
            seed: options.seed,
            sessions: std::iter::once(&main)
                .chain(&users)
                .chain(&judge)
                .map(|ledger| ledger.session().clone())
                .collect(),
            metrics,
            error,
        };
        CaseRun { result, main, users, judge }
    }
}

fn system(error: &RunError) -> Failure {
    error.failure(Phase::System)
}

fn stopped(stop: Stop) -> Failure {
    match stop {
        Stop::Failed(failure) => failure,
        Stop::Broken(error) => system(&error),
    }
}

fn taken_part(session: Session) -> Option<Ledger> {
    let ledger = session.into_ledger();
    (ledger.events().len() > 1).then_some(ledger)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

type Metrics = indexmap::IndexMap<String, rehearsal_core::MetricResult>;

/// A metric that could not decide is an error of the case: it is never a pass.
fn metric_failure(metrics: &Metrics) -> Option<Failure> {
    let undecided = |status| matches!(status, MetricStatus::Error | MetricStatus::Unscored);
    let (name, result) = metrics.iter().find(|(_, result)| undecided(result.status))?;
    let why = result.evidence.first().map_or("no reason given", |evidence| &evidence.text);
    let message = format!("metric `{name}` could not be decided: {why}");
    Some(Failure { phase: Phase::Metric, kind: "metric".to_owned(), message })
}

/// Error before terminated before failed before passed.
fn verdict(end: EndReason, error: Option<&Failure>, metrics: &Metrics) -> Verdict {
    if error.is_some() {
        Verdict::Error
    } else if matches!(end, EndReason::MaxTurns | EndReason::MaxDuration) {
        Verdict::Terminated
    } else if metrics.is_empty() {
        Verdict::Unjudged
    } else if metrics.values().all(rehearsal_core::MetricResult::passed) {
        Verdict::Passed
    } else {
        Verdict::Failed
    }
}
