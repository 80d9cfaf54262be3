//! Truncation: long events, read in part.
//!
//! A tool may give 256 MiB of JSON. As a tree of values that takes ten to twenty times as much memory, and most who read a
//! ledger only want to know that the call has ended. So they read a long output's beginning; what is kept is whole.

use std::fmt;

use rehearsal_core::{Event, json};
use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What is longer than this as text is read in part.
pub const LONG: usize = 1 << 20;

/// So much of a long value is read.
const MOST_BYTES: usize = 192 << 10;
/// So many entries of a list or an object.
const MOST_ENTRIES: usize = 999;
/// So much of a text.
const LONGEST_TEXT: usize = 48 << 10;

/// The beginning of a JSON value. All of the text is looked at: what is not JSON is refused.
///
/// # Errors
/// The text is not JSON.
pub fn beginning(text: &str) -> serde_json::Result<Value> {
    let text = json::marked(text);
    let mut reader = serde_json::Deserializer::from_str(&text);
    let value = Part::Some(&mut Room::new()).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads the line of an event, and of a long output the beginning. Says whether something was left out.
pub(crate) fn event(line: &str) -> serde_json::Result<(Event, bool)> {
    if line.len() <= LONG {
        return Ok((json::from_str(line)?, false));
    }
    let line = json::marked(line);
    let mut reader = serde_json::Deserializer::from_str(&line);
    let mut room = Room::new();
    let value = Part::Of(Place::Event, &mut room).deserialize(&mut reader)?;
    Ok((Event::deserialize(value)?, room.was_cut))
}

/// Where a value stands in an event, as far as there may be an output below it.
#[derive(Clone, Copy)]
enum Place {
    Event,
    Body,
    /// What came of a call: `outcome` of a result, `data` of a note.
    Outcome,
}

/// What can still be read.
struct Room {
    left: usize,
    was_cut: bool,
}

impl Room {
    fn new() -> Self {
        Self { left: MOST_BYTES, was_cut: false }
    }
}

/// How much of a value is read.
enum Part<'a> {
    /// All of it.
    Whole,
    /// All of it but a long output below it.
    Of(Place, &'a mut Room),
    /// As much as there is room for.
    Some(&'a mut Room),
}

impl Part<'_> {
    fn below(&mut self, key: &str) -> Part<'_> {
        match self {
            Self::Whole => Part::Whole,
            Self::Some(room) => Part::Some(room),
            Self::Of(place, room) => match (place, key) {
                (Place::Event, "body") => Part::Of(Place::Body, room),
                (Place::Body, "outcome" | "data") => Part::Of(Place::Outcome, room),
                (Place::Outcome, "output") => Part::Some(room),
                _ => Part::Whole,
            },
        }
    }

    /// Takes room for another entry, if there is some.
    fn has_room(&mut self, entries: usize) -> bool {
        let Self::Some(room) = self else { return true };
        let has = room.left > 0 && entries < MOST_ENTRIES;
        room.left = room.left.saturating_sub(8);
        has
    }

    fn leave_out(&mut self) {
        if let Self::Some(room) = self {
            room.was_cut = true;
        }
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that JSON has not"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        let Self::Some(room) = self else { return Ok(text.into()) };
        let most = LONGEST_TEXT.min(room.left);
        room.left = room.left.saturating_sub(text.len());
        if text.len() <= most {
            return Ok(text.into());
        }
        room.was_cut = true;
        // Of a number that is too long the beginning is a text.
        let text = json::text_or_digits(text);
        let end = text.floor_char_boundary(most);
        Ok(format!("{}… ({} bytes more)", &text[..end], text.len() - end).into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while self.has_room(items.len()) {
            match list.next_element_seed(self.below(""))? {
                Some(item) => items.push(item),
                None => return Ok(items.into()),
            }
        }
        let mut more = 0_usize;
        while list.next_element::<IgnoredAny>()?.is_some() {
            more += 1;
        }
        if more > 0 {
            self.leave_out();
            items.push(format!("… ({more} more)").into());
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while self.has_room(read.len()) {
            let Some(key) = fields.next_key::<String>()? else { return Ok(read.into()) };
            let value = fields.next_value_seed(self.below(&key))?;
            read.insert(key, value);
        }
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            self.leave_out();
        }
        Ok(read.into())
    }
}

#[cfg(test)]
mod tests {
    use rehearsal_core::{EventBody, ToolOutcome};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_short_is_whole() {
        let value = json!({"a": [1, -2, 2.5, null, true, "x"], "b": {"c": {}}});
        assert_eq!(beginning(&value.to_string()).unwrap(), value);
        let large = "[123456789012345678901234567890,{\"a\":-9223372036854775809}]";
        assert_eq!(json::text(&beginning(large).unwrap()), large);
        let long = beginning(&format!("[{}]", "7".repeat(100_000))).unwrap();
        assert!(long[0].as_str().is_some_and(|cut| cut.starts_with("777") && cut.ends_with("bytes more)")));
    }

    #[test]
    fn long_lists_and_texts_say_how_much_is_missing() {
        let rows: Vec<Value> = (0..3000).map(|row| json!({"row": row})).collect();
        let read = beginning(&json!(rows).to_string()).unwrap();
        assert_eq!(read.as_array().unwrap().len(), 1000);
        assert_eq!((&read[998], &read[999]), (&json!({"row": 998}), &json!("… (2001 more)")));
        let read = beginning(&json!("ä".repeat(100_000)).to_string()).unwrap();
        assert!(
            read.as_str().unwrap().ends_with("… (150848 bytes more)"),
            "{}",
            read.as_str().unwrap().len()
        );
    }

    #[test]
    fn all_of_it_must_be_json() {
        for wrong in ["", "[1", "[1] 2", "{\"a\"}", &format!("[{}oops]", "1,".repeat(5000))] {
            assert!(beginning(wrong).is_err(), "{}", wrong.len());
        }
    }

    #[test]
    fn of_a_long_event_only_the_output_is_shortened() {
        let text = "x".repeat(LONG);
        let whole: Event = serde_json::from_value(json!({
            "seq": 7, "session": "s", "at": "2026-01-01T12:00:00Z", "author": "clerk",
            "body": {
                "type": "note", "name": "seen",
                "data": {"call": "c", "output": [text.clone()], "error": text.clone()},
            },
        }))
        .unwrap();
        let (read, is_cut) = event(&json::to_string(&whole).unwrap()).unwrap();
        let EventBody::Note { data, .. } = &read.body else { panic!("{read:?}") };
        assert!(is_cut && data["output"][0].as_str().unwrap().len() < 50_000);
        assert_eq!(data["error"], text);
        assert_eq!((read.seq, &read.author), (whole.seq, &whole.author));
    }

    /// Also where it was written as a note, by an earlier version.
    #[test]
    fn of_a_late_result_the_output_is_shortened() {
        let output = json!(["x".repeat(LONG)]);
        let bodies = [
            json!({"type": "late_result", "call": "c", "tool": "t", "outcome": {"output": output}}),
            json!({"type": "note", "name": "late_result", "data": {"call": "c", "tool": "t", "output": output, "error": null}}),
        ];
        for body in bodies {
            let line =
                json!({"seq": 7, "session": "s", "at": "2026-01-01T12:00:00Z", "author": "a", "body": body});
            let (read, is_cut) = event(&line.to_string()).unwrap();
            let EventBody::LateResult(result) = &read.body else { panic!("{read:?}") };
            let ToolOutcome::Output(output) = &result.outcome else { panic!("{read:?}") };
            assert!(is_cut && output[0].as_str().unwrap().len() < 50_000);
        }
    }
}
