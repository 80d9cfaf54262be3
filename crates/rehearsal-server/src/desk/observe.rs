//! What agents elsewhere did, as their plugins tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use rehearsal_core::{
    CallId, Content, Decision, Draft, EventBody, InvocationId, LaterResult, ModelResponse, Player, SessionId,
    StatePatch, Timestamp, ToolError, ToolOutcome, ToolResult, TurnId,
};
use rehearsal_store::{CueId, LONG, Payload, beginning};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::artifacts::{self, Artifact};
use super::failing::{close_calls, is_closed};
use super::query::some_value;
use super::sessions::{ENGINE, Heard, complete, final_output, hear};
use super::state::patch_from_flat;
use super::{Desk, Pen};
use crate::ids;
use crate::problem::{Class, Kind, Problem};

/// Something an agent elsewhere did.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
pub struct Observation {
    /// Its id, a `UUIDv4` made by the sender: what is sent again is recognised by it.
    #[schema(format = Uuid)]
    pub event_id: String,
    /// When it happened; now unless told.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
    /// The agent.
    #[schema(min_length = 1, max_length = 100)]
    pub agent: String,
    /// The calls of the agents-as-tools around it, outermost first.
    #[serde(default)]
    pub path: Vec<String>,
    /// What it did.
    #[serde(flatten)]
    pub what: Observed,
}

/// What an agent elsewhere did.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Observed {
    /// The user said something to it.
    UserMessage {
        /// What.
        #[schema(value_type = Object)]
        content: Content,
    },
    /// It called a tool.
    ToolCall {
        /// The call; unique in the session.
        call_id: String,
        /// The tool.
        tool: String,
        /// Its arguments.
        #[serde(default)]
        #[schema(value_type = Object)]
        args: Map<String, Value>,
        /// The model turn that asked for it.
        #[serde(default)]
        turn_id: Option<String>,
    },
    /// A tool call came to its end.
    ToolResult {
        /// The call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What the runtime recorded as its result.
        #[serde(default, deserialize_with = "some_value")]
        #[schema(value_type = Option<Value>)]
        output: Option<Value>,
        /// The upload that holds the output, instead of `output`.
        #[serde(default)]
        upload: Option<String>,
        /// What it raised.
        #[serde(default)]
        error: Option<ToolFailure>,
        /// How long it took.
        #[serde(default)]
        duration_ms: f64,
        /// What it changed, in ADK's flat form.
        #[serde(default)]
        #[schema(value_type = Object)]
        state_delta: Map<String, Value>,
        /// Whether it came after the call was cancelled.
        #[serde(default)]
        late: bool,
        /// Whether the tool was run again for the same call, as one is that the user has confirmed.
        #[serde(default)]
        again: bool,
    },
    /// State changed outside a tool.
    StateChange {
        /// The change, in ADK's flat form.
        #[schema(value_type = Object)]
        state_delta: Map<String, Value>,
    },
    /// It saved an artifact.
    ArtifactSaved(Artifact),
    /// Its own model answered a recorded turn.
    ModelResponse {
        /// The turn.
        turn_id: String,
        /// What it answered.
        #[schema(value_type = Object)]
        content: Arc<Content>,
    },
    /// It came to its end with this final response.
    AgentEnded {
        /// What it gave; null for nothing.
        #[serde(default)]
        output: Value,
    },
    /// Its run ended without a final response.
    RunFailed {
        /// Why.
        error: ToolFailure,
    },
}

/// An exception.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ToolFailure {
    /// Its class.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message.
    #[serde(default)]
    pub message: String,
    /// Where it was raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
}

/// An observation that is on the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Recorded {
    /// Its id.
    pub event_id: String,
    /// Its number.
    pub seq: u64,
}

