//! Whatever a secret is and however a program spells it: nothing of it is left.

#![expect(clippy::format_collect, reason = "the texts are short")]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use rehearsal_core::mask::{HIDDEN, Masker};
use serde_json::{Value, json};

/// A program that echoes: its name, and what it makes of what it was given and what stands before and after it.
type Echo = (&'static str, fn(&str, &str, &str) -> String);

fn percent(text: &str, keep: &str, upper: bool) -> String {
    let hex = |byte: u8| if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
    let word = |byte: u8| match char::from(byte) {
        c if c.is_ascii_alphanumeric() || keep.contains(c) => c.to_string(),
        _ => hex(byte),
    };
    text.bytes().map(word).collect()
}

fn utf16(text: &str, upper: bool) -> String {
    text.encode_utf16()
        .map(|unit| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") })
        .collect()
}

fn folded(text: &str, width: usize, end: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(width).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join(end)
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

const ECHOES: &[Echo] = &[
    ("as it is", |before, secret, after| format!("{before}{secret}{after}")),
    ("JSON", |before, secret, after| json!({"a": format!("{before}{secret}{after}")}).to_string()),
    ("JSON with \\/", |b, s, a| json!({"a": format!("{b}{s}{a}")}).to_string().replace('/', "\\/")),
    ("JSON, all \\u", |before, secret, after| format!("{before}\"{}\"{after}", utf16(secret, false))),
    ("JSON, all \\U", |before, secret, after| format!("{before}\"{}\"{after}", utf16(secret, true))),
    ("JSON in JSON", |b, s, a| json!({"a": json!({"b": format!("{b}{s}{a}")}).to_string()}).to_string()),
    ("\\x", |b, s, a| {
        format!("{b}{}{a}", s.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>())
    }),
    ("octal", |b, s, a| {
        format!("{b}{}{a}", s.bytes().map(|byte| format!("\\{byte:03o}")).collect::<String>())
    }),
    ("a word of an address", |b, s, a| format!("{b}{}{a}", percent(s, "-_.~", true))),
    ("in lower case", |b, s, a| format!("{b}{}{a}", percent(s, "-_.~", false))),
    ("as encodeURIComponent", |b, s, a| format!("{b}{}{a}", percent(s, "-_.!~*'()", true))),
    ("as quote", |b, s, a| format!("{b}{}{a}", percent(s, "-_.~/", true))),
    ("as a form", |b, s, a| format!("{b}{}{a}", percent(s, "-_.~ ", true).replace(' ', "+"))),
    ("an address in JSON", |b, s, a| json!([format!("{b}?k={}&{a}", percent(s, "-_.~", true))]).to_string()),
    ("base64", |_, s, _| STANDARD.encode(s)),
    ("base64 without =", |_, s, _| STANDARD_NO_PAD.encode(s)),
    ("base64 of addresses", |_, s, _| URL_SAFE.encode(s)),
    ("base64 of addresses without =", |_, s, _| URL_SAFE_NO_PAD.encode(s)),
    ("in base64", |b, s, a| format!("Basic {} x", STANDARD.encode(format!("{b}{s}{a}")))),
    ("in base64 of addresses", |b, s, a| format!("x.{}.y", URL_SAFE_NO_PAD.encode(format!("{b}{s}{a}")))),
    ("JSON in base64", |b, s, a| STANDARD.encode(json!({b: s, "a": a}).to_string())),
    ("base64 in lines", |b, s, a| folded(&STANDARD.encode(format!("{b}{s}{a}")), 76, "\n")),
    ("base64 in short lines", |b, s, a| folded(&STANDARD.encode(format!("{b}{s}{a}")), 11, "\r\n")),
    ("base64 in lines in JSON", |b, s, a| {
        json!(folded(&STANDARD.encode(format!("{b}{s}{a}")), 20, "\n")).to_string()
    }),
    ("base64 in an address", |b, s, a| percent(&STANDARD.encode(format!("{b}{s}{a}")), "", true)),
    ("base64 in JSON with \\/", |b, s, a| {
        json!(STANDARD.encode(format!("{b}{s}{a}"))).to_string().replace('/', "\\/")
    }),
    ("hex", |b, s, a| format!("{b} {} {a}", hex(s))),
    ("HEX", |b, s, a| format!("{b} {} {a}", hex(s).to_uppercase())),
    ("hex in lines", |b, s, a| folded(&hex(&format!("{b}{s}{a}")), 60, "\n")),
    ("in lines", |b, s, a| format!("{b}{}{a}", folded(s, 5, "\n"))),
    ("XML", |b, s, a| {
        let s = s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        format!("<a b=\"{b}{s}{a}\"/>")
    }),
    ("XML by number", |b, s, a| {
        format!("{b}{}{a}", s.chars().map(|c| format!("&#{};", u32::from(c))).collect::<String>())
    }),
];

/// What is around a secret is of another alphabet where the echo keeps it, so that what is left can be told from it.
fn around() -> impl Strategy<Value = String> {
    "[ .:,;!äß€]{0,7}"
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9]{8,40}",
        "[a-zA-Z0-9+/=_-]{8,120}",
        "[!-~]{8,60}",
        "[!-~][ -~]{8,60}[!-~]",
        "[a-zé€😀\"\\\\/+%&<>]{8,30}",
    ]
}

proptest! {
    #[test]
    fn nothing_is_left_of_a_secret(secret in secret(), before in around(), after in around(), at in 0..ECHOES.len()) {
        let (name, echo) = ECHOES[at];
        let said = echo(&before, &secret, &after);
        let bare = echo("", &secret, "");
        let masked = Masker::new([&secret]).mask(&said).into_owned();
        prop_assert!(masked.contains(HIDDEN), "{name}: {said} became {masked}");
        // What stands for the secret alone, and the halves of it, are gone.
        for left in [&*secret, &*bare] {
            prop_assert!(!masked.contains(left), "{name}: {said} became {masked}");
        }
        let half: String = secret.chars().take(6).collect();
        prop_assert!(!masked.contains(&half), "{name}: {half} is left of {said}: {masked}");
    }

    #[test]
    fn values_are_masked_as_texts_are(secret in secret(), before in around(), at in 0..ECHOES.len()) {
        let (name, echo) = ECHOES[at];
        let said = echo(&before, &secret, "");
        let mut value = json!({"a": [said], said.clone(): 1, "b": {"c": said}});
        prop_assert!(Masker::new([&secret]).mask_value(&mut value));
        let texts = [&value["a"][0], &value["b"]["c"]];
        for text in texts {
            prop_assert!(text.as_str().unwrap().contains(HIDDEN), "{name}: {value}");
        }
        prop_assert!(!value.as_object().unwrap().contains_key(&said), "{name}: {value}");
    }

    #[test]
    fn what_holds_no_secret_stays_what_it_is(text in "\\PC{0,200}") {
        prop_assert_eq!(Masker::new(["hunter2-and-more"]).mask(&text), text.as_str());
        prop_assert_eq!(Masker::default().mask(&text), text.as_str());
    }

    #[test]
    fn a_cut_through_a_secret_shows_neither_half(before in "[ -~]{0,30}", after in "[ -~]{0,30}", cut in 0usize..76) {
        let secret = "hunter2-and-more";
        let text = format!("{before}{secret}{after}");
        let cut = cut.min(text.len());
        let masker = Masker::new([secret]);
        let (start, end) = (masker.mask_within(&text, 0..cut), masker.mask_within(&text, cut..text.len()));
        for left in [&start, &end] {
            prop_assert!(!left.contains("hunt") && !left.contains("more"), "{start} / {end}");
        }
    }
}

#[test]
fn short_secrets_are_said_to_be_too_short() {
    for (secret, can) in
        [("1234567", false), ("12345678", true), ("  1234567\n", false), ("a\nb\nc\nd\ne\nf\ng", false)]
    {
        assert_eq!(Masker::can_hide(secret), can, "{secret:?}");
        assert_eq!(Masker::new([secret]).is_empty(), !can, "{secret:?}");
    }
}

#[test]
fn parts_that_programs_write_by_themselves_are_hidden() {
    let masker = Masker::new([
        "-----BEGIN KEY-----\nMIIBVAIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n",
        "postgres://ada:s3cr3t-word@host/db",
    ]);
    assert_eq!(masker.mask("line 2: kqhkiG9w0BAQEF"), "line 2: [hidden]");
    assert_eq!(masker.mask("password s3cr3t-word is wrong"), "password [hidden] is wrong");
    assert_eq!(masker.mask("a\nMIIBVAIBADANBg\nkqhkiG9w0BAQEF\nb"), "a\n[hidden]\n[hidden]\nb");
}

#[test]
fn numbers_are_secrets_too() {
    let mut value: Value =
        rehearsal_core::json::from_str("[12345678, 123456789012345678901234567890, 7, 1.5]").unwrap();
    assert!(Masker::new(["12345678"]).mask_value(&mut value));
    assert_eq!(rehearsal_core::json::text(&value), r#"["[hidden]","[hidden]90[hidden]90[hidden]90",7,1.5]"#);
}
