//! Rehearse AI agents before they meet the world.
//!
//! An agent meets the world at three seams: the **model** that decides, the **tools** that act, the **user** who
//! asks. Rehearsal stands at each seam and casts who plays that part; whatever crosses a seam is an event on one
//! ledger, and metrics only read the ledger.
//!
//! ```
//! use std::sync::Arc;
//!
//! use rehearsal::prelude::*;
//! use serde_json::json;
//!
//! // The agent under test, with a model that follows a script instead of a provider.
//! let model = ScriptedModel::list("script", [
//!     Reply::call("send_email", json!({"to": "ada@example.org"})),
//!     Reply::text("I sent the e-mail."),
//! ]);
//! let send_email = FunctionTool::raw(ToolDeclaration::new("send_email", "Sends an e-mail"), |_, _| {
//!     unreachable!("no tool runs for real unless it is handed to the case")
//! });
//! let agent = LlmAgent::new("assistant", Arc::new(model)).tool(send_email);
//!
//! // The case: who plays the tools, how it begins, what is asked of it.
//! let case = Case::new("sends an e-mail", agent)
//!     .first_message("Write to Ada")
//!     .mock("send_email", Mock::returning(json!({"sent": true})))
//!     .metric(EventCountMetric::new("one e-mail", "tool_call").tool("send_email").exactly(1))
//!     .metric(FinalResponse::new("says so").contains("sent"));
//! case.assert_passes();
//! ```
//!
//! The parts have crates of their own, re-exported here: [`core`] (events, ledger, state), [`agent`] (running
//! agents), [`models`] (providers, scripts, recordings), [`metrics`], and [`sim`] (cases and suites).
//!
//! # Scenario files
//!
//! A test can run a scenario file, the same that `rehearse run` runs, with [`ScenarioFile`](prelude::ScenarioFile).
//!
//! # Features
//!
//! | feature | what it brings | on by default |
//! |---|---|---|
//! | `scenario` | scenario files: [`scenario`], [`scenario_file`], [`scenario_models`] | yes |
//! | `javascript` | JavaScript in scenario files, and `regex_match` | |
//! | `http` | agents and tools behind HTTP in scenario files | |
//! | `providers` | models of OpenAI, Anthropic, Gemini and compatible servers | |
//! | `adk` | EvalSet files of the ADK | |
//! | `store` | keeping ledgers and runs in SQLite | |
//! | `postgres` | the same in PostgreSQL | |

#[cfg(feature = "adk")]
pub use rehearsal_adk as adk;
pub use rehearsal_agent as agent;
pub use rehearsal_core as core;
pub use rehearsal_metrics as metrics;
pub use rehearsal_models as models;
#[cfg(feature = "scenario")]
pub use rehearsal_scenario as scenario;
pub use rehearsal_sim as sim;
#[cfg(feature = "store")]
pub use rehearsal_store as store;

#[cfg(feature = "scenario")]
pub mod scenario_file;
#[cfg(feature = "scenario")]
pub mod scenario_models;

/// What most programs and tests need.
pub mod prelude {
    #[cfg(feature = "scenario")]
    pub use crate::scenario_file::{ScenarioFile, ScenarioFileError, ScenarioRun};
    pub use rehearsal_agent::{
        Agent, AgentRef, AgentTool, DirectPort, Flow, FunctionTool, History, Json, LlmAgent, Loop, Model,
        ModelCall, Parallel, Sequence, Session, Step, Surroundings, Tool, ToolRef, YieldingTool, run,
        with_state_change,
    };
    pub use rehearsal_core::{
        Content, Event, EventBody, FixedClock, Ledger, MetricResult, MetricStatus, State, SuiteResult,
        ToolDeclaration, ToolError, Verdict,
    };
    pub use rehearsal_metrics::{
        Custom, EventCountMetric, ExpectedCall, FinalResponse, LlmJudge, Metric, MetricRef, StateMetric,
        TrajectoryMetric, score,
    };
    pub use rehearsal_models::{Matcher, Reply, Rule, ScriptedModel};
    pub use rehearsal_sim::{
        Bridge, BridgeFns, Case, CaseRun, Mock, MockContext, OnFirstFailure, Opening, RunOptions, Suite,
        SuiteRun, YieldInfo, default_prompt,
    };
}
