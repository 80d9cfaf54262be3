//! Sessions: made, spoken to, ended, removed.

use std::sync::Arc;

use rehearsal_adk::flat_state;
use rehearsal_core::{
    Content, EndReason, EventBody, LEDGER_VERSION, Ledger, SessionId, SessionPart, SessionStarted, State,
    Timestamp,
};
use rehearsal_store::{
    CueChange, NewSession, NewWork, SessionRecord, SessionSource, SessionStatus, WorkKind, WorkOutcome,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::failing::{close_calls, fail_run, open_turns};
use super::hosts::{PROGRAM, cancel_work, host_offline, played_by};
use super::pen::{run_path, user_messages};
use super::query::QueryRequest;
use super::state::state_from_flat;
use super::{Desk, Pen, SessionView, Standing};
use crate::ids::{self, fresh};
use crate::{Kind, Problem};

/// Who writes what neither the user nor an agent causes.
pub(super) const ENGINE: &str = "rehearsal";
/// Who writes what the user says.
pub(super) const USER: &str = "user";

/// A session to be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSessionRequest {
    /// Its id, a `UUIDv4`; made here unless given. Asking again with the same id and the same rest gives the same
    /// session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Uuid)]
    pub id: Option<String>,
    /// The agent. When a host runs an agent of this name, the session is played by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100)]
    pub agent: Option<String>,
    /// A label for people. What is longer than 500 characters is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The state it begins with, in ADK's flat form: `{"a": 1, "user:b": 2}`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub state: Map<String, Value>,
    /// Whether a session that a host plays goes on after a final response, for more messages.
    #[serde(default)]
    pub keep_open: bool,
    /// The first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<QueryRequest>,
}

/// What can be changed of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionChange {
    /// The agent, while none is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100)]
    pub agent: Option<String>,
    /// The program that plays the session by itself: the id under which it takes work (`PUT /v1/hosts/{host_id}`), to
    /// cancel tools and to export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = Uuid)]
    pub program: Option<String>,
}

impl Desk {
    /// Makes a session; gives `false` with it when it was there already.
    ///
    /// # Errors
    /// What was asked for is not valid, or another session has the id.
    pub async fn create_session(&self, new: NewSessionRequest) -> Result<(SessionView, bool), Problem> {
        let id = match &new.id {
            Some(id) => ids::session(id)?,
            None => SessionId::new(fresh()),
        };
        if let Some(agent) = &new.agent {
            ids::agent(agent)?;
        }
        let player = match &new.agent {
            Some(agent) => self.players_of(agent).await?.into_iter().next(),
            None => None,
        };
        let query = match &new.query {
            Some(_) if new.agent.is_none() => {
                return Err(Problem::invalid(
                    Kind::NoAgent,
                    "a session with a `query` needs an `agent` to answer it",
                ));
            }
            Some(query) => Some(query.content(player.as_ref().map(|player| &player.about))?),
            None => None,
        };
        let offline = match (&player, &new.agent) {
            (Some(player), Some(agent)) if query.is_some() && !player.online => Some(host_offline(agent)),
            (None, Some(agent)) if query.is_some() => Some(self.no_host(agent).await?),
            _ => None,
        };
        let mut meta = Map::new();
        if let Some(player) = player {
            meta.insert("host".to_owned(), player.host.into());
        }
        if new.keep_open {
            meta.insert("keep_open".to_owned(), true.into());
        }
        let asked = AskedSession {
            description: new.description,
            source: SessionSource::Api,
            agent: new.agent,
            state: state_from_flat(&new.state)?,
            meta: Value::Object(meta),
        };
        let made = match offline {
            // Who asks again for what was made before gets it.
            Some(problem) if self.store.session(&id).await?.is_none() => Err(problem),
            _ => self.make(&id, asked.clone(), query.clone()).await,
        };
        match made {
            Ok(()) => Ok((self.session(&id).await?, true)),
            Err(problem) if problem.kind == Kind::Exists => {
                let standing = self.standing(&id).await?;
                if asked.is_like(&standing, query.as_ref()) {
                    Ok((self.view(standing).await?, false))
                } else {
                    let detail = format!("session `{id}` exists and is another one; make one with a new id");
                    Err(Problem::conflict(Kind::Exists, detail))
                }
            }
            Err(problem) => Err(problem),
        }
    }