impl Desk {
    /// Puts what an agent did on its ledger, all of it or nothing. What is there already is not put there again.
    ///
    /// # Errors
    /// It is not valid, or contradicts what happened.
    pub async fn observe(
        &self,
        session: &SessionId,
        mut observations: Vec<Observation>,
    ) -> Result<Vec<Recorded>, Problem> {
        let mut long = BTreeMap::new();
        for observation in &mut observations {
            observation.event_id = ids::uuid4("event id", &observation.event_id)?;
            ids::agent(&observation.agent)?;
            if let Some(output) = self.fetch_upload(&mut observation.what).await? {
                long.insert(observation.event_id.clone(), output);
            }
            self.refuse_for_people(&observation.what).await?;
        }
        let asked: Vec<String> =
            observations.iter().map(|observation| observation.event_id.clone()).collect();
        let uploads: Vec<String> = observations.iter().filter_map(|seen| seen.what.upload()).collect();
        let seen = Seen { observations: &observations, long: &long };
        if let Err(problem) = self.record_all(session, &seen, &BTreeSet::new()).await {
            // A sender that did not hear from us sends again; what got through is left out then.
            let mut known = BTreeSet::new();
            for id in &asked {
                if self.store.event(session, id).await?.is_some() {
                    known.insert(id.clone());
                }
            }
            if known.is_empty() {
                return Err(problem);
            }
            self.record_all(session, &seen, &known).await?;
        }
        for upload in uploads {
            self.store.delete_upload(&upload).await?;
        }
        let mut recorded = Vec::with_capacity(asked.len());
        for event_id in asked {
            let stored = self.store.event(session, &event_id).await?;
            let stored = stored.ok_or_else(|| Problem::not_found("event", &event_id))?;
            recorded.push(Recorded { event_id, seq: stored.event.seq });
        }
        Ok(recorded)
    }

    async fn record_all(
        &self,
        session: &SessionId,
        seen: &Seen<'_>,
        known: &BTreeSet<String>,
    ) -> Result<(), Problem> {
        self.change(session, |pen| {
            for observation in seen.observations.iter().filter(|seen| !known.contains(&seen.event_id)) {
                record(pen, observation)?;
                if let Some(output) = seen.long.get(&observation.event_id) {
                    pen.keep_whole(output);
                }
            }
            Ok(())
        })
        .await
    }

    /// A turn that people are asked about is answered by them alone.
    async fn refuse_for_people(&self, what: &Observed) -> Result<(), Problem> {
        let Observed::ModelResponse { turn_id, .. } = what else { return Ok(()) };
        let turn = ids::uuid4("turn id", turn_id)?;
        if self.store.cue(&CueId::new(turn.as_str())).await?.is_none() {
            return Ok(());
        }
        let detail = format!(
            "a person answers turn `{turn}`; an agent whose own model answers submits the turn with `recorded`"
        );
        Err(Problem::conflict(Kind::NotRecorded, detail))
    }

    /// Replaces the name of an upload by what was uploaded. Of a long one it takes the beginning, and gives the whole as
    /// it came.
    async fn fetch_upload(&self, what: &mut Observed) -> Result<Option<String>, Problem> {
        let Observed::ToolResult { output, upload: Some(upload), .. } = what else { return Ok(None) };
        if output.is_some() {
            return Err(Problem::invalid(Kind::InvalidBody, "send one of `output` and `upload`, not both"));
        }
        *upload = ids::uuid4("upload id", upload)?;
        let Some(bytes) = self.store.upload(upload).await? else {
            return Ok(None); // sent again after it was used; the event is there then, or the output is missing
        };
        let no_json = |error: &dyn std::fmt::Display| {
            Problem::invalid(Kind::InvalidUpload, format!("upload `{upload}` is not JSON: {error}"))
        };
        if bytes.len() <= LONG {
            *output = Some(rehearsal_core::json::from_slice(&bytes).map_err(|error| no_json(&error))?);
            return Ok(None);
        }
        let text = String::from_utf8(bytes).map_err(|error| no_json(&error))?;
        // Nobody else waits while a long one is read.
        let reading =
            tokio::task::spawn_blocking(move || beginning(&text).map(|begins| (begins, text))).await;
        let read =
            reading.map_err(|error| Problem::new(Class::Internal, Kind::Internal, error.to_string()))?;
        let (begins, text) = read.map_err(|error| no_json(&error))?;
        *output = Some(begins);
        Ok(Some(text))
    }
}

/// Observations, and the whole of their long outputs by event.
struct Seen<'a> {
    observations: &'a [Observation],
    long: &'a BTreeMap<String, String>,
}

impl Observed {
    fn upload(&self) -> Option<String> {
        match self {
            Self::ToolResult { upload, .. } => upload.clone(),
            _ => None,
        }
    }
}

