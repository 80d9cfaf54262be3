//! Exchanges written from the published API references: each is read and written again as it was, and means what
//! the file beside it says.
//!
//! `UPDATE_EXPECT=1` rewrites the `.core.json` files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use proptest::prelude::*;
use rehearsal_core::{ModelRequest, ModelResponse};
use rehearsal_models::wire::Envelope;
use serde_json::{Value, json};

use crate::support::api::{ALL, Api};

#[test]
fn requests_are_written_as_they_were_read() {
    let mut count = 0;
    for (api, path) in goldens("request_", ".json") {
        let text = fs::read_to_string(&path).unwrap();
        let original: Value = rehearsal_core::json::from_str(&text).unwrap();
        assert_eq!(api.rewrite_request(&text).unwrap(), original, "{}", path.display());

        let request = api.read_request(&text, "a-model").unwrap();
        expect_file![beside(&path)].assert_eq(&pretty(&request_json(&request)));

        let written = api.write_request(&request).unwrap();
        let again = api.read_request(&written.to_string(), "a-model").unwrap();
        assert_eq!(request_json(&again), request_json(&request), "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 17);
}

#[test]
fn responses_are_written_as_they_were_read() {
    let mut count = 0;
    for (api, path) in goldens("response_", ".json") {
        let text = fs::read_to_string(&path).unwrap();
        let original: Value = rehearsal_core::json::from_str(&text).unwrap();
        assert_eq!(api.rewrite_response(&text).unwrap(), original, "{}", path.display());

        let response = api.read_response(&text).unwrap();
        expect_file![beside(&path)].assert_eq(&pretty(&json!(response)));

        let written = api.write_response(&response, &Envelope::default()).unwrap();
        let again = api.read_response(&written.to_string()).unwrap();
        assert_eq!(comparable(&again), comparable(&response), "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 23);
}

#[test]
fn streams_mean_what_they_say() {
    let mut count = 0;
    for (api, path) in goldens("stream_", ".sse") {
        let bytes = fs::read(&path).unwrap();
        let assembled = api.assemble(&[&bytes]).unwrap();
        expect_file![beside(&path)].assert_eq(&pretty(&json!(assembled.core)));
        assert_eq!(assembled.shown_text(), assembled.whole_text(), "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 8);
}

/// What is served in pieces and put together again is what would have been served whole.
#[test]
fn a_streamed_response_is_the_whole_one() {
    for (api, path) in goldens("response_", ".json") {
        let text = fs::read_to_string(&path).unwrap();
        let stream: String = api.events(&text).unwrap().iter().map(ToString::to_string).collect();
        let assembled = api.assemble(&[stream.as_bytes()]).unwrap();
        let mut original: Value = rehearsal_core::json::from_str(&text).unwrap();
        if api == Api::OpenAi {
            // A streamed message always says whether there is content and a refusal.
            let message = original["choices"][0]["message"].as_object_mut().unwrap();
            message.entry("refusal").or_insert(Value::Null);
            original.as_object_mut().unwrap().entry("usage").or_insert(Value::Null);
        }
        let mut json = assembled.json.clone();
        if api == Api::OpenAi {
            json.as_object_mut().unwrap().entry("usage").or_insert(Value::Null);
        }
        assert_eq!(json, original, "{}", path.display());
        assert_eq!(assembled.core, api.read_response(&text).unwrap(), "{}", path.display());
        assert_eq!(assembled.shown_text(), assembled.whole_text(), "{}", path.display());
    }
}

/// Every beginning of a stream that is not the whole of it is an error.
#[test]
fn a_stream_that_is_cut_off_is_never_an_answer() {
    for (api, path) in goldens("stream_", ".sse") {
        let bytes = fs::read(&path).unwrap();
        let whole = api.assemble(&[&bytes]).unwrap();
        let mut errors = 0;
        for end in 0..bytes.len() {
            match api.assemble(&[&bytes[..end]]) {
                Err(_) => errors += 1,
                // Gemini's answer is complete before the stream is: only what it cost follows.
                Ok(part) if api == Api::Gemini => assert_eq!(part.core.content, whole.core.content),
                // The last line break belongs to the last event, which is complete without it.
                Ok(part) => assert_eq!(part.core, whole.core, "cut at {end} of {}", path.display()),
            }
        }
        assert!(errors > bytes.len() / 2, "{}: {errors} of {}", path.display(), bytes.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// However a stream is cut into packets, it says the same.
    #[test]
    fn packets_do_not_matter(cuts in prop::collection::vec(0.0..1.0f64, 0..40), crlf: bool) {
        for (api, path) in goldens("stream_", ".sse") {
            let mut text = fs::read_to_string(&path).unwrap();
            let whole = api.assemble(&[text.as_bytes()]).unwrap();
            if crlf {
                text = text.replace('\n', "\r\n");
            }
            prop_assert_eq!(&api.assemble(&cut(text.as_bytes(), &cuts)).unwrap(), &whole);
        }
    }
}

#[test]
fn packets_of_one_byte_do_not_matter() {
    for (api, path) in goldens("stream_", ".sse") {
        let bytes = fs::read(&path).unwrap();
        let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(api.assemble(&pieces).unwrap(), api.assemble(&[&bytes]).unwrap());
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small"
)]
fn cut<'a>(bytes: &'a [u8], at: &[f64]) -> Vec<&'a [u8]> {
    let mut ends: Vec<usize> = at.iter().map(|place| (place * bytes.len() as f64) as usize).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut start = 0;
    ends.into_iter().map(|end| &bytes[std::mem::replace(&mut start, end)..end]).collect()
}

/// The files of all three APIs whose names begin and end like this, in order.
fn goldens(prefix: &str, suffix: &str) -> Vec<(Api, PathBuf)> {
    let mut found = Vec::new();
    for api in ALL {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(api.folder());
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        found.extend(paths.into_iter().filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let is_golden =
                name.starts_with(prefix) && name.ends_with(suffix) && !name.ends_with(".core.json");
            is_golden.then_some((api, path))
        }));
    }
    found
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension("core.json")
}

fn request_json(request: &ModelRequest) -> Value {
    json!({"setup": request.setup, "contents": request.contents})
}

/// A response without what cannot go both ways: the envelope gives an empty model where none was said, and usage
/// is always written by Anthropic.
fn comparable(response: &ModelResponse) -> Value {
    let mut response = response.clone();
    response.model_version = response.model_version.filter(|model| !model.is_empty());
    json!(response)
}

fn pretty(value: &Value) -> String {
    let mut text = rehearsal_core::json::to_string_pretty(value).unwrap();
    text.push('\n');
    text
}