    /// Makes a session for the published plugin.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn create_wire_session(&self, description: Option<String>) -> Result<SessionRecord, Problem> {
        let id = SessionId::new(fresh());
        let asked = AskedSession {
            description,
            source: SessionSource::Adksim,
            agent: None,
            state: State::default(),
            meta: json!({}),
        };
        self.make(&id, asked, None).await?;
        self.record(&id).await
    }

    async fn make(&self, id: &SessionId, asked: AskedSession, query: Option<Content>) -> Result<(), Problem> {
        let now = self.now();
        let created_at = now.as_millisecond();
        let record = SessionRecord {
            id: id.clone(),
            created_at,
            description: None,
            status: SessionStatus::Active,
            source: asked.source,
            agent: asked.agent.clone(),
            part: SessionPart::Main,
            run: None,
            last_seq: 0,
            updated_at: created_at,
            meta: asked.meta.clone(),
        };
        let mut pen = Pen::new(Standing::new(record), now);
        pen.create(NewSession {
            created_at,
            description: asked.description,
            source: asked.source,
            agent: asked.agent.clone(),
            part: SessionPart::Main,
            run: None,
            meta: asked.meta,
        });
        let start = SessionStarted {
            version: LEDGER_VERSION,
            agent: asked.agent.as_deref().unwrap_or_default().into(),
            state: asked.state,
            ..SessionStarted::default()
        };
        pen.append(pen.draft(ENGINE, EventBody::SessionStarted(start)))?;
        if let Some(content) = query {
            say(&mut pen, &content)?;
        }
        let (_, write) = pen.finish();
        Ok(self.store.write(write).await?)
    }

    /// The user says something.
    ///
    /// # Errors
    /// It is not valid for the agent, or the session does not wait for a message.
    pub async fn query(&self, session: &SessionId, query: &QueryRequest) -> Result<SessionView, Problem> {
        let record = self.record(session).await?;
        let Some(agent) = record.agent.as_deref() else {
            let detail = format!("choose an agent first: PATCH /v1/sessions/{session} {{\"agent\": …}}");
            return Err(Problem::conflict(Kind::NoAgent, detail));
        };
        let players = self.players_of(agent).await?;
        let is_there = |host: &str| players.iter().any(|player| player.host == host && player.online);
        let gone = self
            .change(session, |pen| {
                pen.require_open()?;
                let own = pen.record().meta.get("host").and_then(Value::as_str).map(str::to_owned);
                let gone = own.filter(|own| is_running(pen.ledger()) && !is_there(own));
                if gone.is_none() && is_running(pen.ledger()) {
                    let detail =
                        "the agent is still at the last message; answer its cues, or cancel the session";
                    return Err(Problem::conflict(Kind::Running, detail));
                }
                let mut meta = pen.record().meta.as_object().cloned().unwrap_or_default();
                let player = match meta.get("host").and_then(Value::as_str) {
                    // Nobody played it when it was made. Who has come since then does; an agent that plays by itself has
                    // heard its messages before, and hears the next one where it runs.
                    None if user_messages(pen.ledger()) == 0 && !players.is_empty() => {
                        let chosen = players.iter().find(|player| player.online);
                        let chosen = chosen.ok_or_else(|| host_offline(agent))?;
                        meta.insert("host".to_owned(), chosen.host.clone().into());
                        pen.meta(Value::Object(meta));
                        Some(chosen)
                    }
                    None => players.first(),
                    Some(own) => {
                        // A host that was started again has another id; it takes the conversation up from the ledger.
                        let ready = || players.iter().filter(|player| player.online);
                        let chosen = ready().find(|player| player.host == own).or_else(|| ready().next());
                        let chosen = chosen.ok_or_else(|| host_offline(agent))?;
                        if chosen.host != own {
                            meta.insert("host".to_owned(), chosen.host.clone().into());
                            pen.meta(Value::Object(meta));
                        }
                        Some(chosen)
                    }
                };
                let content = query.content(player.map(|player| &player.about))?;
                if let Some(gone) = &gone {
                    pen.cue(CueChange::DismissAll);
                    fail_run(pen, "HostGone", &format!("host `{gone}` went away before it was done"))?;
                }
                say(pen, &content)?;
                Ok(gone)
            })
            .await?;
        if let Some(gone) = gone {
            self.give_up(&gone, session).await?;
        }
        self.session(session).await
    }

    /// A host that comes back does not go on with what another one has taken up.
    async fn give_up(&self, host: &str, session: &SessionId) -> Result<(), Problem> {
        for work in self.store.open_runs(host).await?.into_iter().filter(|work| work.session == *session) {
            let why = "another host has taken the session up";
            self.store.finish_work(&work.id, WorkOutcome::Failed(why.to_owned())).await?;
        }
        Ok(())
    }

    /// Chooses the agent of a session, or says which program plays it.
    ///
    /// # Errors
    /// An agent is chosen already, or the session has ended.
    pub async fn change_session(
        &self,
        session: &SessionId,
        change: &SessionChange,
    ) -> Result<SessionView, Problem> {
        if let Some(program) = &change.program {
            let program = ids::uuid4("host id", program)?;
            self.change(session, |pen| {
                pen.require_open()?;
                let mut meta = pen.record().meta.as_object().cloned().unwrap_or_default();
                if meta.get(PROGRAM).and_then(Value::as_str) != Some(&program) {
                    meta.insert(PROGRAM.to_owned(), program.clone().into());
                    pen.meta(Value::Object(meta));
                }
                Ok(())
            })
            .await?;
        }
        if let Some(agent) = &change.agent {
            ids::agent(agent)?;
            let host = self.players_of(agent).await?.into_iter().next().map(|player| player.host);
            self.change(session, |pen| {
                pen.require_open()?;
                match pen.root_agent() {
                    Some(chosen) if chosen == agent => return Ok(()),
                    Some(chosen) => {
                        let detail = format!("agent `{chosen}` is chosen already; make another session");
                        return Err(Problem::conflict(Kind::AgentChosen, detail));
                    }
                    None => {}
                }
                pen.agent(agent);
                let mut meta = pen.record().meta.as_object().cloned().unwrap_or_default();
                if let Some(host) = &host {
                    meta.insert("host".to_owned(), host.clone().into());
                }
                pen.meta(Value::Object(meta));
                pen.append(pen.draft(ENGINE, EventBody::AgentChosen { agent: agent.as_str().into() }))?;
                Ok(())
            })
            .await?;
        }
        self.session(session).await
    }

    /// Ends a session that has its final response.
    ///
    /// # Errors
    /// It has none, its agent is still at work, or it was cancelled.
    pub async fn complete(&self, session: &SessionId) -> Result<SessionView, Problem> {
        self.change(session, |pen| {
            if pen.record().status == SessionStatus::Completed {
                return Ok(()); // who asks again gets what they asked for
            }
            pen.require_open()?;
            if final_output(pen.ledger()).is_some() {
                refuse_unfinished(pen.ledger())?;
            }
            complete(pen)
        })
        .await?;
        self.session(session).await
    }

    /// Ends a session without a final response. Its host is asked to cancel the tools that run for it.
    ///
    /// # Errors
    /// It was completed.
    pub async fn cancel(&self, session: &SessionId, reason: Option<&str>) -> Result<SessionView, Problem> {
        self.change(session, |pen| {
            if pen.record().status == SessionStatus::Cancelled {
                return Ok(());
            }
            pen.require_open()?;
            if let Some(reason) = reason {
                pen.append(pen.draft(ENGINE, EventBody::CancelReason { reason: reason.to_owned() }))?;
            }
            if let Some(host) = played_by(pen.record()).map(str::to_owned) {
                let running = pen.ledger().calls().filter(|call| call.answer.is_none());
                let running: Vec<_> = running.map(|call| call.call.clone()).collect();
                for call in running {
                    pen.work(cancel_work(&host, &call));
                }
            }
            close_calls(pen, "Cancelled", "the session was cancelled before this tool was done")?;
            pen.append(pen.draft(ENGINE, EventBody::SessionEnded { reason: EndReason::Cancelled }))?;
            pen.status(SessionStatus::Cancelled);
            pen.cue(CueChange::DismissAll);
            Ok(())
        })
        .await?;
        self.session(session).await
    }

    /// Removes a session.
    ///
    /// # Errors
    /// There is none.
    pub async fn delete(&self, session: &SessionId) -> Result<(), Problem> {
        self.store.delete_session(session).await?;
        self.forget(session);
        Ok(())
    }

    /// Keeps a ledger from elsewhere as a session.
    ///
    /// # Errors
    /// It is no ledger.
    pub async fn import(&self, text: &str, description: Option<String>) -> Result<SessionView, Problem> {
        let ledger = Ledger::from_jsonl(text).map_err(|error| {
            let why =
                std::error::Error::source(&error).map(|source| format!(": {source}")).unwrap_or_default();
            Problem::invalid(Kind::InvalidLedger, format!("this is no ledger: {error}{why}"))
        })?;
        let agent =
            ledger.started().map(|started| started.agent.to_string()).filter(|agent| !agent.is_empty());
        let new = NewSession {
            created_at: self.now_ms(),
            description,
            source: SessionSource::Import,
            agent,
            part: ledger.part(),
            run: None,
            meta: json!({}),
        };
        let id = rehearsal_store::import_ledger(&*self.store, &ledger, new).await?;
        self.session(&id).await
    }

    /// A session's ledger, whole.
    ///
    /// # Errors
    /// There is none.
    pub async fn ledger(&self, session: &SessionId) -> Result<Ledger, Problem> {
        let standing = self.standing(session).await?;
        if standing.cut.is_empty() {
            return Ok(standing.ledger);
        }
        Ok(rehearsal_store::read_ledger(&*self.store, session).await?)
    }
}

