//! Casting: who plays each part, and the port that asks them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_agent::{
    Answer, Model, ModelCall, ModelError, Port, Refusal, Tool, ToolAnswer, ToolEffect, ToolKind, ToolRef,
    ToolReply, run_tool,
};
use rehearsal_core::{ModelResponse, Player};
use serde_json::Value;

use crate::Mock;
use crate::person::{People, PeopleAtHand};

/// Who plays the model and the tools of the agent under test.
///
/// A tool for which nobody is cast ends the case: nothing runs for real that was not handed in by name.
///
/// ```
/// use rehearsal_sim::{Casting, Mock, ToolPlayer};
/// use serde_json::json;
///
/// let mut casting = Casting::default();
/// casting.mock("send_email", Mock::returning(json!({"sent": true})));
/// assert!(matches!(casting.tool_player("send_email"), Some(ToolPlayer::Mock(_))));
/// assert!(casting.tool_player("delete_account").is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Casting {
    tools: BTreeMap<Arc<str>, ToolPlayer>,
    models: BTreeMap<Arc<str>, ModelPlayer>,
    stand_in: Option<Arc<dyn StandIn>>,
    people: PeopleAtHand,
}

/// Who plays the model of an agent, where it is not the one the agent was built with.
#[derive(Clone, Debug)]
enum ModelPlayer {
    Model(Arc<dyn Model>),
    Person,
}

/// Plays every tool for which nobody is cast by name, or refuses to.
///
/// It is for casts that are written in another form than one mock a tool, such as a file of mocks with conditions.
#[async_trait]
pub trait StandIn: Send + Sync + fmt::Debug {
    /// Answers a call. `own` is the tool the agent was built with, `people` are those who can be asked.
    ///
    /// # Errors
    /// Nobody is cast for this call; the case ends.
    async fn play(
        &self,
        effect: &ToolEffect,
        own: &Arc<dyn Tool>,
        people: &PeopleAtHand,
    ) -> Result<Answer<ToolAnswer>, Refusal>;

    /// Whether it plays this tool also where somebody is cast for it by name, and where it is an agent or yields.
    fn takes(&self, _tool: &str) -> bool {
        false
    }

    /// Whether it asks people. A case that has none is not run then.
    fn needs_people(&self) -> bool {
        false
    }
}

/// Who plays a tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ToolPlayer {
    /// A mock.
    Mock(Mock),
    /// The real tool: it runs.
    Real(ToolRef),
    /// A person.
    Person,
}

impl Casting {
    /// Casts a mock for a tool.
    pub fn mock(&mut self, tool: &str, mock: Mock) {
        self.tools.insert(tool.into(), ToolPlayer::Mock(mock));
    }

    /// Casts a real tool for itself.
    pub fn real_tool(&mut self, tool: ToolRef) {
        self.tools.insert(tool.spec().name().into(), ToolPlayer::Real(tool));
    }

    /// Casts a person for a tool.
    pub fn person_for_tool(&mut self, tool: &str) {
        self.tools.insert(tool.into(), ToolPlayer::Person);
    }

    /// Casts a person for the model of an agent.
    pub fn person_for_model(&mut self, agent: &str) {
        self.models.insert(agent.into(), ModelPlayer::Person);
    }

    /// Says who brings to people what they are asked.
    pub fn people(&mut self, people: Arc<dyn People>) {
        self.people = PeopleAtHand::new(Some(people));
    }

    /// Casts somebody for all tools that nobody else is cast for.
    pub fn stand_in(&mut self, stand_in: Arc<dyn StandIn>) {
        self.stand_in = Some(stand_in);
    }

    /// Casts somebody in place of whoever was cast for all tools that nobody else is cast for.
    pub fn wrap_stand_in(&mut self, wrap: impl FnOnce(Option<Arc<dyn StandIn>>) -> Arc<dyn StandIn>) {
        self.stand_in = Some(wrap(self.stand_in.take()));
    }

    /// Casts another model for an agent than the one it was built with.
    pub fn model(&mut self, agent: &str, model: Arc<dyn Model>) {
        self.models.insert(agent.into(), ModelPlayer::Model(model));
    }

    /// Who plays a tool.
    pub fn tool_player(&self, tool: &str) -> Option<&ToolPlayer> {
        self.tools.get(tool)
    }

    /// The tools for which somebody is cast.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(|name| &**name)
    }

    /// The same casting for one run.
    pub(crate) fn for_run(&self) -> Self {
        Self { people: self.people.for_run(), ..self.clone() }
    }

    pub(crate) fn people_at_hand(&self) -> &PeopleAtHand {
        &self.people
    }

    /// The parts for which a person is cast, in words for people.
    pub(crate) fn parts_of_people(&self) -> Vec<String> {
        let models = self.models.iter().filter(|(_, player)| matches!(player, ModelPlayer::Person));
        let models = models.map(|(agent, _)| format!("the model of agent `{agent}`"));
        let tools = self.tools.iter().filter(|(_, player)| matches!(player, ToolPlayer::Person));
        let tools = tools.map(|(tool, _)| format!("tool `{tool}`"));
        let stand_in = self.stand_in.as_ref().filter(|stand_in| stand_in.needs_people());
        models.chain(tools).chain(stand_in.map(|_| "tools that nobody else plays".to_owned())).collect()
    }
}

