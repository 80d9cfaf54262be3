//! What a rule looks for.

use std::fmt;
use std::ops::Not;
use std::sync::Arc;

use regex::Regex;
use rehearsal_agent::ModelCall;
use rehearsal_core::{Content, Role};

use crate::shorten::shorten;

/// Looks for something in a call.
///
/// Matchers on what the user says and on tool results look at what came since the model last spoke: what it is
/// to answer now. Once a tool has answered, what the user said before no longer matches, so a rule does not
/// make the same call again and again.
#[derive(Clone)]
pub struct Matcher {
    description: Arc<str>,
    test: Arc<dyn Fn(&ModelCall) -> bool + Send + Sync>,
}

impl Matcher {
    /// The user says something that contains this text.
    pub fn user_contains(text: &str) -> Self {
        let wanted = text.to_owned();
        Self::on_user(format!("the user says something with `{text}`"), move |said| said.contains(&wanted))
    }

    /// The user says exactly this.
    pub fn user_equals(text: &str) -> Self {
        let wanted = text.to_owned();
        Self::on_user(format!("the user says exactly `{text}`"), move |said| said == wanted)
    }

    /// The user says something that matches this regular expression.
    ///
    /// # Errors
    /// The expression is not valid.
    pub fn user_matches(pattern: &str) -> Result<Self, InvalidPattern> {
        let regex = Regex::new(pattern)
            .map_err(|error| InvalidPattern { pattern: pattern.to_owned(), why: error.to_string() })?;
        let description = format!("the user says something that matches /{pattern}/");
        Ok(Self::on_user(description, move |said| regex.is_match(said)))
    }

    /// The tool with this name has just answered.
    pub fn tool_result(tool: &str) -> Self {
        let wanted = tool.to_owned();
        Self::custom(format!("`{tool}` has answered"), move |call| {
            new_contents(call).any(|content| content.responses().any(|response| response.name == wanted))
        })
    }

    /// The tool with this name has just answered something whose JSON contains this text.
    pub fn tool_result_contains(tool: &str, text: &str) -> Self {
        let (wanted, part) = (tool.to_owned(), text.to_owned());
        Self::custom(format!("`{tool}` has answered something with `{text}`"), move |call| {
            let mut responses = new_contents(call).flat_map(Content::responses);
            responses.any(|response| {
                let json = rehearsal_core::json::to_string(&response.response).unwrap_or_default();
                response.name == wanted && json.contains(&part)
            })
        })
    }

    /// The agent with this name asks.
    pub fn agent(name: &str) -> Self {
        let wanted = name.to_owned();
        Self::custom(format!("agent `{name}` asks"), move |call| *call.agent == *wanted)
    }

    /// It is this turn of the agent, counted from 0.
    pub fn turn(index: u64) -> Self {
        Self::custom(format!("it is the agent's turn with index {index}"), move |call| call.index == index)
    }

    /// The instructions contain this text.
    pub fn system_contains(text: &str) -> Self {
        let wanted = text.to_owned();
        Self::custom(format!("the instructions contain `{}`", shorten(text, 60)), move |call| {
            call.request.setup.system.as_ref().is_some_and(|system| system.contains(&wanted))
        })
    }

    /// Somebody has said something with this text at any time in the conversation.
    pub fn conversation_contains(text: &str) -> Self {
        let wanted = text.to_owned();
        Self::custom(format!("the conversation contains `{}`", shorten(text, 60)), move |call| {
            call.request.contents.iter().any(|content| content.text().contains(&wanted))
        })
    }

    /// Everything.
    pub fn any() -> Self {
        Self::custom("anything", |_| true)
    }

    /// Whatever a function looks for; the description stands in error messages.
    pub fn custom(
        description: impl Into<Arc<str>>,
        test: impl Fn(&ModelCall) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { description: description.into(), test: Arc::new(test) }
    }

    /// Both this and the other.
    pub fn and(self, other: Self) -> Self {
        let (first, second) = (self.test, other.test);
        Self::custom(format!("{} and {}", self.description, other.description), move |call| {
            first(call) && second(call)
        })
    }

    /// This, the other, or both.
    pub fn or(self, other: Self) -> Self {
        let (first, second) = (self.test, other.test);
        Self::custom(format!("({} or {})", self.description, other.description), move |call| {
            first(call) || second(call)
        })
    }

    /// Whether it is found in a call.
    pub fn matches(&self, call: &ModelCall) -> bool {
        (self.test)(call)
    }

    fn on_user(description: String, test: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self::custom(description, move |call| {
            let said = new_contents(call).map(Content::text).filter(|text| !text.is_empty()).last();
            said.is_some_and(|said| test(&said))
        })
    }
}

impl Not for Matcher {
    type Output = Self;

    /// Everything that this does not match.
    fn not(self) -> Self {
        let test = self.test;
        Self::custom(format!("not ({})", self.description), move |call| !test(call))
    }
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}

impl fmt::Debug for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Matcher").field(&self.description).finish()
    }
}

/// A regular expression that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("/{pattern}/ is not a valid regular expression: {why}")]
pub struct InvalidPattern {
    /// The expression.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

/// What came since the model last spoke.
fn new_contents(call: &ModelCall) -> impl Iterator<Item = &Content> {
    let contents = &call.request.contents;
    let spoken = contents.iter().rposition(|content| content.role == Some(Role::Model));
    contents[spoken.map_or(0, |last| last + 1)..].iter().map(|content| &**content)
}
