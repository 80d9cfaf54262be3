//! The users of tools: who answers a tool that asks the user, and the bridge that carries prompts and answers.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::{BoxFuture, FutureExt as _};
use rehearsal_agent::{
    Agent, AgentRef, Context, Done, Flow, FunctionTool, LlmAgent, Model, RunError, Step, ToolContext,
    ToolOutput, ToolRef, with_state_change,
};
use rehearsal_core::{
    Chance, Content, Decision, EventBody, FunctionCall, Ledger, ModelResponse, Part, Player, Role, Settings,
    ToolDeclaration, ToolError, ToolOutcome,
};
use rehearsal_js::{Expression, Scope, Workers};
use rehearsal_sim::{Bridge, YieldInfo, default_prompt, last_agent_text};
use serde_json::{Map, Value, json};

use super::told;
use crate::file::agent::object;
use crate::file::conversation::speaker::HANG_UP;
use crate::{BridgeExpressions, ScriptedCall, SimulatedUser, ToolDefinition, UserTool};

/// The code of the error of a user's tool that is at fault itself. The case ends in it.
pub(super) const AT_FAULT: &str = "UserToolAtFault";

/// The agent that plays the user of a tool.
pub(crate) fn simulated(
    user: &SimulatedUser,
    tool: &ToolDefinition,
    model: Arc<dyn Model>,
    scripts: &Workers,
) -> AgentRef {
    let settings =
        Settings { temperature: user.temperature, max_tokens: user.max_tokens, ..Settings::default() };
    let mut agent = LlmAgent::new(&name(&tool.name), model)
        .instruction(&user.instructions)
        .settings(settings)
        .tools(user.tools.iter().map(|tool| own_tool(tool, scripts)));
    // A text is said; all else has a form.
    if let Some(schema) = tool.output.as_ref().filter(|schema| schema["type"] != "string") {
        agent = agent.output_schema(schema.clone());
    }
    agent.into()
}

/// The agent that gives the answers of a script.
pub(crate) fn scripted(script: &[Value], tool: &str) -> AgentRef {
    let (script, asked) = (script.to_vec(), tool.to_owned());
    let step = Step::new(&name(tool), move |cx| {
        let answer = usize::try_from(cx.index).ok().and_then(|index| script.get(index));
        let answer = answer.ok_or_else(|| {
            let count = script.len();
            format!("its script has {count} answers, and `{asked}` was called once more")
        })?;
        Ok(match answer {
            Value::String(text) => cx.respond(text),
            value => cx.output(value.clone()),
        })
    });
    step.into()
}

/// A scripted user who does something before they speak.
#[derive(Debug)]
pub(crate) struct ScriptedCaller {
    name: Arc<str>,
    calls: Vec<ScriptedCall>,
    says: String,
    tools: Vec<ToolRef>,
}

impl ScriptedCaller {
    pub(crate) fn new(calls: Vec<ScriptedCall>, says: String, tools: Vec<ToolRef>) -> Self {
        Self { name: "user".into(), calls, says, tools }
    }
}

#[async_trait]
impl Agent for ScriptedCaller {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// What it does is written down beforehand, as that of any other step.
    fn kind(&self) -> &'static str {
        "step"
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        let decision = Decision { by: Player::Script, name: Some("user script".into()), micros: 0 };
        for (round, call) in (0..).zip(&self.calls) {
            let call =
                FunctionCall { name: call.tool.clone(), args: call.args.clone(), ..FunctionCall::default() };
            let asked = ModelResponse::new(Content::new(Role::Model, vec![Part::from(call)]));
            let (turn, response) = cx.record_response(round, asked, decision.clone()).await?;
            let calls: Vec<FunctionCall> = response.content.calls().cloned().collect();
            cx.call_tools(&turn, &calls, &self.tools).await?;
            let refused =
                calls.iter().filter_map(|call| cx.ledger().call(call.id.as_ref()?)).find_map(|call| {
                    let by = call.answer?.decision.as_ref()?.by;
                    let ToolOutcome::Error(error) = &call.result()?.outcome else { return None };
                    (by == Player::Engine).then(|| error.to_string())
                });
            if let Some(why) = refused {
                return Err(RunError::agent(
                    &self.name,
                    format!("its script makes a call that is refused: {why}"),
                ));
            }
        }
        Ok(Flow::Done(Done::new(self.says.clone())))
    }
}

impl From<ScriptedCaller> for AgentRef {
    fn from(caller: ScriptedCaller) -> Self {
        Arc::new(caller)
    }
}

/// The tool with which a simulated user ends a conversation.
pub(crate) fn hang_up() -> ToolRef {
    let declaration = ToolDeclaration::new(
        HANG_UP,
        "Ends the conversation at once. Call it when you have what you want, or see that you will not get it.",
    )
    .parameters(json!({
        "type": "object",
        "properties": {"reason": {"type": "string", "description": "Why you end it, in a few words."}},
    }));
    let run = |_: Value, _: ToolContext| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        futures::future::ready(Ok(ToolOutput::new("The conversation is over. Say nothing more.".into())))
            .boxed()
    };
    FunctionTool::raw(declaration, run).into()
}

fn name(tool: &str) -> String {
    format!("{tool}_user")
}

