//! `llm_judge`.

use std::fmt;
use std::fmt::Write as _;

use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use rehearsal_core::{MetricResult, Schema, shorten};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::shown::{share_of, short, shown};
use super::{Evaluator, LooksAt};
use crate::judge::answer::{InvalidAnswer, all, cited, object, read, reasoning, share, unusable};
use crate::judge::record::{INSTRUCTIONS, Record};
use crate::view::View;
use crate::{Assessment, Question};

/// A judge answers a question about the step or turn as expected.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmJudge {
    /// The question.
    pub prompt: String,
    /// The answer that passes.
    pub expected: Expectation,
    /// The model that judges, by its key in `models`.
    pub model_type: Option<String>,
    /// How freely it judges.
    pub temperature: Option<f64>,
    /// The form its answer must have.
    pub json_schema: Option<Map<String, Value>>,
    /// What the agent should be able to do, each asked for by itself.
    pub capabilities: Vec<String>,
}

impl Evaluator for LlmJudge {
    const TYPE: &'static str = "llm_judge";
    const ABOUT: &'static str = "A judge answers a question about the step or turn as expected.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const KEYS: &'static [Key] = &[
        Key::optional(
            "capabilities",
            Form::Texts,
            "What the agent should show, each judged and reported by itself.",
        ),
        Key::required("prompt", Form::Text, "prompt: Did the agent answer the question?", "The question."),
        Key::required(
            "expected",
            Form::Text,
            "expected: \"yes\"",
            "The answer that passes: `yes`, `no`, or a number from 0 to 1 as `0.8+`, `0.3-` or `0.2-0.4`.",
        ),
        Key::optional("model_type", Form::Text, "Another judge, by its key in `models`; `judge` unless given."),
        Key::optional(
            "temperature",
            Form::Number(0.0, 2.0),
            "How freely the judge answers; the provider's own unless given.",
        ),
        Key::optional(
            "json_schema",
            Form::Schema,
            "The JSON Schema of the judge's answer in place of our own; it needs a property `judgment`.",
        ),
    ];
    const PAGE: &'static str = "\
The judge is shown the question and the record of what happened: what was said, tool calls and their results; of code \
steps the exit code, what was written and the files. Of a turn it is shown the turns before it too. The record is fenced, \
so that nothing in it can easily pass for a question or an answer.

| `expected` | the judge gives | passes when |
|---|---|---|
| `yes`, `no` | yes or no, and how sure it is | it is that |
| `0.8+`, `0.8` | a number from 0 to 1: how far the answer is yes | it is at least 0.8 |
| `0.3-` | the same | it is at most 0.3 |
| `0.2-0.4` | the same | it is in that range, ends included |

In files of the ElizaOS runner `expected` may be any text. It is then told to the judge, who says whether what happened is \
as expected.

With `capabilities` and `yes`, all of them must be shown for a pass, and the score is the share that was. With `no` or a \
number, they are reported and do not decide. With a number the score is that number.

With a `json_schema`, the answer must satisfy it, and its `judgment` is compared with `expected`: for `yes` and `no` it is \
true, false or a text, for numbers a number of any size.

Cannot be decided when the judge's answer does not have the form it was asked for, or says nothing of a capability; when \
nothing happened.

```yaml
- type: llm_judge
  prompt: Did the agent solve the customer's problem?
  expected: 'yes'
  capabilities:
    - Understood the problem
    - Gave a solution that works
- type: llm_judge
  prompt: How polite was the agent?
  expected: 0.8+
  model_type: strict
- type: llm_judge
  prompt: Grade the answer from 1 to 10.
  expected: 7+
  json_schema:
    type: object
    properties:
      reasoning: {type: string}
      judgment: {type: number, minimum: 1, maximum: 10}
```";

