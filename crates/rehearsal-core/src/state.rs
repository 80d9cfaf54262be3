//! State: JSON documents by scope, changed by merge patches.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The scope that belongs to one conversation.
pub const SESSION: &str = "session";
/// The scope that belongs to the user across conversations.
pub const USER: &str = "user";
/// The scope in which a scenario keeps what calls find around them.
pub const SCENARIO: &str = "scenario";

/// State by scope. Cloning is cheap: scopes are shared until one is changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct State {
    scopes: BTreeMap<Arc<str>, Arc<Map<String, Value>>>,
}

impl State {
    /// Reads state from an object of scopes: `{"session": {…}, "patient": {…}}`.
    ///
    /// # Errors
    /// The value, or one of its scopes, is not an object.
    pub fn from_value(value: Value) -> Result<Self, NotAnObject> {
        let patch = StatePatch::from_value(value)?;
        let mut state = Self::default();
        for (scope, fields) in patch.scopes {
            state.scopes.insert(scope, Arc::new(fields));
        }
        Ok(state)
    }

    /// One scope's document; empty when nothing was ever put there.
    pub fn scope(&self, scope: &str) -> &Map<String, Value> {
        static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
        self.scopes.get(scope).map_or(&EMPTY, |fields| fields)
    }

    /// Whether anything was ever put into a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.contains_key(scope)
    }

    /// The names of the scopes.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.keys().map(|name| &**name)
    }

    /// One value.
    pub fn get(&self, scope: &str, key: &str) -> Option<&Value> {
        self.scope(scope).get(key)
    }

    /// Applies a patch.
    pub fn apply(&mut self, patch: &StatePatch) {
        for (scope, changes) in &patch.scopes {
            let fields = Arc::make_mut(self.scopes.entry(scope.clone()).or_default());
            merge_fields(fields, changes);
        }
    }

    /// All scopes as one JSON object.
    pub fn to_value(&self) -> Value {
        let scopes = self.scopes.iter();
        Value::Object(
            scopes.map(|(name, fields)| (name.to_string(), Value::Object((**fields).clone()))).collect(),
        )
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }
}

/// A change of state: a JSON Merge Patch (RFC 7396) for each scope it touches.
///
/// ```
/// use rehearsal_core::{State, StatePatch};
/// use serde_json::json;
///
/// let mut state = State::from_value(json!({"patient": {"age": 55, "smoker": true}}))?;
/// state.apply(&StatePatch::from_value(json!({"patient": {"age": 56, "smoker": null}}))?);
/// assert_eq!(state.to_value(), json!({"patient": {"age": 56}}));
/// # Ok::<(), rehearsal_core::NotAnObject>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StatePatch {
    scopes: BTreeMap<Arc<str>, Map<String, Value>>,
}

impl StatePatch {
    /// Reads a patch from an object of scopes.
    ///
    /// # Errors
    /// The value, or one of its scopes, is not an object.
    pub fn from_value(value: Value) -> Result<Self, NotAnObject> {
        let Value::Object(scopes) = value else { return Err(NotAnObject { scope: None }) };
        let mut patch = Self::default();
        for (scope, fields) in scopes {
            match fields {
                Value::Object(fields) => patch.scopes.insert(scope.into(), fields),
                _ => return Err(NotAnObject { scope: Some(scope) }),
            };
        }
        Ok(patch)
    }

    /// A patch that makes one value in one scope.
    pub fn one(scope: &str, key: &str, value: Value) -> Self {
        let fields = Map::from_iter([(key.to_owned(), value)]);
        Self { scopes: BTreeMap::from([(scope.into(), fields)]) }
    }

