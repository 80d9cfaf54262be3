//! State as ADK writes it: one flat object whose keys carry their scope.

use rehearsal_core::{SESSION, State};
use serde_json::{Map, Value};

/// The prefixes that ADK knows as scopes that outlive a session.
const PREFIXES: [&str; 2] = ["user", "app"];

/// State in ADK's flat form: keys of the session as they are, keys of other scopes after the scope's name and a colon.
///
/// ```
/// use rehearsal_core::State;
/// use serde_json::{Value, json};
///
/// let state = State::from_value(json!({"session": {"a": 1}, "user": {"b": 2}}))?;
/// assert_eq!(Value::Object(rehearsal_adk::flat_state(&state)), json!({"a": 1, "user:b": 2}));
/// # Ok::<(), rehearsal_core::NotAnObject>(())
/// ```
pub fn flat_state(state: &State) -> Map<String, Value> {
    let mut flat = state.scope(SESSION).clone();
    for scope in state.scopes().filter(|scope| *scope != SESSION) {
        for (key, value) in state.scope(scope) {
            flat.insert(format!("{scope}:{key}"), value.clone());
        }
    }
    flat
}

/// ADK's flat form as an object of scopes. `user:` and `app:` are scopes of their own; every other key belongs to the
/// session, as it does to ADK.
///
/// ```
/// use serde_json::json;
///
/// let flat = json!({"a": 1, "user:b": 2}).as_object().cloned().unwrap_or_default();
/// assert_eq!(rehearsal_adk::scoped_state(&flat), json!({"session": {"a": 1}, "user": {"b": 2}}));
/// ```
pub fn scoped_state(flat: &Map<String, Value>) -> Value {
    let mut scopes = Map::new();
    for (key, value) in flat {
        let (scope, key) = scope_and_key(key);
        let fields = scopes.entry(scope).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(fields) = fields {
            fields.insert(key.to_owned(), value.clone());
        }
    }
    Value::Object(scopes)
}

/// Where a key of the flat form stands.
pub(crate) fn scope_and_key(key: &str) -> (&str, &str) {
    match key.split_once(':') {
        Some((scope, key)) if PREFIXES.contains(&scope) => (scope, key),
        _ => (SESSION, key),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scopes_of_adk_survive_the_way_out_and_in() {
        let scopes =
            json!({"app": {"z": null}, "session": {"a": 1, "temp:x": 2, "cart:y": {}}, "user": {"b": [3]}});
        let state = State::from_value(scopes.clone()).unwrap();
        let flat = flat_state(&state);
        assert_eq!(
            Value::Object(flat.clone()),
            json!({"a": 1, "temp:x": 2, "cart:y": {}, "app:z": null, "user:b": [3]})
        );
        assert_eq!(scoped_state(&flat), scopes);
    }
}
