//! The words for problems, which are part of the HTTP API.

use std::fmt;

/// Lists the kinds with their words once: what is decided here by a kind cannot misspell it, and what is told to a program
/// is its word.
macro_rules! kinds {
    ($($kind:ident = $word:literal,)*) => {
        /// Exactly which problem it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Kind {
            $(#[doc = concat!("`", $word, "`.")] $kind,)*
        }

        impl Kind {
            /// All of them, in the order of their words.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The word that programs read, such as `not_the_head`.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }
    };
}

kinds! {
    AgentChosen = "agent_chosen",
    AgentGone = "agent_gone",
    Answered = "answered",
    AnsweredCall = "answered_call",
    Busy = "busy",
    Closing = "closing",
    Contradiction = "contradiction",
    Corrupt = "corrupt",
    DiskFull = "disk_full",
    Dismissed = "dismissed",
    DuplicateCall = "duplicate_call",
    EmptyChunk = "empty_chunk",
    EmptyQuery = "empty_query",
    Exists = "exists",
    ExportFailed = "export_failed",
    ForeignOrigin = "foreign_origin",
    HostOffline = "host_offline",
    HostSilent = "host_silent",
    Internal = "internal",
    InvalidAgentName = "invalid_agent_name",
    InvalidAnswer = "invalid_answer",
    InvalidBody = "invalid_body",
    InvalidId = "invalid_id",
    InvalidKey = "invalid_key",
    InvalidLedger = "invalid_ledger",
    InvalidPageToken = "invalid_page_token",
    InvalidParameters = "invalid_parameters",
    InvalidPath = "invalid_path",
    InvalidPayload = "invalid_payload",
    InvalidQuery = "invalid_query",
    InvalidSchema = "invalid_schema",
    InvalidState = "invalid_state",
    InvalidUpload = "invalid_upload",
    NoAgent = "no_agent",
    NoFinalResponse = "no_final_response",
    NoHost = "no_host",
    NoPage = "no_page",
    NoSuchCall = "no_such_call",
    NoSuchMethod = "no_such_method",
    NobodyWaits = "nobody_waits",
    NotExportable = "not_exportable",
    NotFound = "not_found",
    NotJson = "not_json",
    NotRecorded = "not_recorded",
    NotRegistered = "not_registered",
    NotRunnable = "not_runnable",
    NotTheHead = "not_the_head",
    OfARun = "of_a_run",
    OtherAnswer = "other_answer",
    OtherPayload = "other_payload",
    OtherTool = "other_tool",
    Refused = "refused",
    RunEnded = "run_ended",
    RunGone = "run_gone",
    RunStopping = "run_stopping",
    Running = "running",
    Schema = "schema",
    SessionEnded = "session_ended",
    StoreLocked = "store_locked",
    StoreUnavailable = "store_unavailable",
    TooLarge = "too_large",
    TooManyStreams = "too_many_streams",
    TooManyTurns = "too_many_turns",
    TooSlow = "too_slow",
    TwoHosts = "two_hosts",
    Unauthorized = "unauthorized",
    UnknownCall = "unknown_call",
    UnknownHost = "unknown_host",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_a_word_of_its_own_that_says_its_name() {
        let words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.word()).collect();
        assert!(words.is_sorted_by(|a, b| a < b), "{words:?}");
        for kind in Kind::ALL {
            assert_eq!(kind.word().replace('_', ""), format!("{kind:?}").to_lowercase());
        }
    }
}
