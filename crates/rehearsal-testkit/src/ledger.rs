//! Ledgers from one line of text.

use std::sync::Arc;
use std::time::Duration;

use rehearsal_core::{
    CallId, Clock, Content, Draft, EndReason, EventBody, Failure, FixedClock, InvocationId, LEDGER_VERSION,
    Ledger, ModelResponse, Phase, SessionStarted, State, StatePatch, ToolError, ToolOutcome, ToolResult,
    Yield,
};
use serde_json::{Map, Value};

/// The ledger of a session that went as described: steps in the order they happened, separated by ` / ` or line
/// breaks.
///
/// | step | event |
/// |---|---|
/// | `start {"session": {…}}` | the session starts with this state; only as the first step, an empty start is implied |
/// | `user: hello` | the user says it |
/// | `agent: hello`, `anybody: hello` | that agent says it |
/// | `call ask {"q": 1}` | the agent calls a tool; calls are numbered `c1`, `c2`, … |
/// | `result ask {"a": 2}` | the oldest open call of that tool is answered |
/// | `fail ask it broke` | the oldest open call of that tool fails |
/// | `state {"session": {…}}` | state is changed from outside |
/// | `yield` | the agent waits for the user |
/// | `final {"done": true}` | the root agent comes to its end with this answer |
/// | `note name {…}` | a note |
/// | `error it broke` | something goes wrong |
/// | `end`, `end max_turns` | the session ends, completed or for that reason |
///
/// A step that begins with `@` happens inside an agent used as a tool. A second of the fixed clock passes with
/// every step.
///
/// ```
/// let ledger = rehearsal_testkit::ledger(r#"user: hi / call ask {"q": 1} / result ask "yes" / agent: bye / end"#);
/// assert_eq!(ledger.calls().count(), 1);
/// assert_eq!(ledger.end(), Some(rehearsal_core::EndReason::Completed));
/// ```
///
/// # Panics
/// The description cannot be read, or describes a session that cannot be.
pub fn ledger(description: &str) -> Ledger {
    let mut script = Script { ledger: Ledger::new("s-1".into()), clock: FixedClock::default(), calls: 0 };
    let steps = description.lines().flat_map(|line| line.split(" / ")).map(str::trim);
    for step in steps.filter(|step| !step.is_empty()) {
        script.play(step);
    }
    if script.ledger.started().is_none() {
        script.start(State::default());
    }
    script.ledger
}

const ROOT: &str = "agent";

struct Script {
    ledger: Ledger,
    clock: FixedClock,
    calls: u32,
}

impl Script {
    fn play(&mut self, step: &str) {
        if let Some(state) = step.strip_prefix("start ") {
            self.start(State::from_value(json(state)).expect("`start` takes an object of scopes"));
            return;
        }
        if self.ledger.started().is_none() {
            self.start(State::default());
        }
        let (nested, step) = match step.strip_prefix('@') {
            Some(inner) => (true, inner.trim_start()),
            None => (false, step),
        };
        let spoken = step.split_once(": ").or_else(|| Some((step.strip_suffix(':')?, "")));
        let (author, body) = match spoken {
            Some((author, text)) if !author.contains([' ', '{']) => (author, said(author, text)),
            _ => {
                let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
                self.event(word, rest.trim())
            }
        };
        self.append(author, nested, body);
    }

    fn start(&mut self, state: State) {
        let started = SessionStarted {
            version: LEDGER_VERSION,
            agent: ROOT.into(),
            state,
            ..SessionStarted::default()
        };
        self.append("rehearsal", false, EventBody::SessionStarted(started));
    }

    fn append(&mut self, author: &str, nested: bool, body: EventBody) {
        let mut draft = Draft::new(self.clock.now(), author, body);
        if author != "rehearsal" {
            draft.invocation = Some(InvocationId::new(if nested { "agent/@c0/inner" } else { ROOT }));
        }
        self.ledger.append(draft).expect("the described session can be");
        self.clock.advance(Duration::from_secs(1));
    }