/// A session as somebody asked for it.
#[derive(Clone, Debug)]
struct AskedSession {
    description: Option<String>,
    source: SessionSource,
    agent: Option<String>,
    state: State,
    meta: Value,
}

impl AskedSession {
    fn is_like(&self, standing: &Standing, query: Option<&Content>) -> bool {
        let SessionRecord { source, description, meta, .. } = &standing.record;
        let started = standing.ledger.started();
        let said = standing.ledger.events().iter().find_map(|event| match &event.body {
            EventBody::UserMessage { content } => Some(&**content),
            _ => None,
        });
        let cut =
            |text: &Option<String>| text.as_ref().map(|text| text.chars().take(500).collect::<String>());
        *source == self.source
            // Without one, it was called after its first message.
            && (self.description.is_none() || cut(description) == cut(&self.description))
            && meta.get("keep_open") == self.meta.get("keep_open")
            && query.is_none_or(|query| said == Some(query))
            && started.is_some_and(|started| {
                *started.agent == *self.agent.as_deref().unwrap_or_default() && started.state == self.state
            })
    }
}

/// Appends a message of the user; a host that plays the session gets to work.
fn say(pen: &mut Pen, content: &Content) -> Result<(), Problem> {
    append_message(pen, content.clone(), Heard::default())?;
    if let Some(host) = pen.record().meta.get("host").and_then(Value::as_str).map(str::to_owned) {
        let agent = pen.root_agent().unwrap_or(ENGINE).to_owned();
        let state = flat_state(pen.ledger().state());
        let payload = json!({"agent": agent, "content": content, "state": state});
        pen.work(NewWork { id: fresh(), host, kind: WorkKind::Run, payload });
    }
    Ok(())
}

