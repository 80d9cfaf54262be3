//! Visits: what a browser shows instead of the token.
//!
//! A browser sends a cookie to every port of a machine, whoever listens there. So the cookie is not the token: it opens
//! this server's page for a day, and cannot be used to learn the token. A visit is signed with a key made from the
//! token, so that a page outlives a restart of its server. What is kept are visits that were ended before their time.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rehearsal_core::Clock;
use ring::hmac;

use crate::ids::fresh;

/// How long a visit lasts.
pub(super) const LENGTH: Duration = Duration::from_hours(24);
/// What the key is for, so that no other use of the token gives the same one.
const PURPOSE: &[u8] = b"rehearsal visit 1";

/// Gives visits and knows its own.
pub(crate) struct Visits {
    key: hmac::Key,
    clock: Arc<dyn Clock>,
    /// Visits that were ended before their time, with the moment at which they would have ended anyway.
    ended: Mutex<BTreeMap<String, i64>>,
    /// Where they are kept, so that a restart of the server opens none of them again.
    file: Option<PathBuf>,
}

impl std::fmt::Debug for Visits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Visits").finish_non_exhaustive()
    }
}

impl Visits {
    pub(crate) fn new(token: &str, clock: Arc<dyn Clock>, file: Option<PathBuf>) -> Self {
        let of_token = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
        let own = hmac::sign(&of_token, PURPOSE);
        let ended = file.as_deref().map(kept).unwrap_or_default();
        let key = hmac::Key::new(hmac::HMAC_SHA256, own.as_ref());
        Self { key, clock, ended: Mutex::new(ended), file }
    }

    /// A new visit, for the cookie of this name and no other.
    pub(super) fn begin(&self, cookie: &str) -> String {
        let until = self.now().saturating_add(i64::try_from(LENGTH.as_millis()).unwrap_or(i64::MAX));
        let what = format!("{until}.{}", fresh());
        let signature = BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, &signed(&what, cookie)));
        format!("{what}.{signature}")
    }

    /// Whether this is a visit of this server, under this cookie's name, that has not ended.
    pub(super) fn knows(&self, visit: &str, cookie: &str) -> bool {
        self.until(visit, cookie).is_some_and(|until| {
            until > self.now()
                && !self.ended.lock().unwrap_or_else(PoisonError::into_inner).contains_key(visit)
        })
    }

    /// Ends a visit before its time.
    pub(super) fn end(&self, visit: &str, cookie: &str) {
        let Some(until) = self.until(visit, cookie) else { return };
        let now = self.now();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.retain(|_, until| *until > now);
        ended.insert(visit.to_owned(), until);
        if let Some(file) = &self.file
            && let Err(error) = keep(file, &ended)
        {
            tracing::warn!(%error, "a visit that was ended cannot be kept: it is over until the server starts again");
        }
    }

    /// When a visit of this server ends.
    fn until(&self, visit: &str, cookie: &str) -> Option<i64> {
        let (what, signature) = visit.rsplit_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        hmac::verify(&self.key, &signed(what, cookie), &signature).ok()?;
        what.split_once('.')?.0.parse().ok()
    }

    fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }
}

/// The visits that a file holds, with the moments at which they would have ended anyway.
fn kept(file: &Path) -> BTreeMap<String, i64> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let until = |visit: &str| visit.split_once('.')?.0.parse().ok();
    text.lines().filter_map(|visit| Some((visit.to_owned(), until(visit)?))).collect()
}

/// Writes all of them, whole or not at all.
fn keep(file: &Path, ended: &BTreeMap<String, i64>) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    for visit in ended.keys() {
        writeln!(new, "{visit}")?;
    }
    new.persist(file)?;
    Ok(())
}

fn signed(what: &str, cookie: &str) -> Vec<u8> {
    format!("{cookie}={what}").into_bytes()
}

#[cfg(test)]
mod tests {
    use rehearsal_core::FixedClock;

    use super::*;

    #[test]
    fn a_visit_is_of_one_server_and_one_day() {
        let clock = Arc::new(FixedClock::default());
        let visits = Visits::new("the token of this server", clock.clone(), None);
        let visit = visits.begin("visit_4200");
        assert!(visits.knows(&visit, "visit_4200") && !visit.contains("token"));
        // It is as good after a restart, and nowhere else.
        assert!(Visits::new("the token of this server", clock.clone(), None).knows(&visit, "visit_4200"));
        assert!(!Visits::new("the token of another one", clock.clone(), None).knows(&visit, "visit_4200"));
        assert!(!visits.knows(&visit, "visit_4201"));
        let (until, rest) = visit.split_once('.').unwrap();
        let later = format!("{}.{rest}", until.parse::<i64>().unwrap() + 1);
        for forged in [later.as_str(), "", ".", "..", "the token of this server", &visit[..visit.len() - 1]] {
            assert!(!visits.knows(forged, "visit_4200"), "{forged}");
        }
        clock.advance(LENGTH.saturating_sub(Duration::from_millis(1)));
        assert!(visits.knows(&visit, "visit_4200"));
        clock.advance(Duration::from_millis(1));
        assert!(!visits.knows(&visit, "visit_4200"));
    }

    #[test]
    fn a_visit_that_was_ended_is_over() {
        let clock = Arc::new(FixedClock::default());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state").join("ended-visits");
        let new = || Visits::new("the token of this server", clock.clone(), Some(file.clone()));
        let visits = new();
        let (one, other) = (visits.begin("visit"), visits.begin("visit"));
        visits.end(&one, "visit");
        visits.end("forged", "visit");
        assert!(!visits.knows(&one, "visit") && visits.knows(&other, "visit"));
        // A restart opens none of them again.
        assert!(!new().knows(&one, "visit") && new().knows(&other, "visit"));
        // What has ended by itself is not remembered.
        clock.advance(LENGTH);
        visits.end(&visits.begin("visit"), "visit");
        assert_eq!(visits.ended.lock().unwrap().len(), 1);
        assert_eq!(new().ended.lock().unwrap().len(), 1);
    }
}
