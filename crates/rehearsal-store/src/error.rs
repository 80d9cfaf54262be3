//! What can go wrong when something is kept.

use rehearsal_core::SessionId;

/// Why something was not kept or not found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else wrote to the session first. Read what they wrote and decide again.
    #[error("session `{session}` has gone on: its last event is {last_seq}")]
    Moved {
        /// The session.
        session: SessionId,
        /// Its last event now.
        last_seq: u64,
    },
    /// No such thing is kept.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What kind of thing.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A thing with this id is kept already.
    #[error("there is a {what} `{id}` already")]
    Exists {
        /// What kind of thing.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// It would break a rule that always holds of what is kept.
    #[error("{0}")]
    Refused(String),
    /// The disk is full.
    #[error(
        "the disk is full: nothing was written, and nothing that was written is lost; free some space and try again ({0})"
    )]
    Full(String),
    /// Another program holds the database.
    #[error(
        "the database is locked by another program: nothing was written; end that program or use another --store ({0})"
    )]
    Locked(String),
    /// The database cannot be opened or reached.
    #[error("the store {place} cannot be used: {why}")]
    Unavailable {
        /// Which store; without any password.
        place: String,
        /// Why, and what to do.
        why: String,
    },
    /// What is kept cannot be read.
    #[error("the store holds something that cannot be read: {0}")]
    Corrupt(String),
}

impl StoreError {
    /// The same again, for everybody whose write was undone together.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Full(why) => Self::Full(why.clone()),
            Self::Locked(why) => Self::Locked(why.clone()),
            Self::Corrupt(why) => Self::Corrupt(why.clone()),
            Self::Unavailable { place, why } => Self::Unavailable { place: place.clone(), why: why.clone() },
            other => Self::Corrupt(other.to_string()),
        }
    }
}
