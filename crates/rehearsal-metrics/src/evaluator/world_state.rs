//! `world_state`.

use std::collections::BTreeSet;

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{EventBody, MetricResult, WorldReference, json, strip_nulls};
use serde_json::{Map, Value, json};

use super::shown::short;
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::equality::is_same;
use crate::view::View;

/// How many differences are shown.
const SHOWN: usize = 10;

/// The world is as it should be when the step ends.
#[derive(Clone, Debug, PartialEq)]
pub struct WorldState {
    /// What it is compared with.
    pub expected: ExpectedWorld,
    /// The paths that are not compared.
    pub ignore: Vec<String>,
    /// Whether calls of the reference may fail.
    pub allow_errors: bool,
}

/// What a world is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedWorld {
    /// Another world of the same kind, after these calls.
    After(Vec<Map<String, Value>>),
    /// What stands in this file.
    File(String),
    /// This state.
    Value(Map<String, Value>),
}

const CALL: &[Key] = &[
    Key::required("tool", Form::Text, "tool: the tool's name", "The tool."),
    Key::optional("args", Form::Map, "Its arguments."),
    Key::optional(
        "by",
        Form::Word(&["agent", "user"]),
        "Whose tool it is; whoever has a tool of that name, unless told.",
    ),
];

impl ExpectedWorld {
    /// As it stands on the ledger with the state that it names; nothing where it is a state itself.
    fn reference(&self) -> Option<Value> {
        match self {
            Self::After(calls) => Some(json!({"after": calls})),
            Self::File(path) => Some(json!({"file": path})),
            Self::Value(_) => None,
        }
    }
}

impl Evaluator for WorldState {
    const TYPE: &'static str = "world_state";
    const ABOUT: &'static str = "The state of the world is as it should be when the step ends.";
    const LOOKS_AT: LooksAt = LooksAt::World;
    const KEYS: &'static [Key] = &[
        Key::unless(
            "after",
            Form::Items(CALL),
            "after: [{tool: refund, args: {order: \"17\"}}]",
            "The calls that lead to the state, made in a world of their own with the same seed; `[]` for a world in which \
             nothing was done.",
        ),
        Key::unless("value", Form::Map, "value: {orders: {}}", "The state itself."),
        Key::unless(
            "file",
            Form::TellingText("a file has a name"),
            "file: expected.json",
            "A file with the state as JSON; its path is taken from the scenario's folder.",
        ),
        Key::optional(
            "ignore",
            Form::SomeTexts,
            "Paths of the state that are not compared, as in `orders.17.changed_at`; `*` stands for any one part.",
        ),
        Key::or(
            "allow_errors",
            Form::Flag,
            "false",
            "Whether calls of `after` may fail; otherwise nothing can be decided by a reference that does.",
        ),
    ];
    const PAGE: &'static str = "\
Asks for a `world` in the scenario. The reference is made when the step ends: with `after`, another world is started with the same seed, \
the calls are made in it, and its state is compared with that of the case's world; nobody else sees what happens in it. \
They are made one after the other, each with the tools that the world offers at that moment: where a tool appears only after a call, \
also one of the user's side, that call stands before it (`{tool: unlock, by: user}`). A call of a tool that is not offered leaves the \
evaluation undecided, also with `allow_errors`. \
The state is compared as a whole: what the agent did too much is a difference too. The evidence names the paths that differ. \
What is null in an object counts as absent.

