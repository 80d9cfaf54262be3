//! What is read as JSON is what others read, but for the size of whole numbers; it is written back as it was, and nobody
//! else sees what stands for large numbers.

use rehearsal_core::json;
use serde_json::Value;

/// What stands before the digits of a large number inside.
const MARK: char = '\u{fdd0}';

#[expect(clippy::disallowed_methods, reason = "what others read")]
pub(crate) fn check(text: &str) {
    let (ours, theirs) = (json::from_str::<Value>(text), serde_json::from_str::<Value>(text));
    let ours = match (ours, theirs) {
        (Ok(ours), Ok(_)) => ours,
        // Doubles end somewhere; whole numbers do not.
        (Ok(ours), Err(error)) if error.to_string().contains("out of range") => ours,
        (Err(_), Err(_)) => return,
        (ours, theirs) => panic!("{text:?}: {ours:?} and {theirs:?}"),
    };
    let pretty = json::to_string_pretty(&ours).expect("a value is written");
    for written in [json::text(&ours), pretty] {
        let again: Value = json::from_str(&written).expect("what was written can be read");
        assert_eq!(again, ours, "{text:?}");
        if !text.contains(MARK) && !text.to_lowercase().contains("ufdd0") {
            assert!(!written.contains(MARK), "{text:?}");
        }
    }
    if json::is_number(&ours) {
        assert_eq!(json::compare_numbers(&ours, &ours), Some(std::cmp::Ordering::Equal), "{text:?}");
        assert_eq!(json::as_text(&ours), None, "{text:?}");
    }
}
