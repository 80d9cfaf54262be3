//! Tools played by a golden trace.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rehearsal_agent::{Answer, Refusal, Tool, ToolAnswer, ToolEffect};
use rehearsal_core::{FunctionResponse, Ledger, MetricResult, MetricStatus, Player, ToolError, ToolOutcome};
use rehearsal_metrics::{AdkArgs, AdkCall, AdkMatch, Assessment, Metric, adk_trajectory_score};
use rehearsal_sim::person::PeopleAtHand;
use rehearsal_sim::{Case, StandIn};
use serde_json::{Map, Value};

use crate::eval_set::{Invocation, ToolUse};

/// The name of the metric that says whether the golden trace could answer every call that it makes itself.
pub const GOLDEN_TOOLS: &str = "golden_tools";
/// The kind of error a tool gives when a call is none of the golden trace.
pub const NOT_IN_TRACE: &str = "NotInGoldenTrace";
/// The kind of error a tool gives when the golden trace makes the call and does not say what came of it.
pub const NO_RESPONSE_IN_TRACE: &str = "NoResponseInGoldenTrace";

/// Lets the golden trace play every tool that it calls, and adds a metric that does not pass when it could not.
///
/// What runs has no side effects: not even agents used as tools run. A call that the trace does not make is answered by
/// who was cast to stand in, else by an error that the model sees, and is one call more for the trajectory.
pub(crate) fn cast(case: Case, invocations: &[Invocation]) -> Case {
    let answers = Mutex::new(Answers::of(invocations));
    let case = case.wrap_stand_in(|otherwise| Arc::new(GoldenTools { answers, otherwise }));
    case.metric(Answered)
}

/// Plays the tools of a golden trace.
#[derive(Debug)]
struct GoldenTools {
    answers: Mutex<Answers>,
    /// Who answers calls that the trace does not make.
    otherwise: Option<Arc<dyn StandIn>>,
}

#[async_trait]
impl StandIn for GoldenTools {
    async fn play(
        &self,
        effect: &ToolEffect,
        own: &Arc<dyn Tool>,
        people: &PeopleAtHand,
    ) -> Result<Answer<ToolAnswer>, Refusal> {
        let call = AdkCall { name: &effect.cx.tool, args: Some(&effect.args) };
        let found = self.answers.lock().unwrap_or_else(PoisonError::into_inner).answer(call);
        let outcome = match (found, &self.otherwise) {
            (Ok(outcome), _) => outcome,
            (Err(missing), Some(otherwise)) => match otherwise.play(effect, own, people).await {
                Err(refusal) if refusal.kind == UNMOCKED => ToolOutcome::Error(missing),
                answer => return answer,
            },
            (Err(missing), None) => ToolOutcome::Error(missing),
        };
        let value = ToolAnswer { outcome, main_changes: None };
        Ok(Answer { value, by: Player::Mock, name: Some("golden trace".into()) })
    }

    fn takes(&self, tool: &str) -> bool {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.calls.iter().any(|golden| golden.call.name == tool)
            || self.otherwise.as_ref().is_some_and(|otherwise| otherwise.takes(tool))
    }

    fn needs_people(&self) -> bool {
        self.otherwise.as_ref().is_some_and(|otherwise| otherwise.needs_people())
    }
}

/// The kind of refusal where nobody plays a tool.
const UNMOCKED: &str = "unmocked_tool";

/// The calls of a golden trace, each with what came of it.
#[derive(Debug)]
struct Answers {
    calls: Vec<Golden>,
}

#[derive(Debug)]
struct Golden {
    call: ToolUse,
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
        let by_id =
            |response: &FunctionResponse, call: &ToolUse| response.id.is_some() && response.id == call.id;
        let by_name = |response: &FunctionResponse, call: &ToolUse| {
            response.name == call.name && (response.id.is_none() || call.id.is_none())
        };
        for fits in [&by_id as &dyn Fn(&FunctionResponse, &ToolUse) -> bool, &by_name] {
            for golden in calls.iter_mut().filter(|golden| golden.response.is_none()) {
                if let Some(place) = open.iter().position(|response| fits(response, &golden.call)) {
                    golden.response = Some(open.remove(place).response.clone());
                }
            }
        }
        Self { calls }
    }

    /// The answer to the same call, else to the next call of the tool that was not answered yet; an error where the trace
    /// makes no such call, or no more of them, or does not say what came of it.
    fn answer(&mut self, call: AdkCall<'_>) -> Result<ToolOutcome, ToolError> {
        let same = |golden: &Golden| is_same(golden.call.as_adk(), call);
        let place = |fits: &dyn Fn(&Golden) -> bool| self.calls.iter().position(fits);
        let place = place(&|golden| !golden.is_used && same(golden))
            .or_else(|| self.calls.iter().rposition(same))
            .or_else(|| place(&|golden| !golden.is_used && golden.call.name == call.name));
        let golden = place.map(|place| &mut self.calls[place]).ok_or_else(|| not_in_trace(call))?;
        golden.is_used = true;
        let response = golden.response.as_ref().ok_or_else(|| no_response(call))?;
        Ok(match recorded_error(response) {
            Some(error) => ToolOutcome::Error(error),
            None => ToolOutcome::Output(Value::Object(response.clone())),
        })
    }
}

/// Whether two calls are the same to ADK.
fn is_same(one: AdkCall<'_>, other: AdkCall<'_>) -> bool {
    adk_trajectory_score(&[one], &[other], AdkMatch::Exact, AdkArgs::Compare) > 0.5
}

/// The error of a tool that failed when the trace was made: `{"error": {"type", "message"}}` and nothing else.
fn recorded_error(response: &Map<String, Value>) -> Option<ToolError> {
    let error = response.get("error").filter(|_| response.len() == 1)?.as_object()?;
    let (kind, message) = (error.get("type")?.as_str()?, error.get("message")?.as_str()?);
    (error.len() == 2).then(|| ToolError::new(kind, message))
}

fn shown(call: AdkCall<'_>) -> String {
    let args = Value::Object(call.args.cloned().unwrap_or_default());
    format!("`{}` with {}", call.name, rehearsal_core::json::text(&args))
}

fn not_in_trace(call: AdkCall<'_>) -> ToolError {
    ToolError::new(NOT_IN_TRACE, format!("the golden trace does not call {}", shown(call)))
}

fn no_response(call: AdkCall<'_>) -> ToolError {
    ToolError::new(
        NO_RESPONSE_IN_TRACE,
        format!("the golden trace does not say what came of {}", shown(call)),
    )
}

/// An error where the golden trace makes a call and has no answer to it: what the agent did after it says nothing. A call
/// that the trace does not make is no such thing: the agent made one more, and the trajectory says whether it may.
#[derive(Debug)]
struct Answered;

impl Metric for Answered {
    fn name(&self) -> &'static str {
        GOLDEN_TOOLS
    }

    fn evaluate(&self, ledger: &Ledger) -> Assessment {
        let mut result = MetricResult::from_pass(true);
        for call in ledger.calls() {
            let Some(ToolOutcome::Error(error)) = call.result().map(|given| &given.outcome) else { continue };
            let text = match &*error.kind {
                NOT_IN_TRACE => format!("{}, and no mock answers it; the agent was told so", error.message),
                NO_RESPONSE_IN_TRACE => {
                    result.status = MetricStatus::Error;
                    format!(
                        "{}\n\nhint: add its response to `tool_responses`, or a mock of the tool to `setup.mocks` of the \
                         agent's file",
                        error.message
                    )
                }
                _ => continue,
            };
            result = result.because_of(text, [call.event.seq]);
        }
        Assessment::Done(result)
    }
}
