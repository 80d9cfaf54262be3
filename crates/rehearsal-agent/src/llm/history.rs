//! What an agent's model sees of the session.

use std::sync::Arc;

use rehearsal_core::{CallId, Content, Event, EventBody, FunctionResponse, Part, Role, TurnId};

use crate::Context;

/// What an agent's model sees of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum History {
    /// All of it, as far as the agent takes part in it.
    #[default]
    All,
    /// The last so many messages, from the first user message among them on.
    Last(usize),
    /// Only what happened in this execution of the agent, and the message that led to it.
    Execution,
}

/// The contents a model is shown.
///
/// Users' messages and the agent's own messages are shown as they are. What other agents said is shown as text:
/// as somebody else's words, or as the agent's own where all agents of the session play one person. What
/// happens inside an agent used as a tool is seen only there.
pub(crate) fn contents(cx: &Context<'_>, author: &str, history: &History) -> Vec<Arc<Content>> {
    let mut builder =
        Builder { author, one_voice: cx.session().has_one_voice(), contents: Vec::new(), open: None };
    let own = cx.invocation().enclosure();
    let events = cx.ledger().events();
    let start = match history {
        History::Execution => execution_start(cx, events, own),
        _ => 0,
    };
    for event in &events[start..] {
        let enclosure = event.invocation.as_ref().map_or("", |path| path.enclosure());
        if enclosure == own {
            builder.take(event);
        }
    }
    builder.flush();
    let mut contents = builder.contents;
    if let History::Last(most) = history {
        let cut = contents.len().saturating_sub(*most);
        let first = contents[cut..].iter().position(|content| is_message(content)).unwrap_or(0);
        contents.drain(..cut + first);
    }
    contents
}

/// The last user message before the execution began.
fn execution_start(cx: &Context<'_>, events: &[Arc<Event>], own: &str) -> usize {
    let began = cx.ledger().started_at(cx.invocation()).unwrap_or(0);
    let is_heard = |event: &Arc<Event>| {
        matches!(event.body, EventBody::UserMessage { .. })
            && event.invocation.as_ref().map_or("", |path| path.enclosure()) == own
    };
    events[..began].iter().rposition(is_heard).unwrap_or(began)
}

fn is_message(content: &Content) -> bool {
    content.role == Some(Role::User) && content.responses().next().is_none()
}

struct Builder<'a> {
    author: &'a str,
    one_voice: bool,
    contents: Vec<Arc<Content>>,
    /// The calls of the last turn in the order the model made them, and their results so far.
    open: Option<Open>,
}

struct Open {
    turn: Option<TurnId>,
    order: Vec<CallId>,
    results: Vec<FunctionResponse>,
}

impl Builder<'_> {
    fn take(&mut self, event: &Event) {
        match &event.body {
            EventBody::UserMessage { content } => self.push(content.clone()),
            EventBody::ModelResponse(response) if &*event.author == self.author => {
                self.push(response.content.clone());
                let order = response.content.calls().filter_map(|call| call.id.clone()).collect();
                self.open = Some(Open { turn: event.turn.clone(), order, results: Vec::new() });
            }
            EventBody::ModelResponse(response) => {
                let text = response.content.text();
                if !text.is_empty() && self.one_voice {
                    self.push(Arc::new(Content::model(text)));
                } else if !text.is_empty() {
                    self.push(Arc::new(Content::user(format!("[{}] said: {text}", event.author))));
                }
            }
            EventBody::ToolResult(result) if &*event.author == self.author => {
                let response = FunctionResponse::new(
                    Some(result.call.clone()),
                    &*result.tool,
                    result.outcome.to_value(),
                );
                match &mut self.open {
                    Some(open) if open.turn == event.turn => open.results.push(response),
                    _ => self.push(Arc::new(Content::new(Role::User, vec![response.into()]))),
                }
            }
            EventBody::OutputRejected { violations } if &*event.author == self.author => {
                let list: Vec<String> = violations.iter().map(|violation| format!("- {violation}")).collect();
                let text = format!(
                    "Your answer does not have the form that is asked for:\n{}\nAnswer again, in that form and with nothing else.",
                    list.join("\n"),
                );
                self.push(Arc::new(Content::user(text)));
            }
            _ => {}
        }
    }

    fn push(&mut self, content: Arc<Content>) {
        self.flush();
        self.contents.push(content);
    }

    fn flush(&mut self) {
        let Some(mut open) = self.open.take() else { return };
        if open.results.is_empty() {
            return;
        }
        let place = |response: &FunctionResponse| {
            open.order.iter().position(|call| Some(call) == response.id.as_ref()).unwrap_or(usize::MAX)
        };
        open.results.sort_by_key(place);
        let parts = open.results.into_iter().map(Part::from).collect();
        self.contents.push(Arc::new(Content::new(Role::User, parts)));
    }
}