/// How an agent elsewhere told of a message.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    pub(super) event_id: Option<String>,
    pub(super) at: Option<Timestamp>,
}

/// Appends a message that an agent elsewhere heard. It plays the session itself then, and no host does.
pub(super) fn hear(pen: &mut Pen, content: Content, heard: Heard) -> Result<(), Problem> {
    if user_messages(pen.ledger()) == 0
        && let Some(mut meta) = pen.record().meta.as_object().cloned()
        && meta.shift_remove("host").is_some()
    {
        pen.meta(Value::Object(meta));
    }
    append_message(pen, content, heard)
}

/// What a session is called in lists: the beginning of what it is about, in one line.
fn title(text: &str) -> String {
    const MOST: usize = 100;
    let line = text.split(|c: char| c.is_whitespace() || c.is_control());
    let line = line.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    rehearsal_core::shorten(&line, MOST)
}

/// Appends a message of the user and the beginning of the run it starts.
fn append_message(pen: &mut Pen, content: Content, heard: Heard) -> Result<(), Problem> {
    if user_messages(pen.ledger()) == 0 {
        pen.describe(title(&content.text()));
    }
    let root = pen.root_agent().unwrap_or(ENGINE).to_owned();
    let run = run_path(&root, user_messages(pen.ledger()));
    let start = pen.draft(root.as_str(), EventBody::AgentStarted { kind: "adk".into() });
    pen.append(rehearsal_core::Draft { invocation: Some(run.clone()), ..start })?;
    let body = EventBody::UserMessage { content: Arc::new(content) };
    let at = heard.at.unwrap_or(pen.now());
    let draft = rehearsal_core::Draft { invocation: Some(run), ..rehearsal_core::Draft::new(at, USER, body) };
    let id = heard.event_id.unwrap_or_else(fresh);
    pen.append_as(id, rehearsal_store::Payload::Other, bytes::Bytes::new(), draft).map(drop)
}