    fn rules() -> Value {
        let number = "[0-9]+(\\.[0-9]+)?";
        let expected = json!({
            "anyOf": [
                {"enum": ["yes", "no"]},
                {"pattern": format!("^\\s*([yY][eE][sS]|[nN][oO]|{number}([+-]|-{number})?)\\s*$")},
            ],
        });
        let form = json!({
            "required": ["properties"],
            "properties": {"properties": {"type": "object", "required": ["judgment"]}},
        });
        let two_answers = json!({
            "required": ["capabilities", "json_schema"],
            "properties": {"json_schema": {"properties": {"properties": {"required": ["capabilities"]}}}},
        });
        json!({
            "allOf": [{
                "properties": {"expected": expected, "json_schema": form, "capabilities": {"minItems": 1}},
            }],
            "not": two_answers,
        })
    }

    fn read(given: &mut Given<'_>) -> Self {
        let capabilities = given.texts("capabilities");
        if capabilities.as_ref().is_some_and(Vec::is_empty) {
            let message = "`capabilities` must name at least one";
            given.complain(Complaint::spoils("empty", At::Value("capabilities"), message));
        }
        let capabilities = capabilities.unwrap_or_default();
        let prompt = given.text("prompt");
        let text = given.some_text("expected");
        let expected = text.as_deref().and_then(Expectation::parse);
        let model_type = given.some_text("model_type");
        let temperature = given.number("temperature");
        let json_schema = read_form(given, &capabilities, expected.as_ref());
        if let Some(text) = &text {
            complain_of_expectation(given, text, expected.as_ref(), json_schema.is_some());
        }
        let expected = expected.unwrap_or(Expectation::Words(text.unwrap_or_default()));
        Self { prompt, expected, model_type, temperature, json_schema, capabilities }
    }

    fn detail(&self) -> String {
        format!("{:?}", short(&self.prompt))
    }

    fn needs_judge(&self) -> bool {
        true
    }

    fn judge_key(&self) -> Option<&str> {
        self.model_type.as_deref()
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        Assessment::ask([self.question(view)])
    }

    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        let answer = &all(answers, 1)?[0];
        let capabilities = self.read_capabilities(answer)?;
        let (agrees, score) = self.compare(answer)?;
        let achieved = capabilities.iter().filter(|capability| capability.achieved).count();
        let wants_all = matches!(self.expected, Expectation::Yes | Expectation::Words(_));
        let passed = agrees && !(wants_all && achieved < capabilities.len());
        let mut message = self.said(answer);
        if !capabilities.is_empty() {
            let _ = write!(message, ", {achieved} of {} capabilities shown", capabilities.len());
        }
        let why = answer["reasoning"].as_str().unwrap_or_default();
        if !why.is_empty() {
            let _ = write!(message, ": {why}");
        }
        let mut result =
            MetricResult::from_pass(passed).value(answer.clone()).because_of(message, cited(why, view.ledger));
        result.score = score.or_else(|| share_of(achieved, capabilities.len()).filter(|_| wants_all));
        Ok(capabilities.iter().fold(result, |result, capability| {
            let verb = if capability.achieved { "shown" } else { "not shown" };
            let text = format!("{verb}: {}: {}", capability.capability, capability.reasoning);
            result.because_of(text.trim_end_matches(": "), cited(&capability.reasoning, view.ledger))
        }))
    }
}

impl LlmJudge {
    fn question(&self, view: &View<'_>) -> Question {
        let mut parts = vec![format!("QUESTION\n{}", self.prompt.trim())];
        if let Expectation::Words(words) = &self.expected
            && !words.trim().is_empty()
        {
            parts.push(format!(
                "EXPECTED\n{}\n\nThe answer is yes where what happened is as expected.",
                words.trim()
            ));
        }
        if !self.capabilities.is_empty() {
            let list = self.capabilities.iter().enumerate();
            let list: Vec<String> = list.map(|(index, text)| format!("{}. {text}", index + 1)).collect();
            parts.push(format!(
                "CAPABILITIES\n{}\n\nSay of each by itself, by its exact words, whether the agent showed it.",
                list.join("\n")
            ));
        }
        if let Some(turn) = view.turn() {
            parts.push(format!("Judge turn {} only. The turns before it show what led to it.", turn.number));
        }
        parts.push(Record::of(view).fenced());
        parts.push(self.task().to_owned());
        Question {
            instructions: INSTRUCTIONS.to_owned(),
            prompt: parts.join("\n\n"),
            schema: self.form(),
            judge: self.model_type.clone(),
            temperature: self.temperature,
        }
    }

