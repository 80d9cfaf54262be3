//! The user of a loop: who says the next message, and what they may know and do.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{AgentRef, Session};
use rehearsal_core::{
    Chance, Content, Decision, EndReason, EventBody, Failure, InvocationId, Ledger, MetricResult, Phase,
    Player, StatePatch, Timestamp, elapsed,
};
use rehearsal_metrics::{MetricRef, Question};
use serde_json::{Map, Value};

use crate::judge::{ask_once, evaluate};
use crate::person::{INVALID_ANSWER, PeopleAtHand, PersonCue, UserReply, check_user_answer, refused};
use crate::simulation::system;
use crate::users::{Company, Prompt, Stop, path, play};
use crate::{Case, YieldInfo};

/// Plays the user of a loop.
///
/// It is asked whenever the agent waits for the next message, and once before the agent runs when the case opens
/// with its user. It keeps nothing between calls: what happened so far is on the ledger.
#[async_trait]
pub trait LoopUser: Send + Sync + fmt::Debug {
    /// Says what comes next.
    ///
    /// # Errors
    /// The user cannot go on; the case ends in this error.
    async fn next(&self, scene: &mut Scene<'_>) -> Result<Next, Failure>;

    /// Whether it asks people. A case that has none is not run then.
    fn needs_people(&self) -> bool {
        false
    }
}

/// What the user of a loop does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Says something.
    Say {
        /// What.
        content: Content,
        /// Who decided it.
        decision: Option<Decision>,
        /// What changes in the agent's session before it is said.
        changes: Vec<StatePatch>,
        /// How long the agent may take for its answer.
        limit: Option<TimeLimit>,
    },
    /// Says nothing yet: the agent speaks first. Only before anything was said.
    Listen {
        /// What changes in the agent's session before it speaks.
        changes: Vec<StatePatch>,
        /// How long the agent may take.
        limit: Option<TimeLimit>,
    },
    /// Has nothing more to say.
    End(EndReason),
}

/// How long an agent may take for its answer. When it takes longer, the case is terminated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeLimit {
    /// The limit.
    pub within: Duration,
    /// Which limit it is, in words for people.
    pub what: String,
}

/// What a user agent gave.
#[derive(Clone, Debug, PartialEq)]
pub struct UserAnswer {
    /// Its answer.
    pub response: Value,
    /// What its tools want changed in the agent's session.
    pub changes: Vec<StatePatch>,
    /// Who gave it, and how long that took.
    pub decision: Decision,
}

/// What the user of a loop may know and do.
pub struct Scene<'a> {
    pub(crate) case: &'a Case,
    pub(crate) main: &'a mut Session,
    pub(crate) users: &'a mut Session,
    pub(crate) judging: &'a mut Session,
    pub(crate) found: &'a mut Vec<(String, MetricResult)>,
    pub(crate) people: &'a PeopleAtHand,
    pub(crate) invocation: Option<InvocationId>,
}

