//! What models cost, as a file says it.

use std::collections::BTreeMap;

use rehearsal_metrics::{Price, Prices};

use crate::file::keys::PRICE;
use crate::read::Reader;
use crate::yaml::Node;

/// Reads `prices` of a file.
pub(crate) fn read_prices(reader: &mut Reader<'_>, node: &Node) -> Prices {
    let mut prices = BTreeMap::new();
    for entry in reader.names(node, "`prices`") {
        let what = format!("the price of `{}`", entry.key);
        if let Some(price) = read_price(reader, &entry.value, what) {
            prices.insert(entry.key.clone(), price);
        }
    }
    Prices(prices)
}

fn read_price(reader: &mut Reader<'_>, node: &Node, what: String) -> Option<Price> {
    let mut fields = reader.fields(node, what, &PRICE)?;
    let input = fields.number(reader, "input");
    let output = fields.number(reader, "output");
    let cached = fields.number(reader, "cached");
    fields.finish(reader);
    Some(Price { input: input?, output: output?, cached })
}
