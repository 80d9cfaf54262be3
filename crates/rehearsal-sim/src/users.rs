//! Playing the users: running user agents in their session and carrying their answers over.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::FutureExt;
use futures::stream::{FuturesOrdered, StreamExt};
use rehearsal_agent::{AgentRef, Flow, RunError, Session, run_at};
use rehearsal_core::{
    Content, Decision, Failure, InvocationId, Ledger, Line, LineKind, PendingCall, Phase, Player, Schema,
    ToolOutcome, elapsed,
};
use serde_json::Value;

use crate::bridge::main_changes;
use crate::casting::pretty;
use crate::fault::BUDGET;
use crate::judge::panic_text;
use crate::person::PeopleAtHand;
use crate::simulation::system;
use crate::{Case, UserAnswer, YieldInfo};

/// Who takes part in a run beside the agent.
#[derive(Clone, Copy)]
pub(crate) struct Company<'a> {
    pub(crate) case: &'a Case,
    pub(crate) people: &'a PeopleAtHand,
}

/// Answers all calls of a tool yield, side by side.
pub(crate) async fn answer_tools(
    company: Company<'_>,
    main: &mut Session,
    users: &mut Session,
    calls: &[PendingCall],
) -> Result<(), Stop> {
    let mut agents = Vec::new();
    for pending in calls {
        let agent = company.case.users.for_tools.get(&pending.tool);
        agents.push(agent.ok_or_else(|| Stop::Failed(missing_tool_user(pending)))?);
    }
    let upto = users.ledger().events().len();
    let mut playing = FuturesOrdered::new();
    for (index, (pending, agent)) in calls.iter().zip(agents).enumerate() {
        let path = path(main, format_args!("{index}-{}", agent.name()));
        let mut branch = users.branch(upto, &path);
        let main = &*main;
        playing.push_back(async move {
            let waiting = YieldInfo::from(pending);
            let (prompt, limit) = (Prompt::FromBridge, company.case.user_timeout);
            let answer = play(company, main, &mut branch, agent, &waiting, path, prompt, limit).await;
            let answer = answer.and_then(|answer| check_output(pending, agent, answer).map_err(Stop::Failed));
            (branch, answer)
        });
    }
    let mut answers = Vec::new();
    let mut stopped = None;
    while let Some((branch, answer)) = playing.next().await {
        users.join(branch)?;
        match answer {
            Ok(answer) => answers.push(answer),
            Err(stop) => {
                stopped = Some(stop);
                break;
            }
        }
    }
    drop(playing);
    if let Some(stop) = stopped {
        return Err(stop);
    }
    for (pending, answer) in calls.iter().zip(answers) {
        main.answer(
            &pending.call,
            ToolOutcome::Output(answer.response),
            answer.changes,
            Some(answer.decision),
        )?;
    }
    main.commit().await?;
    Ok(())
}

/// Why the users' side came to a stop.
pub(crate) enum Stop {
    /// A user agent failed, or there is none.
    Failed(Failure),
    /// The engine failed.
    Broken(RunError),
}

impl Stop {
    pub(crate) fn into_failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Broken(error) => system(&error),
        }
    }
}

impl From<RunError> for Stop {
    fn from(error: RunError) -> Self {
        Self::Broken(error)
    }
}

/// Where a user agent's prompt comes from.
pub(crate) enum Prompt {
    /// The bridge makes it.
    FromBridge,
    /// It is there.
    Given(String),
}

#[expect(clippy::too_many_arguments, reason = "two sessions, and what is played where")]
pub(crate) async fn play(
    company: Company<'_>,
    main: &Session,
    users: &mut Session,
    agent: &AgentRef,
    waiting: &YieldInfo,
    path: InvocationId,
    prompt: Prompt,
    limit: Duration,
) -> Result<UserAnswer, Stop> {
    let clock = main.around().clock.clone();
    let began = clock.now();
    let played = {
        let work = play_untimed(company, main, users, agent, waiting, &path, prompt);
        company.people.within(limit, pin!(AssertUnwindSafe(work).catch_unwind())).await
    };
    let response = match played {
        Some(Ok(response)) => response.map_err(|(kind, why)| Stop::Failed(failure(agent, kind, &why)))?,
        Some(Err(panic)) => {
            let why = format!("it, or the bridge, panicked: {}", panic_text(&*panic));
            return Err(Stop::Failed(failure(agent, "panic", &why)));
        }
        None => return Err(Stop::Failed(timed_out(agent, limit))),
    };
    let changes = main_changes(users.ledger(), &path).cloned().collect();
    let by = if agent.kind() == "step" { Player::Script } else { Player::Agent };
    let micros = u64::try_from(elapsed(began, clock.now()).as_micros()).unwrap_or(u64::MAX);
    Ok(UserAnswer { response, changes, decision: Decision { by, name: Some(agent.name().clone()), micros } })
}

