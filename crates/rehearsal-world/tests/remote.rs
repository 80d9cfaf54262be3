//! Agents that run elsewhere: real processes, and a real HTTP server on loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::sync::Arc;
use std::time::Duration;

use rehearsal_agent::{AgentRef, DirectPort, Flow, Loop, RunError, Session, Surroundings, run};
use rehearsal_core::{Content, EventBody, FixedClock, Ledger, State};
use rehearsal_world::remote::Introduction;
use rehearsal_world::remote::Plugin;
use serde_json::{Map, Value, json};

#[path = "remote/command.rs"]
pub(crate) mod command;
#[path = "remote/http.rs"]
mod http;

/// Ids that repeat, and a clock that stands still, so that ledgers can be compared.
fn around() -> Arc<Surroundings> {
    Arc::new(Surroundings::seeded(7).clock(Arc::new(FixedClock::default())))
}

fn conversation(agent: impl Into<AgentRef>) -> AgentRef {
    Loop::new("conversation", agent).into()
}

fn new_session() -> Session {
    Session::new("conversation", State::default(), around()).unwrap()
}

/// The session in another process of ours.
fn reloaded(session: Session) -> Session {
    Session::resume(Ledger::from_jsonl(&session.into_ledger().to_jsonl()).unwrap(), around())
}

/// One turn; a test that hangs fails instead.
async fn say(agent: &AgentRef, session: &mut Session, text: &str) -> Result<Flow, RunError> {
    session.say(Content::user(text), None)?;
    go_on(agent, session).await
}

async fn go_on(agent: &AgentRef, session: &mut Session) -> Result<Flow, RunError> {
    let turn = run(agent, session, &DirectPort);
    tokio::time::timeout(Duration::from_mins(1), turn).await.expect("a turn comes to an end")
}

/// The error of a conversation of one message.
async fn error_of(agent: impl Into<AgentRef>) -> String {
    say(&conversation(agent), &mut new_session(), "hi").await.unwrap_err().to_string()
}

/// What the last execution of the agent gave.
fn last_output(session: &Session) -> Value {
    let ended = session.ledger().events().iter().rev().find_map(|event| match &event.body {
        EventBody::AgentEnded { output, .. } => Some(output.clone()),
        _ => None,
    });
    ended.unwrap()
}

fn transcript(ledger: &Ledger) -> String {
    let lines: Vec<String> =
        rehearsal_core::transcript(ledger.events()).iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn told(session: &Session, wanted: &str) -> Vec<Value> {
    let told = session.ledger().events().iter().filter(|event| event.body.kind() == wanted).map(|event| {
        let mut body = serde_json::to_value(&event.body).unwrap();
        body.as_object_mut().unwrap().remove("type");
        body
    });
    told.collect()
}

fn introduction() -> Introduction {
    let plugin = |name: &str, enabled| Plugin {
        name: name.to_owned(),
        version: Some("1.2".to_owned()),
        enabled,
        config: Map::from_iter([("depth".to_owned(), json!(3))]),
    };
    Introduction {
        plugins: vec![plugin("search", true), plugin("unused", false)],
        context: json!({"tier": "gold"}),
    }
}
