//! What was said and done in a session, read from its ledger.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rehearsal_core::{
    CallId, Content, Event, EventBody, FunctionCall, FunctionResponse, Ledger, ModelResponse, ToolOutcome,
    TurnId,
};
use serde_json::{Map, Value};

/// Something that was said or done.
#[derive(Clone, Debug)]
pub(crate) struct Step<'a> {
    /// The event that says so.
    pub(crate) event: &'a Event,
    /// The call of the agent used as a tool in which it happened; nothing for the conversation itself.
    pub(crate) within: Option<&'a str>,
    pub(crate) what: What<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum What<'a> {
    /// The user said something.
    Said(&'a Content),
    /// A tool was called.
    Called { id: Option<CallId>, tool: &'a str, args: &'a Map<String, Value> },
    /// A tool call was answered.
    Answered { id: Option<CallId>, tool: Cow<'a, str>, outcome: Cow<'a, ToolOutcome> },
    /// The run ended without an answer.
    Failed { kind: &'a str, message: &'a str },
    /// The agent's answer to what the user said last.
    Concluded(Value),
}

/// The steps of a session, in order.
///
/// Calls are those on the ledger as tool calls. A model turn whose calls never became such events, as in a session
/// that an older plugin sent, is read from the response, and what the calls gave from the function responses in the
/// agent's next request.
pub(crate) fn steps(ledger: &Ledger) -> Vec<Step<'_>> {
    let events = ledger.events();
    let recorded = recorded_turns(events);
    let mut steps = Vec::new();
    let mut messages = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let within = within(event);
        let mut push = |what| steps.push(Step { event, within, what });
        match &event.body {
            EventBody::UserMessage { content } if within.is_none() => {
                messages.push(at);
                push(What::Said(content));
            }
            EventBody::ToolCall { call, tool, args } => {
                push(What::Called { id: Some(call.clone()), tool, args });
            }
            EventBody::ToolResult(result) => {
                let what = What::Answered {
                    id: Some(result.call.clone()),
                    tool: Cow::Borrowed(&*result.tool),
                    outcome: Cow::Borrowed(&result.outcome),
                };
                let made = ledger.call(&result.call).and_then(|call| self::within(call.event));
                steps.push(Step { event, within: made, what });
            }
            EventBody::RepeatedResult(result) => {
                let what = What::Answered {
                    id: Some(result.call.clone()),
                    tool: Cow::Borrowed(&*result.tool),
                    outcome: Cow::Borrowed(&result.outcome),
                };
                let made = ledger.call(&result.call).and_then(|call| self::within(call.event));
                steps.push(Step { event, within: made, what });
            }
            EventBody::RunFailed { error } => {
                let (kind, message) = (&*error.kind, &*error.message);
                steps.push(Step { event, within: None, what: What::Failed { kind, message } });
            }
            EventBody::ModelResponse(response)
                if response.content.calls().next().is_some()
                    && !is_recorded(ledger, at, response, &recorded) =>
            {
                steps.extend(unrecorded(ledger, at, response));
            }
            _ => {}
        }
    }
    for (index, start) in messages.iter().enumerate() {
        let next = messages.get(index + 1);
        let segment = &events[*start..next.copied().unwrap_or(events.len())];
        let is_over = next.is_some() || ledger.end().is_some();
        if let Some((event, output)) = conclusion(ledger, segment, next.is_none(), is_over) {
            steps.push(Step { event, within: None, what: What::Concluded(output) });
        }
    }
    // Stable: what one event says stays in the order in which it says it.
    steps.sort_by_key(|step| step.event.seq);
    steps
}

/// The call of the innermost agent used as a tool around an event.
fn within(event: &Event) -> Option<&str> {
    let enclosure = event.invocation.as_ref()?.enclosure();
    Some(enclosure.rsplit_once("/@")?.1)
}

fn enclosure(event: &Event) -> &str {
    event.invocation.as_ref().map_or("", |path| path.enclosure())
}

/// The model turns whose calls are on the ledger as tool calls.
fn recorded_turns(events: &[Arc<Event>]) -> BTreeSet<&TurnId> {
    let calls = events.iter().filter(|event| matches!(event.body, EventBody::ToolCall { .. }));
    calls.filter_map(|event| event.turn.as_ref()).collect()
}

fn is_recorded(ledger: &Ledger, at: usize, response: &ModelResponse, turns: &BTreeSet<&TurnId>) -> bool {
    let event = &ledger.events()[at];
    if event.turn.as_ref().is_some_and(|turn| turns.contains(turn)) {
        return true;
    }
    if response.content.calls().filter_map(|call| call.id.as_ref()).any(|id| ledger.call(id).is_some()) {
        return true;
    }
    // Calls that do not name their turn belong to the agent's last response before them.
    let is_own = |other: &&Arc<Event>| other.author == event.author && enclosure(other) == enclosure(event);
    let later = ledger.events()[at + 1..].iter().filter(is_own);
    later
        .take_while(|other| !matches!(other.body, EventBody::ModelResponse(_)))
        .any(|other| matches!(other.body, EventBody::ToolCall { .. }) && other.turn.is_none())
}

