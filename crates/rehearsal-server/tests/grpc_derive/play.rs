//! Plays the published plugin against a ledger.

use std::sync::Arc;

use rehearsal_core::{
    Clock as _, Content, Decision, Draft, EventBody, FixedClock, FunctionCall, FunctionResponse, Ledger,
    ModelRequest, ModelResponse, ModelSetup, Part, Player, Role, SessionStarted, Timestamp, ToolDeclaration,
    ToolOutcome, TurnId,
};
use rehearsal_server::adksim::{events_for_request, events_for_response};
use rehearsal_server::desk::CannotDerive;
use serde_json::{Value, json};

pub(crate) fn now() -> Timestamp {
    FixedClock::default().now()
}

pub(crate) fn decision() -> Decision {
    Decision { by: Player::Person, name: None, micros: 0 }
}

pub(crate) fn message(text: &str) -> Content {
    Content::user(text)
}

pub(crate) fn text(text: &str) -> Content {
    Content::model(text)
}

pub(crate) fn call(tool: &str, id: Option<&str>) -> FunctionCall {
    FunctionCall { id: id.map(Into::into), ..FunctionCall::new(tool, Value::Null) }
}

pub(crate) fn calls(calls: impl IntoIterator<Item = FunctionCall>) -> Content {
    Content::new(Role::Model, calls.into_iter().map(Part::from).collect())
}

pub(crate) fn response(tool: &str, id: Option<&str>, result: &str) -> FunctionResponse {
    FunctionResponse::new(id.map(Into::into), tool, json!(result))
}

pub(crate) fn failure(tool: &str, kind: &str, message: &str) -> FunctionResponse {
    FunctionResponse::new(None, tool, json!({"error": {"type": kind, "message": message}}))
}

pub(crate) fn results(results: impl IntoIterator<Item = FunctionResponse>) -> Content {
    Content::new(Role::User, results.into_iter().map(Part::from).collect())
}

pub(crate) struct Play {
    pub(crate) ledger: Ledger,
    turns: usize,
}

impl Play {
    pub(crate) fn new() -> Self {
        let mut ledger = Ledger::new("s-1".into());
        let started = EventBody::SessionStarted(SessionStarted::default());
        ledger.append(Draft::new(now(), "rehearsal", started)).unwrap();
        Self { ledger, turns: 0 }
    }

    pub(crate) fn ask(&mut self, agent: &str, contents: impl IntoIterator<Item = Content>) -> TurnId {
        self.ask_with_tools(agent, contents, &[])
    }

    pub(crate) fn ask_with_tools(
        &mut self,
        agent: &str,
        contents: impl IntoIterator<Item = Content>,
        tools: &[&str],
    ) -> TurnId {
        self.turns += 1;
        let turn = TurnId::new(format!("t{}", self.turns));
        let tools = tools.iter().map(|name| Arc::new(ToolDeclaration::new(*name, ""))).collect();
        let request = ModelRequest {
            setup: Arc::new(ModelSetup { tools, ..ModelSetup::default() }),
            contents: contents.into_iter().map(Arc::new).collect(),
        };
        self.submit(agent, &turn, &request).unwrap();
        turn
    }

    pub(crate) fn submit(
        &mut self,
        agent: &str,
        turn: &TurnId,
        request: &ModelRequest,
    ) -> Result<(), CannotDerive> {
        let drafts = events_for_request(&self.ledger, now(), agent, turn, request)?;
        drafts.append_to(&mut self.ledger, request).expect("what was derived can be appended");
        assert_eq!(self.ledger.request(turn).as_ref(), Some(request));
        Ok(())
    }

    pub(crate) fn decide(&mut self, turn: &TurnId, content: Content) {
        self.submit_decision(turn, content).unwrap();
    }

    pub(crate) fn submit_decision(&mut self, turn: &TurnId, content: Content) -> Result<(), CannotDerive> {
        let response = ModelResponse::new(content);
        for draft in events_for_response(&self.ledger, now(), turn, &response, decision())? {
            self.ledger.append(draft).expect("what was derived can be appended");
        }
        Ok(())
    }

    /// The events after the session's start, a line each.
    pub(crate) fn story(&self) -> Vec<String> {
        let line = |event: &Arc<rehearsal_core::Event>| {
            let what = match &event.body {
                EventBody::UserMessage { content }
                    if content.text().is_empty() && !content.parts.is_empty() =>
                {
                    "says [data]".to_owned()
                }
                EventBody::UserMessage { content } => format!("says {}", content.text()),
                EventBody::ModelRequest(_) => "asks".to_owned(),
                EventBody::ModelResponse(response) => format!("answers {}", response.content.text()),
                EventBody::ToolCall { tool, .. } => format!("calls {tool}"),
                EventBody::ToolResult(result) => match &result.outcome {
                    ToolOutcome::Output(value) => format!("{} gives {value}", result.tool),
                    ToolOutcome::Error(error) => format!("{} fails {error}", result.tool),
                },
                EventBody::AgentEnded { output, .. } => format!("agent_ended {output}"),
                other => other.kind().to_owned(),
            };
            format!("{} {}: {what}", event.invocation.as_ref().unwrap(), event.author)
        };
        self.ledger.events()[1..].iter().map(line).collect()
    }

    pub(crate) fn count(&self, what: &str) -> usize {
        self.story().iter().filter(|line| line.contains(what)).count()
    }
}
