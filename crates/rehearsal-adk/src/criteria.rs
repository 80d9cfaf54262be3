//! Criteria: what a `test_config.json` asks for.

use rehearsal_metrics::{AdkArgs, AdkMatch};
use serde_json::{Map, Value};

use crate::import::{ImportError, Note, parse};
use crate::trace::camel_case;

/// ADK's name for the metric that compares tool calls.
pub const TOOL_TRAJECTORY: &str = "tool_trajectory_avg_score";
/// ADK's name for the metric that compares final responses by ROUGE-1.
pub const RESPONSE_MATCH: &str = "response_match_score";

/// What a case has to satisfy, each with a threshold that the mean over its invocations has to reach.
///
/// The default is ADK's: all tool calls exact, and a ROUGE-1 of 0.8.
#[derive(Clone, Debug, PartialEq)]
pub struct Criteria {
    /// The criteria; at least one.
    pub criteria: Vec<Criterion>,
    /// What the file says that is not acted on.
    pub notes: Vec<Note>,
}

/// One thing a case has to satisfy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    /// The tool calls are those of the golden trace.
    ToolTrajectory {
        /// The mean to reach.
        threshold: f64,
        /// How calls are compared.
        match_type: AdkMatch,
        /// Whether their arguments are.
        args: AdkArgs,
    },
    /// The final responses have words in common with those of the golden trace.
    ResponseMatch {
        /// The mean to reach.
        threshold: f64,
    },
}

impl Criterion {
    /// ADK's name of the metric.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ToolTrajectory { .. } => TOOL_TRAJECTORY,
            Self::ResponseMatch { .. } => RESPONSE_MATCH,
        }
    }

    /// The mean to reach.
    pub fn threshold(&self) -> f64 {
        match self {
            Self::ToolTrajectory { threshold, .. } | Self::ResponseMatch { threshold } => *threshold,
        }
    }
}

impl Default for Criteria {
    fn default() -> Self {
        let (match_type, args) = (AdkMatch::Exact, AdkArgs::Compare);
        let trajectory = Criterion::ToolTrajectory { threshold: 1.0, match_type, args };
        Self { criteria: vec![trajectory, Criterion::ResponseMatch { threshold: 0.8 }], notes: Vec::new() }
    }
}

/// A `test_config.json` that cannot be honoured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CriteriaError {
    /// It is not JSON.
    #[error(transparent)]
    NotJson(#[from] ImportError),
    /// It asks for nothing, so nothing could fail.
    #[error(
        "there are no criteria, so nothing could fail\n\nhint: add `\"criteria\": {{\"{TOOL_TRAJECTORY}\": 1.0}}`"
    )]
    Nothing,
    /// It asks for a metric that is not here. ADK passes such a metric over; a pass would then mean less than it says.
    #[error(
        "$.criteria.{metric}: {why}\n\nhint: remove it, or judge by `{TOOL_TRAJECTORY}` and `{RESPONSE_MATCH}`"
    )]
    Unknown {
        /// The metric.
        metric: String,
        /// Why it is not here.
        why: &'static str,
    },
    /// A value is not what it has to be.
    #[error("{path}: {problem}\n\nhint: {remedy}")]
    At {
        /// Where it stands.
        path: String,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
    },
}

