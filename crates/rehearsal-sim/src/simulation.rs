//! The simulation loop: the agent runs, yields, is answered, and runs on.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::FutureExt;
use rehearsal_agent::{Flow, Journal, Meter, RunError, Session, Surroundings, Voices, run};
use rehearsal_core::{
    CaseResult, Chance, Clock, EndReason, Event, EventBody, Failure, Fault, Ids, InvocationId, Ledger,
    MetricResult, MetricStatus, ModelResponse, Phase, SessionPart, SessionStarted, State, SteadyClock,
    SystemClock, Timestamp, TokenUsage, Verdict, Yield, elapsed,
};
use rehearsal_metrics::{MetricRef, Prices};
use tokio::sync::watch;

use crate::budget::CaseMeter;
use crate::fault::fault_of;
use crate::judge::{evaluate, panic_text};
use crate::person::NO_PEOPLE;
use crate::users::{Company, Stop, answer_tools, missing_loop_user};
use crate::watch::Watched;
use crate::{Budget, Case, Casting, Judgment, Next, Opening, Scene, TimeLimit};

/// What a run of a case takes from outside.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Where ids and chance come from.
    pub seed: u64,
    /// Which repeat of the case it is.
    pub repeat: u32,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Where events are kept as they happen, those of all three sessions.
    pub journal: Option<Arc<dyn Journal>>,
    /// Ends the run from outside.
    pub cancel: Cancel,
    /// What the models of all cases may use together, where that is limited.
    pub budget: Option<Arc<Budget>>,
}

impl Default for RunOptions {
    /// The machine's clock, seed 0, and nothing kept.
    fn default() -> Self {
        let clock = Arc::new(SystemClock);
        Self { seed: 0, repeat: 0, clock, journal: None, cancel: Cancel::default(), budget: None }
    }
}

/// Ends runs from outside. What happened until then stays on their ledgers, and their verdict is *terminated*.
#[derive(Clone, Debug)]
pub struct Cancel {
    called: Arc<watch::Sender<bool>>,
}

impl Default for Cancel {
    fn default() -> Self {
        Self { called: Arc::new(watch::Sender::new(false)) }
    }
}

impl Cancel {
    /// Ends the runs that were given this.
    pub fn cancel(&self) {
        self.called.send_replace(true);
    }

    /// Whether it was called.
    pub fn is_cancelled(&self) -> bool {
        *self.called.borrow()
    }