    fn asks_for_number(&self) -> bool {
        self.expected.holds(0.0).is_some()
    }

    fn task(&self) -> &'static str {
        match (self.json_schema.is_some(), self.asks_for_number()) {
            (true, _) => "Answer the question above; `judgment` is your answer.",
            (false, false) => "Answer the question above: is the answer yes or no?",
            (false, true) => {
                "Answer the question above: how far is the answer yes, from 0 (not at all) to 1 (completely)?"
            }
        }
    }

    /// The form of the answer: the author's, or the usual one.
    fn form(&self) -> Value {
        let capabilities = (!self.capabilities.is_empty()).then(|| capabilities_form(&self.capabilities));
        if let Some(schema) = &self.json_schema {
            let mut schema = schema.clone();
            require(&mut schema, "judgment", None);
            if let Some(form) = capabilities {
                require(&mut schema, "capabilities", Some(form));
            }
            return Value::Object(schema);
        }
        let mut properties = json!({"reasoning": reasoning()});
        if let Some(form) = capabilities {
            properties["capabilities"] = form;
        }
        if self.asks_for_number() {
            properties["score"] = json!({"type": "number", "minimum": 0, "maximum": 1});
        } else {
            properties["judgment"] = json!({"type": "string", "enum": ["yes", "no"]});
        }
        let mut form = object(properties);
        if !self.asks_for_number() {
            // Only told: whatever stands there, or nothing, decides nothing.
            form["properties"]["confidence"] =
                json!({"description": "How sure you are of the judgment, a number from 0 to 1."});
        }
        form
    }

    /// Whether the answer is the expected one, and its number where that is a score.
    fn compare(&self, answer: &Value) -> Result<(bool, Option<f64>), InvalidAnswer> {
        let judgment = &answer["judgment"];
        let expects_yes = self.expected != Expectation::No;
        match (self.asks_for_number(), self.json_schema.is_some()) {
            (true, has_form) => {
                let number = if has_form { judgment } else { &answer["score"] };
                let number = number.as_f64().ok_or_else(|| unusable("it gives no number", answer))?;
                let number = if has_form { number } else { share(number, answer)? };
                let holds = self.expected.holds(number).unwrap_or(false);
                Ok((holds, Some(number).filter(|number| (0.0..=1.0).contains(number))))
            }
            (false, has_form) => match judgment {
                Value::Bool(judgment) => Ok((*judgment == expects_yes, None)),
                Value::String(judgment) => {
                    let is = |word: &str| judgment.trim().eq_ignore_ascii_case(word);
                    if !has_form && !is("yes") && !is("no") {
                        return Err(unusable("its `judgment` is neither yes nor no", answer));
                    }
                    Ok((is(if expects_yes { "yes" } else { "no" }), None))
                }
                _ => Err(unusable("its `judgment` is neither a word nor true or false", answer)),
            },
        }
    }

    fn said(&self, answer: &Value) -> String {
        let key = if self.asks_for_number() && self.json_schema.is_none() { "score" } else { "judgment" };
        let said =
            rehearsal_core::json::as_text(&answer[key]).map_or_else(|| shown(Some(&answer[key])), |word| shorten(word.trim(), 80));
        let sure = match answer["confidence"].as_f64() {
            Some(confidence) => format!(" (confidence {confidence})"),
            None => String::new(),
        };
        format!("the judge says {said}{sure}, {} expected", self.expected)
    }

    /// What the judge says of each capability.
    fn read_capabilities(&self, answer: &Value) -> Result<Vec<Opinion>, InvalidAnswer> {
        if self.capabilities.is_empty() {
            return Ok(Vec::new());
        }
        let given: Vec<Opinion> = read(&answer["capabilities"])?;
        let of = |name: &String| {
            let mut given = given.iter().filter(|given| given.capability == *name).peekable();
            let first = given.peek().ok_or_else(|| unusable(format!("it says nothing of {name:?}"), answer))?;
            let reasoning = first.reasoning.clone();
            Ok(Opinion { capability: name.clone(), reasoning, achieved: given.all(|given| given.achieved) })
        };
        self.capabilities.iter().map(of).collect()
    }
}