impl Criteria {
    /// Reads the criteria of a `test_config.json`: `{"criteria": {"response_match_score": 0.8, …}}`.
    ///
    /// ```
    /// use rehearsal_adk::Criteria;
    ///
    /// let text = r#"{"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": "IN_ORDER"}}}"#;
    /// assert_eq!(Criteria::read(text)?.criteria.len(), 1);
    /// assert!(Criteria::read(r#"{"criteria": {"politeness": 0.5}}"#).is_err());
    /// # Ok::<(), rehearsal_adk::CriteriaError>(())
    /// ```
    ///
    /// # Errors
    /// The text is not such a file, asks for nothing, or asks for a metric that is not here.
    pub fn read(text: &str) -> Result<Self, CriteriaError> {
        let Value::Object(mut config) = parse(text)? else {
            return Err(at("$", "expected an object", "write {\"criteria\": { … }}"));
        };
        let mut read = Self { criteria: Vec::new(), notes: Vec::new() };
        let asked = match config.shift_remove("criteria") {
            None => return Err(CriteriaError::Nothing),
            Some(Value::Object(asked)) => asked,
            Some(_) => return Err(at("$.criteria", "expected an object", "write {\"metric\": threshold}")),
        };
        let custom = take(&mut config, "custom_metrics");
        for (metric, value) in asked {
            if custom.as_ref().is_some_and(|custom| custom.get(&metric).is_some()) {
                return Err(CriteriaError::Unknown { why: "this metric is Python code of its own", metric });
            }
            let path = format!("$.criteria.{metric}");
            let mut fields = match value {
                Value::Number(_) => Map::from_iter([("threshold".to_owned(), value)]),
                Value::Object(fields) => fields,
                _ => return Err(at(path, "expected a number or an object", "write a threshold from 0 to 1")),
            };
            let threshold = read.threshold(&path, fields.shift_remove("threshold").as_ref())?;
            let criterion = match metric.as_str() {
                TOOL_TRAJECTORY => Criterion::ToolTrajectory {
                    threshold,
                    match_type: match_type(&path, take(&mut fields, "match_type").as_ref())?,
                    args: ignore_args(&path, take(&mut fields, "ignore_args").as_ref())?,
                },
                RESPONSE_MATCH => Criterion::ResponseMatch { threshold },
                _ => return Err(CriteriaError::Unknown { why: why_not(&metric), metric }),
            };
            read.criteria.push(criterion);
            read.note_all(&path, &fields, "this metric does not read it");
        }
        if read.criteria.is_empty() {
            return Err(CriteriaError::Nothing);
        }
        read.note_all("$", &config, "not acted on");
        Ok(read)
    }

    fn threshold(&mut self, path: &str, value: Option<&Value>) -> Result<f64, CriteriaError> {
        let path = format!("{path}.threshold");
        let number = value.and_then(Value::as_f64);
        let number = number.ok_or_else(|| at(path.clone(), "expected a number", "write one from 0 to 1"))?;
        if number <= 0.0 {
            self.notes.push(Note::kept(path, "everything reaches this threshold"));
        }
        Ok(number)
    }

    fn note_all(&mut self, path: &str, fields: &Map<String, Value>, why: &str) {
        let notes = fields.keys().map(|key| Note::kept(format!("{path}.{key}"), why));
        self.notes.extend(notes);
    }
}

fn at(path: impl Into<String>, problem: &str, remedy: &str) -> CriteriaError {
    CriteriaError::At { path: path.into(), problem: problem.to_owned(), remedy: remedy.to_owned() }
}

fn take(fields: &mut Map<String, Value>, name: &str) -> Option<Value> {
    fields.shift_remove(name).or_else(|| fields.shift_remove(&camel_case(name)))
}

fn match_type(path: &str, value: Option<&Value>) -> Result<AdkMatch, CriteriaError> {
    let Some(value) = value else { return Ok(AdkMatch::Exact) };
    let by_name = value.as_str().map(|name| name.trim().to_uppercase().replace(['-', ' '], "_"));
    match (by_name.as_deref(), value.as_u64()) {
        (Some("EXACT"), _) | (_, Some(0)) => Ok(AdkMatch::Exact),
        (Some("IN_ORDER"), _) | (_, Some(1)) => Ok(AdkMatch::InOrder),
        (Some("ANY_ORDER"), _) | (_, Some(2)) => Ok(AdkMatch::AnyOrder),
        _ => {
            Err(at(format!("{path}.match_type"), "unknown", "write \"EXACT\", \"IN_ORDER\" or \"ANY_ORDER\""))
        }
    }
}

fn ignore_args(path: &str, value: Option<&Value>) -> Result<AdkArgs, CriteriaError> {
    match value {
        None | Some(Value::Bool(false)) => Ok(AdkArgs::Compare),
        Some(Value::Bool(true)) => Ok(AdkArgs::Ignore),
        Some(_) => Err(at(format!("{path}.ignore_args"), "expected true or false", "write true or false")),
    }
}

fn why_not(metric: &str) -> &'static str {
    match metric {
        "final_response_match_v2"
        | "rubric_based_final_response_quality_v1"
        | "rubric_based_tool_use_quality_v1"
        | "rubric_based_multi_turn_trajectory_quality_v1"
        | "hallucinations_v1"
        | "per_turn_user_simulator_quality_v1" => "this metric needs ADK's judge",
        "response_evaluation_score"
        | "safety_v1"
        | "multi_turn_task_success_v1"
        | "multi_turn_trajectory_quality_v1"
        | "multi_turn_tool_use_quality_v1" => "this metric needs Vertex AI",
        "tool_call_count_v1" | "inference_call_count_v1" | "token_usage_v1" | "invocation_duration_v1" => {
            "this metric only informs; it takes no threshold"
        }
        _ => "this metric is not known",
    }
}
