//! The test that the README shows, to the letter.

use std::sync::Arc;

use rehearsal::prelude::*;
use serde_json::json;

fn send_email() -> FunctionTool {
    FunctionTool::raw(ToolDeclaration::new("send_email", "Sends an e-mail"), |_, _| {
        unreachable!("no tool runs for real unless it is handed to the case")
    })
}

#[test]
fn sends_one_email() {
    let model = ScriptedModel::list(
        "script",
        [Reply::call("send_email", json!({"to": "ada@example.org"})), Reply::text("I sent the e-mail.")],
    );
    let agent = LlmAgent::new("assistant", Arc::new(model)).tool(send_email());
    Case::new("sends an e-mail", agent)
        .first_message("Write to Ada")
        .mock("send_email", Mock::returning(json!({"sent": true})))
        .metric(EventCountMetric::new("one e-mail", "tool_call").tool("send_email").exactly(1))
        .metric(FinalResponse::new("says so").contains("sent"))
        .assert_passes();
}

#[test]
fn it_is_what_the_readme_shows() {
    let readme = include_str!("../../../README.md");
    let shown = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    let shown = shown.expect("the README shows a test in Rust");
    assert!(include_str!("readme.rs").contains(shown), "copy it from README.md:\n{shown}");
}
