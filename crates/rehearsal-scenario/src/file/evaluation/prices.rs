//! What models cost, as a file says it.

use std::collections::BTreeMap;

use rehearsal_metrics::{Price, Prices};

use crate::read::Reader;
use crate::yaml::{Node, NodeValue};

/// Reads `prices` of a file.
pub(crate) fn read_prices(reader: &mut Reader<'_>, node: &Node) -> Prices {
    let NodeValue::Map(entries) = &node.value else {
        drop(reader.fields(node, "`prices`"));
        return Prices::default();
    };
    let mut prices = BTreeMap::new();
    for entry in entries {
        let what = format!("the price of `{}`", entry.key);
        if let Some(price) = read_price(reader, &entry.value, what) {
            prices.insert(entry.key.clone(), price);
        }
    }
    Prices(prices)
}

fn read_price(reader: &mut Reader<'_>, node: &Node, what: String) -> Option<Price> {
    let any = 0.0..=f64::INFINITY;
    let mut fields = reader.fields(node, what)?;
    let mut require = |key: &'static str, example: &str| {
        fields.require(reader, key, example)?;
        fields.number(reader, key, any.clone())
    };
    let input = require("input", "input: 2.5");
    let output = require("output", "output: 10");
    let cached = fields.number(reader, "cached", any);
    fields.finish(reader);
    Some(Price { input: input?, output: output?, cached })
}
