//! What an agent's model sees of the session.

use std::sync::Arc;

use rehearsal_core::{Content, Event, EventBody, FunctionResponse, ModelResponse, Part, Role, ToolResult};

use crate::Context;

/// What an agent's model sees of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum History {
    /// All of it, as far as the agent takes part in it.
    #[default]
    All,
    /// The last so many messages, from the first user message among them on; more where there is none among them, back
    /// to the last one before.
    Last(usize),
    /// Only what happened in this execution of the agent, and the message that led to it.
    Execution,
}

/// What stands in the user's place for an agent that speaks first.
const SPEAK_FIRST: &str = "(The user has not said anything yet. You speak first.)";

/// The contents a model is shown.
///
/// Users' messages and the agent's own messages are shown as they are. What other agents said is shown as text:
/// as somebody else's words, or as the agent's own where all agents of the session play one person. What
/// happens inside an agent used as a tool is seen only there. Where the agent speaks first, a message in the user's place
/// says so.
pub(crate) fn contents(cx: &Context<'_>, author: &Arc<str>, history: &History) -> Vec<Arc<Content>> {
    let own = cx.invocation().enclosure();
    let events = cx.ledger().events();
    let last = cx.ledger().last_request(author);
    let earlier = last.map_or(&[][..], |last| &last.request.contents);
    let one_voice = cx.session().has_one_voice();
    let mut builder = Builder { author, one_voice, contents: Vec::new(), open: None, earlier };
    let seen = last.and_then(|last| last.at).filter(|at| enclosure(&events[*at]) == own);
    let start = match (history, seen) {
        (History::Execution, _) => execution_start(cx, events, own),
        // What the agent saw before it sees again: only what came since has to be looked at.
        (History::All, Some(at)) => {
            builder.contents.reserve(earlier.len() + 2);
            builder.contents.extend_from_slice(earlier);
            at + 1
        }
        _ => 0,
    };
    for event in &events[start..] {
        if enclosure(event) == own {
            builder.take(event);
        }
    }
    builder.flush();
    let mut contents = builder.contents;
    if contents.first().is_none_or(|first| first.role == Some(Role::Model)) {
        // No provider takes a conversation that its own model begins.
        contents.insert(0, Arc::new(Content::user(SPEAK_FIRST)));
    }
    if let History::Last(most) = history {
        let cut = contents.len().saturating_sub(*most);
        // A view begins with a message: one that began with a tool's result would not say what was called.
        let within = contents[cut..].iter().position(|content| is_message(content)).map(|at| cut + at);
        let before = || contents[..cut].iter().rposition(|content| is_message(content));
        let first = within.or_else(before).unwrap_or(0);
        contents.drain(..first);
    }
    contents
}

fn enclosure(event: &Event) -> &str {
    event.invocation.as_ref().map_or("", |path| path.enclosure())
}

/// The last user message before the execution began.
fn execution_start(cx: &Context<'_>, events: &[Arc<Event>], own: &str) -> usize {
    let began = cx.ledger().started_at(cx.invocation()).unwrap_or(0);
    let is_heard =
        |event: &Arc<Event>| matches!(event.body, EventBody::UserMessage { .. }) && enclosure(event) == own;
    events[..began].iter().rposition(is_heard).unwrap_or(began)
}

fn is_message(content: &Content) -> bool {
    content.role == Some(Role::User) && content.responses().next().is_none()
}

struct Builder<'a> {
    author: &'a Arc<str>,
    one_voice: bool,
    contents: Vec<Arc<Content>>,
    /// The calls of the last turn in the order the model made them, and their results so far.
    open: Option<Open<'a>>,
    /// The contents of the agent's last request: what stands there already is not built again.
    earlier: &'a [Arc<Content>],
}

struct Open<'a> {
    event: &'a Event,
    response: &'a ModelResponse,
    results: Vec<&'a ToolResult>,
}

impl<'a> Builder<'a> {
    fn take(&mut self, event: &'a Event) {
        match &event.body {
            EventBody::UserMessage { content } => self.push(content.clone()),
            EventBody::ModelResponse(response) if self.is_own(event) => {
                self.push(response.content.clone());
                self.open = Some(Open { event, response, results: Vec::new() });
            }
            EventBody::ModelResponse(response) => {
                let text = response.content.text();
                if !text.is_empty() && self.one_voice {
                    self.push(Arc::new(Content::model(text)));
                } else if !text.is_empty() {
                    self.push(Arc::new(Content::user(format!("[{}] said: {text}", event.author))));
                }
            }
            EventBody::ToolResult(result) if self.is_own(event) => match &mut self.open {
                Some(open) if open.event.turn == event.turn => open.results.push(result),
                _ => self.push(Arc::new(Content::new(Role::User, vec![response_part(result)]))),
            },
            EventBody::OutputRejected { violations } if self.is_own(event) => {
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

    /// Most events of an agent share its very name, which saves looking at the letters.
    fn is_own(&self, event: &Event) -> bool {
        Arc::ptr_eq(&event.author, self.author) || event.author == *self.author
    }

    fn push(&mut self, content: Arc<Content>) {
        self.flush();
        self.contents.push(content);
    }

    fn flush(&mut self) {
        let Some(Open { response, mut results, .. }) = self.open.take() else { return };
        if results.is_empty() {
            return;
        }
        let place = |result: &&ToolResult| {
            let calls = response.content.calls();
            calls.into_iter().position(|call| call.id.as_ref() == Some(&result.call)).unwrap_or(usize::MAX)
        };
        if results.len() > 1 {
            results.sort_by_key(place);
        }
        let content = match self.earlier.get(self.contents.len()) {
            Some(content) if is_of(content, &results) => content.clone(),
            _ => Arc::new(Content::new(Role::User, results.into_iter().map(response_part).collect())),
        };
        self.contents.push(content);
    }
}

fn response_part(result: &ToolResult) -> Part {
    FunctionResponse::new(Some(result.call.clone()), &*result.tool, result.outcome.to_value()).into()
}

/// Whether a content holds exactly these results. A call is answered once, so its id says which result it is.
fn is_of(content: &Content, results: &[&ToolResult]) -> bool {
    content.parts.len() == results.len()
        && content
            .responses()
            .map(|response| response.id.as_ref())
            .eq(results.iter().map(|result| Some(&result.call)))
}
