//! Rules: what a scripted model answers to which request.

use std::fmt;
use std::sync::Arc;

use rehearsal_agent::ModelCall;
use rehearsal_core::{Content, Role};

use super::Reply;

/// What a scripted model answers to which request.
///
/// A rule made of several conditions fits where all of them hold.
#[derive(Clone)]
pub struct Rule {
    conditions: Vec<Condition>,
    reply: Arc<dyn Fn(&ModelCall) -> Reply + Send + Sync>,
}

#[derive(Clone)]
struct Condition {
    description: String,
    holds: Arc<dyn Fn(&ModelCall) -> bool + Send + Sync>,
}

impl Rule {
    /// Fits every request; for the end of a list of rules.
    pub fn always() -> Self {
        Self { conditions: Vec::new(), reply: Arc::new(|_| Reply::default()) }
    }

    /// Fits where this holds; the description is shown when no rule fits.
    pub fn when(description: &str, holds: impl Fn(&ModelCall) -> bool + Send + Sync + 'static) -> Self {
        Self::always().and(description, holds)
    }

    /// Fits where the request ends with something the user said that contains this, in whatever case.
    pub fn when_user_says(text: &str) -> Self {
        let needle = text.to_lowercase();
        Self::when(&format!("the user says `{text}`"), move |call| {
            last(call)
                .filter(|content| is_message(content))
                .is_some_and(|content| content.text().to_lowercase().contains(&needle))
        })
    }

    /// Fits where the request ends with a result of this tool.
    pub fn when_tool_answers(tool: &str) -> Self {
        let name = tool.to_owned();
        Self::when(&format!("tool `{tool}` answers"), move |call| {
            last(call).is_some_and(|content| content.responses().any(|response| response.name == name))
        })
    }

    /// Fits the questions of this agent.
    pub fn when_agent_is(agent: &str) -> Self {
        let name = agent.to_owned();
        Self::when(&format!("agent `{agent}` asks"), move |call| *call.agent == *name)
    }

    /// Fits the `index`-th question of an agent, from 0.
    pub fn when_turn_is(index: u64) -> Self {
        Self::when(&format!("it is question {index}, counted from 0"), move |call| call.index == index)
    }

    /// Fits where the instructions contain this.
    pub fn when_instructed(text: &str) -> Self {
        let needle = text.to_owned();
        Self::when(&format!("the instructions contain `{text}`"), move |call| {
            call.request.setup.system.as_deref().is_some_and(|system| system.contains(&needle))
        })
    }

    /// The same rule with one more condition.
    #[must_use]
    pub fn and(
        mut self,
        description: &str,
        holds: impl Fn(&ModelCall) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.conditions.push(Condition { description: description.to_owned(), holds: Arc::new(holds) });
        self
    }

    /// The same rule with the conditions of another one as well.
    #[must_use]
    pub fn and_rule(mut self, other: &Self) -> Self {
        self.conditions.extend(other.conditions.iter().cloned());
        self
    }

    /// The same rule with this reply.
    #[must_use]
    pub fn reply(mut self, reply: impl Into<Reply>) -> Self {
        let reply = reply.into();
        self.reply = Arc::new(move |_| reply.clone());
        self
    }

    /// The same rule with a reply computed from the request.
    #[must_use]
    pub fn reply_with<R: Into<Reply>>(
        mut self,
        reply: impl Fn(&ModelCall) -> R + Send + Sync + 'static,
    ) -> Self {
        self.reply = Arc::new(move |call| reply(call).into());
        self
    }

    pub(super) fn fits(&self, call: &ModelCall) -> bool {
        self.conditions.iter().all(|condition| (condition.holds)(call))
    }

    pub(super) fn answer(&self, call: &ModelCall) -> Reply {
        (self.reply)(call)
    }

    pub(super) fn description(&self) -> String {
        if self.conditions.is_empty() {
            return "always".to_owned();
        }
        let all: Vec<&str> = self.conditions.iter().map(|condition| condition.description.as_str()).collect();
        all.join(" and ")
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rule(when {})", self.description())
    }
}

fn last(call: &ModelCall) -> Option<&Content> {
    call.request.contents.last().map(|content| &**content)
}

fn is_message(content: &Content) -> bool {
    content.role == Some(Role::User) && content.responses().next().is_none()
}