    fn event(&mut self, word: &str, rest: &str) -> (&'static str, EventBody) {
        match word {
            "call" => {
                self.calls += 1;
                let (tool, args) = name_and_json(rest);
                let args = args
                    .map_or_else(Map::new, |args| args.as_object().expect("arguments are an object").clone());
                let call = CallId::new(format!("c{}", self.calls));
                (ROOT, EventBody::ToolCall { call, tool, args: Arc::new(args) })
            }
            "result" => {
                let (tool, output) = name_and_json(rest);
                let outcome = ToolOutcome::Output(output.unwrap_or(Value::Null));
                (ROOT, self.answer(tool, outcome))
            }
            "fail" => {
                let (tool, message) = rest.split_once(' ').unwrap_or((rest, "failed"));
                (ROOT, self.answer(tool.into(), ToolOutcome::Error(ToolError::new("Failed", message))))
            }
            "state" => {
                let changes = StatePatch::from_value(json(rest)).expect("`state` takes an object of scopes");
                ("rehearsal", EventBody::StateChange { changes })
            }
            "yield" => (ROOT, EventBody::Yield(Yield::Loop { invocation: InvocationId::new(ROOT) })),
            "final" => (ROOT, EventBody::FinalResponse { output: json(rest) }),
            "note" => {
                let (name, data) = name_and_json(rest);
                ("rehearsal", EventBody::of_note(name, data.unwrap_or(Value::Null)))
            }
            "error" => {
                let failure =
                    Failure { phase: Phase::System, kind: "failed".to_owned(), message: rest.to_owned() };
                ("rehearsal", EventBody::Error(failure))
            }
            "end" => ("rehearsal", EventBody::SessionEnded { reason: reason(rest) }),
            other => panic!("`{other}` is not a step of a ledger's description"),
        }
    }

    fn answer(&self, tool: Arc<str>, outcome: ToolOutcome) -> EventBody {
        let mut open = self.ledger.calls().filter(|call| *call.tool == tool && call.answer.is_none());
        let call = open.next().unwrap_or_else(|| panic!("no call of `{tool}` is open")).call.clone();
        EventBody::ToolResult(ToolResult { call, tool, outcome, changes: Vec::new(), main_changes: None })
    }
}

fn said(author: &str, text: &str) -> EventBody {
    match author {
        "user" => EventBody::UserMessage { content: Content::user(text).into() },
        _ => EventBody::ModelResponse(ModelResponse::new(Content::model(text))),
    }
}

fn name_and_json(text: &str) -> (Arc<str>, Option<Value>) {
    match text.split_once(' ') {
        Some((name, rest)) => (name.into(), Some(json(rest))),
        None => (text.into(), None),
    }
}

fn json(text: &str) -> Value {
    rehearsal_core::json::from_str(text).unwrap_or_else(|error| panic!("`{text}` is not JSON: {error}"))
}

fn reason(text: &str) -> EndReason {
    match text {
        "" => EndReason::Completed,
        name => serde_json::from_value(name.into()).unwrap_or_else(|error| panic!("`end {name}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_becomes_its_event() {
        let ledger = ledger(
            r#"start {"patient": {"age": 55}}
            user: hi / agent: a: b / call ask {"q": {"x": 1}} / result ask {"a": 2} / call ask / fail ask no luck
            @ helper: hm / state {"patient": {"age": 56}} / yield / user: bye / final "done" / note seen {"by": "me"}
            error it broke / end error"#,
        );
        let kinds: Vec<&str> = ledger.events().iter().map(|event| event.body.kind()).collect();
        let expected = "session_started user_message model_response tool_call tool_result tool_call tool_result \
            model_response state_change yield user_message final_response note error session_ended";
        assert_eq!(kinds.join(" "), expected);
        assert_eq!(ledger.state().get("patient", "age"), Some(&Value::from(56)));
        assert_eq!((ledger.turns(), ledger.end()), (1, Some(EndReason::Error)));
        let nested: Vec<u64> = rehearsal_core::transcript(ledger.events())
            .iter()
            .filter(|line| line.nested)
            .map(|line| line.seq)
            .collect();
        assert_eq!(nested, [8]);
    }

    #[test]
    #[should_panic(expected = "no call of `ask` is open")]
    fn a_session_that_cannot_be_is_refused() {
        ledger("result ask 1");
    }
}
