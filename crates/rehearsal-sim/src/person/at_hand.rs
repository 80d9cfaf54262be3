//! The port to the people of one run, and a stopwatch for the time that is theirs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_agent::{
    Answer, DirectPort, Model, ModelCall, ModelError, Port, Refusal, Tool, ToolEffect, ToolReply, ask_model,
};
use rehearsal_core::{Failure, ModelResponse, Phase, Player, ToolOutcome};
use serde_json::Value;
use tokio::sync::watch;

use super::{People, PersonCue, PersonModel, check_tool_answer, refused};

/// The people whom a run can ask, if there are any.
///
/// It knows while somebody is waited for, because that time counts in no limit but the one of the whole case.
#[derive(Clone, Debug)]
pub struct PeopleAtHand {
    people: Option<Arc<dyn People>>,
    /// How many people are waited for.
    waiting: Arc<watch::Sender<usize>>,
}

impl Default for PeopleAtHand {
    fn default() -> Self {
        Self::new(None)
    }
}

impl PeopleAtHand {
    pub(crate) fn new(people: Option<Arc<dyn People>>) -> Self {
        Self { people, waiting: Arc::new(watch::Sender::new(0)) }
    }

    /// The same people for a run of its own.
    pub(crate) fn for_run(&self) -> Self {
        Self::new(self.people.clone())
    }

    /// Whether there is nobody.
    pub fn is_empty(&self) -> bool {
        self.people.is_none()
    }

    fn people(&self) -> Result<&Arc<dyn People>, Failure> {
        self.people.as_ref().ok_or_else(|| {
            let message = "a person is to answer, but nobody brings them what they are asked\n\nHand in who does:\n  \
                           .people(people)";
            Failure { phase: Phase::System, kind: NO_PEOPLE.to_owned(), message: message.to_owned() }
        })
    }

    pub(crate) async fn ask(&self, cue: PersonCue) -> Result<Value, Failure> {
        let people = self.people()?;
        let _waiting = Waiting::begin(&self.waiting);
        people.ask(cue).await
    }

    /// A person as the model.
    pub(crate) fn model(&self) -> Result<Arc<dyn Model>, ModelError> {
        match self.people() {
            Ok(people) => Ok(Arc::new(PersonModel::new(people.clone()))),
            Err(failure) => Err(ModelError::NoAnswer { model: super::PERSON.into(), why: failure.message }),
        }
    }

    /// Asks a model, which may be a person.
    pub(crate) async fn ask_model(
        &self,
        model: &Arc<dyn Model>,
        call: &ModelCall,
    ) -> Result<Answer<ModelResponse>, ModelError> {
        let _waiting = (model.player() == Player::Person).then(|| Waiting::begin(&self.waiting));
        ask_model(model, call).await
    }

    /// Lets a person play a tool. `own` is the tool the agent was built with.
    ///
    /// # Errors
    /// There is nobody to ask, or there is no answer that can be used; the case ends.
    pub async fn play_tool(&self, effect: &ToolEffect, own: &Arc<dyn Tool>) -> Result<ToolOutcome, Refusal> {
        let cue = PersonCue::of_tool(effect, own);
        let prompt = cue.prompt.clone();
        let answer = self.ask(cue).await;
        let answer = answer.map_err(|Failure { kind, message, .. }| Refusal { kind, message })?;
        check_tool_answer(&prompt, &answer).map_err(|problems| {
            let why = refused(&problems, &answer);
            let message = format!(
                "the person who plays tool `{}` gave an answer that cannot be used: {why}",
                effect.cx.tool
            );
            Refusal { kind: INVALID_ANSWER.to_owned(), message }
        })
    }

    /// Works until it is done or has taken longer than `limit`, in which case there is nothing. While a person is waited
    /// for, the time does not count.
    pub(crate) async fn within<T>(
        &self,
        limit: Duration,
        mut work: Pin<&mut impl Future<Output = T>>,
    ) -> Option<T> {
        let mut count = self.waiting.subscribe();
        let mut left = limit;
        loop {
            let began = now();
            // The sender is held here, so the channel cannot close while this waits.
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = tokio::time::sleep(left) => return None,
                _ = count.wait_for(|waiting| *waiting > 0) => {}
            }
            left = left.saturating_sub(began.elapsed());
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                _ = count.wait_for(|waiting| *waiting == 0) => {}
            }
        }
    }
}

/// A word for the failure to find anybody to ask.
pub(crate) const NO_PEOPLE: &str = "no_people";

/// A word for answers that should have been refused before they came this far.
pub(crate) const INVALID_ANSWER: &str = "invalid_answer";

#[expect(clippy::disallowed_methods, reason = "a limit is kept by the same timer that runs it")]
fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Counts as somebody who is waited for until it is dropped.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn begin(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|waiting| *waiting += 1);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

/// The port of agents that play users: their own models and tools, of which a model may be a person.
#[async_trait]
impl Port for PeopleAtHand {
    async fn model(
        &self,
        call: &ModelCall,
        own: &Arc<dyn Model>,
    ) -> Result<Answer<ModelResponse>, ModelError> {
        self.ask_model(own, call).await
    }

    async fn tool(&self, effect: &ToolEffect, own: &Arc<dyn Tool>) -> Result<ToolReply, Refusal> {
        DirectPort.tool(effect, own).await
    }
}