impl Scene<'_> {
    /// The agent's session.
    pub fn ledger(&self) -> &Ledger {
        self.main.ledger()
    }

    /// The users' session.
    pub fn users_ledger(&self) -> &Ledger {
        self.users.ledger()
    }

    /// What the agent waits for.
    pub fn waiting(&self) -> YieldInfo {
        YieldInfo::Loop { invocation: self.invocation.clone() }
    }

    /// The present moment, by the session's clock.
    pub fn now(&self) -> Timestamp {
        self.main.around().clock.now()
    }

    /// The chance of the run.
    pub fn chance(&self) -> Chance {
        self.main.around().chance
    }

    /// Puts what stands beside the conversation on the agent's ledger. It is kept with what comes next.
    ///
    /// # Errors
    /// The session has ended.
    pub fn tell(&mut self, body: EventBody) -> Result<(), Failure> {
        self.main.tell(body).map_err(|error| system(&error))
    }

    /// Changes the state of the agent's session, without anything being said.
    ///
    /// # Errors
    /// The session has ended.
    pub fn change(&mut self, changes: impl IntoIterator<Item = StatePatch>) -> Result<(), Failure> {
        for patch in changes {
            self.main.change(patch).map_err(|error| system(&error))?;
        }
        Ok(())
    }

    /// Lets a user agent answer in the users' session, with this prompt or the one the bridge makes.
    ///
    /// # Errors
    /// It failed, or took longer than `limit` (the case's limit unless told).
    pub async fn play(
        &mut self,
        agent: &AgentRef,
        prompt: Option<String>,
        limit: Option<Duration>,
    ) -> Result<UserAnswer, Failure> {
        // An opening closes no yield, so it needs a place of its own beside those of the yields.
        let first = match &self.invocation {
            Some(_) => path(self.main, format_args!("{}", agent.name())),
            None => InvocationId::root("opening").child(agent.name()),
        };
        // Who has answered without anything being said, as one who hung up, may be asked again at the same yield.
        let again = (2..).map(|time: u64| first.child(time));
        let is_free = |path: &InvocationId| self.users.ledger().ended(path).is_none();
        let path = std::iter::once(first.clone()).chain(again).find(is_free).unwrap_or(first);
        let waiting = self.waiting();
        let prompt = prompt.map_or(Prompt::FromBridge, Prompt::Given);
        let limit = limit.unwrap_or(self.case.user_timeout);
        let company = Company { case: self.case, people: self.people };
        let answer = play(company, self.main, self.users, agent, &waiting, path, prompt, limit).await;
        answer.map_err(Stop::into_failure)
    }

    /// Asks a person what the user does next. The person is shown the transcript, and `more` beside it.
    ///
    /// # Errors
    /// There is nobody to ask, or there is no answer that can be used.
    pub async fn ask_person(&mut self, more: Map<String, Value>) -> Result<(UserReply, Decision), Failure> {
        // What a person is told about is kept before.
        self.main.commit().await.map_err(|error| system(&error))?;
        let cue = PersonCue::of_user(self.main.ledger(), self.case.agent.name(), more);
        let began = self.now();
        let answer = self.people.ask(cue).await?;
        let reply = check_user_answer(&answer).map_err(|problems| {
            let why = refused(&problems, &answer);
            let message = format!("the person who plays the user gave an answer that cannot be used: {why}");
            Failure { phase: Phase::UserAgent, kind: INVALID_ANSWER.to_owned(), message }
        })?;
        let micros = u64::try_from(elapsed(began, self.now()).as_micros()).unwrap_or(u64::MAX);
        Ok((reply, Decision { by: Player::Person, name: None, micros }))
    }

    /// Evaluates metrics on the ledger as it is now. What they find counts in the verdict.
    pub async fn evaluate(&mut self, metrics: &[MetricRef]) {
        let first = self.found.len();
        let found = evaluate(&self.case.judges, metrics, first, self.main.ledger(), self.judging, true).await;
        self.found.extend(found);
    }

    /// Asks the judge something that does not count in the verdict by itself. The question stands below
    /// `about` on the judge's ledger.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask_judge(&mut self, about: &InvocationId, question: &Question) -> Result<Value, Failure> {
        let number = self.judging.ledger().events().len();
        let path = about.child(number);
        let asked = ask_once(&self.case.judges, question, self.judging, path).await;
        asked.map_err(|message| Failure { phase: Phase::Metric, kind: "judge".to_owned(), message })
    }
}

impl fmt::Debug for Scene<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("case", &self.case.name()).finish_non_exhaustive()
    }
}

/// A user agent as the user of a loop.
#[derive(Clone, Debug)]
pub struct UserAgent {
    agent: AgentRef,
}

impl UserAgent {
    /// A user that says what this agent says.
    pub fn new(agent: impl Into<AgentRef>) -> Self {
        Self { agent: agent.into() }
    }
}

#[async_trait]
impl LoopUser for UserAgent {
    async fn next(&self, scene: &mut Scene<'_>) -> Result<Next, Failure> {
        let answer = scene.play(&self.agent, None, None).await?;
        Ok(Next::Say {
            content: Content::user(answer.text(&self.agent)?),
            decision: Some(answer.decision),
            changes: answer.changes,
            limit: None,
        })
    }
}

impl UserAnswer {
    /// The answer as something to say.
    ///
    /// # Errors
    /// There is none.
    pub fn text(&self, agent: &AgentRef) -> Result<String, Failure> {
        match &self.response {
            Value::Null => Err(crate::users::failure(agent, "no_answer", "it said nothing and gave nothing")),
            other => Ok(rehearsal_core::json::said(other)),
        }
    }
}
