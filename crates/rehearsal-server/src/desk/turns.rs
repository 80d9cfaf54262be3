//! Model turns of agents that run elsewhere.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rehearsal_core::{
    Content, Draft, EventBody, FinishReason, Ledger, ModelRequest, ModelResponse, ModelSetup, Part, Role,
    SessionId, Settings, ToolDeclaration, TurnId, json,
};
use rehearsal_sim::person::model_prompt;
use rehearsal_store::{Cue, CueChange, CueId, CueKind, CueStatus, NewCue, SessionStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::failing::open_turns;
use super::pen::user_messages;
use super::sessions::{Heard, hear};
use super::{Desk, Pen};
use crate::ids;
use crate::presence::{Waiter, Waiting};
use crate::problem::{Class, Kind, Problem};
use crate::watch::Topic;

/// How many turns of a session can wait for an answer at once.
const MOST_OPEN_TURNS: usize = 1000;

/// Who begins to wait for a cue is written down, unless the cue was opened or seen just now.
const NEWLY_SEEN_MS: i64 = 500;

/// What an agent asks its model.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnRequest {
    /// The agent that asks.
    #[schema(min_length = 1, max_length = 100)]
    pub agent: String,
    /// The calls of the agents-as-tools around it, outermost first.
    #[serde(default)]
    pub path: Vec<String>,
    /// What it asks.
    pub request: AskedModel,
    /// Whether the agent's own model answers: the turn is only recorded, nobody is asked.
    #[serde(default)]
    pub recorded: bool,
}

/// A model request as agents elsewhere send it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskedModel {
    /// The model's name.
    #[serde(default)]
    pub model: Option<String>,
    /// The instructions: a text, or content whose texts are joined.
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    pub system_instruction: Option<Value>,
    /// The conversation so far; may be empty.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub contents: Vec<Arc<Content>>,
    /// The tools it may call: name, description and JSON Schema of the parameters.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Arc<ToolDeclaration>>,
    /// The JSON Schema of the final answer.
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    pub output_schema: Option<Value>,
    /// Settings, by the agent's own names.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
}

/// A turn that was taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    /// The event that holds the request.
    pub event_id: String,
    /// Its number.
    pub seq: u64,
    /// Whether it was there already.
    #[serde(skip)]
    pub repeated: bool,
}

/// What a turn asked its model.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TurnView {
    /// The turn.
    pub turn_id: String,
    /// The agent that asked.
    pub agent: String,
    /// All that the model would see: `model`, `system`, `contents`, `tools`, `output_schema`, `settings`.
    #[schema(value_type = Object)]
    pub request: Value,
}

/// The answer to a turn.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TurnAnswer {
    /// The turn.
    pub turn_id: String,
    /// The event that holds the answer.
    pub event_id: String,
    /// What the model is to have said.
    pub response: TurnResponse,
}

/// What a model is to have said, as agents elsewhere take it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct TurnResponse {
    /// Content with parts.
    #[schema(value_type = Object)]
    pub content: Arc<Content>,
    /// Why it stopped, in the words of the Gemini API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
}

impl From<&ModelResponse> for TurnResponse {
    fn from(response: &ModelResponse) -> Self {
        let finish_reason = response.finish.as_ref().map(|finish| match finish {
            FinishReason::Stop | FinishReason::ToolCalls => "STOP".to_owned(),
            FinishReason::MaxTokens => "MAX_TOKENS".to_owned(),
            FinishReason::Safety => "SAFETY".to_owned(),
            FinishReason::Other(word) => word.clone(),
        });
        Self { content: response.content.clone(), finish_reason }
    }
}

impl AskedModel {
    fn into_request(self) -> Result<ModelRequest, Problem> {
        let system = match self.system_instruction {
            None | Some(Value::Null) => None,
            Some(value) if json::as_text(&value).is_some() => Some(json::said(&value)),
            Some(other) => {
                let content: Content = json::from_value(other).map_err(|error| {
                    let detail =
                        format!("`request.system_instruction` must be a text or content with parts: {error}");
                    Problem::invalid(Kind::InvalidBody, detail)
                })?;
                Some(content.text())
            }
        };
        let settings = Settings { extra: self.config, ..Settings::default() };
        let setup = ModelSetup {
            model: self.model.unwrap_or_default(),
            system,
            tools: self.tools,
            output_schema: self.output_schema.filter(|schema| !schema.is_null()).map(Arc::new),
            settings,
        };
        Ok(ModelRequest { setup: Arc::new(setup), contents: self.contents })
    }
}