/// Makes a form ask for a property, which it may not have had.
fn require(schema: &mut Map<String, Value>, key: &str, form: Option<Value>) {
    if let (Some(form), Some(properties)) =
        (form, schema.get_mut("properties").and_then(Value::as_object_mut))
    {
        properties.insert(key.to_owned(), form);
    }
    let required = schema.entry("required").or_insert_with(|| json!([]));
    if let Some(required) = required.as_array_mut()
        && !required.iter().any(|name| name == key)
    {
        required.push(json!(key));
    }
}

fn capabilities_form(capabilities: &[String]) -> Value {
    json!({
        "type": "array",
        "items": object(json!({
            "capability": {"type": "string", "enum": capabilities},
            "reasoning": reasoning(),
            "achieved": {"type": "boolean"},
        })),
    })
}

#[derive(Deserialize)]
struct Opinion {
    capability: String,
    #[serde(default)]
    reasoning: String,
    achieved: bool,
}

/// The answer of a judge that passes.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// `yes`.
    Yes,
    /// `no`.
    No,
    /// `0.8+` and `0.8`.
    AtLeast(f64),
    /// `0.3-`.
    AtMost(f64),
    /// `0.2-0.4`, both included.
    Between(f64, f64),
    /// What is expected in words; only in files of the `ElizaOS` runner.
    Words(String),
}

impl Expectation {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_lowercase();
        match text.as_str() {
            "yes" => return Some(Self::Yes),
            "no" => return Some(Self::No),
            _ => {}
        }
        if let Some(low) = text.strip_suffix('+') {
            return number(low).map(Self::AtLeast);
        }
        if let Some(high) = text.strip_suffix('-') {
            return number(high).map(Self::AtMost);
        }
        match text.split_once('-') {
            Some((low, high)) => Some(Self::Between(number(low)?, number(high)?)),
            None => number(&text).map(Self::AtLeast),
        }
    }

    /// Whether a number passes; nothing where no number is asked for.
    pub(super) fn holds(&self, number: f64) -> Option<bool> {
        match self {
            Self::AtLeast(low) => Some(number >= *low),
            Self::AtMost(high) => Some(number <= *high),
            Self::Between(low, high) => Some((*low..=*high).contains(&number)),
            Self::Yes | Self::No | Self::Words(_) => None,
        }
    }

    /// What is wrong with it where the judge gives a number from 0 to 1: it is kept always, or never.
    fn problem(&self) -> Option<&'static str> {
        let (low, high) = match *self {
            Self::AtLeast(low) => (low, 1.0),
            Self::AtMost(high) => (0.0, high),
            Self::Between(low, high) => (low, high),
            Self::Yes | Self::No | Self::Words(_) => return None,
        };
        if low > high.min(1.0) {
            Some("never-true")
        } else if low <= 0.0 && high >= 1.0 {
            Some("always-true")
        } else {
            None
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("yes"),
            Self::No => f.write_str("no"),
            Self::AtLeast(low) => write!(f, "at least {low}"),
            Self::AtMost(high) => write!(f, "at most {high}"),
            Self::Between(low, high) => write!(f, "from {low} to {high}"),
            Self::Words(text) => write!(f, "{text:?}"),
        }
    }
}

/// Digits with at most one point among them.
fn number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits(whole) && is_digits(fraction) { text.parse().ok() } else { None }
}

