//! `trajectory`.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{Evidence, MetricResult, QueryError};
use serde_json::{Map, Value, json};

use super::calls::CallStatus;
use super::pattern::ArgumentPattern;
use super::shown::short;
use super::{Evaluator, LooksAt};
use crate::view::View;
use crate::{Assessment, ExpectedCall, MatchKind, TrajectoryMetric};

/// The agent called the tools that it should, in the order that it should.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// The calls that are expected.
    pub calls: Vec<TrajectoryCall>,
    /// How they are compared.
    pub mode: MatchKind,
    /// The score from which on it passes.
    pub threshold: f64,
    /// Which calls count.
    pub status: CallStatus,
    /// Whether calls count that agents used as tools make.
    pub nested: bool,
}

/// A call that is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryCall {
    /// The tool.
    pub tool: String,
    /// Its arguments; none takes any.
    pub args: Option<ArgumentPattern>,
}

/// The words for the ways to compare.
const MODES: [(&str, MatchKind); 4] = [
    ("exact", MatchKind::Exact),
    ("in_order", MatchKind::InOrder),
    ("any_order", MatchKind::AnyOrder),
    ("subset", MatchKind::Subset),
];

const CALL: &[Key] = &[
    Key::required("tool", Form::Text, "tool: the tool's name", "The tool, by its exact name."),
    Key::optional("args", Form::Map, "Arguments that the call has at least."),
    Key::optional("exact_args", Form::Map, "Arguments that the call has, and no others."),
];

impl Evaluator for Trajectory {
    const TYPE: &'static str = "trajectory";
    const ABOUT: &'static str = "The agent called the tools that it should, in the order that it should.";
    const LOOKS_AT: LooksAt = LooksAt::Agent;
    const KEYS: &'static [Key] = &[
        Key::required(
            "calls",
            Form::Items(CALL),
            "calls: [{tool: the tool's name}]",
            "The calls that are expected: each with its `tool` and, where they matter, its `args` (at least these) or \
             `exact_args` (these and no others), written as `tool_called` takes them.",
        ),
        Key::or(
            "mode",
            Form::Word(&["exact", "in_order", "any_order", "subset"]),
            "\"exact\"",
            "How calls are compared.",
        ),
        Key::or(
            "threshold",
            Form::Number(0.0, 1.0),
            "1",
            "The score from which on it passes, above 0; less than 1 lets a part of the calls pass.",
        ),
        Key::or("status", Form::Word(&["any", "succeeded"]), "\"any\"", "Which calls count."),
        Key::or("nested", Form::Flag, "false", "Whether calls count that agents used as tools make."),
    ];
    const PAGE: &'static str = "\
| mode | passes when | score |
|---|---|---|
| `exact` | the same calls were made in the same order and no others | 2 × calls in common ÷ (expected + made) |
| `in_order` | the expected calls were made in that order; others may come between | expected calls made in order ÷ expected |
| `any_order` | the expected calls were made; others may come too | expected calls made ÷ expected |
| `subset` | every call made is an expected one; not all need be made | calls made that are expected ÷ made, 1 if none was made |

A call made counts for one expected call only. `calls: []` with `exact` or `subset` asks that no tool is called. The evidence is a diff, a \
line a call: `=` as expected, `~` the right tool with other arguments, `-` expected and not made, `+` made and not expected.