fn record(pen: &mut Pen, seen: &Observation) -> Result<(), Problem> {
    let id = seen.event_id.clone();
    let place = pen.place(&seen.agent, &seen.path);
    let at = seen.at.unwrap_or(pen.now());
    let plain = |body: EventBody| Draft {
        invocation: Some(place.clone()),
        ..Draft::new(at, seen.agent.as_str(), body)
    };
    let other = |pen: &mut Pen, draft: Draft| {
        pen.append_as(id.clone(), Payload::Other, Bytes::new(), draft).map(drop)
    };
    // What comes late may come after the end.
    match seen.what {
        Observed::ToolResult { late: true, .. } => pen.require_of_no_run()?,
        _ => pen.require_open()?,
    }
    match &seen.what {
        Observed::UserMessage { content } if seen.path.is_empty() => {
            if pen.root_agent().is_none() {
                pen.agent(&seen.agent);
            }
            hear(pen, content.clone(), Heard { event_id: Some(id), at: seen.at })
        }
        Observed::UserMessage { content } => {
            let body = EventBody::UserMessage { content: Arc::new(content.clone()) };
            other(pen, plain(body))
        }
        Observed::ToolCall { call_id, tool, args, turn_id } => {
            let body = EventBody::ToolCall {
                call: named_call(call_id)?,
                tool: tool.as_str().into(),
                args: Arc::new(args.clone()),
            };
            let turn = match turn_id {
                Some(turn) => Some(TurnId::new(ids::uuid4("turn id", turn)?)),
                None => None,
            };
            other(pen, Draft { turn, ..plain(body) })
        }
        Observed::ToolResult { call_id, late, tool, output, error, .. }
            if *late || is_closed(pen, &CallId::new(call_id.as_str())) =>
        {
            let result = later(call_id, tool, output.as_ref(), error.as_ref())?;
            if let Some(body) = exception(&result.call, &result.outcome, error.as_ref()) {
                pen.append(plain(body))?;
            }
            other(pen, plain(EventBody::LateResult(result)))
        }
        Observed::ToolResult { call_id, again: true, tool, output, error, state_delta, .. }
            if is_answered(pen, &CallId::new(call_id.as_str())) =>
        {
            let changes = patch_from_flat(pen.ledger().state(), state_delta);
            if !changes.is_empty() {
                pen.append(plain(EventBody::StateChange { changes }))?;
            }
            let result = later(call_id, tool, output.as_ref(), error.as_ref())?;
            if let Some(body) = exception(&result.call, &result.outcome, error.as_ref()) {
                pen.append(plain(body))?;
            }
            other(pen, plain(EventBody::RepeatedResult(result)))
        }
        Observed::ToolResult { .. } => record_result(pen, seen, &place),
        Observed::StateChange { state_delta } => {
            let changes = patch_from_flat(pen.ledger().state(), state_delta);
            other(pen, plain(EventBody::StateChange { changes }))
        }
        Observed::ArtifactSaved(artifact) => other(pen, plain(artifacts::saved(artifact)?)),
        Observed::ModelResponse { turn_id, content } => {
            let turn = TurnId::new(ids::uuid4("turn id", turn_id)?);
            if pen.ledger().request(&turn).is_none() {
                return Err(Problem::not_found("turn", &turn));
            }
            let response = ModelResponse { content: content.clone(), ..ModelResponse::default() };
            let decision = Some(Decision { by: Player::Provider, name: None, micros: 0 });
            let draft = Draft { turn: Some(turn), decision, ..plain(EventBody::ModelResponse(response)) };
            pen.append_as(id.clone(), Payload::Response, Bytes::new(), draft).map(drop)
        }
        Observed::AgentEnded { output } => {
            let body =
                EventBody::AgentEnded { output: output.clone(), changes: Vec::new(), transfer_to: None };
            other(pen, plain(body))?;
            let meta = &pen.record().meta;
            let ends = meta.get("host").is_some() && meta.get("keep_open").is_none();
            if seen.path.is_empty() && ends && final_output(pen.ledger()).is_some() {
                complete(pen)?;
            }
            Ok(())
        }
        Observed::RunFailed { error } => {
            close_calls(
                pen,
                &error.kind,
                &format!("the run failed before this tool was done: {}", error.message),
            )?;
            let body = EventBody::RunFailed { error: error.into() };
            other(pen, Draft { author: ENGINE.into(), ..plain(body) })
        }
    }
}

