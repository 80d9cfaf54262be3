//! What a check of the author's own is shown: all of what is looked at, as JSON.
//!
//! Its form is a promise (docs/reference/check-record.md); fields are added, and never changed.

use std::sync::Arc;

use rehearsal_core::{CallView, Event, EventBody, ToolOutcome, Usage, elapsed, transcript};
use serde_json::{Map, Value, json};

use crate::view::{TurnView, View};

/// The version of the record's form.
const VERSION: u32 = 1;

/// All of what is looked at.
pub(crate) fn check_record(view: &View<'_>) -> Value {
    let ledger = view.ledger;
    let started = ledger.started();
    let events = view.events();
    let first = events.first().map_or(0, |event| event.seq);
    let before = match view.kind() {
        Some(_) => ledger.state_at(first.saturating_sub(1)),
        None => started.map(|started| started.state.clone()).unwrap_or_default(),
    };
    let made = view.calls();
    let calls: Vec<Value> = made.iter().map(|call| call_record(call, view.turns())).collect();
    let turns: Vec<Value> = looked_at(view).iter().map(|turn| turn_record(turn, &made, view)).collect();
    let lines: Vec<String> = transcript(events).iter().map(ToString::to_string).collect();
    let times = view.times();
    let files = view.ended().map(|ended| ended.files.clone()).unwrap_or_default();
    json!({
        "version": VERSION,
        "case": {
            "name": started.and_then(|started| started.case.clone()),
            "row": started.and_then(|started| started.row.clone()),
            "variant": started.map(|started| started.variant.clone()).unwrap_or_default(),
            // As text: other languages round whole numbers of this size.
            "seed": started.and_then(|started| started.seed).map(|seed| seed.to_string()),
        },
        "scope": scope(view),
        "reply": view.reply().map(|(_, text)| text),
        "output": view.output().map(|(_, output)| output.clone()),
        "transcript": lines.join("\n"),
        "turns": turns,
        "calls": calls,
        "state": {"before": before.to_value(), "after": ledger.state_at(view.last_seq()).to_value()},
        "files": files,
        "usage": usage(events),
        "cost_usd": cost(view),
        "times": {
            "started_at": times.map(|(start, _)| start.to_string()),
            "ended_at": times.map(|(_, end)| end.to_string()),
            "duration_ms": times.map(|(start, end)| u64::try_from(elapsed(start, end).as_millis()).unwrap_or(u64::MAX)),
        },
        "session": ledger.session().as_str(),
        "ended": ledger.end(),
    })
}

/// The turns that are looked at: one of them, or all.
fn looked_at<'v, 'l>(view: &'v View<'l>) -> Vec<&'v TurnView<'l>> {
    match view.turn() {
        Some(turn) => vec![turn],
        None => view.turns().iter().collect(),
    }
}

fn scope(view: &View<'_>) -> Value {
    json!({
        "kind": match (view.kind(), view.turn()) {
            (_, Some(_)) => "turn",
            (Some(_), None) => "step",
            (None, None) => "session",
        },
        "step": view.step_number(),
        "turn": view.turn().map(|turn| turn.number),
    })
}

fn turn_record(turn: &TurnView<'_>, calls: &[CallView<'_>], view: &View<'_>) -> Value {
    let range =
        turn.events.first().map_or(0, |event| event.seq)..=turn.events.last().map_or(0, |event| event.seq);
    let own = calls.iter().filter(|call| range.contains(&call.event.seq));
    json!({
        "number": turn.number,
        "user": turn.user.as_ref().map(|(_, text)| text),
        "agent": turn.agent.as_ref().map(|(_, text)| text),
        "user_event": turn.user.as_ref().map(|(seq, _)| seq),
        "agent_event": turn.agent.as_ref().map(|(seq, _)| seq),
        "calls": own.map(|call| call_record(call, view.turns())).collect::<Vec<_>>(),
    })
}

fn call_record(call: &CallView<'_>, turns: &[TurnView<'_>]) -> Value {
    let in_turn = |turn: &&TurnView<'_>| {
        turn.events.first().is_some_and(|first| first.seq <= call.event.seq)
            && turn.events.last().is_some_and(|last| call.event.seq <= last.seq)
    };
    let turn = turns.iter().find(in_turn).map(|turn| turn.number);
    let mut record = json!({
        "tool": call.tool,
        "args": **call.args,
        "agent": call.event.author,
        "turn": turn,
        "event": call.event.seq,
        "result_event": call.answer.map(|event| event.seq),
        "by": call.answer.and_then(|event| event.decision.as_ref()).map(|decision| decision.by),
    });
    match call.result().map(|result| &result.outcome) {
        Some(ToolOutcome::Output(output)) => record["output"] = output.clone(),
        Some(ToolOutcome::Error(error)) => record["error"] = json!(error),
        None => {}
    }
    record
}

/// What the agent's models used; fields of which some answer says nothing are null.
fn usage(events: &[Arc<Event>]) -> Value {
    let answers = events.iter().filter_map(|event| match &event.body {
        EventBody::ModelResponse(response) => Some(response.usage),
        _ => None,
    });
    let (mut answered, mut input, mut output) = (0_u64, Some(0_u64), Some(0_u64));
    for usage in answers {
        answered += 1;
        input = input.zip(usage.map(|usage: Usage| usage.input)).map(|(sum, more)| sum.saturating_add(more));
        output =
            output.zip(usage.map(|usage: Usage| usage.output)).map(|(sum, more)| sum.saturating_add(more));
    }
    let known = |sum: Option<u64>| sum.filter(|_| answered > 0);
    let mut record = Map::new();
    record.insert("model_answers".to_owned(), answered.into());
    record.insert("input_tokens".to_owned(), known(input).into());
    record.insert("output_tokens".to_owned(), known(output).into());
    Value::Object(record)
}

/// What the agent's models cost; null where a price or a count is missing.
fn cost(view: &View<'_>) -> Value {
    crate::evaluator::known_cost(view).map_or(Value::Null, Value::from)
}
