//! The results of tools, from the function responses that a request shows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rehearsal_core::{
    CallId, CallView, Decision, Draft, EventBody, FunctionResponse, Ledger, ModelRequest, Player, Timestamp,
    ToolError, ToolOutcome, ToolResult, elapsed,
};
use serde_json::{Map, Value, json};

use super::place::Place;

/// The tool by which an ADK agent hands the conversation to another one.
const TRANSFER: &str = "transfer_to_agent";

/// The last open call by which another agent hands the conversation to this one.
pub(super) fn transfer_call<'a>(ledger: &'a Ledger, agent: &str) -> Option<CallView<'a>> {
    let hands_over = |call: &CallView<'_>| {
        call.answer.is_none()
            && **call.tool == *TRANSFER
            && *call.event.author != *agent
            && call.args.get("agent_name").and_then(Value::as_str) == Some(agent)
    };
    ledger.calls().rfind(hands_over)
}

/// The result of the call that handed the conversation to this agent: that it asks shows that it was handed over. The
/// caller itself would tell only when it is asked again, which may be never.
pub(super) fn transfer(ledger: &Ledger, at: Timestamp, agent: &str, place: &Place) -> Option<Draft> {
    let call = transfer_call(ledger, agent).filter(|call| place.holds(call.event))?;
    Some(result(at, &call, ToolOutcome::Output(json!({"result": null}))))
}

/// The results that the agent did not show when it asked before.
///
/// A response belongs to the open call with its id. One without an id, and one whose id the runtime made itself,
/// belong to the first open call of the tool that was made without one: runtimes keep the order of calls.
pub(super) fn new_results(
    ledger: &Ledger,
    at: Timestamp,
    agent: &str,
    place: &Place,
    earlier: Option<&ModelRequest>,
    request: &ModelRequest,
) -> Vec<Draft> {
    let mut open = OpenCalls::of(ledger, agent, place);
    if open.calls.is_empty() {
        return Vec::new();
    }
    let responses = new_responses(earlier, request);
    responses
        .into_iter()
        .filter_map(|response| {
            let call = open.take(response)?;
            Some(result(at, &call, outcome(&response.response)))
        })
        .collect()
}

fn new_responses<'a>(earlier: Option<&ModelRequest>, request: &'a ModelRequest) -> Vec<&'a FunctionResponse> {
    let earlier = earlier.map_or(&[][..], |earlier| &earlier.contents);
    let keep = earlier.iter().zip(&request.contents).take_while(|(a, b)| a == b).count();
    // Where an agent changes its own past, what it showed before is shown again and is no news.
    let mut shown: BTreeMap<String, usize> = BTreeMap::new();
    for response in earlier[keep..].iter().flat_map(|content| content.responses()) {
        *shown.entry(key(response)).or_default() += 1;
    }
    let is_new = |response: &&FunctionResponse| match shown.get_mut(&key(response)) {
        Some(times) if *times > 0 => {
            *times -= 1;
            false
        }
        _ => true,
    };
    request.contents[keep..].iter().flat_map(|content| content.responses()).filter(is_new).collect()
}

fn key(response: &FunctionResponse) -> String {
    rehearsal_core::json::text(&json!([response.name, response.id, response.response]))
}

/// The open calls of an agent in a conversation, in order.
struct OpenCalls<'a> {
    calls: Vec<Option<CallView<'a>>>,
    by_id: BTreeMap<&'a str, VecDeque<usize>>,
    without_id: BTreeMap<&'a str, VecDeque<usize>>,
    by_tool: BTreeMap<&'a str, VecDeque<usize>>,
}

impl<'a> OpenCalls<'a> {
    fn of(ledger: &'a Ledger, agent: &str, place: &Place) -> Self {
        let mut open = Self {
            calls: Vec::new(),
            by_id: BTreeMap::new(),
            without_id: BTreeMap::new(),
            by_tool: BTreeMap::new(),
        };
        // The ids that the calls of a turn were given in the decision, which the agent goes by.
        let mut given: BTreeMap<&str, VecDeque<Option<&'a CallId>>> = BTreeMap::new();
        for event in ledger.events() {
            if *event.author != *agent || !place.holds(event) {
                continue;
            }
            let turn = event.turn.as_ref().map_or("", |turn| turn.as_str());
            match &event.body {
                EventBody::ModelResponse(response) => {
                    given.insert(turn, response.content.calls().map(|call| call.id.as_ref()).collect());
                }
                EventBody::ToolCall { call, .. } => {
                    let id = given.get_mut(turn).and_then(VecDeque::pop_front).unwrap_or(Some(call));
                    if let Some(view) = ledger.call(call).filter(|view| view.answer.is_none()) {
                        open.push(view, id.map(CallId::as_str).filter(|id| !id.is_empty()));
                    }
                }
                _ => {}
            }
        }
        open
    }

    fn push(&mut self, call: CallView<'a>, id: Option<&'a str>) {
        let at = self.calls.len();
        match id {
            Some(id) => self.by_id.entry(id).or_default().push_back(at),
            None => self.without_id.entry(call.tool).or_default().push_back(at),
        }
        self.by_tool.entry(call.tool).or_default().push_back(at);
        self.calls.push(Some(call));
    }

    /// The call that a response answers, which is open no more.
    fn take(&mut self, response: &FunctionResponse) -> Option<CallView<'a>> {
        let tool = response.name.as_str();
        match &response.id {
            Some(id) => {
                let by_id = self.by_id.get_mut(id.as_str());
                let found = by_id.and_then(|places| first(&mut self.calls, places));
                found.or_else(|| first(&mut self.calls, self.without_id.get_mut(tool)?))
            }
            None => first(&mut self.calls, self.by_tool.get_mut(tool)?),
        }
    }
}

fn first<'a>(calls: &mut [Option<CallView<'a>>], places: &mut VecDeque<usize>) -> Option<CallView<'a>> {
    while let Some(at) = places.pop_front() {
        if let Some(call) = calls[at].take() {
            return Some(call);
        }
    }
    None
}

/// An error where the response is exactly what the engine shows a model for one.
fn outcome(response: &Map<String, Value>) -> ToolOutcome {
    if let Some(Value::Object(error)) = response.get("error")
        && response.len() == 1
        && error.len() == 2
        && let (Some(Value::String(kind)), Some(Value::String(message))) =
            (error.get("type"), error.get("message"))
    {
        return ToolOutcome::Error(ToolError::new(kind, message));
    }
    ToolOutcome::Output(Value::Object(response.clone()))
}

/// The tool ran in the agent, somewhere between the decision that called it and the request that shows its result.
fn result(at: Timestamp, call: &CallView<'_>, outcome: ToolOutcome) -> Draft {
    let micros = u64::try_from(elapsed(call.event.at, at).as_micros()).unwrap_or(u64::MAX);
    let body = EventBody::ToolResult(ToolResult {
        call: call.call.clone(),
        tool: call.tool.clone(),
        outcome,
        changes: Vec::new(),
        main_changes: None,
    });
    Draft {
        invocation: call.event.invocation.clone(),
        turn: call.event.turn.clone(),
        decision: Some(Decision { by: Player::Tool, name: Some(Arc::clone(call.tool)), micros }),
        ..Draft::new(at, call.event.author.clone(), body)
    }
}
