//! Tools that are Rust functions.

use std::fmt;

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt};
use rehearsal_core::{ToolDeclaration, ToolError};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{EngineOnly, IntoToolOutput, Tool, ToolContext, ToolKind, ToolOutput, ToolSpec, schema_of};

/// A tool made from a Rust function; its schema comes from the type of its arguments.
///
/// ```
/// use rehearsal_agent::{FunctionTool, Tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// let add = FunctionTool::new("add", "Adds two numbers", |args: Add, _cx| json!(args.a + args.b));
/// assert_eq!(add.spec().declaration().parameters["required"], json!(["a", "b"]));
/// let error = add.spec().check_args(json!({"a": 1, "b": "two"}).as_object().unwrap()).unwrap_err();
/// assert_eq!(error.violations[0].path, "$.b");
/// ```
pub struct FunctionTool {
    spec: ToolSpec,
    run: Box<RunFn>,
    is_synthetic: bool,
}

type RunFn = dyn Fn(Value, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + Sync;

impl FunctionTool {
    /// A tool from a plain function.
    pub fn new<A, R>(
        name: &str,
        description: &str,
        run: impl Fn(A, &ToolContext) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        R: IntoToolOutput,
    {
        let declaration = ToolDeclaration::new(name, description).parameters(schema_of::<A>());
        Self::raw(declaration, move |args, cx| {
            let output = read_args(args).and_then(|args| run(args, &cx).into_tool_output());
            futures::future::ready(output).boxed()
        })
    }

    /// A tool from an async function.
    pub fn new_async<A, R, F>(
        name: &str,
        description: &str,
        run: impl Fn(A, ToolContext) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema,
        R: IntoToolOutput + 'static,
        F: Future<Output = R> + Send + 'static,
    {
        let declaration = ToolDeclaration::new(name, description).parameters(schema_of::<A>());
        Self::raw(declaration, move |args, cx| match read_args(args) {
            Ok(args) => run(args, cx).map(IntoToolOutput::into_tool_output).boxed(),
            Err(error) => futures::future::ready(Err(error)).boxed(),
        })
    }

    /// A tool with a declaration of its own.
    pub fn raw(
        declaration: ToolDeclaration,
        run: impl Fn(Value, ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self { spec: ToolSpec::new(declaration), run: Box::new(run), is_synthetic: false }
    }

    /// The same tool with a schema for its result, against which every result is checked.
    #[must_use]
    pub fn returning<R: JsonSchema>(mut self) -> Self {
        let declaration = (*self.spec.declaration).clone();
        self.spec = ToolSpec::new(declaration.output(schema_of::<R>()));
        self
    }

    /// The same tool as one that belongs to the engine and is never intercepted.
    pub(crate) fn synthetic(mut self) -> Self {
        self.is_synthetic = true;
        self
    }
}

fn read_args<A: DeserializeOwned>(args: Value) -> Result<A, ToolError> {
    rehearsal_core::json::from_value(args)
        .map_err(|error| ToolError::new("InvalidArguments", error.to_string()))
}

#[async_trait]
impl Tool for FunctionTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn kind(&self) -> ToolKind<'_> {
        if self.is_synthetic { EngineOnly::KIND } else { ToolKind::Function }
    }

    async fn call(&self, args: Value, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let output = (self.run)(args, cx.clone()).await?;
        self.spec.check_output(&output.value)?;
        Ok(output)
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionTool").field("name", &self.spec.name()).finish_non_exhaustive()
    }
}
