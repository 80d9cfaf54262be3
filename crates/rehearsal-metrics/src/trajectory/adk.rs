//! The trajectory score of the Agent Development Kit.

use rehearsal_core::FunctionCall;
use serde_json::{Map, Value};

use crate::equality::is_same_object_to_python;

/// How ADK's `tool_trajectory_avg_score` compares calls: its `match_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdkMatch {
    /// The same calls in the same order and no others.
    #[default]
    Exact,
    /// All expected calls in their order; others may come between.
    InOrder,
    /// All expected calls, each as often as expected, in any order; others may come between.
    AnyOrder,
}

/// Whether ADK compares arguments: its `ignore_args`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdkArgs {
    /// Arguments have to be equal.
    #[default]
    Compare,
    /// Only the names of tools count.
    Ignore,
}

/// A call as ADK compares it.
#[derive(Clone, Copy, Debug)]
pub struct AdkCall<'c> {
    /// The tool.
    pub name: &'c str,
    /// The arguments; nothing where they are left out, which ADK takes for others than none (`{}`).
    pub args: Option<&'c Map<String, Value>>,
}

impl<'c> From<&'c FunctionCall> for AdkCall<'c> {
    fn from(call: &'c FunctionCall) -> Self {
        Self { name: &call.name, args: Some(&call.args) }
    }
}

impl AdkCall<'_> {
    fn has_same_args(&self, other: &AdkCall<'_>) -> bool {
        match (self.args, other.args) {
            (Some(own), Some(other)) => is_same_object_to_python(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

/// ADK's trajectory score of one invocation, 1 or 0, as google-adk 2.13 gives it; its metric is the mean of these.
///
/// Values are equal as in Python: 2, 2.0 and, for 1, `true` are, 2 and `"2"` are not.
///
/// ```
/// use rehearsal_core::FunctionCall;
/// use rehearsal_metrics::{AdkArgs, AdkMatch, adk_trajectory_score};
/// use serde_json::json;
///
/// let (add, log) = (FunctionCall::new("add", json!({"a": 2.0})), FunctionCall::new("log", json!({})));
/// let golden = FunctionCall::new("add", json!({"a": 2}));
/// let (expected, actual) = ([(&golden).into()], [(&log).into(), (&add).into()]);
/// assert_eq!(adk_trajectory_score(&expected, &actual, AdkMatch::Exact, AdkArgs::Compare), 0.0);
/// assert_eq!(adk_trajectory_score(&expected, &actual, AdkMatch::InOrder, AdkArgs::Compare), 1.0);
/// ```
pub fn adk_trajectory_score(
    expected: &[AdkCall<'_>],
    actual: &[AdkCall<'_>],
    kind: AdkMatch,
    args: AdkArgs,
) -> f64 {
    let same = |expected: &AdkCall<'_>, actual: &AdkCall<'_>| {
        expected.name == actual.name && (args == AdkArgs::Ignore || expected.has_same_args(actual))
    };
    let matches = match kind {
        AdkMatch::Exact => {
            expected.len() == actual.len()
                && expected.iter().zip(actual).all(|(expected, actual)| same(expected, actual))
        }
        AdkMatch::InOrder => {
            let mut actual = actual.iter();
            expected.iter().all(|expected| actual.any(|actual| same(expected, actual)))
        }
        AdkMatch::AnyOrder => {
            let mut open: Vec<&AdkCall<'_>> = actual.iter().collect();
            expected.iter().all(|expected| {
                let place = open.iter().position(|actual| same(expected, actual));
                place.map(|place| open.swap_remove(place)).is_some()
            })
        }
    };
    if matches { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn calls(list: &Value) -> Vec<AdkCall<'_>> {
        let calls = list.as_array().unwrap().iter();
        calls.map(|call| AdkCall { name: call[0].as_str().unwrap(), args: call[1].as_object() }).collect()
    }

    /// Scores for exact, in order and any order, with and without arguments.
    /// Measured with google-adk 2.13.0's `TrajectoryEvaluator`.
    #[test]
    fn scores_are_those_of_adk() {
        for (expected, actual, compare, ignore) in [
            (json!([]), json!([]), [true, true, true], [true, true, true]),
            (json!([]), json!([["a", {}]]), [false, true, true], [false, true, true]),
            (json!([["a", {}]]), json!([]), [false, false, false], [false, false, false]),
            (json!([["a", {}]]), json!([["a", {}]]), [true, true, true], [true, true, true]),
            (json!([["a", {"x": 2}]]), json!([["a", {"x": 2.0}]]), [true, true, true], [true, true, true]),
            (json!([["a", {"x": 1}]]), json!([["a", {"x": true}]]), [true, true, true], [true, true, true]),
            (json!([["a", {"x": 2}]]), json!([["a", {"x": "2"}]]), [false, false, false], [true, true, true]),
            (
                json!([["a", {"x": 1, "y": 2}]]),
                json!([["a", {"y": 2, "x": 1}]]),
                [true, true, true],
                [true, true, true],
            ),
            (
                json!([["a", {"x": [1, {"z": 0}]}]]),
                json!([["a", {"x": [1.0, {"z": false}]}]]),
                [true, true, true],
                [true, true, true],
            ),
            (
                json!([["a", {}], ["b", {}]]),
                json!([["b", {}], ["a", {}]]),
                [false, false, true],
                [false, false, true],
            ),
            (
                json!([["a", {}], ["b", {}]]),
                json!([["a", {}], ["c", {}], ["b", {}]]),
                [false, true, true],
                [false, true, true],
            ),
            (json!([["a", {}], ["a", {}]]), json!([["a", {}]]), [false, false, false], [false, false, false]),
            (json!([["a", {}]]), json!([["a", {}], ["a", {}]]), [false, true, true], [false, true, true]),
            (json!([["a", {"x": null}]]), json!([["a", {}]]), [false, false, false], [true, true, true]),
            (json!([["a", null]]), json!([["a", {}]]), [false, false, false], [true, true, true]),
            (json!([["a", {}]]), json!([["a", null]]), [false, false, false], [true, true, true]),
            (json!([["a", null]]), json!([["a", null]]), [true, true, true], [true, true, true]),
            (
                json!([["a", {"x": 1}], ["a", {"x": 2}]]),
                json!([["a", {"x": 2}], ["a", {"x": 1}]]),
                [false, false, true],
                [true, true, true],
            ),
        ] {
            let (expected, actual) = (calls(&expected), calls(&actual));
            for (args, scores) in [(AdkArgs::Compare, compare), (AdkArgs::Ignore, ignore)] {
                let found = [AdkMatch::Exact, AdkMatch::InOrder, AdkMatch::AnyOrder]
                    .map(|kind| adk_trajectory_score(&expected, &actual, kind, args) > 0.5);
                assert_eq!(found, scores, "{expected:?} {actual:?} {args:?}");
            }
        }
    }
}
