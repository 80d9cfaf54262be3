//! Reading and changing state from tools, mocks and steps.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rehearsal_core::{SESSION, State, StatePatch};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// State as one call sees it: the session's state when the call began, and the call's own changes.
///
/// Changes reach the session when the call is answered, in call order, whichever call finishes first.
///
/// ```
/// use rehearsal_agent::StateAccess;
/// use rehearsal_core::State;
///
/// let state = StateAccess::new(State::default());
/// assert_eq!(state.get::<u32>("turn"), None);
/// state.set("turn", 1);
/// assert_eq!(state.get::<u32>("turn"), Some(1));
/// state.scope("patient").set("age", 55);
/// assert_eq!(state.scope("patient").get::<u32>("age"), Some(55));
/// ```
#[derive(Clone)]
pub struct StateAccess {
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    state: State,
    changes: Vec<StatePatch>,
}

impl StateAccess {
    /// Access to a state.
    pub fn new(state: State) -> Self {
        Self { inner: Arc::new(Mutex::new(Inner { state, changes: Vec::new() })) }
    }

    /// One value of the session scope. A value of another type counts as missing.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        self.scope(SESSION).get(key)
    }

    /// Makes one value of the session scope exactly this; null removes it.
    ///
    /// # Panics
    /// The value cannot be written as JSON.
    pub fn set(&self, key: &str, value: impl Serialize) {
        self.scope(SESSION).set(key, value);
    }

    /// Access to one scope.
    pub fn scope<'a>(&'a self, scope: &'a str) -> ScopeAccess<'a> {
        ScopeAccess { access: self, scope }
    }

    /// Merges a patch into the state.
    pub fn merge(&self, patch: StatePatch) {
        let mut inner = self.lock();
        inner.state.apply(&patch);
        inner.record(patch);
    }

    /// The state as it is now, with the call's own changes.
    pub fn snapshot(&self) -> State {
        self.lock().state.clone()
    }

    /// The changes made so far, in order.
    pub fn changes(&self) -> Vec<StatePatch> {
        self.lock().changes.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic in user code between two changes leaves both maps whole, so the lock's poison means nothing.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn record(&mut self, patch: StatePatch) {
        let rest = match self.changes.last_mut() {
            Some(last) => last.absorb(patch),
            None => Some(patch),
        };
        self.changes.extend(rest);
    }
}

impl fmt::Debug for StateAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StateAccess").field(&self.lock().state).finish()
    }
}

/// Access to one scope of state.
#[derive(Clone, Copy, Debug)]
pub struct ScopeAccess<'a> {
    access: &'a StateAccess,
    scope: &'a str,
}

impl ScopeAccess<'_> {
    /// One value. A value of another type counts as missing.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let inner = self.access.lock();
        T::deserialize(inner.state.get(self.scope, key)?).ok()
    }

    /// Makes one value exactly this; null removes it.
    ///
    /// # Panics
    /// The value cannot be written as JSON, such as a map whose keys are not text.
    pub fn set(&self, key: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).expect("state holds values that can be written as JSON");
        let mut inner = self.access.lock();
        let patch = StatePatch::replacing(&inner.state, self.scope, key, value);
        inner.state.apply(&patch);
        inner.record(patch);
    }

    /// Removes one value.
    pub fn remove(&self, key: &str) {
        self.set(key, Value::Null);
    }
}