impl Desk {
    /// Takes in what an agent asks its model, and opens a cue for it.
    ///
    /// # Errors
    /// It is not valid, the session has ended, or the turn was taken in with something else.
    pub async fn submit_turn(
        &self,
        session: &SessionId,
        turn: &str,
        asked: TurnRequest,
    ) -> Result<Submitted, Problem> {
        let turn = TurnId::new(ids::uuid4("turn id", turn)?);
        ids::agent(&asked.agent)?;
        let request = asked.request.into_request()?;
        let found = self
            .change(session, |pen| {
                if let Some(earlier) = pen.ledger().request(&turn) {
                    let same = earlier == request && asker(pen.ledger(), &turn) == Some(&*asked.agent);
                    return if same { Ok(None) } else { Err(other_payload(&turn)) };
                }
                pen.require_open()?;
                refuse_crowd(pen)?;
                if pen.root_agent().is_none() {
                    pen.agent(&asked.agent);
                }
                ensure_query(pen, &request)?;
                let place = pen.place(&asked.agent, &asked.path);
                let body = EventBody::ModelRequest(rehearsal_core::RequestRecord::default());
                let draft = Draft {
                    invocation: Some(place),
                    turn: Some(turn.clone()),
                    ..pen.draft(asked.agent.as_str(), body)
                };
                let event_id = pen.append_request(Bytes::new(), draft, &request)?;
                if !asked.recorded {
                    pen.cue(open_cue(&turn, &asked.agent));
                }
                Ok(Some(Submitted { event_id, seq: pen.last_seq(), repeated: false }))
            })
            .await?;
        match found {
            Some(submitted) => Ok(submitted),
            // Somebody who waits for an answer to a turn that nobody is asked about would wait for ever.
            None if asked.recorded == self.store.cue(&CueId::new(turn.as_str())).await?.is_some() => {
                Err(other_payload(&turn))
            }
            None => self.repeated(session, &turn).await,
        }
    }

    /// Takes in a request of the published plugin, exactly as it came.
    ///
    /// # Errors
    /// It is not valid, the session has ended, or the turn was taken in with something else.
    pub async fn submit_wire_turn(
        &self,
        session: &SessionId,
        turn: &str,
        agent: &str,
        payload: Bytes,
    ) -> Result<Submitted, Problem> {
        let turn = TurnId::new(ids::uuid4("turn id", turn)?);
        ids::agent(agent)?;
        let request = self
            .published
            .read_request(&payload)
            .map_err(|why| Problem::invalid(Kind::InvalidPayload, why.to_string()))?;
        if let (Some(earlier), _) = self.store.turn(session, &turn).await? {
            let same = *earlier.event.author == *agent
                && self.payload(session, &earlier, &mut None).await? == payload;
            return if same { self.repeated(session, &turn).await } else { Err(other_payload(&turn)) };
        }
        let found = self
            .change(session, |pen| {
                if pen.ledger().request(&turn).is_some() {
                    return Ok(None);
                }
                pen.require_open()?;
                refuse_crowd(pen)?;
                if pen.root_agent().is_none() {
                    pen.agent(agent);
                }
                let drafts =
                    self.published.before_request(pen.ledger(), pen.now(), agent, &turn, &request)?;
                for draft in drafts.before {
                    pen.append(draft)?;
                }
                let event_id = pen.append_request(payload.clone(), drafts.request, &request)?;
                pen.cue(open_cue(&turn, agent));
                Ok(Some(Submitted { event_id, seq: pen.last_seq(), repeated: false }))
            })
            .await?;
        match found {
            Some(submitted) => Ok(submitted),
            // Somebody sent the same turn at the same moment; it is there now and is compared with this one.
            None => Box::pin(self.submit_wire_turn(session, turn.as_str(), agent, payload)).await,
        }
    }

    /// What a turn asked its model, whole.
    ///
    /// # Errors
    /// There is no such turn.
    pub async fn turn(&self, session: &SessionId, turn: &str) -> Result<TurnView, Problem> {
        let turn = TurnId::new(ids::uuid4("turn id", turn)?);
        let ledger = self.standing(session).await?.ledger;
        let missing = || Problem::not_found("turn", &turn);
        let request = ledger.request(&turn).ok_or_else(missing)?;
        let agent = asker(&ledger, &turn).ok_or_else(missing)?.to_owned();
        let mut shown = model_prompt(&request)["request"].take();
        if request.setup.settings != Settings::default() {
            shown["settings"] = serde_json::to_value(&request.setup.settings).unwrap_or_default();
        }
        Ok(TurnView { turn_id: turn.to_string(), agent, request: shown })
    }

    async fn repeated(&self, session: &SessionId, turn: &TurnId) -> Result<Submitted, Problem> {
        let (request, _) = self.store.turn(session, turn).await?;
        let request = request.ok_or_else(|| Problem::not_found("turn", turn))?;
        Ok(Submitted { event_id: request.event_id, seq: request.event.seq, repeated: true })
    }

    /// Waits for the answer to a turn, at most so long; nothing when there is none yet.
    ///
    /// # Errors
    /// There is no such turn, or no answer will come any more.
    pub async fn await_turn(
        &self,
        session: &SessionId,
        turn: &str,
        wait: Duration,
    ) -> Result<Option<TurnAnswer>, Problem> {
        let turn = TurnId::new(ids::uuid4("turn id", turn)?);
        let cue = CueId::new(turn.as_str());
        let mut waiter = None;
        let answer = self.await_answer(session, &turn, &cue, wait, &mut waiter).await;
        if let Some(waiter) = waiter {
            waiter.answered();
        }
        answer
    }

