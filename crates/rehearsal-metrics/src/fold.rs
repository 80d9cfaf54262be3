//! Texts in a form in which those that should be the same are.

use unicode_normalization::UnicodeNormalization;

/// A text in which upper and lower case are one, however its letters are composed.
///
/// ```
/// assert_eq!(rehearsal_metrics::folded("De\u{301}ÇU"), rehearsal_metrics::folded("déçu"));
/// ```
pub fn folded(text: &str) -> String {
    Case::Ignored.fold(text)
}

/// Whether upper and lower case differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Case {
    /// They are one.
    Ignored,
    /// They differ.
    Matters,
}

impl Case {
    /// What an author's `case_sensitive` means.
    pub(crate) fn sensitive(is_sensitive: bool) -> Self {
        if is_sensitive { Self::Matters } else { Self::Ignored }
    }

    /// Whether a text contains another, however their letters are composed.
    pub(crate) fn contains(self, text: &str, part: &str) -> bool {
        self.fold(text).contains(&self.fold(part))
    }

    fn fold(self, text: &str) -> String {
        match self {
            // Upper case first: `ß` becomes `SS` and both forms of a sigma become one.
            Self::Ignored => {
                text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).nfc().collect()
            }
            Self::Matters => text.nfc().collect(),
        }
    }
}
