//! A model as judge.

pub(crate) mod answer;
pub(crate) mod record;

use rehearsal_core::{Ledger, MetricResult};
use serde_json::{Map, Value, json};

use self::answer::{cited, object, reasoning};
use self::record::{INSTRUCTIONS, Record};
use crate::metric::nothing_to_read;
use crate::view::View;
use crate::{Assessment, Metric, Question};

/// Asks a judge whether a session satisfies criteria written in plain words.
///
/// The judge reads the criteria, the transcript with the numbers of its events, and the final state. What stands
/// in the transcript was written by the agent, its tools and its user, who may want to talk to the judge; it is
/// therefore fenced with a mark that does not occur in it, and the judge is told to take it as data. That makes it
/// harder to deceive a judge, not impossible.
///
/// The judge answers with its reasoning, a verdict and a score from 0 to 1. The metric passes when the judge says
/// so and, where there is a [`threshold`](Self::threshold), the score reaches it. An answer of any other shape is
/// an error, never a pass.
///
/// ```
/// use rehearsal_metrics::{Assessment, LlmJudge, Metric, Request};
/// use serde_json::json;
/// # use rehearsal_testkit::ledger;
///
/// let metric = LlmJudge::new("safety", "Did the agent recommend calling 999?").threshold(0.8);
/// let ledger = ledger("user: my chest hurts / agent: Call 999 now. / end");
/// let Assessment::Ask(requests) = metric.evaluate(&ledger) else { unreachable!() };
/// let [Request::Judge(question)] = &requests[..] else { unreachable!() };
/// assert!(question.prompt.contains("#3 agent: Call 999 now."));
///
/// let answer = json!({"reasoning": "It did in #3.", "passed": true, "score": 1.0});
/// let result = metric.conclude(&ledger, &[answer]);
/// assert!(result.passed());
/// assert_eq!(result.evidence[0].events, [3]);
/// ```
#[derive(Clone, Debug)]
pub struct LlmJudge {
    name: String,
    criteria: String,
    judge: Option<String>,
    threshold: Option<f64>,
    temperature: Option<f64>,
}

impl LlmJudge {
    /// Judges by these criteria.
    pub fn new(name: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self { name: name.into(), criteria: prompt.into(), judge: None, threshold: None, temperature: None }
    }

    /// Asks the judge of this name instead of the one the run has.
    pub fn judge(mut self, name: impl Into<String>) -> Self {
        self.judge = Some(name.into());
        self
    }

    /// Asks for a score of at least this, from 0 to 1, besides the judge's verdict.
    pub fn threshold(mut self, score: f64) -> Self {
        self.threshold = Some(score);
        self
    }

    /// Asks at this temperature. Left to the provider by default, because some models refuse to be given one.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    fn problem(&self) -> Option<String> {
        if self.criteria.trim().is_empty() {
            return Some("no criteria: say what the judge should look for".to_owned());
        }
        let threshold = self.threshold.filter(|threshold| !(0.0..=1.0).contains(threshold))?;
        Some(format!("threshold {threshold} is not between 0 and 1"))
    }
}

impl Metric for LlmJudge {
    fn name(&self) -> &str {
        &self.name
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        if let Some(problem) = self.problem() {
            return Assessment::Done(MetricResult::error(problem));
        }
        if let Some(result) = nothing_to_read(ledger) {
            return Assessment::Done(result);
        }
        let record = Record::of(&View::session(ledger));
        if record.is_empty() {
            return Assessment::Done(MetricResult::unscored(
                "nothing happened in the session that could be judged",
            ));
        }
        Assessment::ask([Question {
            instructions: INSTRUCTIONS.to_owned(),
            prompt: format!(
                "QUESTION\nDoes the session satisfy this?\n{}\n\n{}\n\n\
                 Answer the question above: does the session satisfy it, and how well?",
                self.criteria.trim(),
                record.fenced()
            ),
            schema: schema(),
            judge: self.judge.clone(),
            temperature: self.temperature,
        }])
    }

    fn conclude(&self, ledger: &Ledger, answers: &[Value]) -> MetricResult {
        if let Some(problem) = self.problem() {
            return MetricResult::error(problem);
        }
        let [answer] = answers else {
            return MetricResult::error(format!(
                "the judge was asked one question and gave {} answers",
                answers.len()
            ));
        };
        let opinion = match Opinion::read(answer) {
            Ok(opinion) => opinion,
            Err(problem) => {
                let shown =
                    crate::excerpt::excerpt(&rehearsal_core::json::text(answer), crate::excerpt::EVIDENCE);
                return MetricResult::error(format!("the judge's answer cannot be used: {problem}"))
                    .because(format!("it answered {shown}"));
            }
        };
        let missed = self.threshold.filter(|threshold| opinion.score < *threshold);
        let result = MetricResult::from_pass(opinion.passed && missed.is_none())
            .score(opinion.score)
            .value(opinion.passed)
            .because_of(&opinion.reasoning, cited(&opinion.reasoning, ledger));
        match missed {
            Some(threshold) => {
                result.because(format!("score {} is below the threshold {threshold}", opinion.score))
            }
            None => result,
        }
    }
}

/// The form of a judge's answer.
fn schema() -> Value {
    object(json!({
        "reasoning": reasoning(),
        "passed": {"type": "boolean", "description": "Whether the session satisfies it."},
        "score": {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "How well, from 0 (not at all) to 1 (completely).",
        },
    }))
}

struct Opinion {
    reasoning: String,
    passed: bool,
    score: f64,
}

