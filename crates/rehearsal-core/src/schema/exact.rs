//! Schemas and values with whole numbers beyond 64 bits, for a validator that has doubles for them.
//!
//! Every number beyond 2^53 of the schema and of the value gets a double of its own, in the order of the numbers. So the
//! validator's answers to "equal", "less" and "whole" are those of the numbers themselves.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use crate::json;
pub(super) use crate::json::has_beyond;

/// Up to here all whole numbers are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Large numbers, in order, and the double that stands for each.
pub(super) struct Labels(Vec<(Value, f64)>);

impl Labels {
    /// Labels for the large numbers of these trees.
    pub(super) fn of<'a>(trees: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut found = Vec::new();
        trees.into_iter().for_each(|tree| collect(tree, &mut found));
        found.sort_by(|a, b| json::compare_numbers(a, b).unwrap_or(Ordering::Equal));
        found.dedup_by(|a, b| json::compare_numbers(a, b) == Some(Ordering::Equal));
        // Zero lies between: each side goes away from it.
        let positive =
            found.iter().position(|number| json::as_f64(number).is_some_and(|number| number > 0.0));
        let (below, above) = found.split_at(positive.unwrap_or(found.len()));
        let mut labels: Vec<(Value, f64)> = Vec::with_capacity(found.len());
        let mut last = f64::NEG_INFINITY;
        labels.extend(below.iter().rev().map(|number| {
            let wanted = json::as_f64(number).unwrap_or(-EXACT).max(f64::MIN);
            last = if last.is_finite() { wanted.min(last.next_down()) } else { wanted };
            (number.clone(), last)
        }));
        labels.reverse();
        last = f64::INFINITY;
        labels.extend(above.iter().map(|number| {
            let wanted = json::as_f64(number).unwrap_or(EXACT).min(f64::MAX);
            last = if last.is_finite() { wanted.max(last.next_up()) } else { wanted };
            (number.clone(), last)
        }));
        Self(labels)
    }

    /// The tree with the doubles in place of the large numbers.
    pub(super) fn put(&self, tree: &Value) -> Value {
        match tree {
            Value::Array(items) => items.iter().map(|item| self.put(item)).collect(),
            Value::Object(fields) => {
                let put = fields.iter().map(|(name, field)| (name.clone(), self.put(field)));
                Value::Object(put.collect::<Map<_, _>>())
            }
            leaf if is_large(leaf) => {
                let label = self.label(leaf).and_then(Number::from_f64);
                label.map_or_else(|| leaf.clone(), Value::Number)
            }
            leaf => leaf.clone(),
        }
    }

    fn label(&self, number: &Value) -> Option<f64> {
        let order = |known: &(Value, f64)| json::compare_numbers(&known.0, number).unwrap_or(Ordering::Equal);
        self.0.binary_search_by(order).ok().map(|at| self.0[at].1)
    }

    /// Words about the relabelled value, with the numbers as they are.
    pub(super) fn told(&self, words: String) -> String {
        self.0.iter().fold(words, |words, (number, label)| {
            let shown = Number::from_f64(*label).map(|label| label.to_string());
            shown.map_or_else(|| words.clone(), |shown| words.replace(&shown, &json::text(number)))
        })
    }
}

fn collect(tree: &Value, found: &mut Vec<Value>) {
    match tree {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, found)),
        leaf if is_large(leaf) => found.push(leaf.clone()),
        _ => {}
    }
}

fn is_large(leaf: &Value) -> bool {
    json::as_f64(leaf).is_some_and(|number| number.abs() > EXACT)
}