/// The calls of a response that are on the ledger nowhere else, and their results.
fn unrecorded<'a>(ledger: &'a Ledger, at: usize, response: &'a ModelResponse) -> Vec<Step<'a>> {
    let event = &*ledger.events()[at];
    let within = within(event);
    let calls: Vec<&FunctionCall> = response.content.calls().collect();
    let called = calls.iter().map(|call| Step {
        event,
        within,
        what: What::Called { id: call.id.clone(), tool: &call.name, args: &call.args },
    });
    let mut steps: Vec<Step<'a>> = called.collect();
    let is_next = |other: &&Arc<Event>| {
        matches!(other.body, EventBody::ModelRequest(_))
            && other.author == event.author
            && enclosure(other) == enclosure(event)
    };
    let Some(next) = ledger.events()[at + 1..].iter().find(is_next) else { return steps };
    let request = |event: &Event| event.turn.as_ref().and_then(|turn| ledger.request(turn));
    let known = request(event).map_or(0, |request| request.contents.len());
    let contents = request(next).map(|request| request.contents).unwrap_or_default();
    let mut open = calls;
    for given in contents.iter().skip(known).flat_map(|content| content.responses()) {
        let Some(place) = open.iter().position(|call| answers(given, call)) else { continue };
        let call = open.remove(place);
        let what = What::Answered {
            id: call.id.clone(),
            tool: Cow::Borrowed(&call.name),
            outcome: Cow::Owned(ToolOutcome::Output(Value::Object(given.response.clone()))),
        };
        steps.push(Step { event: next, within, what });
    }
    steps
}

/// Whether a response answers a call: by id where both have one, else it is the next one of that name.
fn answers(response: &FunctionResponse, call: &FunctionCall) -> bool {
    match (&response.id, &call.id) {
        (Some(response), Some(call)) => response == call,
        _ => response.name == call.name,
    }
}

/// The agent that a session is about: the root, or the agent in a loop that only keeps the conversation going. Where
/// none was chosen at the start, it is the first that ran.
pub(crate) fn root_agent(ledger: &Ledger) -> Arc<str> {
    let chosen = ledger.started().map(|started| started.agent.clone()).filter(|agent| !agent.is_empty());
    let mut started = ledger.events().iter().filter_map(|event| match &event.body {
        EventBody::AgentStarted { kind } => Some((&event.author, &**kind)),
        _ => None,
    });
    match (chosen, started.next(), started.next()) {
        (Some(root), Some((first, "loop")), Some((inner, _))) if *first == root => inner.clone(),
        (Some(root), ..) => root,
        (None, Some((first, _)), _) => first.clone(),
        (None, None, _) => "agent".into(),
    }
}

/// What the agent gave as its answer to the message that opens a segment.
fn conclusion<'a>(
    ledger: &Ledger,
    segment: &'a [Arc<Event>],
    is_last: bool,
    is_over: bool,
) -> Option<(&'a Event, Value)> {
    let root = root_agent(ledger);
    let main = || segment.iter().rev().filter(|event| within(event).is_none()).map(|event| &**event);
    let ended = |event: &'a Event| match &event.body {
        EventBody::AgentEnded { output, transfer_to: None, .. } if is_given(output) => {
            Some((event, output.clone()))
        }
        _ => None,
    };
    let by_root = || main().filter(|event| event.author == root).find_map(ended);
    let at_end = || {
        main().filter(|_| is_last).find_map(|event| match &event.body {
            EventBody::FinalResponse { output } if is_given(output) => Some((event, output.clone())),
            _ => None,
        })
    };
    let spoken = || {
        // While a run goes on, a text is the answer only as long as nothing was asked of model or tools since.
        let since = main().take_while(|event| is_over || !is_work(event));
        since.chain(main().find(|event| is_work(event))).find_map(|event| match &event.body {
            EventBody::ModelResponse(response) if response.content.calls().next().is_none() => {
                let text = response.content.text();
                (!text.trim().is_empty()).then_some((event, Value::String(text)))
            }
            _ => None,
        })
    };
    let by_any = || main().filter(|_| is_over).find_map(ended);
    let given = by_root().or_else(at_end);
    // What was said on the way of a run that failed is not what it would have given.
    if has_failed(segment) { given } else { given.or_else(spoken).or_else(by_any) }
}

/// Whether the run of a message came to no end. What is said of one that had come to it is no news.
fn has_failed(segment: &[Arc<Event>]) -> bool {
    let end = segment.iter().find_map(|event| match &event.body {
        EventBody::AgentEnded { output, .. } if !output.is_null() && enclosure(event).is_empty() => {
            Some(false)
        }
        body if is_failure(body) => Some(true),
        _ => None,
    });
    end.unwrap_or(false)
}

/// Whether an event says that a run came to no end.
pub(crate) fn is_failure(body: &EventBody) -> bool {
    matches!(body, EventBody::RunFailed { .. })
}

fn is_work(event: &Event) -> bool {
    matches!(
        event.body,
        EventBody::ModelRequest(_) | EventBody::ModelResponse(_) | EventBody::ToolCall { .. }
    )
}

fn is_given(output: &Value) -> bool {
    match output {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        _ => true,
    }
}

/// An answer as text: a string as it is, anything else as JSON.
pub(crate) fn answer_text(output: &Value) -> String {
    rehearsal_core::json::said(output)
}
