//! State in ADK's flat form, in which a prefix names the scope.

use rehearsal_adk::scoped_state;
use rehearsal_core::{State, StatePatch};
use serde_json::{Map, Value};

use crate::{Kind, Problem};

/// State from ADK's flat form, in which a prefix names the scope.
pub(super) fn state_from_flat(flat: &Map<String, Value>) -> Result<State, Problem> {
    State::from_value(scoped_state(&without_temp(flat)))
        .map_err(|error| Problem::invalid(Kind::InvalidState, error.to_string()))
}

/// A change of state from ADK's flat form, in which a value replaces the one before it.
pub(super) fn patch_from_flat(state: &State, flat: &Map<String, Value>) -> StatePatch {
    let mut patch = StatePatch::default();
    let scopes = scoped_state(&without_temp(flat));
    let scopes = scopes.as_object().into_iter().flatten();
    for (scope, fields) in scopes {
        for (key, value) in fields.as_object().into_iter().flatten() {
            // Two patches of different keys always fit into one.
            let _none = patch.absorb(StatePatch::replacing(state, scope, key, value.clone()));
        }
    }
    patch
}

/// What is `temp:` is gone with the run: it is no state.
fn without_temp(flat: &Map<String, Value>) -> Map<String, Value> {
    flat.iter()
        .filter(|(key, _)| !key.starts_with("temp:"))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
