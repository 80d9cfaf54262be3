use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, json};

use super::*;

const BIG: &str = "123456789012345678901234567890";

fn read(text: &str) -> Value {
    from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn whole_numbers_of_any_size_come_back_as_they_were() {
    let long = "7".repeat(5000);
    let numbers = [
        "0",
        "-1",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "18446744073709551617",
        "-9223372036854775808",
        "-9223372036854775809",
        BIG,
        &long,
    ];
    for number in numbers {
        for (before, after) in [("", ""), ("[1,", ",2]"), ("{\"a\":", "}"), ("[[", "]]")] {
            let json = format!("{before}{number}{after}");
            assert_eq!(text(&read(&json)), json);
            assert_eq!(to_string(&read(&json)).unwrap(), json);
            let pretty = to_string_pretty(&read(&json)).unwrap();
            assert!(pretty.contains(number) && read(&pretty) == read(&json), "{pretty}");
        }
    }
}

#[test]
fn fractions_and_texts_stay_what_they_are() {
    for json in ["1.5", "1e300", "\"123456789012345678901234567890\"", "\"[123456789012345678901234567890]\""]
    {
        assert_eq!(read(json), serde_json::from_str::<Value>(json).unwrap());
    }
    assert_eq!(read("123456789012345678901.5"), json!(123_456_789_012_345_678_901.5));
    assert_eq!(read("12345678901234567890123e2"), json!(1.234_567_890_123_456_8e24));
}

#[test]
fn what_is_no_json_is_refused_where_it_is_wrong() {
    for text in [
        format!("[{BIG}, ]"),
        format!("[0{BIG}]"),
        format!("[-0{BIG}]"),
        format!("[{BIG}x]"),
        format!("[{BIG}, \"a]"),
        format!("{BIG}{BIG}- 1"),
    ] {
        let error = from_str::<Value>(&text).unwrap_err();
        assert_eq!(error.to_string(), serde_json::from_str::<Value>(&text).unwrap_err().to_string());
    }
}

#[test]
fn no_text_from_outside_becomes_a_number() {
    for start in ["\u{fdd0}", "\\ufdd0", "\\uFDD0", "\\uFdD0"] {
        let json = format!("{{\"a\": \"{start}{BIG}\", \"{start}{BIG}\": [\"x\\\"{start}{BIG}\"]}}");
        let value = read(&json);
        assert_eq!(as_text(&value["a"]), Some(format!("\u{fffd}{BIG}").as_str()));
        assert!(value.get(format!("\u{fffd}{BIG}")).is_some(), "{value:?}");
        let again: Value = serde_json::from_str(&text(&value)).unwrap();
        assert!(again["a"].is_string() && again.as_object().unwrap().values().nth(1).unwrap()[0].is_string());
    }
    assert_eq!(as_text(&Value::String(plain(format!("\u{fdd0}{BIG}")))).unwrap(), format!("\u{fffd}{BIG}"));
    assert_eq!(plain("as it is"), "as it is");
    // Inside a text, and where no number follows, the code point is what it is everywhere.
    assert_eq!(text(&read("\"a\u{fdd0}1\"")), "\"a\u{fdd0}1\"");
    let odd = Value::String(format!("{MARK}12"));
    assert_eq!((is_number(&odd), text(&odd)), (false, format!("\"{MARK}12\"")));
}

#[test]
fn a_field_that_is_a_text_takes_no_number() {
    #[derive(Debug, Deserialize)]
    struct Named {
        #[expect(dead_code, reason = "only read")]
        name: String,
    }
    let error = from_str::<Named>(&format!("{{\"name\": {BIG}}}")).unwrap_err();
    assert!(error.to_string().contains("invalid type: floating point"), "{error}");
    assert!(from_str::<u64>("18446744073709551616").is_err());
    let float: f64 = from_str("100000000000000000000").unwrap();
    assert!((float - 1e20).abs() < 1.0);
}

#[test]
fn numbers_compare_by_value_and_exactly() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let table = [
        ("18446744073709551617", "1.8446744073709552e19", Greater),
        ("18446744073709551616", "1.8446744073709552e19", Equal),
        ("18446744073709551616", "18446744073709551615", Greater),
        ("-9223372036854775809", "-9223372036854775808", Less),
        ("-9223372036854775809", "-9.223372036854775808e18", Less),
        ("-9223372036854775809", "-9223372036854775810", Greater),
        ("99999999999999999999", "100000000000000000000", Less),
        (BIG, "1e300", Less),
        (BIG, "-0.5", Greater),
        ("1", "1.0", Equal),
    ];
    for (a, b, expected) in table {
        assert_eq!(compare_numbers(&read(a), &read(b)), Some(expected), "{a} {b}");
        assert_eq!(compare_numbers(&read(b), &read(a)), Some(expected.reverse()), "{b} {a}");
    }
    assert_eq!(compare_numbers(&json!("1"), &json!(1)), None);
    assert_eq!(as_f64(&read("18446744073709551616")), Some(18_446_744_073_709_551_616.0));
    assert_eq!(whole("-000"), Some(json!(0)));
    assert_eq!(whole("0018446744073709551616"), Some(read("18446744073709551616")));
    assert_eq!((whole(""), whole("-"), whole("1x"), whole("+1")), (None, None, None, None));
}

