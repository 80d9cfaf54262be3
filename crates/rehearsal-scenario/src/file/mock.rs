//! Mocks in a scenario file.

use serde_json::{Map, Value};

use crate::Problem;
use crate::read::Reader;
use crate::yaml::Node;

/// A mock of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Mock {
    /// The service the method belongs to.
    pub service: Option<String>,
    /// The method.
    pub method: String,
    /// When it answers.
    pub when: MockWhen,
    /// What it answers.
    pub response: Option<Value>,
    /// A function that makes its answer.
    pub response_fn: Option<String>,
    /// The error it fails with.
    pub error: Option<MockError>,
    /// How long it takes, in milliseconds.
    pub delay_ms: Option<f64>,
    /// How often it fails, from 0 to 1.
    pub probability: Option<f64>,
}

/// When a mock answers: all that is given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MockWhen {
    /// The whole list of arguments.
    pub args: Option<Vec<Value>>,
    /// Some of the named arguments.
    pub input: Option<Map<String, Value>>,
    /// Some of what is known around the call.
    pub context: Option<Map<String, Value>>,
    /// A condition.
    pub matcher: Option<String>,
    /// The first arguments.
    pub partial_args: Option<Vec<Value>>,
}

/// An error a mock fails with.
#[derive(Clone, Debug, PartialEq)]
pub struct MockError {
    /// Its code.
    pub code: String,
    /// Its message.
    pub message: String,
    /// Its HTTP status.
    pub status: Option<f64>,
}

pub(super) fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Mock> {
    let mut fields = reader.fields(node, "a mock")?;
    let service = fields.text(reader, "service");
    let method = fields.require_text(reader, "method", "method: the tool's name");
    let when = fields.get("when").and_then(|node| read_when(reader, node)).unwrap_or_default();
    let response = fields.get_or_null("response").map(Node::to_json);
    let response_fn = fields.text(reader, "responseFn");
    let error = fields.get("error").and_then(|node| read_error(reader, node));
    let (delay_ms, probability) =
        fields.get("metadata").map_or((None, None), |node| read_metadata(reader, node));
    if response.is_some() && response_fn.is_some() {
        let place = fields.key_span("response").unwrap_or_else(|| fields.span());
        let message = "a mock with `responseFn` never gives its `response`";
        reader
            .report_without_effect(Problem::error("no-effect", place, message).help("remove one of the two"));
    }
    fields.finish(reader);
    Some(Mock { service, method, when, response, response_fn, error, delay_ms, probability })
}

fn read_when(reader: &mut Reader<'_>, node: &Node) -> Option<MockWhen> {
    let mut fields = reader.fields(node, "`when`")?;
    let list = |node: &Node, reader: &mut Reader<'_>, what: &str| {
        reader.list(node, what).iter().map(Node::to_json).collect::<Vec<Value>>()
    };
    let when = MockWhen {
        args: fields.get("args").map(|node| list(node, reader, "`args`")),
        input: fields.json_map(reader, "input"),
        context: fields.json_map(reader, "context"),
        matcher: fields.text(reader, "matcher"),
        partial_args: fields.get("partialArgs").map(|node| list(node, reader, "`partialArgs`")),
    };
    fields.finish(reader);
    Some(when)
}

fn read_error(reader: &mut Reader<'_>, node: &Node) -> Option<MockError> {
    let mut fields = reader.fields(node, "`error`")?;
    let error = MockError {
        code: fields.require_text(reader, "code", "code: API_ERROR"),
        message: fields.require_text(reader, "message", "message: what went wrong"),
        status: fields.number(reader, "status", f64::NEG_INFINITY..=f64::INFINITY),
    };
    fields.finish(reader);
    Some(error)
}

fn read_metadata(reader: &mut Reader<'_>, node: &Node) -> (Option<f64>, Option<f64>) {
    let Some(mut fields) = reader.fields(node, "`metadata`") else { return (None, None) };
    let delay = fields.number(reader, "delay", f64::NEG_INFINITY..=f64::INFINITY);
    let probability = fields.number(reader, "probability", 0.0..=1.0);
    fields.finish(reader);
    (delay, probability)
}
