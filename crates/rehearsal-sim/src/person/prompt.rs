//! What people are shown.

use std::sync::Arc;

use rehearsal_core::{Ledger, ModelRequest, Schema, ToolDeclaration};
use serde_json::{Map, Value, json};

/// What the model is asked: `{request: {model, system, contents, tools, output_schema}}`, without what the request
/// does not have, and `unchecked` where a tool's schema cannot be used in part. The value of `request` can be read as a
/// [`ModelSetup`](rehearsal_core::ModelSetup).
pub fn model_prompt(request: &ModelRequest) -> Value {
    let setup = &request.setup;
    let mut shown = Map::new();
    if !setup.model.is_empty() {
        shown.insert("model".to_owned(), json!(setup.model));
    }
    if let Some(system) = &setup.system {
        shown.insert("system".to_owned(), json!(system));
    }
    shown.insert("contents".to_owned(), json!(request.contents));
    let tool = |tool: &ToolDeclaration| json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
    shown.insert("tools".to_owned(), setup.tools.iter().map(|declared| tool(declared)).collect());
    if let Some(schema) = &setup.output_schema {
        shown.insert("output_schema".to_owned(), (**schema).clone());
    }
    let unchecked = unchecked(&setup.tools);
    if unchecked.is_empty() {
        return json!({"request": shown});
    }
    json!({"request": shown, "unchecked": unchecked})
}

/// The parts of tools' schemas that calls are not held to, because nobody can use them: `{tool, place, reason}`.
fn unchecked(tools: &[Arc<ToolDeclaration>]) -> Vec<Value> {
    let of = |tool: &Arc<ToolDeclaration>| {
        let (_, left_out) = Schema::new(tool.parameters.clone()).usable();
        let name = tool.name.clone();
        left_out
            .into_iter()
            .map(move |part| json!({"tool": name, "place": part.place, "reason": part.reason}))
    };
    tools.iter().flat_map(of).collect()
}

/// What a tool is asked: `{tool, args, description?, output_schema?}`.
pub fn tool_prompt(tool: &ToolDeclaration, args: &Map<String, Value>) -> Value {
    let mut prompt = json!({"tool": tool.name, "args": args});
    if !tool.description.is_empty() {
        prompt["description"] = json!(tool.description);
    }
    if let Some(schema) = &tool.output {
        prompt["output_schema"] = schema.clone();
    }
    prompt
}

/// What the user is asked: `{transcript}`, the session so far as text.
pub fn user_prompt(main: &Ledger) -> Value {
    json!({"transcript": main.to_transcript()})
}
