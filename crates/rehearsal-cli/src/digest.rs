//! Digests: what stands for contents, so that two of them can be compared where only one is at hand.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// Takes in contents, one after the other, each by itself: `ab` and `c` are not `a` and `bc`.
#[derive(Clone, Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    /// Takes in a text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text.as_bytes());
        self
    }

    /// Takes in several texts, which stand together.
    pub(crate) fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> &mut Self {
        let mut all = Self::default();
        for text in texts {
            all.text(text);
        }
        let all = all.hex();
        self.text(&all)
    }

    /// What stands for all that was taken in.
    pub(crate) fn hex(&self) -> String {
        let mut hex = String::new();
        for byte in self.0.clone().finalize() {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}

/// What stands for one text.
pub(crate) fn of(text: &str) -> String {
    Digest::default().text(text).hex()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_stand_each_by_themselves() {
        let hex = |texts: &[&str]| Digest::default().texts(texts.iter().copied()).hex();
        assert_eq!(hex(&["a", "b"]), hex(&["a", "b"]));
        assert_ne!(hex(&["ab", "c"]), hex(&["a", "bc"]));
        assert_ne!(hex(&["a"]), hex(&["a", ""]));
        assert_eq!(of("a").len(), 64);
    }
}
