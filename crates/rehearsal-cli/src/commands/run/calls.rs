//! How calls to models go, in words.

use rehearsal_core::ModelCalls;

use super::progress::seconds;

/// How many calls are under way now, and which model is left alone for a while; nothing where no model was asked.
pub(super) fn now(calls: &[ModelCalls]) -> String {
    let asked = || calls.iter().filter(|calls| calls.sent > 0 || calls.now > 0);
    let mut text = match asked().count() {
        0 => return String::new(),
        1 => {
            let one = asked().next();
            one.map(|calls| format!(", calls {}/{}", calls.now, calls.limit)).unwrap_or_default()
        }
        _ => {
            let each: Vec<String> =
                asked().map(|calls| format!("{}/{} {}", calls.now, calls.limit, calls.model)).collect();
            format!(", calls {}", each.join(", "))
        }
    };
    for calls in calls {
        if let Some(pause) = calls.pause_ms.filter(|pause| *pause >= NOTICEABLE) {
            let pause = seconds(pause.next_multiple_of(1000));
            text.extend([", waiting ", &pause, " for ", &calls.model]);
        }
    }
    text
}

/// Shorter pauses are over before anybody has read of them, in milliseconds.
const NOTICEABLE: u64 = 1000;

/// What models refused, a line for each that did.
pub(super) fn refusals(calls: &[ModelCalls]) -> Vec<String> {
    let refused = calls.iter().filter(|calls| calls.refused > 0);
    let line = |calls: &ModelCalls| {
        let ModelCalls { model, sent, refused, peak, limit, .. } = calls;
        format!(
            "{model} refused {refused} of {sent} calls because there were too many; it was asked up to {peak} at once, and \
             {limit} in the end\nhint: `--max-calls {limit}` begins there"
        )
    };
    refused.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(model: &str, now: usize, pause_ms: Option<u64>) -> ModelCalls {
        ModelCalls { model: model.to_owned(), sent: 40, refused: 0, peak: 8, now, limit: 64, pause_ms }
    }

    #[test]
    fn one_model_needs_no_name() {
        assert_eq!(now(&[]), "");
        assert_eq!(now(&[calls("openai:gpt-4o", 37, None)]), ", calls 37/64");
        let two = [calls("a", 1, None), calls("b", 2, Some(11_200))];
        assert_eq!(now(&two), ", calls 1/64 a, 2/64 b, waiting 12.0 s for b");
    }
}
