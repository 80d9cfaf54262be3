//! Where an agent that asks stands: in the conversation, or inside a call that uses it as a tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use rehearsal_core::{CallView, Content, Event, EventBody, InvocationId, Ledger, ModelRequest};
use serde_json::Value;

use super::enclosure;
use super::results::transfer_call;
use super::runs::Runs;

/// Where an agent that asks stands.
#[derive(Debug)]
pub(super) enum Place {
    /// In the conversation with the user.
    Main,
    /// Inside a call.
    Enclosed {
        /// The call's path.
        enclosure: String,
        /// The agent's path in it.
        invocation: InvocationId,
    },
}

impl Place {
    pub(super) fn of(ledger: &Ledger, runs: &Runs<'_>, agent: &str, request: &ModelRequest) -> Self {
        if runs.root.as_ref().is_none_or(|root| **root == *agent) {
            return Self::Main;
        }
        if let Some(call) = open_call_of(ledger, agent, request) {
            return Self::within(&path_of(&call), agent);
        }
        if let Some(call) = transfer_call(ledger, agent) {
            return match enclosure(call.event) {
                "" => Self::Main,
                path => Self::within(&InvocationId::from(path), agent),
            };
        }
        // An agent that others handed the conversation to inside a call stays there as long as the call is open.
        let asked = requests_of(ledger, agent).next().map_or("", |event| enclosure(event));
        let is_open = |call: CallView<'_>| call.answer.is_none() && path_of(&call).as_str() == asked;
        if !asked.is_empty() && ledger.calls().any(is_open) {
            return Self::within(&InvocationId::from(asked), agent);
        }
        Self::Main
    }

    fn within(call: &InvocationId, agent: &str) -> Self {
        let invocation = call.child(agent);
        Self::Enclosed { enclosure: invocation.enclosure().to_owned(), invocation }
    }

    /// Whether an event happened in the same conversation.
    pub(super) fn holds(&self, event: &Event) -> bool {
        match self {
            Self::Main => enclosure(event).is_empty(),
            Self::Enclosed { enclosure: own, .. } => enclosure(event) == own,
        }
    }

    /// What the agent asked last in the same conversation.
    pub(super) fn last_request(&self, ledger: &Ledger, agent: &str) -> Option<Arc<ModelRequest>> {
        let event = requests_of(ledger, agent).find(|event| self.holds(event))?;
        whole_request(ledger, event)
    }
}

/// The requests of an agent, the last one first.
fn requests_of<'a>(ledger: &'a Ledger, agent: &str) -> impl Iterator<Item = &'a Arc<Event>> {
    let is_its = move |event: &&Arc<Event>| {
        matches!(event.body, EventBody::ModelRequest(_)) && *event.author == *agent
    };
    ledger.events().iter().rev().filter(is_its)
}

fn whole_request(ledger: &Ledger, event: &Event) -> Option<Arc<ModelRequest>> {
    let turn = event.turn.as_ref()?;
    match ledger.last_request(&event.author) {
        Some(last) if last.turn == *turn => Some(last.request.clone()),
        _ => ledger.request(turn).map(Arc::new),
    }
}

/// The path below which the agent behind a call works.
fn path_of(call: &CallView<'_>) -> InvocationId {
    let caller = call.event.invocation.clone().unwrap_or_else(|| InvocationId::root(&call.event.author));
    caller.agent_tool(call.call)
}

/// The open call of the tool with this name that the request was made in.
///
/// Several can be open side by side. A request that goes on from what was asked in one of them is that one's; else it
/// is of a call in which nothing was asked yet, by its arguments where they tell, else by order.
fn open_call_of<'a>(ledger: &'a Ledger, agent: &str, request: &ModelRequest) -> Option<CallView<'a>> {
    let open: Vec<CallView<'a>> =
        ledger.calls().filter(|call| call.answer.is_none() && **call.tool == *agent).collect();
    if open.len() <= 1 {
        return open.into_iter().next();
    }
    let mut asked: BTreeMap<&str, &Arc<Event>> = BTreeMap::new();
    for event in requests_of(ledger, agent) {
        asked.entry(enclosure(event)).or_insert(event);
    }
    let (mut earlier, mut fresh) = (Vec::new(), Vec::new());
    for call in open {
        let event = asked.get(path_of(&call).as_str()).copied();
        match event.and_then(|event| Some((event, whole_request(ledger, event)?))) {
            Some((event, request)) => earlier.push((call, event, request)),
            None => fresh.push(call),
        }
    }
    let likeness = |earlier: &ModelRequest| {
        earlier.contents.iter().zip(&request.contents).take_while(|(a, b)| a == b).count()
    };
    let is_longer = |earlier: &ModelRequest| {
        request.contents.len() > earlier.contents.len() && likeness(earlier) == earlier.contents.len()
    };
    let was_decided_so = |event: &Event, at: usize| {
        let response = event.turn.as_ref().and_then(|turn| ledger.response(turn));
        response.is_some_and(|response| Some(&response.content) == request.contents.get(at))
    };
    // From the back, because of equals the last is taken and it should be the first.
    let going_on = earlier.iter().rev().filter(|(_, _, earlier)| is_longer(earlier));
    let goes_on = going_on.max_by_key(|(_, event, earlier)| {
        (was_decided_so(event, earlier.contents.len()), earlier.contents.len())
    });
    let told = || fresh.iter().find(|call| says(request.contents.first(), call)).or(fresh.first());
    let most_like = || earlier.iter().rev().max_by_key(|(_, _, earlier)| likeness(earlier));
    let found = goes_on.map(|(call, ..)| call);
    found.or_else(told).or_else(|| most_like().map(|(call, ..)| call)).copied()
}

/// Whether a content says what a call asks for: the ADK hands over the text in `request`, or all arguments as JSON.
fn says(content: Option<&Arc<Content>>, call: &CallView<'_>) -> bool {
    let Some(text) = content.map(|content| content.text()) else { return false };
    match call.args.get("request").and_then(Value::as_str) {
        Some(request) => request == text,
        None => rehearsal_core::json::from_str::<Value>(&text)
            .is_ok_and(|said| said.as_object() == Some(&**call.args)),
    }
}
