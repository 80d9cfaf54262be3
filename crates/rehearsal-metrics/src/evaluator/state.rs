//! `state`.

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{MetricResult, Query, SCENARIO};
use serde_json::{Map, Value, json};

use super::pattern::complain_of;
use super::shown::{short, shown};
use super::{Evaluator, LooksAt};
use crate::Assessment;
use crate::query_evidence::unmet;
use crate::view::View;

/// The state satisfies a query.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The query.
    pub matches: Query,
}

impl Evaluator for State {
    const TYPE: &'static str = "state";
    const ABOUT: &'static str = "The state satisfies a query.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const KEYS: &'static [Key] = &[Key::required(
        "matches",
        Form::SomeMap,
        "matches: {session.stage: done}",
        "The query, such as `{session.stage: done}`.",
    )];
    const PAGE: &'static str = "\
It is the state at the end of the step or turn: one map of scopes, in which `session.stage` is the key `stage` of the \
scope `session`.

```yaml
- type: state
  matches: {session.stage: done, session.tries: {$lte: 3}}
```";

    fn read(given: &mut Given<'_>) -> Self {
        let source = given.map("matches");
        if source.as_ref().is_some_and(Map::is_empty) {
            let complaint =
                Complaint::no_effect("always-true", At::Value("matches"), "an empty `matches` asks for nothing");
            given.complain(complaint.help("write, for example: {session.stage: done}"));
        }
        let source = Value::Object(source.unwrap_or_default());
        let matches = Query::parse(&source).unwrap_or_else(|error| {
            complain_of(given, "matches", &error);
            Query::parse(&json!({})).expect("the empty query is one")
        });
        Self { matches }
    }

    fn detail(&self) -> String {
        short(&rehearsal_core::json::text(self.matches.source()))
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let last = view.last_seq();
        let state = view.ledger.state_at(last).to_value();
        let before = view.ledger.events().iter().take_while(|event| event.seq <= last);
        let changed = before.filter(|event| !event.body.changes().is_empty()).last().map(|event| event.seq);
        let missed = unmet(&self.matches, &state, str::to_owned);
        if missed.is_empty() {
            let message = format!("the state matches {}", shown(Some(self.matches.source())));
            return MetricResult::from_pass(true).because_of(message, changed).into();
        }
        let message = format!("the state does not match: {}", missed.join("; "));
        let mut result = MetricResult::from_pass(false).because_of(message, changed);
        for (path, scope) in misplaced(self.matches.source(), &state) {
            result = result.because(format!("`{path}` is in the scope `{scope}`: write `{scope}.{path}`"));
        }
        // What calls find around them is nothing that the agent or a tool wrote.
        let mut state = state;
        if let Some(scopes) = state.as_object_mut() {
            scopes.shift_remove(SCENARIO);
        }
        result.because(format!("it is {}", shown(Some(&state)))).into()
    }
}

/// Paths of a query that lead nowhere, and the scope in which they would be found.
fn misplaced(query: &Value, state: &Value) -> Vec<(String, String)> {
    let (Some(asked), Some(scopes)) = (query.as_object(), state.as_object()) else { return Vec::new() };
    let mut found = Vec::new();
    for path in asked.keys().filter(|path| !path.starts_with('$')) {
        let first = path.split('.').next().unwrap_or_default();
        if scopes.contains_key(first) {
            continue;
        }
        let within = scopes.iter().find(|(_, values)| values.get(first).is_some());
        found.extend(within.map(|(scope, _)| (path.clone(), scope.clone())));
    }
    found
}
