//! Agents that hand a conversation to each other.

use std::sync::Arc;

use rehearsal_core::{Event, FunctionCall, Ledger, ToolDeclaration, ToolOutcome};
use serde_json::{Value, json};

use super::LlmAgent;
use crate::{Agent, Context, Done, Flow, FunctionTool, RunError, ToolOutput, ToolRef};

/// The tool by which an agent hands the conversation to another one.
pub const TRANSFER_TOOL: &str = "transfer_to_agent";

/// How often a conversation may be handed on before somebody has to answer.
const MAX_HOPS: usize = 16;

/// An agent and all agents below it.
pub(super) struct Team<'a> {
    members: Vec<Member<'a>>,
}

struct Member<'a> {
    agent: &'a dyn Agent,
    parent: Option<usize>,
}

impl<'a> Team<'a> {
    pub(super) fn of(root: &'a LlmAgent) -> Result<Self, RunError> {
        let mut team = Self { members: vec![Member { agent: root, parent: None }] };
        team.add_below(root, 0)?;
        Ok(team)
    }

    fn add_below(&mut self, agent: &'a LlmAgent, parent: usize) -> Result<(), RunError> {
        for sub_agent in &agent.sub_agents {
            if self.find(sub_agent.name()).is_some() {
                let why = format!(
                    "two agents it can transfer to are called `{}`; give them different names",
                    sub_agent.name()
                );
                return Err(RunError::agent(&agent.name, why));
            }
            let place = self.members.len();
            self.members.push(Member { agent: &**sub_agent, parent: Some(parent) });
            if let Some(llm) = sub_agent.as_llm() {
                self.add_below(llm, place)?;
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| &**member.agent.name() == name)
    }

    /// Whom a member can hand the conversation to: those below it, the one above it, and those beside it.
    fn targets(&self, name: &str) -> Vec<&Member<'a>> {
        let Some(at) = self.find(name) else { return Vec::new() };
        let above = self.members[at].parent;
        let reach = |(place, member): &(usize, &Member<'_>)| {
            *place != at
                && (member.parent == Some(at)
                    || Some(*place) == above
                    || (above.is_some() && member.parent == above))
        };
        self.members.iter().enumerate().filter(reach).map(|(_, member)| member).collect()
    }

    pub(super) fn transfer_tool(&self, name: &str) -> Option<ToolRef> {
        let targets = self.targets(name);
        if targets.is_empty() {
            return None;
        }
        let names: Vec<&str> = targets.iter().map(|member| &**member.agent.name()).collect();
        let list: Vec<String> = targets.iter().map(|member| describe(member.agent)).collect();
        let description =
            format!("Hands the conversation to another agent. The agents are:\n{}", list.join("\n"));
        let parameters = json!({
            "type": "object",
            "properties": {"agent_name": {"type": "string", "enum": names}},
            "required": ["agent_name"],
        });
        let declaration = ToolDeclaration::new(TRANSFER_TOOL, description).parameters(parameters);
        let tool = FunctionTool::raw(declaration, |args, _cx| {
            let output = json!({"transferred_to": args["agent_name"]});
            Box::pin(std::future::ready(Ok(ToolOutput::new(output))))
        });
        Some(tool.synthetic().into())
    }

    /// The agent that one of these calls handed the conversation to.
    pub(super) fn transferred(&self, ledger: &Ledger, calls: &[FunctionCall]) -> Option<Arc<str>> {
        let transfers = calls.iter().filter(|call| call.name == TRANSFER_TOOL);
        let mut results = transfers.filter_map(|call| ledger.call(call.id.as_ref()?)?.result());
        results.find_map(|result| match &result.outcome {
            ToolOutcome::Output(output) => {
                let to = output.get("transferred_to").and_then(Value::as_str)?;
                self.find(to).map(|at| self.members[at].agent.name().clone())
            }
            ToolOutcome::Error(_) => None,
        })
    }

    /// Runs the member that has the conversation, then whoever it is handed to.
    pub(super) async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        let root = self.members[0].agent.name();
        let began = cx.ledger().started_at(cx.invocation()).unwrap_or(0);
        let before = cx.ledger().events().get(..began).unwrap_or_default();
        // A team that is used as a tool begins afresh with every call.
        let own = cx.invocation().enclosure();
        let is_seen =
            |event: &&Arc<Event>| event.invocation.as_ref().map_or("", |path| path.enclosure()) == own;
        let last = before.iter().rev().filter(is_seen).find_map(|event| match &event.body {
            rehearsal_core::EventBody::AgentEnded { transfer_to: Some(to), .. }
                if self.find(&event.author).is_some() =>
            {
                self.find(to)
            }
            _ => None,
        });
        let mut at = last.unwrap_or(0);
        for hop in 0..MAX_HOPS {
            let member = &self.members[at];
            let seat = Seat { agent: member.agent, team: self };
            let path = cx.invocation().child(format_args!("{hop}-{}", member.agent.name()));
            match cx.run_child(path, &seat).await? {
                Flow::Done(Done { transfer_to: Some(to), .. }) => at = self.find(&to).unwrap_or(0),
                Flow::Done(done) => return Ok(Flow::Done(Done::new(done.output))),
                waiting @ Flow::Waiting(_) => return Ok(waiting),
            }
        }
        Err(RunError::agent(
            root,
            format!("the conversation was handed on {MAX_HOPS} times and nobody answered"),
        ))
    }
}

fn describe(agent: &dyn Agent) -> String {
    match agent.as_llm().map(|llm| llm.description.as_str()) {
        Some(text) if !text.is_empty() => format!("- {}: {text}", agent.name()),
        _ => format!("- {}", agent.name()),
    }
}

/// A member while it has the conversation.
struct Seat<'a> {
    agent: &'a dyn Agent,
    team: &'a Team<'a>,
}

#[async_trait::async_trait]
impl Agent for Seat<'_> {
    fn name(&self) -> &Arc<str> {
        self.agent.name()
    }

    fn kind(&self) -> &'static str {
        self.agent.kind()
    }

    async fn run(&self, cx: &mut Context<'_>) -> Result<Flow, RunError> {
        match self.agent.as_llm() {
            Some(llm) => llm.converse(cx, Some(self.team)).await,
            None => self.agent.run(cx).await,
        }
    }
}

impl std::fmt::Debug for Seat<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Seat").field(&self.agent).finish()
    }
}
