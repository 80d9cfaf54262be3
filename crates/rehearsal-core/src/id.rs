//! Ids that cannot be swapped, and the one place they come from.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes any text as an id.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

id_type! {
    /// One agent's conversation.
    SessionId
}
id_type! {
    /// One model request and its response.
    TurnId
}
id_type! {
    /// One tool call; unique in its session.
    CallId
}
id_type! {
    /// One execution of one agent, as a readable path: `triage/2/assistant`.
    ///
    /// The path says where in the tree of agents the execution stands and which round of a loop it is in,
    /// so it is the same whether a session ran straight through or was resumed from its ledger.
    InvocationId
}

impl InvocationId {
    /// Marks the part of a path below which an agent works on its own, hidden from the conversation around it.
    const CHILD_MARK: char = '@';

    /// The path of an execution that stands in no other one.
    pub fn root(step: impl fmt::Display) -> Self {
        Self::new(escaped(&step.to_string()))
    }

    /// The path one step further down.
    #[must_use]
    pub fn child(&self, step: impl fmt::Display) -> Self {
        Self::new(format!("{}/{}", self.0, escaped(&step.to_string())))
    }

    /// The path of an agent that is used as a tool, by the call that uses it.
    #[must_use]
    pub fn agent_tool(&self, call: &CallId) -> Self {
        Self::new(format!("{}/{}{call}", self.0, Self::CHILD_MARK))
    }

    /// Whether `self` is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.strip_prefix(&*other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The part of the path that ends with the innermost agent used as a tool: executions with the same
    /// enclosure see each other's messages.
    pub fn enclosure(&self) -> &str {
        // Asked of every event whenever a model's view is built, and most paths have no mark at all.
        if !self.0.as_bytes().contains(&b'@') {
            return "";
        }
        match self.0.rfind("/@") {
            None => "",
            Some(at) => {
                let end = self.0[at + 1..].find('/').map_or(self.0.len(), |n| at + 1 + n);
                &self.0[..end]
            }
        }
    }
}

/// A step of a path in which nothing is taken for a border between steps or for a mark.
fn escaped(step: &str) -> String {
    step.replace('%', "%25").replace('/', "%2F").replace('@', "%40")
}

/// Where ids come from: a seed, so that the same run gives the same ids.
///
/// Ids are derived from what they name rather than drawn from a counter, so neither parallelism nor
/// resuming in another process changes them.
///
/// ```
/// use rehearsal_core::Ids;
///
/// let ids = Ids::seeded(7);
/// assert_eq!(ids.session("triage", 0), Ids::seeded(7).session("triage", 0));
/// assert_ne!(ids.session("triage", 0), ids.session("triage", 1));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ids {
    seed: u64,
}

impl Ids {
    /// Ids that repeat for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self { seed }
    }

    /// Ids that no other process will give out.
    pub fn random() -> Self {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place where ids may start from chance"
        )]
        let entropy = Uuid::new_v4().as_u64_pair();
        Self { seed: entropy.0 ^ entropy.1 }
    }

    /// A session id for the `number`-th session that goes by `name`.
    pub fn session(&self, name: &str, number: u64) -> SessionId {
        SessionId::new(self.uuid(&[name], number).to_string())
    }

    /// The id of the `round`-th model turn of an invocation.
    pub fn turn(&self, session: &SessionId, invocation: &InvocationId, round: u64) -> TurnId {
        TurnId::new(self.uuid(&[session.as_str(), invocation.as_str()], round).to_string())
    }

    /// The id of the `index`-th call of a model turn. Short and plain, because providers limit both.
    pub fn call(&self, turn: &TurnId, index: usize) -> CallId {
        let (high, _) = self.uuid(&[turn.as_str(), "call"], index as u64).as_u64_pair();
        CallId::new(format!("call_{high:016x}"))
    }

    fn uuid(self, names: &[&str], number: u64) -> Uuid {
        let low = digest(self.seed, names, number);
        let high = digest(low ^ 0x9e37_79b9_7f4a_7c15, names, number);
        let mut bytes = [0u8; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }
}

/// Mixes a seed, some names and a number into 64 bits that are the same on every machine.
pub(crate) fn digest(seed: u64, names: &[&str], number: u64) -> u64 {
    let mut hash = mix(seed ^ 0xcbf2_9ce4_8422_2325);
    for name in names {
        for chunk in name.as_bytes().chunks(8) {
            let mut word = [0u8; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = mix(hash ^ u64::from_le_bytes(word));
        }
        hash = mix(hash ^ name.len() as u64);
    }
    mix(hash ^ number)
}

/// The finaliser of `SplitMix64`.
fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_by_every_thing_they_name() {
        let ids = Ids::seeded(1);
        let session = ids.session("a", 0);
        let all = [
            ids.turn(&session, &"x".into(), 0),
            ids.turn(&session, &"x".into(), 1),
            ids.turn(&session, &"y".into(), 0),
            Ids::seeded(2).turn(&session, &"x".into(), 0),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn session_ids_have_the_shape_of_uuid_v4() {
        let id = Ids::seeded(3).session("triage", 4);
        assert_eq!(Uuid::parse_str(id.as_str()).unwrap().get_version_num(), 4);
    }

    #[test]
    fn an_invocation_is_within_itself_and_its_parents_only() {
        let path = InvocationId::from("triage/2/assistant");
        assert!(path.is_within(&"triage/2".into()));
        assert!(path.is_within(&path));
        assert!(!path.is_within(&"triage/2/ass".into()));
        assert!(!InvocationId::from("triage/20").is_within(&"triage/2".into()));
    }

    #[test]
    fn names_cannot_pretend_to_be_paths() {
        let path = InvocationId::root("a/@b").child("@bot");
        assert_eq!(path.as_str(), "a%2F%40b/%40bot");
        assert_eq!(path.enclosure(), "");
        assert_eq!(path.agent_tool(&"call_1".into()).child("x").enclosure(), "a%2F%40b/%40bot/@call_1");
    }

    #[test]
    fn the_enclosure_ends_at_the_innermost_agent_tool() {
        assert_eq!(InvocationId::from("a/b").enclosure(), "");
        assert_eq!(InvocationId::from("a/@call_1/b/0").enclosure(), "a/@call_1");
        assert_eq!(InvocationId::from("a/@call_1/b/@call_2").enclosure(), "a/@call_1/b/@call_2");
    }
}
