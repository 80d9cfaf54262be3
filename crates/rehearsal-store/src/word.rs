//! Enums as text: the words that stand for them in the database.

use rehearsal_core::SessionPart;

use crate::db::odd;
use crate::{
    CueKind, CueStatus, Payload, RunStatus, RunWish, SessionSource, SessionStatus, StoreError, WorkKind,
};

/// An enum that is kept as a word.
pub(crate) trait Word: Copy + Sized + 'static {
    const ALL: &'static [(Self, &'static str)];

    fn read(text: &str) -> Result<Self, StoreError> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text);
        found
            .map(|(value, _)| *value)
            .ok_or_else(|| odd(format!("the word `{text}`, which this version does not know")))
    }

    fn word(self) -> &'static str
    where
        Self: PartialEq,
    {
        Self::ALL.iter().find(|(value, _)| *value == self).map_or("", |(_, word)| word)
    }
}

impl Word for SessionStatus {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Active, "active"), (Self::Completed, "completed"), (Self::Cancelled, "cancelled")];
}

impl Word for SessionSource {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Api, "api"), (Self::Adksim, "adksim"), (Self::Run, "run"), (Self::Import, "import")];
}

impl Word for SessionPart {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Main, "main"), (Self::User, "user"), (Self::Judge, "judge")];
}

impl Word for Payload {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Request, "request"), (Self::Response, "response"), (Self::Other, "other")];
}

impl Word for RunStatus {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Running, "running"),
        (Self::Passed, "passed"),
        (Self::Failed, "failed"),
        (Self::Error, "error"),
        (Self::Interrupted, "interrupted"),
    ];
}

impl Word for RunWish {
    const ALL: &'static [(Self, &'static str)] = &[(Self::Hold, "hold"), (Self::Stop, "stop")];
}

impl Word for WorkKind {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Run, "run"), (Self::Cancel, "cancel"), (Self::Export, "export")];
}

impl Word for CueKind {
    const ALL: &'static [(Self, &'static str)] =
        &[(Self::Model, "model"), (Self::Tool, "tool"), (Self::User, "user")];
}

impl Word for CueStatus {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Open, "open"),
        (Self::Abandoned, "abandoned"),
        (Self::Answered, "answered"),
        (Self::Dismissed, "dismissed"),
    ];
}
