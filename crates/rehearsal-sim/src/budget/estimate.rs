//! What a call may use, before it is made: from the text of its request, and from what earlier answers used.

use std::collections::BTreeMap;
use std::sync::Arc;

use rehearsal_core::{ModelRequest, PartData, Usage};

/// Before its first answer nobody knows how a model counts, so its first call has all that is left to itself.
const ALL: u64 = u64::MAX;
/// What an answer may be longer than the longest so far.
const LONGER: f64 = 1.5;
/// What a request may be larger than its text says by the largest so far.
const LARGER: f64 = 1.1;
/// A picture or another file in a request, in tokens.
const FILE: u64 = 2000;

/// What a call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tokens {
    /// What is reserved.
    pub(super) wanted: Usage,
    /// The least with which it may be made, where nothing else is under way.
    pub(super) least: Usage,
}

/// What was learnt of models.
#[derive(Debug, Default)]
pub(super) struct Estimates(BTreeMap<Arc<str>, Learnt>);

#[derive(Clone, Copy, Debug)]
struct Learnt {
    /// How many tokens a request had for one that its text says, at most.
    ratio: f64,
    /// The longest answer.
    output: u64,
}

impl Estimates {
    /// What a call may use. One that need not say what it used is reckoned with by what it said before.
    pub(super) fn need(&self, model: &Arc<str>, raw: u64, max_tokens: Option<u64>, must_say: bool) -> Tokens {
        let usage = |input, output| Usage { input, output, ..Usage::default() };
        match (self.0.get(model), max_tokens) {
            (None, _) if !must_say => Tokens { wanted: usage(0, 0), least: usage(0, 0) },
            (None, most) => Tokens { wanted: usage(raw, ALL), least: usage(raw, most.unwrap_or(1)) },
            (Some(learnt), most) => {
                let input = scaled(raw, learnt.ratio * LARGER);
                let wanted = usage(input, most.unwrap_or_else(|| scaled(learnt.output, LONGER)));
                Tokens { wanted, least: wanted }
            }
        }
    }

    /// Learns from an answer.
    #[expect(clippy::cast_precision_loss, reason = "a ratio need not be exact")]
    pub(super) fn learn(&mut self, model: &Arc<str>, raw: u64, usage: Usage) {
        let ratio = usage.input as f64 / raw.max(1) as f64;
        let learnt = self.0.entry(model.clone()).or_insert(Learnt { ratio, output: usage.output });
        learnt.ratio = learnt.ratio.max(ratio);
        learnt.output = learnt.output.max(usage.output);
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, which stays at the most there is"
)]
fn scaled(count: u64, by: f64) -> u64 {
    (count as f64 * by).ceil() as u64
}

/// The tokens of a request by its text: three bytes make one, which is more than most texts have.
pub(super) fn raw(request: &ModelRequest) -> u64 {
    let setup = &request.setup;
    let mut bytes = setup.system.as_ref().map_or(0, String::len);
    bytes += setup.tools.iter().map(length).sum::<usize>();
    bytes += setup.output_schema.as_ref().map_or(0, length);
    let mut tokens = 16;
    for content in &request.contents {
        tokens += 4;
        for part in &content.parts {
            match &part.data {
                PartData::Text(text) => bytes += text.len(),
                PartData::FunctionCall(call) => bytes += call.name.len() + length(&call.args),
                PartData::FunctionResponse(response) => {
                    bytes += response.name.len() + length(&response.response);
                }
                _ => tokens += FILE,
            }
        }
    }
    tokens + (bytes as u64).div_ceil(3)
}

fn length(value: &impl serde::Serialize) -> usize {
    rehearsal_core::json::to_string(value).map_or(0, |text| text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_becomes_what_was_learnt() {
        let mut estimates = Estimates::default();
        let model: Arc<str> = "m".into();
        let shown = |tokens: Tokens| (tokens.wanted.input, tokens.wanted.output, tokens.least.output);
        assert_eq!(shown(estimates.need(&model, 100, None, true)), (100, ALL, 1));
        assert_eq!(shown(estimates.need(&model, 100, Some(50), true)), (100, ALL, 50));
        assert_eq!(shown(estimates.need(&model, 100, None, false)), (0, 0, 0));
        estimates.learn(&model, 100, Usage { input: 200, output: 10, ..Usage::default() });
        assert_eq!(shown(estimates.need(&model, 50, None, true)), (111, 15, 15));
        assert_eq!(shown(estimates.need(&model, 50, Some(7), true)), (111, 7, 7));
    }
}