```yaml
- type: world_state
  after:
    - {tool: refund, args: {order: \"17\"}}
  ignore: [orders.*.changed_at]
```";

    fn rules() -> Value {
        json!({
            "oneOf": [{"required": ["after"]}, {"required": ["value"]}, {"required": ["file"]}],
            "dependentRequired": {"allow_errors": ["after"]},
        })
    }

    fn read(given: &mut Given<'_>) -> Self {
        let named: Vec<&'static str> =
            ["after", "value", "file"].into_iter().filter(|name| given.has(name)).collect();
        if named.is_empty() {
            let message = "`world_state` does not say what the world is compared with";
            let help = "add: after: [{tool: …, args: {…}}]   # or `value`, or `file`";
            given.complain(Complaint::spoils("missing-key", At::Whole, message).help(help));
        }
        if let [_, second, ..] = named.as_slice() {
            let message = "a world is compared with one thing: `after`, `value` or `file`";
            given.complain(Complaint::spoils("two-actions", At::Name(second), message).help("keep one of them"));
        }
        let expected = if given.has("value") {
            ExpectedWorld::Value(given.map("value").unwrap_or_default())
        } else if given.has("file") {
            ExpectedWorld::File(given.text("file"))
        } else {
            ExpectedWorld::After(given.items("after").unwrap_or_default())
        };
        if given.has("allow_errors") && !given.has("after") {
            let message = "`allow_errors` is about the calls of `after`, and there are none";
            given.complain(Complaint::no_effect("no-effect", At::Name("allow_errors"), message).help("remove it"));
        }
        let ignore = given.texts("ignore").unwrap_or_default();
        Self { expected, ignore, allow_errors: given.flag("allow_errors") }
    }

    fn detail(&self) -> String {
        match &self.expected {
            ExpectedWorld::After(calls) if calls.is_empty() => "after nothing".to_owned(),
            ExpectedWorld::After(calls) => {
                let names: Vec<&str> = calls.iter().filter_map(|call| call.get("tool")?.as_str()).collect();
                format!("after {}", short(&names.join(", ")))
            }
            ExpectedWorld::File(path) => short(path),
            ExpectedWorld::Value(value) => short(&json::text(&Value::Object(value.clone()))),
        }
    }

    fn world_references(&self) -> Vec<Value> {
        self.expected.reference().into_iter().collect()
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let undecided = |why: String| Assessment::from(MetricResult::unscored(why));
        let (Some(scope), Some(end)) = (world_scope(view), view.end_seq()) else {
            return undecided("no world plays in this session".to_owned());
        };
        let mut found = view.ledger.state_at(end).scope(&scope).clone();
        let mut expected = match (&self.expected, self.expected.reference()) {
            (ExpectedWorld::Value(value), _) => value.clone(),
            (_, reference) => {
                let Some(made) = reference.and_then(|of| reference_of(view, end, &of)) else {
                    return undecided("the state to compare with was not made when the step ended".to_owned());
                };
                if let Some(failed) = made.failed.first().filter(|_| !self.allow_errors) {
                    let more = match made.failed.len() - 1 {
                        0 => String::new(),
                        more => format!(" (and {more} more)"),
                    };
                    return undecided(format!(
                        "a call of the reference failed: {failed}{more}; if that is meant, add: allow_errors: true"
                    ));
                }
                match (&made.state, &made.problem) {
                    (Some(state), None) => state.clone(),
                    (_, problem) => {
                        let why = problem.as_deref().unwrap_or("the world has no state to show");
                        return undecided(format!("there is no state to compare with: {why}"));
                    }
                }
            }
        };
        strip_nulls(&mut expected);
        for path in &self.ignore {
            let parts: Vec<&str> = path.split('.').collect();
            remove(&mut found, &parts);
            remove(&mut expected, &parts);
        }
        let mut differences = Vec::new();
        compare(&scope, &Value::Object(found), &Value::Object(expected), &mut differences);
        let passed = differences.is_empty();
        if passed {
            let message = "the world is as it should be".to_owned();
            return MetricResult::from_pass(true).because_of(message, [end]).into();
        }
        let message = match differences.len() {
            1 => "the world differs from what it should be at one place".to_owned(),
            many => format!("the world differs from what it should be at {many} places"),
        };
        let result = MetricResult::from_pass(false).because_of(message, [end]);
        let more = differences.len().saturating_sub(SHOWN);
        let result = differences.into_iter().take(SHOWN).fold(result, MetricResult::because);
        if more == 0 { result.into() } else { result.because(format!("… and {more} more")).into() }
    }
}

/// The scope of the state in which the world's state stands.
fn world_scope(view: &View<'_>) -> Option<String> {
    view.ledger.events().iter().find_map(|event| match &event.body {
        EventBody::WorldStarted(started) => Some(started.scope.clone()),
        _ => None,
    })
}

/// What was made for an evaluation when the step ended.
fn reference_of<'a>(view: &View<'a>, end: u64, of: &Value) -> Option<&'a WorldReference> {
    let events = view.ledger.events().iter().skip_while(|event| event.seq <= end);
    let of_step = events.take_while(|event| !matches!(event.body, EventBody::StepStarted(_)));
    let made = of_step.filter_map(|event| match &event.body {
        EventBody::WorldReferences { references } => Some(references),
        _ => None,
    });
    made.flatten().find(|reference| reference.of == *of)
}

/// Takes out what a path names.
fn remove(fields: &mut Map<String, Value>, path: &[&str]) {
    let [first, rest @ ..] = path else { return };
    let keys: Vec<String> = fields.keys().filter(|key| *first == "*" || key == first).cloned().collect();
    for key in keys {
        if rest.is_empty() {
            fields.shift_remove(&key);
        } else if let Some(value) = fields.get_mut(&key) {
            remove_in(value, rest);
        }
    }
}

fn remove_in(value: &mut Value, path: &[&str]) {
    match value {
        Value::Object(fields) => remove(fields, path),
        Value::Array(items) => {
            let [first, rest @ ..] = path else { return };
            for (index, item) in items.iter_mut().enumerate() {
                if *first == "*" || first.parse() == Ok(index) {
                    // An item keeps its place, so that the others keep theirs.
                    if rest.is_empty() { *item = Value::Null } else { remove_in(item, rest) }
                }
            }
        }
        _ => {}
    }
}

/// Says where two values differ.
fn compare(path: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            let keys: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
            for key in keys {
                let path = format!("{path}.{key}");
                match (found.get(key), expected.get(key)) {
                    (Some(found), Some(expected)) => compare(&path, found, expected, differences),
                    (Some(found), None) => {
                        differences.push(format!("`{path}` is {}, and should not be there", told(found)));
                    }
                    (None, Some(expected)) => {
                        differences.push(format!("`{path}` is not there, and should be {}", told(expected)));
                    }
                    (None, None) => {}
                }
            }
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
                compare(&format!("{path}.{index}"), found, expected, differences);
            }
        }
        (found, expected) if is_same(found, expected) => {}
        (found, expected) => {
            differences.push(format!("`{path}` is {}, and should be {}", told(found), told(expected)));
        }
    }
}

fn told(value: &Value) -> String {
    rehearsal_core::shorten(&json::text(value), 200)
}
