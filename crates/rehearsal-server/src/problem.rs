//! What is wrong with a call, in words for whoever made it.

use std::fmt;

use rehearsal_core::Inconsistent;
use rehearsal_store::StoreError;
use serde_json::{Map, Value};

mod kind;

pub use kind::Kind;

/// Why a call was refused or failed: what was wrong, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// What kind of problem, as HTTP and gRPC have words for it.
    pub class: Class,
    /// Exactly which problem it is.
    pub kind: Kind,
    /// What was wrong and what to do.
    pub detail: String,
    /// More that a program can use.
    pub extra: Map<String, Value>,
}

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The call is not one as HTTP has them.
    Malformed,
    /// What was sent is not valid.
    Invalid,
    /// The caller did not say who they are.
    Unauthorized,
    /// The caller may not do this from where they are.
    Forbidden,
    /// There is no such thing.
    NotFound,
    /// The thing is there, but this cannot be done with it.
    NoSuchMethod,
    /// It contradicts what has happened.
    Conflict,
    /// What the caller waits for will not come any more.
    Gone,
    /// It is larger than what is taken.
    TooLarge,
    /// It comes more slowly than is waited for.
    TooSlow,
    /// There is too much of it right now.
    Busy,
    /// The store cannot be used right now.
    Unavailable,
    /// Something is wrong here.
    Internal,
}

impl Class {
    /// The status code of HTTP.
    pub fn status(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Invalid => 422,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::NoSuchMethod => 405,
            Self::Conflict => 409,
            Self::Gone => 410,
            Self::TooLarge => 413,
            Self::TooSlow => 408,
            Self::Busy => 429,
            Self::Unavailable => 503,
            Self::Internal => 500,
        }
    }
}

impl Problem {
    /// A problem with nothing more to say.
    pub fn new(class: Class, kind: Kind, detail: impl Into<String>) -> Self {
        Self { class, kind, detail: detail.into(), extra: Map::new() }
    }

    /// What was sent is not valid.
    pub fn invalid(kind: Kind, detail: impl Into<String>) -> Self {
        Self::new(Class::Invalid, kind, detail)
    }

    /// There is no such thing.
    pub fn not_found(what: &str, id: impl fmt::Display) -> Self {
        Self::new(Class::NotFound, Kind::NotFound, format!("there is no {what} `{id}`"))
    }

    /// It contradicts what has happened.
    pub fn conflict(kind: Kind, detail: impl Into<String>) -> Self {
        Self::new(Class::Conflict, kind, detail)
    }

    /// The same problem with something more that a program can use.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(key.to_owned(), value.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let detail = error.to_string();
        match error {
            StoreError::NotFound { .. } => Self::new(Class::NotFound, Kind::NotFound, detail),
            StoreError::Moved { .. } => Self::new(Class::Busy, Kind::Busy, format!("{detail}; try again")),
            StoreError::Exists { .. } => Self::conflict(Kind::Exists, detail),
            StoreError::Refused(_) => Self::conflict(Kind::Refused, detail),
            StoreError::Full(_) => Self::new(Class::Unavailable, Kind::DiskFull, detail),
            StoreError::Locked(_) => Self::new(Class::Unavailable, Kind::StoreLocked, detail),
            StoreError::Unavailable { .. } => Self::new(Class::Unavailable, Kind::StoreUnavailable, detail),
            _ => Self::new(Class::Internal, Kind::Internal, detail),
        }
    }
}

impl From<Inconsistent> for Problem {
    fn from(error: Inconsistent) -> Self {
        let kind = match error {
            Inconsistent::Ended => Kind::SessionEnded,
            Inconsistent::DuplicateCall { .. } => Kind::DuplicateCall,
            Inconsistent::UnknownCall { .. } => Kind::UnknownCall,
            Inconsistent::AnsweredCall { .. } => Kind::AnsweredCall,
            Inconsistent::AnsweredTurn { .. } => Kind::Answered,
            _ => Kind::Contradiction,
        };
        Self::conflict(kind, error.to_string())
    }
}
