//! Mocks: what answers in place of a tool.

use std::fmt;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use rehearsal_agent::{IntoToolOutput, StateAccess, ToolContext, ToolOutput};
use rehearsal_core::{CallId, Chance, InvocationId, Timestamp, ToolError};
use serde_json::Value;

/// What answers in place of a tool.
///
/// ```
/// use rehearsal_sim::Mock;
/// use serde_json::json;
///
/// let fixed = Mock::returning(json!({"sent": true}));
/// let computed = Mock::new(|args, cx| json!({"sent": args["to"] != "", "number": cx.nth()}));
/// let failing = Mock::failing("RateLimited", "try again in a minute");
/// ```
#[derive(Clone)]
pub struct Mock {
    run: Arc<MockFn>,
    limit: Option<u64>,
}

type MockFn = dyn Fn(Value, MockContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

impl Mock {
    /// A mock that computes its answer. It may return a JSON value, a `Result` with a
    /// [`ToolError`], or anything else a tool may return.
    pub fn new<R: IntoToolOutput>(run: impl Fn(Value, &MockContext) -> R + Send + Sync + 'static) -> Self {
        let run = move |args, cx| futures::future::ready(run(args, &cx).into_tool_output()).boxed();
        Self { run: Arc::new(run), limit: None }
    }

    /// A mock that computes its answer and may wait while it does.
    pub fn new_async<R, F>(run: impl Fn(Value, MockContext) -> F + Send + Sync + 'static) -> Self
    where
        R: IntoToolOutput + 'static,
        F: Future<Output = R> + Send + 'static,
    {
        let run = move |args, cx| run(args, cx).map(IntoToolOutput::into_tool_output).boxed();
        Self { run: Arc::new(run), limit: None }
    }

    /// A mock that always gives the same.
    pub fn returning(value: Value) -> Self {
        Self::new(move |_, _| value.clone())
    }

    /// A mock that gives these one after the other. A call after the last one ends the case, as a call of a tool that
    /// nobody plays does.
    pub fn sequence(values: impl IntoIterator<Item = Value>) -> Self {
        let values: Vec<Value> = values.into_iter().collect();
        let limit = Some(values.len() as u64);
        let answer = move |_, cx: &MockContext| {
            let nth = usize::try_from(cx.nth()).unwrap_or(usize::MAX);
            values.get(nth).cloned().unwrap_or_default()
        };
        Self { limit, ..Self::new(answer) }
    }

    pub(crate) fn is_exhausted(&self, nth: u64) -> bool {
        self.limit.is_some_and(|limit| nth >= limit)
    }

    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// A mock that always fails.
    pub fn failing(kind: &str, message: &str) -> Self {
        let error = ToolError::new(kind, message);
        Self::new(move |_, _| Err::<Value, _>(error.clone()))
    }

    pub(crate) async fn call(&self, args: Value, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        (self.run)(args, MockContext { cx: cx.clone() }).await
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mock")
    }
}

/// What a mock may know: deliberately little.
#[derive(Clone, Debug)]
pub struct MockContext {
    cx: ToolContext,
}

impl MockContext {
    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.cx.call
    }

    /// The tool.
    pub fn tool_name(&self) -> &str {
        &self.cx.tool
    }

    /// The execution of the agent that calls.
    pub fn invocation_id(&self) -> &InvocationId {
        &self.cx.invocation
    }

    /// State with its scopes, readable and writable; changes reach the session with the answer.
    pub fn state(&self) -> &StateAccess {
        &self.cx.state
    }

    /// The present moment, by the session's clock.
    pub fn now(&self) -> Timestamp {
        self.cx.now()
    }

    /// How many calls of this tool were answered before in this session. Calls whose arguments broke the tool's schema
    /// do not count; calls that run side by side in different agents do not see each other.
    pub fn nth(&self) -> u64 {
        self.cx.nth
    }

    /// Chance that belongs to this call.
    pub fn chance(&self) -> Chance {
        self.cx.chance
    }
}