```yaml
- type: trajectory
  mode: in_order
  calls:
    - tool: search
      args: {query: headache, limit: {$lte: 10}}
    - tool: book
      exact_args: {slot: 3}
  threshold: 0.5
```";

    fn rules() -> Value {
        let modes = json!({"mode": {"enum": ["in_order", "any_order"]}});
        let call = json!({"not": {"required": ["args", "exact_args"]}});
        json!({
            "allOf": [
                {"properties": {"calls": {"items": call}, "threshold": {"exclusiveMinimum": 0}}},
                {
                    "if": {"required": ["mode"], "properties": modes},
                    "then": {"properties": {"calls": {"minItems": 1}}},
                },
            ],
        })
    }

    fn read(given: &mut Given<'_>) -> Self {
        let word = given.some_text("mode");
        let named = MODES.into_iter().find(|(name, _)| Some(*name) == word.as_deref());
        let mode = named.map_or(MatchKind::Exact, |(_, mode)| mode);
        let items = given.items("calls");
        if matches!(mode, MatchKind::InOrder | MatchKind::AnyOrder) && items.as_deref().is_some_and(<[_]>::is_empty) {
            let message = "no calls are expected and any are allowed, so nothing could fail";
            let complaint = Complaint::no_effect("always-true", At::Value("calls"), message);
            given.complain(complaint.help("name a call; to ask that there is none, use `mode: exact`"));
        }
        let calls = items.unwrap_or_default().into_iter().enumerate();
        let calls = calls.map(|(number, fields)| read_call(given, number, &fields)).collect();
        let threshold = given.number("threshold").unwrap_or(1.0);
        if threshold <= 0.0 {
            let message = "every score reaches a `threshold` of 0";
            let complaint = Complaint::no_effect("always-true", At::Name("threshold"), message);
            given.complain(complaint.help("ask for more than 0"));
        }
        let status = given.some_text("status").and_then(|word| CallStatus::named(&word));
        let status = status.unwrap_or(CallStatus::Any);
        Self { calls, mode, threshold, status, nested: given.flag("nested") }
    }

    fn detail(&self) -> String {
        let tools: Vec<&str> = self.calls.iter().map(|call| call.tool.as_str()).collect();
        let tools = if tools.is_empty() { "no calls".to_owned() } else { short(&tools.join(", ")) };
        format!("{}: {tools}", self.manner())
    }

    fn tools(&self) -> Option<Vec<&str>> {
        Some(self.calls.iter().map(|call| call.tool.as_str()).collect())
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let mut result = self.metric().assess_calls(view.calls());
        if let Some(message) = self.message(view, &result) {
            result.evidence.insert(0, Evidence { text: message, events: Vec::new() });
        }
        result.into()
    }
}

impl Trajectory {
    fn metric(&self) -> TrajectoryMetric {
        let expected = |call: &TrajectoryCall| match &call.args {
            Some(args) => ExpectedCall::new(&*call.tool).args_like(args.clone()),
            None => ExpectedCall::new(&*call.tool),
        };
        let expected = self.calls.iter().map(expected).collect();
        let metric = TrajectoryMetric::new(Self::TYPE, expected).kind(self.mode).status(self.status);
        let metric = metric.threshold(self.threshold);
        if self.nested { metric.include_nested() } else { metric }
    }

    /// What the diff comes to, in a sentence; nothing where there is none.
    fn message(&self, view: &View<'_>, result: &MetricResult) -> Option<String> {
        let score = result.score?;
        let (name, detail) = (view.name(), self.detail());
        let asked = format!("score {score:.3}, at least {} asked for", self.threshold);
        Some(if score >= 1.0 {
            format!("the calls of {name} are those expected, {detail}")
        } else if result.passed() {
            format!("enough calls of {name} are those expected, {detail}; {asked}")
        } else {
            format!("the calls of {name} are not those expected, {detail}; {asked}")
        })
    }

    fn manner(&self) -> &'static str {
        match self.mode {
            MatchKind::Exact => "exactly",
            MatchKind::InOrder => "in order",
            MatchKind::AnyOrder => "in any order",
            MatchKind::Subset => "at most",
        }
    }
}

fn read_call(given: &mut Given<'_>, number: usize, fields: &Map<String, Value>) -> TrajectoryCall {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let map = |name: &str| fields.get(name).and_then(Value::as_object);
    if map("args").is_some() && map("exact_args").is_some() {
        let message = "`exact_args` says already what the arguments are";
        let at = At::Item("calls", number, "args");
        given.complain(Complaint::no_effect("no-effect", at, message).help("leave out `args` or `exact_args`"));
    }
    let mut parsed = |name: &'static str, parsed: Result<ArgumentPattern, QueryError>| {
        let complain = |error: QueryError| {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            let at = At::Item("calls", number, name);
            given.complain(Complaint::spoils("invalid-query", at, format!("{error}{cause}")));
        };
        parsed.map_err(complain).ok()
    };
    let exact = map("exact_args").map(|args| ("exact_args", ArgumentPattern::exact(args)));
    let args = exact.or_else(|| map("args").map(|args| ("args", ArgumentPattern::parse(args))));
    TrajectoryCall { tool: text("tool"), args: args.and_then(|(name, args)| parsed(name, args)) }
}