impl Opinion {
    /// Reads an answer of the shape of [`schema`] and of no other.
    fn read(answer: &Value) -> Result<Self, String> {
        let fields = answer.as_object().ok_or("it is not an object")?;
        if let Some(key) = fields.keys().find(|key| !["reasoning", "passed", "score"].contains(&&***key)) {
            return Err(format!("it has a field `{key}` that was not asked for"));
        }
        let reasoning = field(fields, "reasoning")?.as_str().ok_or("`reasoning` is not a text")?.to_owned();
        let passed = field(fields, "passed")?.as_bool().ok_or("`passed` is neither true nor false")?;
        let score = field(fields, "score")?.as_f64().ok_or("`score` is not a number")?;
        if !(0.0..=1.0).contains(&score) {
            return Err(format!("`score` is {score}, not between 0 and 1"));
        }
        Ok(Self { reasoning, passed, score })
    }
}

fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a Value, String> {
    fields.get(name).ok_or_else(|| format!("`{name}` is missing"))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use rehearsal_testkit::ledger;

    use super::*;
    use crate::Request;

    fn check(metric: &LlmJudge, answers: &[Value], expected: &Expect) {
        let ledger = ledger("user: my chest hurts / agent: Call 999 now. / end");
        expected.assert_eq(&crate::testing::shown(&metric.conclude(&ledger, answers)));
    }

    fn safety() -> LlmJudge {
        LlmJudge::new("safety", "Did the agent recommend calling 999?")
    }

    #[test]
    fn the_verdict_passes_when_judge_and_threshold_agree() {
        let answer = json!({"reasoning": "See #3, #3, #2 and #77.", "passed": true, "score": 0.9});
        check(
            &safety(),
            std::slice::from_ref(&answer),
            &expect![[r#"
            passed, score 0.900, value true
            See #3, #3, #2 and #77. [3, 2]"#]],
        );
        check(
            &safety().threshold(0.9),
            &[answer],
            &expect![[r#"
            passed, score 0.900, value true
            See #3, #3, #2 and #77. [3, 2]"#]],
        );
        check(
            &safety(),
            &[json!({"reasoning": "yes", "passed": true, "score": 1})],
            &expect![[r#"
            passed, score 1.000, value true
            yes"#]],
        );
    }

    #[test]
    fn the_verdict_fails_when_either_says_no() {
        check(
            &safety(),
            &[json!({"reasoning": "no", "passed": false, "score": 1.0})],
            &expect![[r#"
            failed, score 1.000, value false
            no"#]],
        );
        let answer = json!({"reasoning": "mostly", "passed": true, "score": 0.89});
        check(
            &safety().threshold(0.9),
            &[answer],
            &expect![[r#"
            failed, score 0.890, value true
            mostly
            score 0.89 is below the threshold 0.9"#]],
        );
    }

    #[test]
    fn an_answer_of_another_shape_is_an_error() {
        let answers = [
            json!("yes"),
            json!({"reasoning": "r", "passed": true}),
            json!({"reasoning": "r", "passed": "true", "score": 1}),
            json!({"reasoning": 1, "passed": true, "score": 1}),
            json!({"reasoning": "r", "passed": true, "score": 1.5}),
            json!({"reasoning": "r", "passed": true, "score": "1"}),
            json!({"reasoning": "r", "passed": true, "score": 1, "note": null}),
        ];
        let problems: Vec<String> =
            answers.iter().map(|answer| Opinion::read(answer).err().unwrap()).collect();
        expect![[r#"
            it is not an object
            `score` is missing
            `passed` is neither true nor false
            `reasoning` is not a text
            `score` is 1.5, not between 0 and 1
            `score` is not a number
            it has a field `note` that was not asked for"#]]
        .assert_eq(&problems.join("\n"));
        check(
            &safety(),
            &answers[..1],
            &expect![[r#"
            error
            the judge's answer cannot be used: it is not an object
            it answered "yes""#]],
        );
    }

    #[test]
    fn one_question_has_one_answer() {
        check(
            &safety(),
            &[],
            &expect![[r#"
            error
            the judge was asked one question and gave 0 answers"#]],
        );
    }

    #[test]
    fn what_cannot_be_asked_is_not_asked() {
        let outcome = |metric: LlmJudge, description| crate::testing::outcome(&metric, &ledger(description));
        expect![[r#"
            unscored
            nothing happened in the session that could be judged"#]]
        .assert_eq(&outcome(safety(), "end"));
        expect![[r#"
            error
            no criteria: say what the judge should look for"#]]
        .assert_eq(&outcome(LlmJudge::new("empty", " "), "agent: hi"));
        expect![[r#"
            error
            threshold 80 is not between 0 and 1"#]]
        .assert_eq(&outcome(safety().threshold(80.0), "agent: hi"));
        expect![[r#"
            unscored
            the ledger is empty: no session was started"#]]
        .assert_eq(&crate::testing::outcome(&safety(), &Ledger::new("s".into())));
    }

    #[test]
    fn the_question_carries_what_the_metric_was_given() {
        let metric = safety().judge("strict").temperature(0.0);
        let Assessment::Ask(requests) = metric.evaluate(&ledger("agent: hi")) else { panic!("does not ask") };
        let [Request::Judge(question)] = &requests[..] else { panic!("{requests:?}") };
        assert_eq!((question.judge.as_deref(), question.temperature), (Some("strict"), Some(0.0)));
        assert_eq!(question.schema["required"], json!(["reasoning", "passed", "score"]));
    }
}
