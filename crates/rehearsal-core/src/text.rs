//! Texts made short enough to read.

/// The text, or its beginning with a mark where more follows.
///
/// ```
/// assert_eq!(rehearsal_core::shorten("äöü", 2), "äö…");
/// assert_eq!(rehearsal_core::shorten("äöü", 3), "äöü");
/// ```
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
