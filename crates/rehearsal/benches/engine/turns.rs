//! CPU per simulated turn.

use std::sync::Arc;

use rehearsal::prelude::*;
use serde_json::json;

use crate::{meter, wall};

const CASES: usize = 1000;
const TURNS: u64 = 10;

/// A conversation in which every turn calls one mocked tool.
fn case(number: usize) -> Case {
    let model = ScriptedModel::function("script", |call: &ModelCall| match call.index % 2 {
        0 => Reply::call("lookup", json!({"query": "headache", "limit": 10})),
        _ => Reply::text("I looked it up. What else?"),
    });
    let parameters = json!({
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    });
    let lookup = FunctionTool::raw(
        ToolDeclaration::new("lookup", "Looks something up").parameters(parameters),
        |_, _| unreachable!("the tool is mocked"),
    );
    let agent = LlmAgent::new("assistant", Arc::new(model)).instruction("Look everything up.").tool(lookup);
    let user = Step::new("user", |cx| Ok(cx.respond(format!("and what about number {}?", cx.index))));
    Case::new(&format!("case {number}"), Loop::new("conversation", agent))
        .first_message("hello")
        .mock("lookup", Mock::returning(json!({"hits": ["paracetamol", "rest", "water"]})))
        .loop_user(user)
        .max_turns(TURNS)
        .metric(EventCountMetric::new("looked up", "tool_call").at_least(TURNS))
}

pub(crate) fn measure() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be built");
    let suite = Suite::new((0..CASES).map(case));
    let before = meter::cpu();
    let (run, wall) = wall(|| runtime.block_on(suite.run()));
    let cpu = meter::cpu().saturating_sub(before);
    let turns: u64 = run.result.results.iter().map(|result| result.turns).sum();
    assert_eq!(turns, TURNS * CASES as u64, "every case must play all its turns");
    #[expect(clippy::cast_precision_loss, reason = "the figures are small")]
    let per_turn = cpu.as_secs_f64() * 1e6 / turns as f64;
    println!("turns: {turns} simulated turns, each with two model turns and one mocked call, in {wall:.2?}");
    println!("  CPU per turn            {per_turn:8.1} µs   (aim: at most 100)");
}