fn arbitrary() -> impl Strategy<Value = Value> {
    let digits =
        ("-?", "[1-9][0-9]{16,40}").prop_map(|(minus, digits)| whole(&format!("{minus}{digits}")).unwrap());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e18..1e18_f64).prop_map(Value::from),
        digits,
        "(\\PC|[\"\\\\]|[0-9]){0,30}".prop_map(|text| Value::from(plain(text))),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec(("(\\PC|[\"\\\\0-9]){0,25}", inner), 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (plain(key), value))
                .collect::<Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(value in arbitrary()) {
        for json in [text(&value), to_string(&value).unwrap(), to_string_pretty(&value).unwrap()] {
            prop_assert_eq!(&read(&json), &value);
            // Others see numbers where numbers are: what they read has no mark.
            let plainly: Value = serde_json::from_str(&json).unwrap();
            let seen = plainly.to_string();
            prop_assert!(!seen.contains("\"\u{fdd0}"), "{}", seen);
        }
    }

    #[test]
    fn any_text_is_json_or_not_as_it_is_to_serde_json(text in "([\\[\\]{},:\"\\\\ 0-9-]|\u{fdd0}|\\\\ufdd0|1234567890123456789){0,40}") {
        let ours = from_str::<Value>(&text);
        let theirs = serde_json::from_str::<Value>(&text);
        match (ours, theirs) {
            (Ok(_), Ok(_)) => {}
            // Doubles end somewhere; whole numbers do not.
            (_, Err(expected)) if expected.to_string().contains("out of range") => {}
            (Err(error), Err(expected)) => {
                prop_assert_eq!((error.line(), error.column()), (expected.line(), expected.column()));
            }
            (ours, theirs) => prop_assert!(false, "{ours:?} {theirs:?}"),
        }
    }
}

#[test]
fn a_part_of_something_larger_is_set_in() {
    let mut deep = serde_json::json!({"a": [], "b": {}, "c": [1, [2, {"d": "x\ny"}]], "e": null});
    for _ in 0..40 {
        deep = serde_json::json!([deep, {"f": 1.5}]);
        let usual = to_string_pretty(&deep).unwrap();
        assert_eq!(to_string_pretty_within(0, &deep).unwrap(), usual);
        assert_eq!(to_string_pretty_within(2, &deep).unwrap(), usual.replace('\n', "\n    "));
    }
}

#[test]
fn what_is_appended_is_what_is_written_alone() {
    let values = [json!({"a": [1, "x"]}), json!("\u{fdd0}123456789012345678901234567890"), json!(null)];
    let (mut together, mut alone) = (b"before ".to_vec(), "before ".to_owned());
    for value in &values {
        append(&mut together, value).unwrap();
        alone += &to_string(value).unwrap();
    }
    assert_eq!(String::from_utf8(together).unwrap(), alone);
}