/// A tool of a user's own.
pub(crate) fn own_tool(tool: &UserTool, scripts: &Workers) -> ToolRef {
    let mut parameters = object(tool.parameters.as_ref());
    if let Value::Object(fields) = &mut parameters {
        fields.entry("type").or_insert_with(|| "object".into());
    }
    let declaration = ToolDeclaration::new(&tool.name, &tool.description).parameters(parameters);
    let (tool, scripts) = (tool.clone(), scripts.clone());
    let run = move |args: Value, cx: ToolContext| -> BoxFuture<'static, Result<ToolOutput, ToolError>> {
        let (tool, scripts) = (tool.clone(), scripts.clone());
        async move { answer(&tool, &scripts, args, &cx).await }.boxed()
    };
    FunctionTool::raw(declaration, run).into()
}

async fn answer(
    tool: &UserTool,
    scripts: &Workers,
    args: Value,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let at_fault = |key: &str, why: String| {
        ToolError::new(AT_FAULT, format!("the `{key}` of the user's tool `{}` failed: {why}", tool.name))
    };
    let scope = Scope {
        args: vec![args.clone()],
        input: args,
        now_ms: cx.now().as_millisecond(),
        seed: cx.chance.number("javascript", 0),
        ..Scope::default()
    };
    let value = match &tool.response_fn {
        Some(expression) => {
            let value = scripts.evaluate(expression, scope.clone()).await;
            value.map_err(|error| at_fault("responseFn", told(&error)))?
        }
        None => tool.response.clone().unwrap_or_default(),
    };
    match (&tool.state_fn, &tool.state) {
        (Some(expression), _) => {
            let changes = scripts.evaluate(expression, scope).await;
            let changes = changes.map_err(|error| at_fault("stateFn", told(&error)))?;
            with_state_change(value, changes).map_err(|error| at_fault("stateFn", error.message.clone()))
        }
        (None, changes) => Ok(ToolOutput { main_changes: changes.clone(), ..ToolOutput::new(value) }),
    }
}

/// The bridge as the file writes it.
#[derive(Clone, Debug)]
pub(crate) struct FileBridge {
    pub(crate) expressions: BridgeExpressions,
    pub(crate) scripts: Workers,
}

impl FileBridge {
    /// What a simulated user is told, where it would be told `otherwise` without the file.
    pub(crate) async fn prompt(
        &self,
        main: &Ledger,
        waiting: &YieldInfo,
        otherwise: String,
    ) -> Result<String, String> {
        let Some(expression) = &self.expressions.prompt else { return Ok(otherwise) };
        let mut globals = Map::new();
        globals.insert("prompt".to_owned(), otherwise.into());
        globals.insert("said".to_owned(), last_agent_text(main).into());
        let value = self.evaluate(expression, "prompt", main, waiting, globals).await?;
        match value {
            Value::String(text) => Ok(text),
            Value::Null => Err("the `prompt` of the bridge gives nothing".to_owned()),
            value => Ok(rehearsal_core::json::said(&value)),
        }
    }

    async fn evaluate(
        &self,
        expression: &Expression,
        key: &str,
        ledger: &Ledger,
        waiting: &YieldInfo,
        mut globals: Map<String, Value>,
    ) -> Result<Value, String> {
        let (told_of, input) = described(waiting);
        globals.insert("waiting".to_owned(), told_of);
        globals.insert("state".to_owned(), ledger.state().to_value());
        let now_ms = ledger.events().last().map_or(0, |event| event.at.as_millisecond());
        let scope = Scope {
            args: vec![input.clone()],
            input,
            context: Value::Null,
            globals,
            now_ms,
            seed: Chance::seeded(0).number("bridge", ledger.events().len() as u64),
            ..Scope::default()
        };
        let value = self.scripts.evaluate(expression, scope).await;
        value.map_err(|error| format!("the `{key}` of the bridge failed: {}", told(&error)))
    }
}

/// What an expression is told of a yield, and the arguments of the call.
fn described(waiting: &YieldInfo) -> (Value, Value) {
    let awaiting_input = waiting.awaiting_input();
    match waiting {
        YieldInfo::Loop { .. } => (json!({"type": "loop", "awaiting_input": awaiting_input}), json!({})),
        YieldInfo::Tool { tool, call, args, .. } => {
            let args = Value::Object((**args).clone());
            let told_of = json!({
                "type": "tool", "tool": tool, "call": call.as_str(), "args": args, "awaiting_input": awaiting_input,
            });
            (told_of, args)
        }
    }
}

#[async_trait]
impl Bridge for FileBridge {
    async fn format_prompt(&self, main: &Ledger, waiting: &YieldInfo) -> Result<String, String> {
        self.prompt(main, waiting, default_prompt(main, waiting)).await
    }

    async fn format_response(
        &self,
        output: Value,
        users: &Ledger,
        waiting: &YieldInfo,
    ) -> Result<Value, String> {
        let at_fault = users.events().iter().find_map(|event| match &event.body {
            EventBody::ToolResult(result) => match &result.outcome {
                ToolOutcome::Error(error) if error.kind == AT_FAULT => Some(error.message.clone()),
                _ => None,
            },
            _ => None,
        });
        if let Some(why) = at_fault {
            return Err(why);
        }
        let Some(expression) = &self.expressions.response else { return Ok(output) };
        let globals = [("output".to_owned(), output)].into_iter().collect();
        self.evaluate(expression, "response", users, waiting, globals).await
    }
}
