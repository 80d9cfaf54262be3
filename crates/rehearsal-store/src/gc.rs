//! What to remove.

/// Which runs and sessions are old enough to go. Active sessions and those with open cues stay,
/// unless what is unfinished goes too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcPolicy {
    /// Removes what ended before this moment, in milliseconds since 1970.
    pub before: Option<i64>,
    /// Keeps only so many of the newest runs, and so many of the newest ended sessions that belong to no run.
    pub keep: Option<u32>,
    /// Also removes what never came to an end: sessions that are still active though nothing happened in them since
    /// `before`, and runs with such sessions. What waits for somebody who is there stays. Needs `before`.
    pub unfinished: bool,
    /// Only counts what would go.
    pub dry_run: bool,
}