/// Whether the agent is at work on the last message: it has begun and not come to its end.
pub(super) fn is_running(ledger: &Ledger) -> bool {
    let last = ledger.events().iter().rev().find_map(|event| match &event.body {
        EventBody::RunFailed { .. } => Some(false),
        EventBody::AgentStarted { .. } => Some(true),
        EventBody::AgentEnded { .. }
            if event.invocation.as_ref().is_some_and(|path| path.enclosure().is_empty()) =>
        {
            Some(false)
        }
        _ => None,
    });
    last.unwrap_or(false)
}

/// Refuses to end a session in the middle of a run: what would count as its final response may be a step on the way.
fn refuse_unfinished(ledger: &Ledger) -> Result<(), Problem> {
    if !is_running(ledger) {
        return Ok(());
    }
    if let Some(turn) = open_turns(ledger).first() {
        let detail = format!(
            "the agent is still at work: cue `{turn}` waits for an answer; answer it or dismiss it first"
        );
        return Err(Problem::conflict(Kind::Running, detail).with("head", turn.as_str()));
    }
    if let Some(call) = ledger.calls().find(|call| call.answer.is_none()) {
        let detail = format!(
            "the agent is still at work: call `{}` of `{}` has no result; wait for it or cancel it first",
            call.call, call.tool
        );
        return Err(Problem::conflict(Kind::Running, detail).with("call_id", call.call.as_str()));
    }
    Ok(())
}

/// What the agent gave as its final response to the last message.
pub(super) fn final_output(ledger: &Ledger) -> Option<Value> {
    for event in ledger.events().iter().rev() {
        let main = event.invocation.as_ref().is_none_or(|path| path.enclosure().is_empty());
        match &event.body {
            EventBody::FinalResponse { output } => return Some(output.clone()),
            EventBody::AgentEnded { output, .. } if main && is_said(output) => return Some(output.clone()),
            EventBody::ModelResponse(response) if main => {
                let text = response.content.text();
                let is_final = response.content.calls().next().is_none() && !text.is_empty();
                return is_final.then(|| Value::String(text));
            }
            EventBody::UserMessage { .. } if main => return None,
            _ => {}
        }
    }
    None
}

/// Whether something was given: a golden trace has no empty final response.
fn is_said(output: &Value) -> bool {
    !output.is_null() && output.as_str().is_none_or(|text| !text.trim().is_empty())
}

/// Ends a session with its final response.
pub(super) fn complete(pen: &mut Pen) -> Result<(), Problem> {
    let Some(output) = final_output(pen.ledger()) else {
        let detail = format!(
            "session `{}` has no final response to its last message; give one, or cancel it: POST /v1/sessions/{0}/cancel",
            pen.record().id
        );
        return Err(Problem::conflict(Kind::NoFinalResponse, detail));
    };
    let author = pen.root_agent().unwrap_or(ENGINE).to_owned();
    let given =
        pen.ledger().events().iter().any(|event| matches!(event.body, EventBody::FinalResponse { .. }));
    if !given {
        pen.append(pen.draft(author, EventBody::FinalResponse { output }))?;
    }
    pen.append(pen.draft(ENGINE, EventBody::SessionEnded { reason: EndReason::Completed }))?;
    pen.status(SessionStatus::Completed);
    pen.cue(CueChange::DismissAll);
    Ok(())
}

impl From<rehearsal_adk::NotExportable> for Problem {
    fn from(why: rehearsal_adk::NotExportable) -> Self {
        Self::conflict(Kind::NotExportable, why.to_string())
    }
}
