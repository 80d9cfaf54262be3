//! Ids that join calls to their responses, for APIs that insist on them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rehearsal_core::{Content, FunctionCall, FunctionResponse};

use super::WireError;

/// Gives an id to calls that have none, and the same one to their responses.
///
/// Calls are numbered as they come, `call_0` first, so the same conversation always gives the same ids. A
/// response without an id answers the first open call of its tool.
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    taken: BTreeSet<String>,
    made: usize,
    open: Vec<(String, String)>,
}

impl CallIds {
    /// The ids for a conversation.
    pub(crate) fn of(contents: &[Arc<Content>]) -> Self {
        let calls = contents.iter().flat_map(|content| content.calls());
        Self { taken: calls.filter_map(|call| own_id(call.id.as_ref())).collect(), ..Self::default() }
    }

    /// The id of the next call.
    pub(crate) fn call(&mut self, call: &FunctionCall) -> String {
        let id = own_id(call.id.as_ref()).unwrap_or_else(|| self.fresh());
        self.made += 1;
        self.open.push((call.name.clone(), id.clone()));
        id
    }

    /// The id of the call that the next response answers.
    pub(crate) fn response(&mut self, response: &FunctionResponse) -> Result<String, WireError> {
        if let Some(id) = own_id(response.id.as_ref()) {
            self.open.retain(|(_, open)| *open != id);
            return Ok(id);
        }
        let same_tool = self.open.iter().position(|(name, _)| *name == response.name);
        let position = same_tool.or(if response.name.is_empty() { Some(0) } else { None });
        match position.filter(|position| *position < self.open.len()) {
            Some(position) => Ok(self.open.remove(position).1),
            None => Err(WireError::unsupported(format!(
                "the result of `{}` has no id, and no call of that tool is open",
                response.name
            ))),
        }
    }

    fn fresh(&self) -> String {
        let plain = format!("call_{}", self.made);
        if !self.taken.contains(&plain) {
            return plain;
        }
        let numbered = (1..).map(|number| format!("{plain}_{number}"));
        numbered.into_iter().find(|id| !self.taken.contains(id)).expect("there are more numbers than ids")
    }
}

/// The ids for the calls of one response.
pub(crate) fn of_response(content: &Content) -> Vec<String> {
    let mut ids = CallIds {
        taken: content.calls().filter_map(|call| own_id(call.id.as_ref())).collect(),
        ..CallIds::default()
    };
    content.calls().map(|call| ids.call(call)).collect()
}

/// An id that is not empty, as the core keeps it.
pub(crate) fn given(id: Option<&str>) -> Option<rehearsal_core::CallId> {
    id.filter(|id| !id.is_empty()).map(rehearsal_core::CallId::from)
}

/// Remembers which tool a call id belongs to, for APIs whose results do not say.
#[derive(Debug, Default)]
pub(crate) struct ToolNames(BTreeMap<String, String>);

impl ToolNames {
    pub(crate) fn note(&mut self, id: &str, name: &str) {
        self.0.insert(id.to_owned(), name.to_owned());
    }

    pub(crate) fn of(&self, id: &str) -> String {
        self.0.get(id).cloned().unwrap_or_default()
    }
}

fn own_id(id: Option<&rehearsal_core::CallId>) -> Option<String> {
    id.map(|id| id.as_str().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use rehearsal_core::{Part, Role};
    use serde_json::json;

    use super::*;

    #[test]
    fn responses_get_the_ids_of_their_calls_whatever_their_order() {
        let mut named = FunctionCall::new("b", json!({}));
        named.id = Some("call_0".into());
        let calls = [FunctionCall::new("a", json!({})), named, FunctionCall::new("a", json!({}))];
        let contents = [Arc::new(Content::new(Role::Model, calls.iter().cloned().map(Part::from).collect()))];
        let mut ids = CallIds::of(&contents);
        let given: Vec<_> = calls.iter().map(|call| ids.call(call)).collect();
        assert_eq!(given, ["call_0_1", "call_0", "call_2"]);

        let answer = |id: Option<&str>, name: &str| FunctionResponse::new(id.map(Into::into), name, json!(1));
        assert_eq!(ids.response(&answer(None, "a")).unwrap(), "call_0_1");
        assert_eq!(ids.response(&answer(Some("call_0"), "b")).unwrap(), "call_0");
        assert_eq!(ids.response(&answer(None, "a")).unwrap(), "call_2");
        assert!(ids.response(&answer(None, "a")).is_err());
    }
}