    async fn await_answer(
        &self,
        session: &SessionId,
        turn: &TurnId,
        cue: &CueId,
        wait: Duration,
        waiter: &mut Option<Waiter>,
    ) -> Result<Option<TurnAnswer>, Problem> {
        let mut seat = self.sit(Topic::Session(session.clone()));
        let deadline = tokio::time::sleep(wait);
        tokio::pin!(deadline);
        loop {
            let (is_known, response) = self.store.answer(session, turn).await?;
            if !is_known {
                self.record(session).await?;
                return Err(Problem::not_found("turn", turn));
            }
            if let Some(stored) = response
                && let EventBody::ModelResponse(response) = &stored.event.body
            {
                return Ok(Some(TurnAnswer {
                    turn_id: turn.to_string(),
                    event_id: stored.event_id.clone(),
                    response: response.into(),
                }));
            }
            self.still_open(session, turn, cue, waiter.is_none()).await?;
            waiter.get_or_insert_with(|| self.presence.enter(Waiting::Cue(cue.clone())));
            tokio::select! {
                () = seat.told() => {}
                () = &mut deadline => return Ok(None),
                () = self.closed() => return Ok(None),
            }
        }
    }

    /// Whether an answer can still come; a cue that was abandoned is open again, since somebody asks for it.
    async fn still_open(
        &self,
        session: &SessionId,
        turn: &TurnId,
        cue: &CueId,
        is_new: bool,
    ) -> Result<(), Problem> {
        let found = self.store.cue(cue).await?;
        let now = self.now_ms();
        // Another server may have lost the connection of whoever comes here now.
        let unseen_for =
            if is_new { NEWLY_SEEN_MS.min(self.sign_of_life_ms()) } else { self.sign_of_life_ms() };
        let unseen = |cue: &Cue| now.saturating_sub(cue.seen_at) >= unseen_for;
        match found.as_ref().map(|cue| cue.status) {
            Some(CueStatus::Abandoned) => self.store.touch_cues(std::slice::from_ref(cue), now).await?,
            // Who asks again and again without waiting is seen here; who waits is seen while waiting.
            Some(CueStatus::Open) if found.as_ref().is_some_and(unseen) => {
                self.store.touch_cues(std::slice::from_ref(cue), now).await?;
            }
            Some(CueStatus::Dismissed) | None => {
                if self.record(session).await?.status != SessionStatus::Active {
                    let detail =
                        format!("session `{session}` has ended; no answer to turn `{turn}` will come");
                    return Err(Problem::new(Class::Gone, Kind::SessionEnded, detail));
                }
                if found.is_none() {
                    return Ok(()); // the agent's own model answers this turn
                }
                let detail = format!("somebody dismissed the cue of turn `{turn}`; no answer will come");
                return Err(Problem::new(Class::Gone, Kind::Dismissed, detail));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Refuses one more turn where so many wait already that nobody will ever answer them all.
fn refuse_crowd(pen: &Pen) -> Result<(), Problem> {
    if open_turns(pen.ledger()).len() < MOST_OPEN_TURNS {
        return Ok(());
    }
    let detail =
        format!("{MOST_OPEN_TURNS} turns of this session wait for an answer; answer or dismiss some first");
    Err(Problem::new(Class::Busy, Kind::TooManyTurns, detail))
}

fn open_cue(turn: &TurnId, agent: &str) -> CueChange {
    CueChange::Open(NewCue {
        id: CueId::new(turn.as_str()),
        kind: CueKind::Model,
        agent: agent.to_owned(),
        turn: Some(turn.clone()),
        call: None,
        prompt: Value::Null,
    })
}

/// The agent that asked in a turn.
fn asker<'a>(ledger: &'a Ledger, turn: &TurnId) -> Option<&'a str> {
    let asked =
        ledger.events().iter().rev().find(|event| {
            event.turn.as_ref() == Some(turn) && matches!(event.body, EventBody::ModelRequest(_))
        });
    asked.map(|event| &*event.author)
}

fn other_payload(turn: &TurnId) -> Problem {
    let detail =
        format!("turn `{turn}` was submitted before with something else; a new request needs a new turn id");
    Problem::conflict(Kind::OtherPayload, detail)
}

/// History starts with what the user said. An agent that did not say so is asked through its first request.
fn ensure_query(pen: &mut Pen, request: &ModelRequest) -> Result<(), Problem> {
    if user_messages(pen.ledger()) > 0 {
        return Ok(());
    }
    let said = |content: &&Arc<Content>| {
        matches!(content.role, Some(Role::User) | None) && content.responses().next().is_none()
    };
    let content = request.contents.iter().rev().find(said).map(|content| (**content).clone());
    let content = content.unwrap_or_else(|| Content::new(Role::User, vec![Part::text("")]));
    hear(pen, content, Heard::default())
}