    /// The patch that makes `key` exactly `value` in `state`, where a plain patch would merge objects.
    pub fn replacing(state: &State, scope: &str, key: &str, value: Value) -> Self {
        let patch = match (state.get(scope, key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => Value::Object(difference(old, new)),
            (_, new) => new,
        };
        Self::one(scope, key, patch)
    }

    /// The patch that makes a scope exactly `new` where it is `old`. Neither may hold what is null in an object: see
    /// [`strip_nulls`].
    pub fn between(scope: &str, old: &Map<String, Value>, new: Map<String, Value>) -> Self {
        Self { scopes: BTreeMap::from([(scope.into(), difference(old, new))]) }
    }

    /// Takes a later patch into this one where both touch different keys; where they touch the same key, which
    /// a merge patch cannot express in general, gives it back.
    pub fn absorb(&mut self, later: Self) -> Option<Self> {
        let collides = later.scopes.iter().any(|(scope, changes)| {
            self.scopes.get(scope).is_some_and(|fields| changes.keys().any(|key| fields.contains_key(key)))
        });
        if collides {
            return Some(later);
        }
        for (scope, changes) in later.scopes {
            self.scopes.entry(scope).or_default().extend(changes);
        }
        None
    }

    /// The scopes it touches, with the patch of each.
    pub fn scopes(&self) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
        self.scopes.iter().map(|(name, fields)| (&**name, fields))
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.scopes.values().all(Map::is_empty)
    }

    /// The places where this patch and a later one set different values: the later one wins there.
    pub fn conflicts_with(&self, later: &Self) -> Vec<Overwrite> {
        let mut found = Vec::new();
        for (scope, changes) in &later.scopes {
            if let Some(earlier) = self.scopes.get(scope) {
                overwrites(scope, &mut Vec::new(), earlier, changes, &mut found);
            }
        }
        found
    }
}

/// A value that one change set and a later change of the same yield set differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overwrite {
    /// The scope.
    pub scope: Arc<str>,
    /// The keys that lead to the value.
    pub path: Vec<String>,
    /// What the earlier change set; null where it removed the value.
    pub lost: Value,
    /// What the later change set; null where it removed the value.
    pub kept: Value,
}

/// State and patches are objects of scopes, each an object.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", match scope {
    None => "state must be an object of scopes, such as {\"session\": {…}}".to_owned(),
    Some(scope) => format!("state scope `{scope}` must be an object"),
})]
pub struct NotAnObject {
    /// The scope that is not an object; nothing where the whole is not.
    pub scope: Option<String>,
}

/// Merges `patch` into `target` as RFC 7396 says.
///
/// ```
/// let mut target = serde_json::json!({"a": {"b": 1, "c": 2}});
/// rehearsal_core::merge_patch(&mut target, &serde_json::json!({"a": {"b": null, "d": 3}}));
/// assert_eq!(target, serde_json::json!({"a": {"c": 2, "d": 3}}));
/// ```
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Value::Object(fields) = target {
        merge_fields(fields, changes);
    }
}

fn merge_fields(fields: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (key, change) in changes {
        match change {
            // Removing keeps the order of what stays: `remove` on an ordered map would swap the last one in.
            Value::Null => drop(fields.shift_remove(key)),
            Value::Object(_) => merge_patch(fields.entry(key.clone()).or_insert(Value::Null), change),
            other => drop(fields.insert(key.clone(), other.clone())),
        }
    }
}

/// Takes out what is null: a merge patch has no other word for absent.
pub fn strip_nulls(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| {
        if let Value::Object(fields) = value {
            strip_nulls(fields);
        }
        !value.is_null()
    });
}

fn difference(old: &Map<String, Value>, mut new: Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for (key, value) in old {
        match (value, new.shift_remove(key)) {
            (_, None) => drop(patch.insert(key.clone(), Value::Null)),
            (old, Some(new)) if *old == new => {}
            (Value::Object(old), Some(Value::Object(new))) => {
                patch.insert(key.clone(), Value::Object(difference(old, new)));
            }
            (_, Some(new)) => drop(patch.insert(key.clone(), new)),
        }
    }
    patch.extend(new);
    patch
}

fn overwrites(
    scope: &Arc<str>,
    path: &mut Vec<String>,
    earlier: &Map<String, Value>,
    later: &Map<String, Value>,
    found: &mut Vec<Overwrite>,
) {
    for (key, kept) in later {
        let Some(lost) = earlier.get(key) else { continue };
        path.push(key.clone());
        match (lost, kept) {
            (Value::Object(lost), Value::Object(kept)) => overwrites(scope, path, lost, kept, found),
            (lost, kept) if lost == kept => {}
            (lost, kept) => found.push(Overwrite {
                scope: scope.clone(),
                path: path.clone(),
                lost: lost.clone(),
                kept: kept.clone(),
            }),
        }
        path.pop();
    }
}
