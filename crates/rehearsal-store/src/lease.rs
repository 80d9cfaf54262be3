//! Leases: how long somebody who writes to a store counts as alive without a heartbeat.
//!
//! Whoever sends heartbeats and whoever looks for those who are gone must mean the same time, so it stands here.

use std::time::Duration;

/// A cue of a run whose asker was seen within this time is never abandoned, however impatient the server is.
pub const CUE_GRACE: Duration = Duration::from_secs(15);

/// A run that was not seen for so long is not waited for: its process has gone, or cannot reach the store.
pub const RUN_SILENT_AFTER: Duration = Duration::from_secs(45);

/// A run that was not seen for so long has gone without a word.
pub const RUN_GONE_AFTER: Duration = Duration::from_mins(10);
