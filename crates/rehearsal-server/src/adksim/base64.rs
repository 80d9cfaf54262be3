//! Bytes as the core writes them.

use ::base64::alphabet;
use ::base64::engine::{DecodePaddingMode, Engine as _, GeneralPurpose, GeneralPurposeConfig};

const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Base64 in the standard alphabet, with padding.
pub(super) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of base64 in either alphabet, with or without padding; nothing if it is neither.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let standard = |c| match c {
        '-' => '+',
        '_' => '/',
        other => other,
    };
    let text: String = text.chars().filter(|c| !c.is_ascii_whitespace()).map(standard).collect();
    STANDARD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_are_read_with_and_without_padding() {
        for text in ["/+8=", "_-8=", "_-8", "/+\n8="] {
            assert_eq!(decode(text).as_deref(), Some(&[0xff, 0xef][..]), "{text:?}");
        }
        assert_eq!(encode(&[0xff, 0xef]), "/+8=");
        assert_eq!(decode("not base64!"), None);
    }
}
