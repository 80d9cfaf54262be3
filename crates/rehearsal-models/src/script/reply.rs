//! What a script answers.

use std::sync::Arc;

use rehearsal_agent::ModelError;
use rehearsal_core::{Content, FinishReason, ModelResponse, Part, Role, Usage};
use serde_json::Value;

/// What a scripted model answers.
///
/// ```
/// use rehearsal_models::Reply;
/// use serde_json::json;
///
/// let reply = Reply::text("Let me look.").and_call("look_up", json!({"id": 7})).usage(120, 14);
/// # drop(reply);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    outcome: Result<ModelResponse, ModelError>,
}

impl Reply {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::content(Content::model(text))
    }

    /// A call of a tool.
    pub fn call(tool: &str, args: Value) -> Self {
        Self::content(Content::new(Role::Model, vec![Part::call(tool, args)]))
    }

    /// A text that is JSON, as structured output is.
    pub fn json(value: impl Into<Value>) -> Self {
        Self::text(rehearsal_core::json::text(&value.into()))
    }

    /// A content with parts of all kinds.
    pub fn content(content: Content) -> Self {
        ModelResponse::new(content).into()
    }

    /// No answer, but this error: to see how an agent bears it.
    pub fn fail(error: ModelError) -> Self {
        Self { outcome: Err(error) }
    }

    /// The same with a text after it.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.with_part(Part::text(text))
    }

    /// The same with a further call after it.
    pub fn and_call(self, tool: &str, args: Value) -> Self {
        self.with_part(Part::call(tool, args))
    }

    /// The same with a thought after it.
    pub fn and_thought(self, text: impl Into<String>) -> Self {
        self.with_part(Part::thought(text))
    }

    /// The same, as if it had cost these tokens.
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.change(|response| response.usage = Some(Usage { input, output, ..Usage::default() }))
    }

    /// The same with this reason for finishing. Otherwise it follows from the content.
    pub fn finish(self, reason: FinishReason) -> Self {
        self.change(|response| response.finish = Some(reason))
    }

    fn with_part(self, part: Part) -> Self {
        self.change(|response| Arc::make_mut(&mut response.content).parts.push(part))
    }

    fn change(mut self, change: impl FnOnce(&mut ModelResponse)) -> Self {
        if let Ok(response) = &mut self.outcome {
            change(response);
        }
        self
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

impl From<ModelResponse> for Reply {
    fn from(response: ModelResponse) -> Self {
        Self { outcome: Ok(response) }
    }
}

/// What a function may give as an answer: a [`Reply`], a [`ModelResponse`], a text, or a result of these.
pub trait IntoAnswer {
    /// The answer, or why there is none.
    ///
    /// # Errors
    /// There is none.
    fn into_answer(self) -> Result<ModelResponse, ModelError>;
}

impl IntoAnswer for Reply {
    fn into_answer(self) -> Result<ModelResponse, ModelError> {
        let mut response = self.outcome?;
        let calls = response.content.calls().next().is_some();
        let reason = if calls { FinishReason::ToolCalls } else { FinishReason::Stop };
        response.finish.get_or_insert(reason);
        Ok(response)
    }
}

impl IntoAnswer for ModelResponse {
    fn into_answer(self) -> Result<ModelResponse, ModelError> {
        Ok(self)
    }
}

impl IntoAnswer for &str {
    fn into_answer(self) -> Result<ModelResponse, ModelError> {
        Reply::text(self).into_answer()
    }
}

impl IntoAnswer for String {
    fn into_answer(self) -> Result<ModelResponse, ModelError> {
        Reply::text(self).into_answer()
    }
}

impl<T: IntoAnswer> IntoAnswer for Result<T, ModelError> {
    fn into_answer(self) -> Result<ModelResponse, ModelError> {
        self.and_then(IntoAnswer::into_answer)
    }
}
