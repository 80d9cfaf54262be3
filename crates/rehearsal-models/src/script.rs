//! A model that follows a script: a list, a function, or rules on the request.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_agent::{Model, ModelCall, ModelError};
use rehearsal_core::{Content, FinishReason, ModelResponse, Part, Player, Role, Usage};
use serde_json::Value;

mod rule;

pub use rule::Rule;

/// A model that follows a script.
///
/// It keeps nothing between calls: a list answers by how many turns of the asking agent were answered before, so
/// a session that is resumed in another process goes on at the right place.
///
/// ```
/// use rehearsal_models::{Reply, Rule, ScriptedModel};
/// use serde_json::json;
///
/// let list = ScriptedModel::list("patient", ["I have chest pain", "About 30 minutes"]);
/// let rules = ScriptedModel::rules("clinician", [
///     Rule::when_user_says("chest pain").reply(Reply::call("escalate", json!({"level": "emergency_999"}))),
///     Rule::when_tool_answers("escalate").reply("Please call 999 now."),
/// ]);
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    name: Arc<str>,
    script: Arc<ScriptFn>,
}

type ScriptFn = dyn Fn(&ModelCall) -> Result<Reply, String> + Send + Sync;

impl ScriptedModel {
    /// A model that gives these replies one after the other, to each agent that asks it from the first one on.
    pub fn list<R: Into<Reply>>(name: &str, replies: impl IntoIterator<Item = R>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().map(Into::into).collect();
        Self::fallible(name, move |call| {
            let index = usize::try_from(call.index).unwrap_or(usize::MAX);
            replies.get(index).cloned().ok_or_else(|| {
                let count = replies.len();
                format!(
                    "its list has {count} replies and this is question {} of `{}`\n{}",
                    index + 1,
                    call.agent,
                    show(call)
                )
            })
        })
    }

    /// A model that computes its reply.
    pub fn function<R: Into<Reply>>(
        name: &str,
        script: impl Fn(&ModelCall) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::fallible(name, move |call| Ok(script(call).into()))
    }

    /// A model that computes its reply, or says why it has none.
    pub fn fallible(
        name: &str,
        script: impl Fn(&ModelCall) -> Result<Reply, String> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), script: Arc::new(script) }
    }

    /// A model that gives the reply of the first rule that fits the request. A request that no rule fits fails,
    /// and the error shows the request and the rules.
    pub fn rules(name: &str, rules: impl IntoIterator<Item = Rule>) -> Self {
        let rules: Vec<Rule> = rules.into_iter().collect();
        Self::fallible(name, move |call| {
            let fitting = rules.iter().find(|rule| rule.fits(call));
            fitting.map(|rule| rule.answer(call)).ok_or_else(|| {
                let list: String =
                    rules.iter().map(|rule| format!("\n  when {}", rule.description())).collect();
                format!("no rule fits the request\n{}\nthe rules are:{list}", show(call))
            })
        })
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    fn player(&self) -> Player {
        Player::Script
    }

    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        let reply = (self.script)(call);
        reply.map(Reply::into_response).map_err(|why| ModelError::NoAnswer { model: self.name.clone(), why })
    }
}

/// What a scripted model answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    parts: Vec<Part>,
    usage: Option<Usage>,
}

impl Reply {
    /// Some text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let parts = if text.is_empty() { Vec::new() } else { vec![Part::text(text)] };
        Self { parts, usage: None }
    }

    /// Structured output.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "reads like the other constructors: `Reply::json(json!(…))`"
    )]
    pub fn json(value: Value) -> Self {
        Self::text(value.to_string())
    }

    /// A tool call.
    pub fn call(tool: &str, args: Value) -> Self {
        Self::default().and_call(tool, args)
    }

    /// The same reply with one more tool call.
    #[must_use]
    pub fn and_call(mut self, tool: &str, args: Value) -> Self {
        self.parts.push(Part::call(tool, args));
        self
    }

    /// The same reply with tokens it cost.
    #[must_use]
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = Some(Usage { input, output, ..Usage::default() });
        self
    }

    fn into_response(self) -> ModelResponse {
        let content = Content::new(Role::Model, self.parts);
        let finish =
            if content.calls().next().is_some() { FinishReason::ToolCalls } else { FinishReason::Stop };
        ModelResponse { usage: self.usage, finish: Some(finish), ..ModelResponse::new(content) }
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// The end of a request as people read it.
fn show(call: &ModelCall) -> String {
    const LINES: usize = 6;
    const LENGTH: usize = 200;
    let contents = &call.request.contents;
    let hidden = contents.len().saturating_sub(LINES);
    let mut text = format!("the request of `{}` ends with:", call.agent);
    if hidden > 0 {
        text.push_str(&format!("\n  … {hidden} earlier"));
    }
    for content in &contents[hidden..] {
        let role = content.role.as_ref().map_or("?", Role::as_str);
        for part in &content.parts {
            let line = describe(part);
            let short: String = line.chars().take(LENGTH).collect();
            let mark = if short.len() < line.len() { "…" } else { "" };
            text.push_str(&format!("\n  {role}: {short}{mark}"));
        }
    }
    text
}

fn describe(part: &Part) -> String {
    use rehearsal_core::PartData;
    match &part.data {
        PartData::Text(text) => text.clone(),
        PartData::FunctionCall(call) => format!("calls {} {}", call.name, Value::Object(call.args.clone())),
        PartData::FunctionResponse(response) => {
            format!("{} gives {}", response.name, Value::Object(response.response.clone()))
        }
        _ => "(other content)".to_owned(),
    }
}