async fn play_untimed(
    company: Company<'_>,
    main: &Session,
    users: &mut Session,
    agent: &AgentRef,
    waiting: &YieldInfo,
    path: &InvocationId,
    prompt: Prompt,
) -> Result<Value, (&'static str, String)> {
    let bridge = &company.case.bridge;
    let bridge_failed = |why| ("bridge", why);
    let prompt = match prompt {
        Prompt::Given(prompt) => prompt,
        Prompt::FromBridge => bridge.format_prompt(main.ledger(), waiting).await.map_err(bridge_failed)?,
    };
    let ran = async {
        users.say_to(path.clone(), Content::user(prompt))?;
        run_at(path.clone(), agent, users, company.people).await
    };
    match ran.await {
        Ok(Flow::Done(done)) => {
            // An agent that gave no output has answered with what it said, in this answer and not in an earlier one.
            let output = match done.output {
                Value::Null => spoken(users.ledger(), path).map_or(Value::Null, Value::String),
                output => output,
            };
            bridge.format_response(output, users.ledger(), waiting).await.map_err(bridge_failed)
        }
        Ok(Flow::Waiting(_)) => {
            Err(("user_agent_yielded", "it waits for somebody, but it has to answer".to_owned()))
        }
        Err(error) => {
            // A model that is away, and a budget that is used up, are nothing that this user did.
            let kind = match error.kind() {
                "model" => "model",
                BUDGET => BUDGET,
                _ => "user_agent",
            };
            Err((kind, error.failure(Phase::UserAgent).message))
        }
    }
}

/// Where in the users' session the answer to the present yield is played.
pub(crate) fn path(main: &Session, step: std::fmt::Arguments<'_>) -> InvocationId {
    InvocationId::root(main.ledger().turns()).child(step)
}

/// The last thing that was said within an execution.
fn spoken(users: &Ledger, path: &InvocationId) -> Option<String> {
    let own = users.events().iter().rev().filter(|event| event.invocation.as_ref() == Some(path));
    own.into_iter().find_map(|event| match Line::of(event)?.kind {
        LineKind::Agent(text) => Some(text),
        _ => None,
    })
}

fn check_output(pending: &PendingCall, agent: &AgentRef, answer: UserAnswer) -> Result<UserAnswer, Failure> {
    let Some(schema) = &pending.output_schema else {
        return match answer.response {
            Value::Null => Err(failure(agent, "no_answer", "it said nothing and gave nothing")),
            _ => Ok(answer),
        };
    };
    let problem = match Schema::new(schema.clone()).check(&answer.response) {
        Ok(violations) if violations.is_empty() => return Ok(answer),
        Ok(violations) => violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        Err(error) => error.to_string(),
    };
    let why = format!(
        "its answer does not satisfy the output schema of tool `{}`: {problem}\n\nIt answered:\n  {}",
        pending.tool,
        pretty(&answer.response),
    );
    Err(failure(agent, "invalid_tool_result", &why))
}

pub(crate) fn failure(agent: &AgentRef, kind: &str, why: &str) -> Failure {
    let message = format!("user agent `{}` failed: {why}", agent.name());
    Failure { phase: Phase::UserAgent, kind: kind.to_owned(), message }
}

fn timed_out(agent: &AgentRef, limit: Duration) -> Failure {
    let why =
        format!("it gave no answer within {limit:?}\n\nhint: `.user_timeout(…)` on the case allows more");
    failure(agent, "timeout", &why)
}

pub(crate) fn missing_loop_user() -> Failure {
    let message = "the agent waits for the next user message, but no user agent was provided

Add a user agent for the loop:
  .loop_user(LlmAgent::new(\"user\", model).instruction(\"…\"))"
        .to_owned();
    Failure { phase: Phase::UserAgent, kind: "missing_user_agent".to_owned(), message }
}

fn missing_tool_user(pending: &PendingCall) -> Failure {
    let tool: &Arc<str> = &pending.tool;
    let args = pretty(&Value::Object((*pending.args).clone()));
    let message = format!(
        "tool `{tool}` yielded, but no user agent was provided for it

Add a user agent for this tool:
  .tool_user(\"{tool}\", LlmAgent::new(\"{tool}_user\", model).instruction(\"…\"))

It yielded with:
  {args}"
    );
    Failure { phase: Phase::UserAgent, kind: "missing_user_agent".to_owned(), message }
}
