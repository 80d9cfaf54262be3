//! What must have happened, read from what the published plugin sends.
//!
//! The plugin tells of model turns only. The rest is in them: the user's message is the last thing the user says in
//! the contents, a tool's result is a function response that was not there before, and an agent that asks while a
//! call of a tool with its name is open is that tool. Everything here only reads the ledger and says what to append.

use std::collections::BTreeSet;
use std::sync::Arc;

use rehearsal_core::{
    CallId, Decision, Draft, Event, EventBody, FunctionCall, Ids, InvocationId, Ledger, ModelRequest,
    ModelResponse, RequestRecord, Timestamp, TurnId,
};
use serde_json::Value;

use crate::desk::{CannotDerive, RequestDrafts};

mod message;
mod place;
mod results;
mod runs;

use place::Place;
use runs::Runs;

/// The kind of agent that the plugin plays for.
const KIND: &str = "adk";

/// The author of what the user says.
const USER: &str = "user";

/// The tool by which an ADK agent gives its final answer where it has tools and an output schema.
const SET_MODEL_RESPONSE: &str = "set_model_response";

/// What to append when an agent asks for a model turn.
///
/// # Errors
/// The session is not open, or the turn was asked before.
pub fn events_for_request(
    ledger: &Ledger,
    at: Timestamp,
    agent: &str,
    turn: &TurnId,
    request: &ModelRequest,
) -> Result<RequestDrafts, CannotDerive> {
    check_open(ledger)?;
    if request_event(ledger, turn).is_some() {
        return Err(CannotDerive::Repeated { turn: turn.clone() });
    }
    let runs = Runs::of(ledger);
    let place = Place::of(ledger, &runs, agent, request);
    let earlier = place.last_request(ledger, agent);
    let mut before = results::transfer(ledger, at, agent, &place).into_iter().collect::<Vec<_>>();
    before.extend(results::new_results(ledger, at, agent, &place, earlier.as_deref(), request));

    let invocation = match place {
        Place::Enclosed { invocation, .. } => invocation,
        Place::Main => {
            let root = runs.root.clone().unwrap_or_else(|| agent.into());
            let said = message::new_message(&runs, agent, earlier.as_deref(), request);
            let run = match (said, runs.current()) {
                (None, Some(run)) => run.invocation.clone(),
                (said, _) => {
                    let run = InvocationId::root(&root).child(runs.count);
                    let body = EventBody::AgentStarted { kind: KIND.into() };
                    before.push(of_run(Draft::new(at, root.clone(), body), &run));
                    let body = EventBody::UserMessage { content: said.unwrap_or_default() };
                    before.push(of_run(Draft::new(at, USER, body), &run));
                    run
                }
            };
            if *root == *agent { run } else { run.child(agent) }
        }
    };
    let body = EventBody::ModelRequest(RequestRecord::default());
    let request =
        Draft { invocation: Some(invocation), turn: Some(turn.clone()), ..Draft::new(at, agent, body) };
    Ok(RequestDrafts { before, request })
}

/// What to append when a model turn is decided: the response, the calls it makes, or the end of the agent's run.
///
/// # Errors
/// The session is not open, the turn was never asked, or it was decided before.
pub fn events_for_response(
    ledger: &Ledger,
    at: Timestamp,
    turn: &TurnId,
    response: &ModelResponse,
    decision: Decision,
) -> Result<Vec<Draft>, CannotDerive> {
    check_open(ledger)?;
    let asked = request_event(ledger, turn).ok_or_else(|| CannotDerive::Unknown { turn: turn.clone() })?;
    if ledger.response(turn).is_some() {
        return Err(CannotDerive::Decided { turn: turn.clone() });
    }
    let of_turn = |body: EventBody| Draft {
        invocation: asked.invocation.clone(),
        turn: Some(turn.clone()),
        ..Draft::new(at, asked.author.clone(), body)
    };
    let answer = of_turn(EventBody::ModelResponse(response.clone()));
    let mut drafts = vec![Draft { decision: Some(decision), ..answer }];
    let mut taken = BTreeSet::new();
    for (index, call) in response.content.calls().enumerate() {
        let id = free_id(ledger, &taken, turn, index, call);
        taken.insert(id.clone());
        drafts.push(of_turn(EventBody::ToolCall {
            call: id,
            tool: call.name.as_str().into(),
            args: Arc::new(call.args.clone()),
        }));
    }
    if let Some(output) = final_output(ledger, turn, response)
        && let Some(run) = Runs::of(ledger).run_of(asked)
    {
        let body = EventBody::AgentEnded { output, changes: Vec::new(), transfer_to: None };
        drafts.push(of_run(Draft::new(at, run.root.clone(), body), &run.invocation));
    }
    Ok(drafts)
}

fn check_open(ledger: &Ledger) -> Result<(), CannotDerive> {
    if ledger.end().is_some() {
        return Err(CannotDerive::Ended);
    }
    ledger.started().map(|_| ()).ok_or(CannotDerive::NotStarted)
}

fn of_run(draft: Draft, run: &InvocationId) -> Draft {
    Draft { invocation: Some(run.clone()), ..draft }
}

fn request_event<'a>(ledger: &'a Ledger, turn: &TurnId) -> Option<&'a Arc<Event>> {
    let is_asked = |event: &&Arc<Event>| {
        matches!(event.body, EventBody::ModelRequest(_)) && event.turn.as_ref() == Some(turn)
    };
    ledger.events().iter().rev().find(is_asked)
}

/// The part of its path in which an event's agent works hidden from the conversation; empty in the conversation.
fn enclosure(event: &Event) -> &str {
    event.invocation.as_ref().map_or("", |path| path.enclosure())
}

/// The id that the decision gives the call, or one of its own where it gives none, one that is taken, or one that
/// could be mistaken for a path.
fn free_id(
    ledger: &Ledger,
    taken: &BTreeSet<CallId>,
    turn: &TurnId,
    index: usize,
    call: &FunctionCall,
) -> CallId {
    let is_free = |id: &CallId| ledger.call(id).is_none() && !taken.contains(id);
    let given = call.id.clone().filter(|id| !id.as_str().is_empty() && !id.as_str().contains('/'));
    given.filter(is_free).unwrap_or_else(|| {
        let mut seed = 0;
        loop {
            let own = Ids::seeded(seed).call(turn, index);
            if is_free(&own) {
                return own;
            }
            seed += 1;
        }
    })
}

/// What the agent's run gives, if the response is its last word.
fn final_output(ledger: &Ledger, turn: &TurnId, response: &ModelResponse) -> Option<Value> {
    let content = &response.content;
    if let Some(call) = content.calls().find(|call| call.name == SET_MODEL_RESPONSE) {
        let request = ledger.request(turn)?;
        let is_offered = request.setup.tools.iter().any(|tool| tool.name == SET_MODEL_RESPONSE);
        return is_offered.then(|| Value::Object(call.args.clone()));
    }
    // The agent goes on by itself after code that its model ran.
    let ran_code = content.parts.last().is_some_and(|part| part.extra.contains_key("code_execution_result"));
    let is_last = content.calls().next().is_none() && !ran_code;
    is_last.then(|| Value::String(content.text()))
}