    pub(crate) async fn cancelled(&self) {
        // The sender is held here, so the channel cannot close while this waits.
        drop(self.called.subscribe().wait_for(|called| *called).await);
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
    pub(crate) fn broken(name: &str, options: &RunOptions, panic: &(dyn std::any::Any + Send)) -> Self {
        let message = format!("the case panicked: {}", panic_text(panic));
        let error = Failure { phase: Phase::System, kind: "panic".to_owned(), message };
        let main = Ledger::new(Ids::seeded(options.seed).session(name, 0));
        let result = CaseResult {
            repeat: options.repeat,
            error: Some(error),
            fault: Some(Fault::Infrastructure),
            ..CaseResult::new(name, Verdict::Error, options.seed)
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
        // A clock that somebody sets while the case runs must not end it.
        let clock: Arc<dyn Clock> = Arc::new(SteadyClock::new(options.clock.clone()));
        let options = &RunOptions { clock, ..options.clone() };
        let began = options.clock.now();
        let mut stage = match Stage::set(self, options) {
            Ok(stage) => stage,
            Err(error) => unreachable!("a new session takes its first event: {error}"),
        };
        let played = AssertUnwindSafe(stage.play(self, began, &options.cancel)).catch_unwind().await;
        let played = played.unwrap_or_else(|panic| {
            let message = format!("a tool, mock or agent panicked: {}", panic_text(&*panic));
            Err(Failure { phase: Phase::System, kind: "panic".to_owned(), message })
        });
        let played = match stage.watched.end() {
            None => played,
            Some(ended) => ended.map(|()| EndReason::RuleBroken),
        };
        stage.close(self, options, began, played).await
    }
}

/// The sessions of one run, and who plays in it.
struct Stage {
    casting: Casting,
    main: Session,
    users: Session,
    judging: Session,
    /// What metrics found while the case ran.
    found: Vec<(String, MetricResult)>,
    /// What ended the case, if a metric that watches it did.
    watched: Watched,
    /// Counts what its models use, where that is limited.
    meter: Option<Arc<CaseMeter>>,
    budget: Option<Arc<Budget>>,
}

impl Stage {
    fn set(case: &Case, options: &RunOptions) -> Result<Self, RunError> {
        let chance = Chance::seeded(options.seed);
        let ids = Ids::seeded(options.seed);
        let meter = CaseMeter::of(options.budget.as_ref(), case.limits, &case.prices);
        let around = Surroundings {
            clock: options.clock.clone(),
            ids,
            chance,
            journal: options.journal.clone(),
            meter: meter.clone().map(|meter| meter as Arc<dyn Meter>),
        };
        let around = Arc::new(around);
        let id = ids.session(&case.name, 0);
        let start = SessionStarted {
            agent: case.agent.name().clone(),
            case: Some(case.name.clone()),
            row: case.row.clone(),
            variant: case.variant.clone(),
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
        let mut main = Session::start(id.clone(), start, around.clone())?;
        let watched = Watched::of(case.metrics.iter().chain(&case.watching), &mut main);
        let (casting, budget) = (case.casting.for_run(), options.budget.clone());
        Ok(Self { casting, main, users, judging, found: Vec::new(), watched, meter, budget })
    }

    /// Plays the case until something ends it.
    async fn play(&mut self, case: &Case, began: Timestamp, cancel: &Cancel) -> Result<EndReason, Failure> {
        if !case.problems.is_empty() {
            let message = format!("the case cannot be run:\n  {}", case.problems.join("\n  "));
            return Err(Failure { phase: Phase::System, kind: "invalid_case".to_owned(), message });
        }
        let parts = case.parts_nobody_can_play();
        if !parts.is_empty() {
            let message = format!(
                "this case is played by a person: {}; but nobody brings them what they are asked\n\nHand in who does:\n  \
                 .people(people)",
                parts.join(", ")
            );
            return Err(Failure { phase: Phase::System, kind: NO_PEOPLE.to_owned(), message });
        }
        let budget = self.budget.clone();
        // The clock decides where the case can be measured, the timer where something hangs in between.
        let limit = case.termination.max_duration;
        let playing = async {
            match limit {
                None => self.turns(case, began).await,
                Some(limit) => match tokio::time::timeout(limit, self.turns(case, began)).await {
                    Ok(end) => end,
                    Err(_) => Ok(EndReason::MaxDuration),
                },
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(EndReason::Cancelled),
            why = time_is_up(budget) => Err(over_budget(Phase::System, why)),
            end = playing => end,
        }
    }

    async fn turns(&mut self, case: &Case, began: Timestamp) -> Result<EndReason, Failure> {
        let mut limit = None;
        match &case.opening {
            Opening::Message(content) => {
                self.main.say(content.clone(), None).map_err(|error| system(&error))?;
            }
            Opening::User => match self.next_message(case, None).await? {
                ControlFlow::Continue(given) => limit = given,
                ControlFlow::Break(end) => return Ok(end),
            },
            Opening::Agent => {}
        }
        loop {
            let allowed: Option<TimeLimit> = limit.take();
            let flow = {
                let running = pin!(run(&case.agent, &mut self.main, &self.casting));
                match &allowed {
                    None => Some(running.await),
                    Some(limit) => self.casting.people_at_hand().within(limit.within, running).await,
                }
            };
            let Some(flow) = flow else {
                if let Some(limit) = allowed {
                    let millis = Some(millis(limit.within));
                    let body =
                        EventBody::TimeLimit(rehearsal_core::ReachedLimit { limit: limit.what, millis });
                    self.main.tell(body).map_err(|error| system(&error))?;
                }
                return Ok(EndReason::MaxDuration);
            };
            let waiting = match flow.map_err(|error| system(&error))? {
                Flow::Done(_) => return Ok(EndReason::Completed),
                Flow::Waiting(waiting) => waiting,
            };
            if let Some(end) = self.limit_reached(case, began) {
                return Ok(end);
            }
            match waiting {
                Yield::Loop { invocation } => match self.next_message(case, Some(invocation)).await? {
                    ControlFlow::Continue(given) => limit = given,
                    ControlFlow::Break(end) => return Ok(end),
                },
                Yield::Tools { calls } => {
                    let company = Company { case, people: self.casting.people_at_hand() };
                    let answered = answer_tools(company, &mut self.main, &mut self.users, &calls).await;
                    answered.map_err(Stop::into_failure)?;
                    // The agent goes on with its answer. What the users took was not its time.
                    limit = allowed;
                }
            }
            if self.state_matches(case) {
                return Ok(EndReason::StateMatches);
            }
        }
    }

    /// Lets the user of the loop say the next message; gives how long the agent may take to answer it.
    async fn next_message(
        &mut self,
        case: &Case,
        invocation: Option<InvocationId>,
    ) -> Result<ControlFlow<EndReason, Option<TimeLimit>>, Failure> {
        let user = case.users.for_loop.as_ref().ok_or_else(missing_loop_user)?;
        let mut scene = Scene {
            case,
            main: &mut self.main,
            users: &mut self.users,
            judging: &mut self.judging,
            found: &mut self.found,
            people: self.casting.people_at_hand(),
            invocation,
        };
        let has_spoken = scene.invocation.is_some();
        match user.next(&mut scene).await? {
            Next::End(reason) => Ok(ControlFlow::Break(reason)),
            Next::Listen { .. } if has_spoken => {
                let message =
                    "the agent waits for the next message, so it cannot be let speak first".to_owned();
                Err(Failure { phase: Phase::UserAgent, kind: "nothing_said".to_owned(), message })
            }
            Next::Listen { changes, limit } => {
                scene.change(changes)?;
                self.main.commit().await.map_err(|error| system(&error))?;
                Ok(ControlFlow::Continue(limit))
            }
            Next::Say { content, decision, changes, limit } => {
                scene.change(changes)?;
                let said = async {
                    self.main.say(content, decision)?;
                    self.main.commit().await
                };
                said.await.map_err(|error| system(&error))?;
                Ok(ControlFlow::Continue(limit))
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
        self.main.unwatch();
        let closed = match &error {
            None => self.main.end(end),
            Some(failure) => self.main.fail(failure.clone()),
        };
        let closed = match closed {
            Ok(()) => self.main.commit().await,
            Err(failed) => Err(failed),
        };
        if let Err(failed) = closed {
            error.get_or_insert_with(|| system(&failed));
        }
        let main = self.main.into_ledger();
        let ask_judges = error.is_none() && end != EndReason::Cancelled;
        let found = std::mem::take(&mut self.found);
        let first = found.len();
        let rest = evaluate(&case.judges, &case.metrics, first, &main, &mut self.judging, ask_judges);
        let rest = tokio::select! {
            biased;
            rest = rest => rest,
            why = time_is_up(self.budget.clone()) => undecided(&case.metrics, &why),
        };
        let mut metrics = by_name(found.into_iter().chain(rest));
        metrics.extend(self.watched.result());
        for (session, end) in [(&mut self.users, end), (&mut self.judging, EndReason::Completed)] {
            if let Err(failed) = end_part(session, end).await {
                error.get_or_insert_with(|| system(&failed));
            }
        }
        let error = error.or_else(|| metric_failure(case.judgment, &metrics));
        // Whatever came of a call that was not made, that it was not made is why.
        let error = settled(error, self.meter.as_deref(), self.budget.as_deref());
        let (users, judge) = (taken_part(self.users), taken_part(self.judging));
        let usage = |ledger: &Option<Ledger>| ledger.as_ref().and_then(Ledger::usage);
        let limit = !matches!(end, EndReason::Completed | EndReason::Error);
        let status = verdict(end, error.as_ref(), case.judgment, &metrics);
        let result = CaseResult {
            repeat: options.repeat,
            fault: fault_of(status, end, error.as_ref()),
            duration_ms: millis(elapsed(began, options.clock.now())),
            turns: main.turns(),
            token_usage: TokenUsage { agent: main.usage(), user: usage(&users), judge: usage(&judge) },
            termination_reason: limit.then_some(end),
            sessions: std::iter::once(&main)
                .chain(&users)
                .chain(&judge)
                .map(|ledger| ledger.session().clone())
                .collect(),
            metrics,
            cost: cost(std::iter::once(&main).chain(&users).chain(&judge), &case.prices),
            error,
            ..CaseResult::new(&*case.name, status, options.seed)
        };
        CaseRun { result, main, users, judge }
    }
}

/// The failure as one of the budget, where a call that was not made, or the end of the time, is why.
fn settled(error: Option<Failure>, meter: Option<&CaseMeter>, budget: Option<&Budget>) -> Option<Failure> {
    let Some(error) = error else {
        return meter?.unsaid().map(|why| over_budget(Phase::System, why));
    };
    let is_of_metric = error.phase == Phase::Metric;
    let time = || budget.filter(|_| is_of_metric)?.time_is_up_because();
    let why = meter.and_then(CaseMeter::stopped).or_else(time).filter(|_| error.kind != Failure::BUDGET);
    Some(why.map(|why| over_budget(error.phase, why)).unwrap_or(error))
}

/// What the models whose answers stand on these ledgers cost, where every one that says what it used has a price.
fn cost<'a>(ledgers: impl Iterator<Item = &'a Ledger>, prices: &Prices) -> Option<f64> {
    if prices.0.is_empty() {
        return None;
    }
    let mut total = None;
    for event in ledgers.flat_map(Ledger::events) {
        if let EventBody::ModelResponse(ModelResponse { usage: Some(usage), .. }) = &event.body {
            let model = event.decision.as_ref()?.name.as_deref()?;
            *total.get_or_insert(0.0) += prices.0.get(model)?.of(*usage);
        }
    }
    total
}

/// Comes to an end when the time of the run is up, and says so.
pub(crate) async fn time_is_up(budget: Option<Arc<Budget>>) -> String {
    match budget {
        Some(budget) => budget.time_up().await,
        None => std::future::pending().await,
    }
}

fn over_budget(phase: Phase, message: String) -> Failure {
    Failure { phase, kind: Failure::BUDGET.to_owned(), message }
}

/// What metrics found that nobody had the time for.
fn undecided(metrics: &[MetricRef], why: &str) -> Vec<(String, MetricResult)> {
    metrics.iter().map(|metric| (metric.name().to_owned(), MetricResult::unscored(why))).collect()
}

pub(crate) fn system(error: &RunError) -> Failure {
    error.failure(Phase::System)
}

/// Ends the session of a part beside the agent's, if it was played.
pub(crate) async fn end_part(session: &mut Session, end: EndReason) -> Result<(), RunError> {
    if session.ledger().events().len() > 1 {
        session.end(end)?;
        session.commit().await?;
    }
    Ok(())
}

pub(crate) fn taken_part(session: Session) -> Option<Ledger> {
    let ledger = session.into_ledger();
    (ledger.events().len() > 1).then_some(ledger)
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) type Metrics = indexmap::IndexMap<String, MetricResult>;

/// Results by the names of their metrics; a name that stands twice is an error.
pub(crate) fn by_name(found: impl Iterator<Item = (String, MetricResult)>) -> Metrics {
    let mut metrics = Metrics::new();
    for (name, result) in found {
        let slot = metrics.entry(name.clone());
        if let indexmap::map::Entry::Occupied(mut taken) = slot {
            let why = format!("two metrics are called `{name}`; give them different names");
            taken.insert(MetricResult::error(why));
        } else {
            slot.or_insert(result);
        }
    }
    metrics
}

/// A metric that could not decide is an error of the case: it is never a pass.
pub(crate) fn metric_failure(judgment: Judgment, metrics: &Metrics) -> Option<Failure> {
    if judgment == Judgment::AnyPass && metrics.values().any(MetricResult::passed) {
        return None;
    }
    let undecided = |status| matches!(status, MetricStatus::Error | MetricStatus::Unscored);
    let (name, result) = metrics.iter().find(|(_, result)| undecided(result.status))?;
    let why = result.evidence.first().map_or("no reason given", |evidence| &evidence.text);
    let message = format!("metric `{name}` could not be decided: {why}");
    Some(Failure { phase: Phase::Metric, kind: "metric".to_owned(), message })
}

/// Error before terminated before failed before passed; but where all have to pass and one has failed, what could not be
/// decided changes nothing any more: it is failed, and the error says what else there is to know. A case that ended at a
/// broken rule is failed also where another metric would be enough to pass, because nobody saw the rest of it.
pub(crate) fn verdict(
    end: EndReason,
    error: Option<&Failure>,
    judgment: Judgment,
    metrics: &Metrics,
) -> Verdict {
    let passed = match judgment {
        Judgment::AllPass => metrics.values().all(MetricResult::passed),
        Judgment::AnyPass => metrics.values().any(MetricResult::passed),
    };
    let stopped = matches!(end, EndReason::MaxTurns | EndReason::MaxDuration | EndReason::Cancelled);
    let broken = end == EndReason::RuleBroken;
    let settled = broken
        || judgment == Judgment::AllPass
            && !stopped
            && metrics.values().any(|result| result.status == MetricStatus::Failed);
    if error.is_some_and(|error| !(settled && error.phase == Phase::Metric)) {
        Verdict::Error
    } else if stopped {
        Verdict::Terminated
    } else if broken {
        Verdict::Failed
    } else if metrics.is_empty() {
        Verdict::Unjudged
    } else if passed {
        Verdict::Passed
    } else {
        Verdict::Failed
    }
}
