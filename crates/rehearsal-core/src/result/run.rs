//! What a run of a suite came to, as it is written and kept.

use serde::{Deserialize, Serialize};

use super::{BudgetReport, ModelCalls, RunPart, Shard, SuiteResult};
use crate::Timestamp;

/// The version of the form in which results are written.
pub const RESULT_VERSION: u32 = 2;

/// What a run of a suite came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunResult {
    /// The version of this form.
    pub version: u32,
    /// The ADK `EvalSet` whose cases were run, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eval_set: Option<String>,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub started_at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Where its chance came from: a number of 64 bits, as digits.
    #[serde(with = "crate::json::seed")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub seed: u64,
    /// Whether somebody interrupted it.
    pub interrupted: bool,
    /// Which part of a run it is, where others run the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The parts it was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<RunPart>,
    /// How calls to the models of providers went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ModelCalls>,
    /// Its limits and what it used of them, where it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetReport>,
    /// What its cases came to.
    #[serde(flatten)]
    pub suite: SuiteResult,
}

impl RunResult {
    /// A result that begins now, of which nothing is known yet.
    pub fn new(started_at: Timestamp, seed: u64) -> Self {
        Self {
            version: RESULT_VERSION,
            eval_set: None,
            started_at,
            duration_ms: 0,
            seed,
            interrupted: false,
            shard: None,
            parts: Vec::new(),
            calls: Vec::new(),
            budget: None,
            suite: SuiteResult::default(),
        }
    }

    /// Reads a result as this or an earlier version wrote it.
    ///
    /// # Errors
    /// It is not the result of a run.
    pub fn read(result: serde_json::Value) -> serde_json::Result<Self> {
        crate::json::from_value(super::upgraded(result))
    }

    /// The JSON Schema of what is written.
    #[cfg(feature = "schema")]
    pub fn schema() -> serde_json::Value {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<Self>().to_value()
    }
}
