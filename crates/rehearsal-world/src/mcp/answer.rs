//! What a server's results mean.

use rehearsal_core::{ToolDeclaration, ToolError, json};
use serde_json::{Map, Value};

/// The longest name of a tool, in characters.
const LONGEST_NAME: usize = 256;

/// The result of a call: what the tool gave, or its error.
pub(super) fn read(result: &Value) -> Result<Result<Value, ToolError>, String> {
    let Some(result) = result.as_object() else {
        return Err(format!("it answered `tools/call` with {}, which is no object", kind(result)));
    };
    match result.get("resultType").and_then(Value::as_str) {
        None | Some("complete") => {}
        Some("input_required") => return Ok(Err(input_required(result))),
        Some(other) => {
            let other = rehearsal_core::shorten(other, 100);
            return Err(format!(
                "it answered `tools/call` with the `resultType` `{other}`, which is not known here"
            ));
        }
    }
    let content = match result.get("content") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(content)) => content,
        Some(other) => return Err(format!("the `content` of its result is {}, not a list", kind(other))),
    };
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let message = texts(content).unwrap_or_else(|| json::text(&Value::from(content)));
        let message = if message.is_empty() { "it gave no reason".to_owned() } else { message };
        return Ok(Err(ToolError::new("ToolFailed", message)));
    }
    Ok(Ok(match result.get("structuredContent").filter(|value| !value.is_null()) {
        Some(structured) => structured.clone(),
        None => value(content),
    }))
}

/// The value of a result that is not structured: JSON where it is an object or a list, else the text; what is no text is
/// kept as it came.
fn value(content: &[Value]) -> Value {
    let Some(text) = texts(content) else { return Value::from(content) };
    match json::from_str::<Value>(&text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
        _ => Value::from(json::plain(text)),
    }
}

/// The text of a content that is nothing but text.
fn texts(content: &[Value]) -> Option<String> {
    let text = |part: &Value| {
        let is_text = part.get("type").and_then(Value::as_str) == Some("text");
        part.get("text").filter(|_| is_text).and_then(Value::as_str).map(str::to_owned)
    };
    let texts: Option<Vec<String>> = content.iter().map(text).collect();
    texts.map(|texts| texts.join("\n"))
}

/// A call that the server goes on with only when it is told more.
fn input_required(result: &Map<String, Value>) -> ToolError {
    let asked = result.get("inputRequests").and_then(Value::as_object);
    let asked = asked.into_iter().flatten().map(|(key, request)| {
        let method = request.get("method").and_then(Value::as_str).unwrap_or("something");
        let message = request.get("params").and_then(|params| params.get("message")).and_then(Value::as_str);
        match message {
            Some(message) => format!("`{key}` ({method}): {message}"),
            None => format!("`{key}` ({method})"),
        }
    });
    let asked: Vec<String> = asked.collect();
    let what = if asked.is_empty() { "more input".to_owned() } else { asked.join("; ") };
    ToolError::new(
        "InputRequired",
        format!("the server asks for {what}; a world answers no such request, so mock this tool"),
    )
}

/// A call that the server did not take.
pub(super) fn refused(code: i64, message: String) -> ToolError {
    ToolError { status: Some(code.into()), ..ToolError::new("McpError", message) }
}

/// Reads a page of the list of tools.
pub(super) fn read_tools(page: &Value, tools: &mut Vec<ToolDeclaration>) -> Result<(), String> {
    let Some(list) = page.get("tools").and_then(Value::as_array) else {
        return Err("it answered `tools/list` without `tools`".to_owned());
    };
    for tool in list {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || name.chars().count() > LONGEST_NAME {
            let shown = rehearsal_core::shorten(&json::text(tool), 200);
            return Err(format!(
                "one of its tools has no name, or one of more than {LONGEST_NAME} characters: {shown}"
            ));
        }
        if tools.iter().any(|known| known.name == name) {
            return Err(format!("it lists the tool `{name}` twice"));
        }
        let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
        let mut declared = ToolDeclaration::new(name, description);
        if let Some(schema) = tool.get("inputSchema").filter(|schema| schema.is_object()) {
            declared = declared.parameters(schema.clone());
        }
        declared.output = tool.get("outputSchema").filter(|schema| schema.is_object()).cloned();
        tools.push(declared);
    }
    Ok(())
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_is_what_is_structured_else_json_else_text() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        for (result, wanted) in [
            (json!({"content": [text("3")], "structuredContent": {"sum": 3}}), json!({"sum": 3})),
            (json!({"content": [text("{\"a\": [1]}")]}), json!({"a": [1]})),
            // A text that is a number stays what was said.
            (json!({"content": [text("481.50")]}), json!("481.50")),
            (json!({"content": [text("one"), text("two")], "resultType": "complete"}), json!("one\ntwo")),
            (json!({"content": [text("see"), image]}), json!([text("see"), image])),
            (json!({"content": []}), json!("")),
        ] {
            assert_eq!(read(&result), Ok(Ok(wanted)));
        }
    }

    #[test]
    fn what_a_tool_cannot_do_is_its_error() {
        let failed = json!({"content": [{"type": "text", "text": "no such file"}], "isError": true});
        assert_eq!(read(&failed).unwrap().unwrap_err().message, "no such file");
        let asks = json!({"resultType": "input_required", "inputRequests": {
            "who": {"method": "elicitation/create", "params": {"message": "What is your name?"}}}});
        assert_eq!(
            read(&asks).unwrap().unwrap_err().message,
            "the server asks for `who` (elicitation/create): What is your name?; a world answers no such request, so mock this tool"
        );
        assert!(read(&json!({"resultType": "task"})).unwrap_err().contains("`task`"));
        assert!(read(&json!([])).is_err());
    }

    #[test]
    fn whole_numbers_of_any_size_are_kept() {
        let line = r#"{"content": [], "structuredContent": {"result": 123456789012345678901234567890}}"#;
        let result: Value = rehearsal_core::json::from_str(line).unwrap();
        let value = read(&result).unwrap().unwrap();
        assert_eq!(rehearsal_core::json::text(&value), r#"{"result":123456789012345678901234567890}"#);
    }
}
