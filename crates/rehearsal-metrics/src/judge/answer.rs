//! What judges answer.

use rehearsal_core::{Ledger, shorten};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Why nothing can be concluded from what a judge answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAnswer {
    /// Nothing was asked.
    #[error("`{evaluator}` was given answers but asked nothing")]
    NotAsked {
        /// The `type` of the evaluator.
        evaluator: &'static str,
    },
    /// There are more or fewer answers than questions.
    #[error("{questions} questions were asked and {answers} answers given")]
    Count {
        /// How many questions there were.
        questions: usize,
        /// How many answers.
        answers: usize,
    },
    /// A check of the author's own answered in another form.
    #[error("what the check answered cannot be used: {why}; it answered {answer}")]
    OfCheck {
        /// What is wrong with it.
        why: String,
        /// How it begins.
        answer: String,
    },
    /// An answer does not have the form that was asked for.
    #[error("the judge's answer cannot be used: {why}; it answered {answer}")]
    Unusable {
        /// What is wrong with it.
        why: String,
        /// How it begins.
        answer: String,
    },
}

/// Reads one answer.
///
/// # Errors
/// It does not have the form that was asked for.
pub(crate) fn read<T: DeserializeOwned>(answer: &Value) -> Result<T, InvalidAnswer> {
    T::deserialize(answer).map_err(|error| unusable(error.to_string(), answer))
}

pub(crate) fn unusable(why: impl Into<String>, answer: &Value) -> InvalidAnswer {
    InvalidAnswer::Unusable { why: why.into(), answer: shorten(&rehearsal_core::json::text(answer), 200) }
}

/// As many answers as questions.
pub(crate) fn all(answers: &[Value], questions: usize) -> Result<&[Value], InvalidAnswer> {
    if answers.len() == questions {
        Ok(answers)
    } else {
        Err(InvalidAnswer::Count { questions, answers: answers.len() })
    }
}

/// A number from 0 to 1.
pub(crate) fn share(number: f64, answer: &Value) -> Result<f64, InvalidAnswer> {
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err(unusable(format!("{number} is not from 0 to 1"), answer))
    }
}

/// The form of an answer: an object with these properties, all of them.
pub(crate) fn object(properties: Value) -> Value {
    let required: Vec<String> =
        properties.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
    let mut form = json!({"type": "object", "properties": null, "required": required});
    form["properties"] = properties;
    form["additionalProperties"] = false.into();
    form
}

/// The form of a reasoning. It comes first, so that a model that writes in order decides last.
pub(crate) fn reasoning() -> Value {
    json!({
        "type": "string",
        "description": "Why, in a few sentences; cite events by their number, such as #12.",
    })
}

/// The events that a reasoning cites as `#12`, each once, as far as the ledger has them.
pub(crate) fn cited(reasoning: &str, ledger: &Ledger) -> Vec<u64> {
    let last = ledger.events().last().map_or(0, |event| event.seq);
    let mut events = Vec::new();
    for mention in reasoning.split('#').skip(1) {
        let end = mention.find(|character: char| !character.is_ascii_digit()).unwrap_or(mention.len());
        let seq = mention[..end].parse().unwrap_or(0);
        if (1..=last).contains(&seq) && !events.contains(&seq) {
            events.push(seq);
        }
    }
    events
}