/// Complains of an expectation that is none, or that decides nothing.
fn complain_of_expectation(
    given: &mut Given<'_>,
    text: &str,
    expected: Option<&Expectation>,
    has_form: bool,
) {
    let at = At::Value("expected");
    let complaint = match expected {
        None => Complaint::no_effect("unknown-value", at, format!("`expected` of a judge cannot be `{text}`"))
            .help("it can be: `yes`, `no`, a number, `0.8+`, `0.3-`, `0.2-0.4`"),
        // A form of the author's own may hold other numbers than those from 0 to 1.
        Some(expected) => match expected.problem() {
            Some(code) if !has_form => {
                let often = if code == "never-true" { "no" } else { "every" };
                let message =
                    format!("a judge gives a number from 0 to 1, and {often} such number is `{text}`");
                Complaint::no_effect(code, at, message).help("write, for example: expected: 0.8+")
            }
            _ => return,
        },
    };
    given.complain(complaint);
}

/// Reads the form of the author's own, where it can be used.
fn read_form(
    given: &mut Given<'_>,
    capabilities: &[String],
    expected: Option<&Expectation>,
) -> Option<Map<String, Value>> {
    let schema = given.map("json_schema")?;
    let at = At::Value("json_schema");
    let has = |key: &str| schema.get("properties").and_then(|properties| properties.get(key)).is_some();
    let complaint = if let Err(error) = Schema::new(Value::Object(schema.clone())).usability() {
        Complaint::no_effect("invalid-schema", at, format!("`json_schema` cannot be used: {error}"))
    } else if !has("judgment") {
        let message =
            "`json_schema` has no property `judgment`, so there is nothing to compare with `expected`";
        Complaint::no_effect("no-effect", at, message)
            .help("add to its `properties`: judgment: {type: string, enum: [\"yes\", \"no\"]}")
    } else if has("capabilities") && !capabilities.is_empty() {
        let message = "`json_schema` has a property `capabilities`, which is where the judge answers for each \
                       of the `capabilities` named here";
        Complaint::no_effect("no-effect", at, message).help("rename the property or leave `capabilities` out")
    } else if let Some(complaint) = mismatch(&schema, expected) {
        complaint
    } else {
        return Some(schema);
    };
    // The runner of lenient files never looks at a form, so there the judge's usual one is asked for.
    let label = given.is_lenient().then_some("it is left out");
    given.complain(Complaint { label, ..complaint });
    None
}

/// What is wrong with a form whose `judgment` is never what is expected: a number, or a word.
fn mismatch(schema: &Map<String, Value>, expected: Option<&Expectation>) -> Option<Complaint> {
    let judgment = schema.get("properties")?.get("judgment")?;
    let word = match expected {
        None | Some(Expectation::Words(_) | Expectation::Yes) => Some("yes"),
        Some(Expectation::No) => Some("no"),
        Some(Expectation::AtLeast(_) | Expectation::AtMost(_) | Expectation::Between(..)) => None,
    };
    let is_meant = |value: &Value| match (word, value) {
        (None, value) => value.is_number(),
        (Some(word), Value::String(text)) => text.trim().eq_ignore_ascii_case(word),
        (Some(word), value) => value.as_bool() == Some(word == "yes"),
    };
    let types = if word.is_some() { ["string", "boolean"] } else { ["number", "integer"] };
    let is_type = |given: &str| types.contains(&given);
    let values = judgment.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    let values = values.or_else(|| judgment.get("const").map(std::slice::from_ref));
    let possible = match (values, judgment.get("type")) {
        (Some(values), _) => values.iter().any(is_meant),
        (None, Some(Value::String(given))) => is_type(given),
        (None, Some(Value::Array(given))) => given.iter().filter_map(Value::as_str).any(is_type),
        _ => true,
    };
    let (message, help) = match word {
        None => (
            "`judgment` of this `json_schema` is never a number, and `expected` is one".to_owned(),
            "give it `judgment: {type: number}`, or write: expected: \"yes\"",
        ),
        Some(word) => (
            format!("`judgment` of this `json_schema` is never `{word}`, which is expected"),
            "give it `judgment: {type: string, enum: [\"yes\", \"no\"]}`, or write: expected: 0.8+",
        ),
    };
    (!possible)
        .then(|| Complaint::no_effect("never-true", At::Value("json_schema"), message).help(help))
}
