//! The notes that a scenario writes on the ledger beside the conversation.

/// The name of the note that says which limit ended a run.
pub(crate) const TIME_LIMIT: &str = "time_limit";
/// The name of the note that says where the folder of a run is, when it stays.
pub(crate) const FOLDER_KEPT: &str = "folder_kept";
