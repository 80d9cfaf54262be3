//! Running the cases of an `EvalSet`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_agent::{AgentRef, Loop};
use rehearsal_core::{Content, Decision, EndReason, EventBody, Failure, Player};
use rehearsal_sim::{Case, CaseMaker, LoopUser, Next, Opening, Scene, Termination};

use crate::criteria::Criteria;
use crate::eval_set::{Conversation, EvalCase, EvalSet, Invocation};
use crate::golden_tools;
use crate::score::golden_metrics;
use crate::state::scoped_state;

/// Runs the cases of an `EvalSet` against an agent.
///
/// Each eval case becomes a [`Case`]: the user says what the conversation says, message by message, the session begins
/// with the state of `session_input`, and the criteria judge what comes of it. A case that is only a plan for a
/// simulated user cannot be run here and says so.
///
/// ```
/// use rehearsal_adk::{EvalRun, EvalSet, conversation_agent};
/// use rehearsal_agent::Step;
/// use rehearsal_sim::{Case, Suite};
///
/// # tokio_block(async {
/// let file = r#"[{"query": "hi", "expected_tool_use": [], "reference": "Hello there!"},
///     {"query": "bye", "expected_tool_use": [], "reference": "Hello there!"}]"#;
/// let polite: rehearsal_agent::AgentRef = Step::new("polite", |cx| Ok(cx.respond("Hello there!"))).into();
/// let run = EvalRun::new(EvalSet::read(file)?.set, move |eval| {
///     Case::new(&eval.eval_id, conversation_agent(polite.clone(), eval))
/// });
/// assert!(Suite::new(run.cases()).run().await.result.passed());
/// # Ok::<(), rehearsal_adk::ImportError>(())
/// # });
/// # fn tokio_block(future: impl Future<Output = Result<(), rehearsal_adk::ImportError>>) {
/// #     tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future).unwrap();
/// # }
/// ```
#[derive(Clone)]
pub struct EvalRun {
    set: EvalSet,
    base: Arc<Base>,
    criteria: Criteria,
    tools: Tools,
}

type Base = dyn Fn(&EvalCase) -> Case + Send + Sync;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tools {
    AsCast,
    Golden,
}

impl EvalRun {
    /// Runs these cases, judged by ADK's default criteria. `base` makes the case that an eval case builds on: the agent
    /// under test, the eval case's id as its name, and who plays the tools.
    pub fn new(set: EvalSet, base: impl Fn(&EvalCase) -> Case + Send + Sync + 'static) -> Self {
        Self { set, base: Arc::new(base), criteria: Criteria::default(), tools: Tools::AsCast }
    }

    /// The same run, judged by other criteria.
    #[must_use]
    pub fn criteria(mut self, criteria: Criteria) -> Self {
        self.criteria = criteria;
        self
    }

    /// The same run, with the golden traces in the part of the tools they call: the same call gets the response it got
    /// when the trace was made, another call of the tool the next response that was not given yet. A call that the trace
    /// does not make is answered by the case's stand-in, else by an error that the model sees, and counts as one more. A
    /// call that the trace makes without a response makes its case an error.
    ///
    /// Traces hold no changes of state, so tools played by them change none.
    #[must_use]
    pub fn golden_tools(mut self) -> Self {
        self.tools = Tools::Golden;
        self
    }

    /// The cases, for a [`Suite`](rehearsal_sim::Suite).
    pub fn cases(&self) -> Vec<CaseMaker> {
        let maker = |eval: &EvalCase| {
            let (run, eval) = (self.clone(), eval.clone());
            CaseMaker::new(&eval.eval_id.clone(), move |_| run.case(&eval))
        };
        self.set.eval_cases.iter().map(maker).collect()
    }

    fn case(&self, eval: &EvalCase) -> Case {
        let case = (self.base)(eval).metrics(golden_metrics(eval, &self.criteria));
        let invocations = match &eval.conversation {
            Conversation::Static(invocations) => invocations,
            Conversation::Scenario(_) => {
                return case.problem(
                    "a `conversation_scenario` needs a simulated user: write the case as a scenario with a user agent",
                );
            }
        };
        let Some(first) = invocations.first() else {
            return case.problem("the conversation is empty: add an invocation");
        };
        if let Some(index) =
            invocations.iter().position(|invocation| invocation.user_content.parts.is_empty())
        {
            return case.problem(format!(
                "the user says nothing in invocation {index}: add a part to its `user_content`"
            ));
        }
        let case = match &eval.session_input {
            Some(input) if !input.state.is_empty() => case.initial_state(scoped_state(&input.state)),
            _ => case,
        };
        let case = case
            .opening(Opening::Message(first.user_content.clone()))
            .loop_played_by(GoldenUser { messages: messages(invocations) });
        let turns = invocations.len() as u64;
        let case = if turns > Termination::DEFAULT_MAX_TURNS {
            case.max_turns(turns + Termination::DEFAULT_MAX_TURNS)
        } else {
            case
        };
        match self.tools {
            Tools::AsCast => case,
            Tools::Golden => golden_tools::cast(case, invocations),
        }
    }
}

impl fmt::Debug for EvalRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvalRun").field("set", &self.set.eval_set_id).finish_non_exhaustive()
    }
}

/// An agent that takes as many messages as an eval case has: the agent itself, or in a loop around it.
pub fn conversation_agent(agent: impl Into<AgentRef>, eval: &EvalCase) -> AgentRef {
    let agent = agent.into();
    let messages = eval.invocations().map_or(1, <[_]>::len) as u64;
    if messages <= 1 { agent } else { Loop::new("conversation", agent).max_rounds(messages).into() }
}

fn messages(invocations: &[Invocation]) -> Arc<[Content]> {
    invocations.iter().map(|invocation| invocation.user_content.clone()).collect()
}

/// A user who says what the golden trace says.
#[derive(Clone, Debug)]
struct GoldenUser {
    messages: Arc<[Content]>,
}

#[async_trait]
impl LoopUser for GoldenUser {
    async fn next(&self, scene: &mut Scene<'_>) -> Result<Next, Failure> {
        let said = scene.ledger().events().iter().filter(|event| {
            let is_main = event.invocation.as_ref().is_none_or(|path| path.enclosure().is_empty());
            is_main && matches!(event.body, EventBody::UserMessage { .. })
        });
        Ok(match self.messages.get(said.count()) {
            None => Next::End(EndReason::Completed),
            Some(content) => Next::Say {
                content: content.clone(),
                decision: Some(Decision { by: Player::Script, name: Some("golden trace".into()), micros: 0 }),
                changes: Vec::new(),
                limit: None,
            },
        })
    }
}
