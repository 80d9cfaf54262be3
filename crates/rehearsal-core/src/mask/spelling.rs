//! How a secret can be spelt.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::SHORTEST;

/// One way to write a secret.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Spelling {
    pub(super) bytes: Vec<u8>,
    pub(super) in_base64: bool,
}

/// What is looked for of a secret: line breaks do not count, nor does the white space around it.
pub(super) fn core(secret: &str) -> String {
    secret.trim().replace(['\r', '\n'], "")
}

/// Every way to write a secret, and the parts of it that programs write by themselves: its lines, and the password of an
/// address.
pub(super) fn all(secret: &str) -> Vec<Spelling> {
    let secret = secret.trim();
    let mut parts = vec![secret];
    parts.extend(secret.lines().map(str::trim));
    parts.extend(password(secret));
    let mut spellings = Vec::new();
    for part in parts.into_iter().filter(|part| core(part).chars().count() >= SHORTEST) {
        spellings.push(Spelling { bytes: core(part).into_bytes(), in_base64: false });
        for hex in [hex(part, false), hex(part, true)] {
            spellings.push(Spelling { bytes: hex.into_bytes(), in_base64: false });
        }
        for inner in [part.to_owned(), json(part), json(part).replace('/', "\\/"), ascii(part), percent(part)]
        {
            spellings.extend(base64(inner.as_bytes()));
        }
    }
    spellings.sort();
    spellings.dedup();
    spellings
}

/// The password of an address such as `postgres://ada:PASSWORD@host/db`.
fn password(secret: &str) -> Option<&str> {
    let (_, rest) = secret.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (_, password) = authority.rsplit_once('@')?.0.split_once(':')?;
    Some(password)
}

fn hex(text: &str, upper: bool) -> String {
    let digits = |byte: u8| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") };
    text.bytes().map(digits).collect()
}

/// A text between quotes of JSON.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// The same without any letter beyond those of ASCII.
fn ascii(text: &str) -> String {
    let spelt = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    json(text).encode_utf16().map(spelt).collect()
}

/// A text as one word of an address.
fn percent(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let word = |byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(word).collect()
}

/// The letters of base64 that depend on nothing but the secret, wherever in a group of three its first byte stands.
fn base64(bytes: &[u8]) -> Vec<Spelling> {
    let mut spellings = Vec::new();
    for offset in 0..3 {
        let shifted = [&[0; 2][..offset], bytes].concat();
        let letters = (offset * 8).div_ceil(6)..shifted.len() * 8 / 6;
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let encoded = engine.encode(&shifted);
            spellings.push(Spelling { bytes: encoded[letters.clone()].as_bytes().to_vec(), in_base64: true });
        }
    }
    spellings
}
