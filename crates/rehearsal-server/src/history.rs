//! Ledgers as the API shows them.

use rehearsal_adk::{GoldenTrace, TraceOptions};
use rehearsal_core::Ledger;
use rehearsal_store::StoredEvent;
use serde_json::{Value, json};

use crate::Problem;
use crate::desk::Standing;

/// Texts longer than this are cut in lists.
const LONGEST_TEXT: usize = 64 << 10;
/// Arrays and objects with more entries than this are cut in lists.
const MOST_ENTRIES: usize = 1000;
/// What comes after so much of one field is left out.
const MOST_BYTES: usize = 256 << 10;

/// An event with its id, with large values cut and a mark when something was.
pub(crate) fn event_shown(stored: &StoredEvent) -> Value {
    let mut value = serde_json::to_value(&*stored.event).unwrap_or(Value::Null);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("event_id".to_owned(), stored.event_id.clone().into());
    }
    cut(value, stored.is_cut)
}

/// A value with large ones in it cut, and a mark when something was, here or before.
fn cut(mut value: Value, mut was_cut: bool) -> Value {
    let Some(fields) = value.as_object_mut() else { return value };
    for field in fields.values_mut() {
        let mut scissors = Scissors { left: MOST_BYTES, was_cut: false };
        scissors.shorten(field);
        was_cut |= scissors.was_cut;
    }
    if was_cut {
        fields.insert("truncated".to_owned(), true.into());
    }
    value
}

/// Cuts what is too large by itself, and what comes after too much of everything.
struct Scissors {
    left: usize,
    was_cut: bool,
}

impl Scissors {
    fn shorten(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => self.shorten_text(text),
            Value::Array(items) => {
                let fit = items.iter_mut().take(MOST_ENTRIES).map_while(|item| self.takes(item)).count();
                if fit < items.len() {
                    let more = items.len() - fit;
                    items.truncate(fit);
                    items.push(json!(format!("… ({more} more)")));
                    self.was_cut = true;
                }
            }
            Value::Object(fields) => {
                let fit = fields.values_mut().take(MOST_ENTRIES).map_while(|field| self.takes(field)).count();
                if fit < fields.len() {
                    // Removing them one by one would move those behind each of them.
                    let mut kept = 0..fit;
                    fields.retain(|_, _| kept.next().is_some());
                    self.was_cut = true;
                }
            }
            _ => self.left = self.left.saturating_sub(8),
        }
    }

    /// Shortens another entry, if there is room for one.
    fn takes(&mut self, entry: &mut Value) -> Option<()> {
        if self.left == 0 {
            return None;
        }
        self.left = self.left.saturating_sub(8);
        self.shorten(entry);
        Some(())
    }

    fn shorten_text(&mut self, text: &mut String) {
        let most = LONGEST_TEXT.min(self.left);
        self.left = self.left.saturating_sub(text.len());
        if text.len() > most {
            // What is left of a number is none.
            text.replace_range(..text.len() - rehearsal_core::json::text_or_digits(text).len(), "");
            let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let more = text.len() - end;
            *text = format!("{}… ({more} bytes more)", &text[..end]);
            self.was_cut = true;
        }
    }
}

/// What happened in a session: the published simulator's entries, with large values cut.
pub(crate) fn entries(standing: &Standing) -> Vec<Value> {
    let shown = |entry| {
        let entry = serde_json::to_value(entry).unwrap_or(Value::Null);
        let was_cut = entry["seq"].as_u64().is_some_and(|seq| standing.cut.contains(&seq));
        cut(entry, was_cut)
    };
    rehearsal_adk::history(&standing.ledger).into_iter().map(shown).collect()
}

/// The golden trace of a completed session.
pub(crate) fn eval_case(ledger: &Ledger, colons: bool) -> Result<Value, Problem> {
    let trace = GoldenTrace::from_ledger(ledger, &TraceOptions { colons, ..TraceOptions::default() })?;
    Ok(serde_json::to_value(trace.case).unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    #[test]
    fn an_object_of_very_many_keys_is_cut_in_one_go() {
        let keys: Map<String, Value> = (0..500_000).map(|key| (format!("k{key}"), json!(key))).collect();
        let shown = cut(json!({"body": {"output": keys, "after": 1}}), false);
        assert_eq!(shown["truncated"], true);
        let output = shown["body"]["output"].as_object().unwrap();
        assert_eq!(output.len(), MOST_ENTRIES);
        assert_eq!(output.keys().next_back().unwrap(), "k999");
        assert_eq!(shown["body"]["after"], 1);
    }
}
