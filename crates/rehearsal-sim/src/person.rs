//! People who play a part: the model, a tool or the user.
//!
//! A case says which parts a person plays ([`Case::model_by_person`](crate::Case::model_by_person),
//! [`tool_by_person`](crate::Case::tool_by_person), [`user_by_person`](crate::Case::user_by_person)), and whoever runs
//! it hands in [`People`], which bring every question to a person and the answer back. Answers are JSON; the functions
//! of this module say what is wrong with one, so that it can be refused while the person is still there.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_agent::{Model, ModelCall, ModelError, Tool, ToolEffect};
use rehearsal_core::{
    CallId, EndReason, EventBody, Failure, Ledger, ModelResponse, Player, SessionId, TurnId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{LoopUser, Next, Scene};

mod answer;
mod at_hand;
mod prompt;

pub use answer::{
    SET_MODEL_RESPONSE, UserReply, check_answer, check_model_answer, check_tool_answer, check_user_answer,
};
pub use at_hand::PeopleAtHand;
pub(crate) use at_hand::{INVALID_ANSWER, NO_PEOPLE};
pub use prompt::{model_prompt, tool_prompt, user_prompt};

/// What a person is called on ledgers and in messages, where they have no name.
pub(crate) const PERSON: &str = "person";

/// Brings cues to people and their answers back, however long that takes.
#[async_trait]
pub trait People: Send + Sync + fmt::Debug {
    /// Waits for a person's answer. The answer has passed [`check_answer`]; one that has not ends the case.
    ///
    /// A run that is ended drops this while it waits: the cue is nobody's any more.
    ///
    /// # Errors
    /// There will be no answer, such as when the cue was dismissed; the case ends in this error.
    async fn ask(&self, cue: PersonCue) -> Result<Value, Failure>;
}

/// Something a person is asked to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PersonCue {
    /// Unique among the cues of one run. A run that is repeated with its seed has the same ids again, so whoever keeps
    /// cues of several runs puts something of its own into theirs.
    pub id: String,
    /// The session of the agent that waits.
    pub session: SessionId,
    /// What is asked for.
    pub kind: PersonPart,
    /// The agent that waits.
    pub agent: String,
    /// The model turn, for cues of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The call, for cues of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallId>,
    /// What a person needs to decide, as [`model_prompt`], [`tool_prompt`] and [`user_prompt`] make it.
    pub prompt: Value,
}

/// The parts that a person can play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonPart {
    /// The model: what it answers.
    Model,
    /// A tool: what it gives.
    Tool,
    /// The user: what they say next.
    User,
}

impl fmt::Display for PersonPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::User => "user",
        })
    }
}

impl PersonCue {
    fn of_model(call: &ModelCall) -> Self {
        Self {
            id: call.turn.to_string(),
            session: call.session.clone(),
            kind: PersonPart::Model,
            agent: call.agent.to_string(),
            turn: Some(call.turn.clone()),
            call: None,
            prompt: model_prompt(&call.request),
        }
    }

    fn of_tool(effect: &ToolEffect, own: &Arc<dyn Tool>) -> Self {
        let cx = &effect.cx;
        Self {
            id: format!("{}-{}", cx.session, cx.call),
            session: cx.session.clone(),
            kind: PersonPart::Tool,
            agent: cx.agent.to_string(),
            turn: None,
            call: Some(cx.call.clone()),
            prompt: tool_prompt(own.spec().declaration(), &effect.args),
        }
    }

    pub(crate) fn of_user(main: &Ledger, agent: &str, more: Map<String, Value>) -> Self {
        let is_message = |body: &EventBody| matches!(body, EventBody::UserMessage { .. });
        let said = main.events().iter().filter(|event| is_message(&event.body)).count();
        let mut prompt = user_prompt(main);
        if let Value::Object(fields) = &mut prompt {
            fields.extend(more);
        }
        Self {
            id: format!("{}-user-{}", main.session(), said + 1),
            session: main.session().clone(),
            kind: PersonPart::User,
            agent: agent.to_owned(),
            turn: None,
            call: None,
            prompt,
        }
    }
}

/// A person as the model.
#[derive(Clone, Debug)]
pub struct PersonModel {
    people: Arc<dyn People>,
}

impl PersonModel {
    /// A model that asks one of these people.
    pub fn new(people: Arc<dyn People>) -> Self {
        Self { people }
    }
}

#[async_trait]
impl Model for PersonModel {
    fn name(&self) -> Arc<str> {
        PERSON.into()
    }

    fn player(&self) -> Player {
        Player::Person
    }

    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        let model = || self.name();
        let answer = self.people.ask(PersonCue::of_model(call)).await;
        let answer =
            answer.map_err(|failure| ModelError::NoAnswer { model: model(), why: failure.message })?;
        check_model_answer(&call.request.setup, &answer)
            .map_err(|problems| ModelError::Malformed { model: model(), why: refused(&problems, &answer) })
    }
}

/// A person as the user of a loop, who says the next message or ends the case.
#[derive(Clone, Copy, Debug, Default)]
pub struct PersonUser;

#[async_trait]
impl LoopUser for PersonUser {
    async fn next(&self, scene: &mut Scene<'_>) -> Result<Next, Failure> {
        let (reply, decision) = scene.ask_person(Map::new()).await?;
        Ok(match reply {
            UserReply::End => Next::End(EndReason::Completed),
            UserReply::Say(content) => {
                Next::Say { content, decision: Some(decision), changes: Vec::new(), limit: None }
            }
        })
    }

    fn needs_people(&self) -> bool {
        true
    }
}

/// What is wrong with an answer that should not have come this far, and the answer.
pub(crate) fn refused(problems: &[String], answer: &Value) -> String {
    format!("{}\n\nThe answer was:\n  {}", problems.join("; "), crate::casting::pretty(answer))
}
