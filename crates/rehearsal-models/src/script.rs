//! A model that answers from a script.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_agent::{Model, ModelCall, ModelError};
use rehearsal_core::{ModelResponse, Player};

use crate::request_text;

mod matcher;
mod reply;
mod rule;

pub use matcher::{InvalidPattern, Matcher};
pub use reply::{IntoAnswer, Reply};
pub use rule::{Rule, RuleStart};

/// A model that answers from a script: a list, a function, or rules on what it is asked.
///
/// It keeps nothing between calls: what it answers follows from the call alone, so a session that is resumed
/// elsewhere gets the same answers. A request for which the script has nothing is an error that shows the
/// request, never a made-up answer.
///
/// ```
/// use rehearsal_models::{Matcher, Reply, Rule, ScriptedModel};
/// use serde_json::json;
///
/// let by_turn = ScriptedModel::list("greeter", [Reply::call("look_up", json!({"id": 7})), "hello Ada".into()]);
///
/// let by_rules = ScriptedModel::rules("clerk", [
///     Rule::when(Matcher::user_contains("refund")).reply(Reply::call("refund", json!({"order": 7}))),
///     Rule::when(Matcher::tool_result("refund")).reply("You have your money back."),
///     Rule::otherwise().reply("How can I help?"),
/// ]);
///
/// let by_function = ScriptedModel::function("echo", |call| {
///     Reply::text(format!("turn {} of {}", call.index, call.agent))
/// });
/// # drop((by_turn, by_rules, by_function));
/// ```
#[derive(Clone)]
pub struct ScriptedModel {
    name: Arc<str>,
    script: Script,
}

#[derive(Clone)]
enum Script {
    List(Arc<[Reply]>),
    Rules(Arc<[Rule]>),
    Function(Answerer),
}

/// A function that answers calls.
pub(crate) type Answerer = Arc<dyn Fn(&ModelCall) -> Result<ModelResponse, ModelError> + Send + Sync>;

impl ScriptedModel {
    /// Answers the first turn of an agent with the first reply, the second with the second, and so on.
    ///
    /// Turns are counted for each agent and session on its own ([`ModelCall::index`]), so agents that share a
    /// list each begin at its start.
    pub fn list<R: Into<Reply>>(name: &str, replies: impl IntoIterator<Item = R>) -> Self {
        let replies = replies.into_iter().map(Into::into).collect();
        Self { name: name.into(), script: Script::List(replies) }
    }

    /// Answers with what a function makes of the call.
    ///
    /// The function should depend on the call alone; one that counts or remembers gives other answers when a
    /// session is resumed.
    pub fn function<A: IntoAnswer>(
        name: &str,
        answer: impl Fn(&ModelCall) -> A + Send + Sync + 'static,
    ) -> Self {
        let answer = move |call: &ModelCall| answer(call).into_answer();
        Self { name: name.into(), script: Script::Function(Arc::new(answer)) }
    }

    /// Answers with the first rule that matches what is asked.
    pub fn rules(name: &str, rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { name: name.into(), script: Script::Rules(rules.into_iter().collect()) }
    }

    fn answer(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        match &self.script {
            Script::Function(answer) => answer(call),
            Script::List(replies) => {
                let reply = usize::try_from(call.index).ok().and_then(|index| replies.get(index));
                let reply = reply.ok_or_else(|| self.no_answer(past_the_end(replies.len(), call)))?;
                reply.clone().into_answer()
            }
            Script::Rules(rules) => match rules.iter().find(|rule| rule.matches(call)) {
                Some(rule) => rule.answer(call),
                None => Err(self.no_answer(no_rule(rules, call))),
            },
        }
    }

    fn no_answer(&self, why: String) -> ModelError {
        ModelError::NoAnswer { model: self.name.clone(), why }
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("ScriptedModel");
        tuple.field(&self.name);
        match &self.script {
            Script::List(replies) => tuple.field(replies),
            Script::Rules(rules) => tuple.field(rules),
            Script::Function(_) => &mut tuple,
        };
        tuple.finish()
    }
}

#[async_trait]
impl Model for ScriptedModel {
    fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    fn player(&self) -> Player {
        Player::Script
    }

    async fn respond(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        self.answer(call)
    }
}

fn past_the_end(turns: usize, call: &ModelCall) -> String {
    format!(
        "the script has {turns} {}, and agent `{}` asks for turn {}\n\n{}\n\nhint: add a reply to the script",
        if turns == 1 { "turn" } else { "turns" },
        call.agent,
        call.index + 1,
        request_text::last(&call.request),
    )
}

fn no_rule(rules: &[Rule], call: &ModelCall) -> String {
    let listed: Vec<_> = (1..).zip(rules).map(|(number, rule)| format!("  {number}. {rule}")).collect();
    format!(
        "no rule matches turn {} of agent `{}`\n\n{}\n\nrules:\n{}\n\nhint: add a rule that matches, or a last one without `when`, which always does",
        call.index + 1,
        call.agent,
        request_text::whole(&call.request),
        if listed.is_empty() { "  none".to_owned() } else { listed.join("\n") },
    )
}