#[async_trait]
impl Port for Casting {
    async fn model(
        &self,
        call: &ModelCall,
        own: &Arc<dyn Model>,
    ) -> Result<Answer<ModelResponse>, ModelError> {
        match self.models.get(&call.agent) {
            None => self.people.ask_model(own, call).await,
            Some(ModelPlayer::Model(model)) => self.people.ask_model(model, call).await,
            Some(ModelPlayer::Person) => self.people.ask_model(&self.people.model()?, call).await,
        }
    }

    async fn tool(&self, effect: &ToolEffect, own: &Arc<dyn Tool>) -> Result<ToolReply, Refusal> {
        let taken = self.stand_in.as_ref().filter(|stand_in| stand_in.takes(&effect.cx.tool));
        match (self.tools.get(&effect.cx.tool), own.kind()) {
            (_, ToolKind::Engine(_)) => Ok(ToolReply::Done(run_tool(effect, own).await)),
            _ if let Some(stand_in) = taken => {
                stand_in.play(effect, own, &self.people).await.map(ToolReply::Done)
            }
            (Some(ToolPlayer::Mock(mock)), _) if mock.is_exhausted(effect.cx.nth) => {
                Err(exhausted_mock(effect, mock))
            }
            (Some(ToolPlayer::Mock(mock)), _) => {
                let args = Value::Object((*effect.args).clone());
                let answer = mock.call(args, &effect.cx).await;
                // A mock is held to the schema of the tool it plays.
                let answer =
                    answer.and_then(|output| own.spec().check_output(&output.value).map(|()| output));
                let value = answer.into();
                Ok(ToolReply::Done(Answer { value, by: Player::Mock, name: None }))
            }
            (Some(ToolPlayer::Person), _) => {
                let outcome = self.people.play_tool(effect, own).await?;
                let value = ToolAnswer { outcome, main_changes: None };
                Ok(ToolReply::Done(Answer { value, by: Player::Person, name: None }))
            }
            (Some(ToolPlayer::Real(tool)), _) if matches!(tool.kind(), ToolKind::Function) => {
                Ok(ToolReply::Done(run_tool(effect, tool).await))
            }
            (_, ToolKind::Yielding) => Ok(ToolReply::Later),
            (_, ToolKind::Agent(_)) => Ok(ToolReply::RunAgent),
            (_, ToolKind::Function) => match &self.stand_in {
                Some(stand_in) => stand_in.play(effect, own, &self.people).await.map(ToolReply::Done),
                None => Err(unmocked_tool(effect)),
            },
        }
    }
}

fn unmocked_tool(effect: &ToolEffect) -> Refusal {
    let tool = &effect.cx.tool;
    let args = pretty(&Value::Object((*effect.args).clone()));
    let message = format!(
        "tool `{tool}` was called by agent `{agent}` during a simulation, but nobody is cast for it

Add a mock:
  .mock(\"{tool}\", Mock::returning(json!({{\"result\": \"…\"}})))

Or, if this tool has no side effects, hand in the real tool:
  .real_tool({variable})

It was called with:
  {args}",
        agent = effect.cx.agent,
        variable = variable_name(tool),
    );
    Refusal { kind: "unmocked_tool".to_owned(), message }
}

fn exhausted_mock(effect: &ToolEffect, mock: &Mock) -> Refusal {
    let (tool, count) = (&effect.cx.tool, mock.limit().unwrap_or_default());
    let args = pretty(&Value::Object((*effect.args).clone()));
    let message = format!(
        "the mock of tool `{tool}` has {count} answers, and agent `{agent}` called it once more

Add an answer to the sequence, or use a mock that computes its answers:
  .mock(\"{tool}\", Mock::new(|args, cx| json!({{\"result\": \"…\"}})))

It was called with:
  {args}",
        agent = effect.cx.agent,
    );
    Refusal { kind: "mock_exhausted".to_owned(), message }
}

/// JSON over several lines, indented to stand in a message.
pub(crate) fn pretty(value: &Value) -> String {
    rehearsal_core::json::to_string_pretty(value).unwrap_or_default().replace('\n', "\n  ")
}

/// A tool's name as a Rust variable would be called.
pub(crate) fn variable_name(tool: &str) -> String {
    let mut name = String::new();
    for c in tool.chars() {
        if c.is_uppercase() && !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
        if c.is_alphanumeric() {
            name.extend(c.to_lowercase());
        } else {
            name.push('_');
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_become_variables() {
        assert_eq!(variable_name("searchRequests"), "search_requests");
        assert_eq!(variable_name("send-email"), "send_email");
        assert_eq!(variable_name("Ask"), "ask");
    }
}
