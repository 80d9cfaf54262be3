//! Two metrics of one's own. One needs something from outside: it compares what the agent did with the bank's books. The other
//! watches the session while it goes on and ends it when it has cost too much.

use std::sync::Arc;

use rehearsal::core::Usage;
use rehearsal::metrics::{Assessment, Breach, Request, Watcher};
use rehearsal::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Every refund that succeeded stands in the bank's books, with its amount.
///
/// It asks nobody itself: it hands out one request for each refund, and the case performs it with the tool that was handed in for
/// metrics. Where there is none, or the bank does not answer, the case is an error, never a pass.
#[derive(Debug)]
pub(crate) struct RefundsAreBooked;

/// What the bank is asked for.
#[derive(Deserialize, JsonSchema)]
struct Booking {
    order: u64,
}

impl RefundsAreBooked {
    /// The refunds that succeeded: the number of the event, the order, the amount.
    fn refunds(ledger: &Ledger) -> Vec<(u64, Value, Value)> {
        let refunds = ledger.calls().filter(|call| **call.tool == *"refund");
        let done = refunds.filter(|call| call.result().is_some_and(|result| !result.outcome.is_error()));
        done.map(|call| (call.event.seq, call.args["order"].clone(), call.args["amount"].clone())).collect()
    }
}

impl Metric for RefundsAreBooked {
    fn name(&self) -> &'static str {
        "refunds are booked"
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        let refunds = Self::refunds(ledger);
        if refunds.is_empty() {
            return MetricResult::from_pass(true).because("nothing was refunded").into();
        }
        Assessment::ask(refunds.into_iter().map(|(_, order, _)| {
            let args = Map::from_iter([("order".to_owned(), order)]);
            Request::Tool { tool: "booking".to_owned(), args }
        }))
    }

    fn conclude(&self, ledger: &Ledger, answers: &[Value]) -> MetricResult {
        let refunds = Self::refunds(ledger);
        let mut results = refunds.iter().zip(answers).map(|((seq, order, amount), booked)| {
            let is_booked = booked["amount"] == *amount;
            (is_booked, format!("order {order}: refunded {amount}, booked {}", booked["amount"]), *seq)
        });
        let wrong = results.find(|(is_booked, ..)| !is_booked);
        match wrong {
            Some((_, text, seq)) => MetricResult::from_pass(false).because_of(text, [seq]),
            None => MetricResult::from_pass(true).value(refunds.len()),
        }
    }
}

/// The agent's models read and write no more tokens than this. The case ends at the answer that goes beyond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBudget {
    pub(crate) most: u64,
}

/// The budget, and what of it is spent.
#[derive(Debug)]
struct Spending {
    most: u64,
    spent: u64,
}

impl Watcher for Spending {
    fn see(&mut self, event: &Event, _: &Ledger) -> Option<Breach> {
        let EventBody::ModelResponse(response) = &event.body else { return None };
        let Usage { input, output, .. } = response.usage?;
        self.spent += input + output;
        let (spent, most) = (self.spent, self.most);
        let why = format!("{spent} tokens are spent, {most} are allowed");
        (spent > most).then(|| Breach { why, events: vec![event.seq] })
    }
}

impl Metric for TokenBudget {
    fn name(&self) -> &'static str {
        "token budget"
    }

    // The same watcher decides on a stored ledger.
    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        let mut spending = Spending { most: self.most, spent: 0 };
        let breach = ledger.events().iter().find_map(|event| spending.see(event, ledger));
        breach.map_or_else(|| MetricResult::from_pass(true).value(spending.spent), MetricResult::from).into()
    }

    fn watch(&self) -> Option<Box<dyn Watcher>> {
        Some(Box::new(Spending { most: self.most, spent: 0 }))
    }
}

/// A clerk who refunds an order, with a bank that has booked this amount.
pub(crate) fn refund(booked: f64, budget: TokenBudget) -> Case {
    let clerk = ScriptedModel::list(
        "clerk",
        [
            Reply::call("refund", json!({"order": 17, "amount": 23.5})).usage(400, 20),
            Reply::text("I refunded 23.50.").usage(450, 10),
        ],
    );
    let refund = FunctionTool::raw(ToolDeclaration::new("refund", "Refunds an order"), |_, _| {
        unreachable!("it is mocked")
    });
    // In earnest this would ask the bank's test system over HTTP; what it gives is on the judge's ledger.
    let bank = FunctionTool::new_async(
        "booking",
        "Looks an order up in the books",
        move |asked: Booking, _| async move { json!({"order": asked.order, "amount": booked}) },
    );
    Case::new("refund", LlmAgent::new("clerk", Arc::new(clerk)).tool(refund))
        .first_message("Please refund order 17.")
        .mock("refund", Mock::returning(json!({"done": true})))
        .metric_tool(bank)
        .metric(RefundsAreBooked)
        .metric(budget)
}
