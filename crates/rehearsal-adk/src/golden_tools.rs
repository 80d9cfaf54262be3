//! Tools played by a golden trace.

use std::sync::{Arc, Mutex, PoisonError};

use rehearsal_agent::ToolOutput;
use rehearsal_core::{FunctionCall, FunctionResponse, Ledger, MetricResult, ToolError, ToolOutcome};
use rehearsal_metrics::{AdkArgs, AdkMatch, Assessment, Metric, adk_trajectory_score};
use rehearsal_sim::{Case, Mock};
use serde_json::{Map, Value};

use crate::eval_set::Invocation;

/// The name of the metric that says whether the golden trace could answer every call.
pub const GOLDEN_TOOLS: &str = "golden_tools";
/// The kind of error a tool gives when the golden trace has no answer to a call.
pub const NOT_IN_TRACE: &str = "NotInGoldenTrace";

/// Lets the golden trace play every tool that it calls, and adds a metric that does not pass when it could not.
///
/// What runs has no side effects: not even agents used as tools run, and tools that the trace does not call stay as
/// they were cast.
pub(crate) fn cast(case: Case, invocations: &[Invocation]) -> Case {
    let answers = Arc::new(Mutex::new(Answers::of(invocations)));
    let mut tools: Vec<&str> = Vec::new();
    for call in invocations.iter().flat_map(|invocation| &invocation.intermediate_data.tool_uses) {
        if !tools.contains(&call.name.as_str()) {
            tools.push(&call.name);
        }
    }
    let case = tools.into_iter().fold(case, |case, tool| {
        let (answers, name) = (answers.clone(), tool.to_owned());
        case.mock(
            tool,
            Mock::new(move |args, _| {
                let args = args.as_object().cloned().unwrap_or_default();
                let call = FunctionCall { name: name.clone(), args, ..FunctionCall::default() };
                answers.lock().unwrap_or_else(PoisonError::into_inner).answer(&call)
            })
            .recorded(),
        )
    });
    case.metric(Answered)
}

/// The calls of a golden trace, each with what came of it.
#[derive(Debug)]
struct Answers {
    calls: Vec<Golden>,
}

#[derive(Debug)]
struct Golden {
    call: FunctionCall,
    response: Option<Map<String, Value>>,
    is_used: bool,
}

impl Answers {
    fn of(invocations: &[Invocation]) -> Self {
        let data = || invocations.iter().map(|invocation| &invocation.intermediate_data);
        let mut open: Vec<&FunctionResponse> = data().flat_map(|data| &data.tool_responses).collect();
        let mut calls: Vec<Golden> = data()
            .flat_map(|data| &data.tool_uses)
            .map(|call| Golden { call: call.clone(), response: None, is_used: false })
            .collect();
        // Responses name their call; where they do not, they stand in the order of the calls of their tool.
        let by_id = |response: &FunctionResponse, call: &FunctionCall| {
            response.id.is_some() && response.id == call.id
        };
        let by_name = |response: &FunctionResponse, call: &FunctionCall| {
            response.name == call.name && (response.id.is_none() || call.id.is_none())
        };
        for fits in [&by_id as &dyn Fn(&FunctionResponse, &FunctionCall) -> bool, &by_name] {
            for golden in calls.iter_mut().filter(|golden| golden.response.is_none()) {
                if let Some(place) = open.iter().position(|response| fits(response, &golden.call)) {
                    golden.response = Some(open.remove(place).response.clone());
                }
            }
        }
        Self { calls }
    }

    /// The answer to the same call, else to the next call of the tool that was not answered yet.
    fn answer(&mut self, call: &FunctionCall) -> Result<ToolOutput, ToolError> {
        let same = |golden: &Golden| is_same(&golden.call, call);
        let place = |fits: &dyn Fn(&Golden) -> bool| self.calls.iter().position(fits);
        let place = place(&|golden| !golden.is_used && same(golden))
            .or_else(|| self.calls.iter().rposition(same))
            .or_else(|| place(&|golden| !golden.is_used && golden.call.name == call.name));
        let golden = place.map(|place| &mut self.calls[place]).ok_or_else(|| not_in_trace(call))?;
        golden.is_used = true;
        let response = golden.response.as_ref().ok_or_else(|| not_in_trace(call))?;
        match recorded_error(response) {
            Some(error) => Err(error),
            None => Ok(ToolOutput::new(Value::Object(response.clone()))),
        }
    }
}

/// Whether two calls are the same to ADK.
fn is_same(one: &FunctionCall, other: &FunctionCall) -> bool {
    let (one, other) = (std::slice::from_ref(one), std::slice::from_ref(other));
    adk_trajectory_score(one, other, AdkMatch::Exact, AdkArgs::Compare) > 0.5
}

/// The error of a tool that failed when the trace was made: `{"error": {"type", "message"}}` and nothing else.
fn recorded_error(response: &Map<String, Value>) -> Option<ToolError> {
    let error = response.get("error").filter(|_| response.len() == 1)?.as_object()?;
    let (kind, message) = (error.get("type")?.as_str()?, error.get("message")?.as_str()?);
    (error.len() == 2).then(|| ToolError::new(kind, message))
}

fn not_in_trace(call: &FunctionCall) -> ToolError {
    let args = rehearsal_core::json::text(&Value::Object(call.args.clone()));
    ToolError::new(NOT_IN_TRACE, format!("the golden trace has no answer to `{}` with {args}", call.name))
}

/// An error where the golden trace had no answer to a call: what the agent did after it says nothing.
#[derive(Debug)]
struct Answered;

impl Metric for Answered {
    fn name(&self) -> &'static str {
        GOLDEN_TOOLS
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        let unanswered = ledger.calls().filter_map(|call| match &call.result()?.outcome {
            ToolOutcome::Error(error) if error.kind == NOT_IN_TRACE => Some((call.event.seq, error)),
            _ => None,
        });
        let mut found = None;
        for (seq, error) in unanswered {
            let text =
                format!("{}\n\nhint: add the call to the trace, or cast a mock for the tool", error.message);
            let result = found.unwrap_or_else(|| MetricResult::new(rehearsal_core::MetricStatus::Error));
            found = Some(result.because_of(text, [seq]));
        }
        Assessment::Done(found.unwrap_or_else(|| MetricResult::from_pass(true)))
    }
}