/// What a call came to is told where the call was made.
fn record_result(pen: &mut Pen, seen: &Observation, place: &InvocationId) -> Result<(), Problem> {
    let Observed::ToolResult { call_id, tool, output, error, duration_ms, state_delta, .. } = &seen.what
    else {
        return Ok(());
    };
    let call = named_call(call_id)?;
    let at = seen.at.unwrap_or(pen.now());
    let made = pen.ledger().call(&call).map(|view| view.event.clone());
    if let Some(called) = pen.ledger().call(&call).map(|view| view.tool)
        && **called != **tool
    {
        let detail = format!("call `{call}` is one of tool `{called}`, and this is a result of `{tool}`");
        return Err(Problem::conflict(Kind::OtherTool, detail));
    }
    let outcome = outcome(output.as_ref(), error.as_ref())?;
    if let Some(body) = exception(&call, &outcome, error.as_ref()) {
        pen.append(Draft { invocation: Some(place.clone()), ..Draft::new(at, seen.agent.as_str(), body) })?;
    }
    let changes = patch_from_flat(pen.ledger().state(), state_delta);
    let changes: Vec<StatePatch> = if changes.is_empty() { Vec::new() } else { vec![changes] };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "casting to an integer saturates"
    )]
    let micros = (duration_ms * 1000.0) as u64;
    let body = EventBody::ToolResult(ToolResult {
        call,
        tool: tool.as_str().into(),
        outcome,
        changes,
        main_changes: None,
    });
    let (invocation, turn) = match made {
        Some(made) => (made.invocation.clone(), made.turn.clone()),
        None => (Some(place.clone()), None),
    };
    let decision = Some(Decision { by: Player::Tool, name: None, micros });
    let draft = Draft { invocation, turn, decision, ..Draft::new(at, seen.agent.as_str(), body) };
    pen.append_as(seen.event_id.clone(), Payload::Other, Bytes::new(), draft).map(drop)
}

fn is_answered(pen: &Pen, call: &CallId) -> bool {
    pen.ledger().call(call).is_some_and(|call| call.answer.is_some())
}

fn named_call(id: &str) -> Result<CallId, Problem> {
    if id.is_empty() {
        return Err(Problem::invalid(Kind::InvalidId, "a `call_id` is empty; it joins a call to its result"));
    }
    Ok(CallId::new(id))
}

/// What a call gave though nobody waits for it any more: also that it gave nothing at all.
fn later(
    call: &str,
    tool: &str,
    output: Option<&Value>,
    error: Option<&ToolFailure>,
) -> Result<LaterResult, Problem> {
    let outcome = match (output, error) {
        (None, None) => ToolOutcome::Output(Value::Null),
        (output, error) => outcome(output, error)?,
    };
    Ok(LaterResult { call: named_call(call)?, tool: tool.into(), outcome })
}

/// What a tool raised where something else was recorded as its result.
fn exception(call: &CallId, outcome: &ToolOutcome, error: Option<&ToolFailure>) -> Option<EventBody> {
    match (outcome, error) {
        (ToolOutcome::Output(_), Some(error)) => {
            Some(EventBody::ToolException { call: call.clone(), error: error.into() })
        }
        _ => None,
    }
}

/// What came of a call. What the runtime recorded counts; an exception counts as an error when nothing was recorded
/// in its place, or when what was recorded says just that.
fn outcome(output: Option<&Value>, error: Option<&ToolFailure>) -> Result<ToolOutcome, Problem> {
    let says_just_that = |output: &Value, failure: &ToolFailure| {
        *output == json!({"error": {"type": failure.kind, "message": failure.message}})
    };
    match (output, error) {
        (None, Some(failure)) => Ok(ToolOutcome::Error(failure.into())),
        (Some(output), Some(failure)) if says_just_that(output, failure) => {
            Ok(ToolOutcome::Error(failure.into()))
        }
        (Some(output), _) => Ok(ToolOutcome::Output(output.clone())),
        (None, None) => {
            let detail = "a `tool_result` has an `output` (null where the tool gave nothing) or an `error`; \
                          an `upload` that it names must exist";
            Err(Problem::invalid(Kind::InvalidBody, detail))
        }
    }
}

impl From<&ToolFailure> for ToolError {
    fn from(failure: &ToolFailure) -> Self {
        Self {
            traceback: failure.traceback.clone(),
            ..Self::new(failure.kind.clone(), failure.message.clone())
        }
    }
}
