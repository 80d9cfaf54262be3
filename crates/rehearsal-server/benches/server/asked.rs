//! What the agents ask: a request with instructions, two tools and a short conversation, of the size real ones have.

use std::sync::Arc;

use rehearsal_core::{Content, Ids, ModelRequest, ModelResponse, ModelSetup, Part, Role, ToolDeclaration};
use serde_json::{Value, json};

pub(crate) const AGENT: &str = "shop_agent";

/// What a person answers.
pub(crate) const ANSWER: &str = "Your order 7 was shipped on Tuesday and will arrive on Friday, between nine and noon. The \
    driver rings twice; if nobody is at home, the parcel is left with the neighbours at number 12. Is there anything \
    else that I can do for you today?";

const INSTRUCTIONS: &str = "You help the customers of a small shop. Look up an order before you say anything about it, never \
    promise a day that the carrier has not confirmed, and hand over to a person when somebody asks for a refund \
    above fifty. Answer in the customer's language, in at most four sentences, and end with a question.";

const SAID: [&str; 3] = [
    "Hello, I ordered a lamp and two shades last week and I have not heard anything since. Can you tell me where it is?",
    "I am sorry that you had to wait. Could you tell me the number of your order, please? It is in the mail that we sent.",
    "It should be number 7. If it is not on its way yet, I would rather have the green shades instead of the grey ones.",
];

/// An id that repeats in the next run.
pub(crate) fn id(name: &str, number: usize) -> String {
    Ids::seeded(1).session(name, number as u64).to_string()
}

pub(crate) fn request() -> ModelRequest {
    let tool = |name: &str, description: &str, field: &str| {
        let parameters = json!({
            "type": "object",
            "properties": {field: {"type": "integer", "description": "The number on the customer's mail"}},
            "required": [field],
        });
        Arc::new(ToolDeclaration {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            output: None,
        })
    };
    let setup = ModelSetup {
        model: "gemini-2.5-flash".to_owned(),
        system: Some(INSTRUCTIONS.to_owned()),
        tools: vec![
            tool("look_up", "Looks up an order and says where it is", "order"),
            tool("change_order", "Asks the storehouse to change an order that has not left yet", "order"),
        ],
        ..ModelSetup::default()
    };
    let turn = |(number, text): (usize, &&str)| {
        let role = if number.is_multiple_of(2) { Role::User } else { Role::Model };
        Arc::new(Content::new(role, vec![Part::text(*text)]))
    };
    ModelRequest { setup: Arc::new(setup), contents: SAID.iter().enumerate().map(turn).collect() }
}

/// The same as a body of the HTTP API.
pub(crate) fn body() -> Value {
    let request = request();
    json!({
        "agent": AGENT,
        "request": {
            "model": request.setup.model,
            "system_instruction": request.setup.system,
            "contents": request.contents,
            "tools": request.setup.tools,
        },
    })
}

pub(crate) fn response() -> ModelResponse {
    ModelResponse::new(Content::model(ANSWER))
}
