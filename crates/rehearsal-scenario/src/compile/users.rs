//! The users of tools: who plays them, and what is wrong with who the file names.

use rehearsal_agent::{AgentRef, ToolRef, YieldingTool};
use rehearsal_sim::Case;

use super::{Compiled, Role};
use crate::play::{tools, users};
use crate::read::nearest;
use crate::{AgentUnderTest, AnsweredBy, Problem, Reached, Scenario, ToolUser};

impl Compiled {
    /// The case with the users of its tools, and the bridge to them.
    pub(super) fn with_users(&self, mut case: Case) -> Case {
        for user in &self.scenario.users {
            case = match (&user.answered_by, self.user_agent(user)) {
                (AnsweredBy::Person, _) => case.tool_by_person(&user.tool),
                (_, Some(agent)) => case.tool_user(&user.tool, agent),
                (_, None) => case,
            };
        }
        case.bridge(self.bridge())
    }

    pub(super) fn bridge(&self) -> users::FileBridge {
        users::FileBridge {
            expressions: self.scenario.bridge.clone(),
            scripts: self.backstage.scripts.clone(),
        }
    }

    fn user_agent(&self, user: &ToolUser) -> Option<AgentRef> {
        match &user.answered_by {
            AnsweredBy::Person => None,
            AnsweredBy::Script(script) => Some(users::scripted(script, &user.tool)),
            AnsweredBy::Model(simulated) => {
                let tool = self.scenario.agent.as_ref()?.tools.iter().find(|tool| tool.name == user.tool)?;
                let named = self.scenario.model(Role::User, simulated.model_type.as_deref())?;
                let model = self.models.get(&named.key)?.clone();
                Some(users::simulated(simulated, tool, model, &self.backstage.scripts))
            }
        }
    }

    /// The tools as the agent sees them; those that ask the user wait for the answer.
    pub(super) fn declared(&self, agent: &AgentUnderTest) -> Vec<ToolRef> {
        let asks = |name: &str| {
            let mut users = self.scenario.users.iter().filter(|user| user.answered_by != AnsweredBy::Person);
            users.any(|user| user.tool == name)
        };
        let declared = agent.tools.iter().map(|tool| {
            if asks(&tool.name) {
                YieldingTool::raw(tools::declaration(tool)).into()
            } else {
                tools::declared(tool)
            }
        });
        declared.collect()
    }
}

impl Scenario {
    /// What is wrong with the users of tools that this agent has or has not.
    pub(super) fn misplaced_users(&self, agent: &AgentUnderTest) -> Vec<Problem> {
        let mut problems = Vec::new();
        for user in &self.users {
            let problem = |code, message: String| Problem::error(code, user.span.clone(), message);
            if !matches!(agent.reached, Reached::Inline(_)) {
                let message = "only the tools of an agent that is written in the file can wait for a user";
                let help = "play this tool with a mock: `person: true` lets a person answer";
                problems.push(problem("no-effect", message.to_owned()).help(help));
                continue;
            }
            let Some(tool) = agent.tools.iter().find(|tool| tool.name == user.tool) else {
                let problem =
                    problem("never-used", format!("the agent has no tool `{}` that could ask", user.tool));
                let known = agent.tools.iter().map(|tool| tool.name.as_str());
                problems.push(match nearest(&user.tool, known) {
                    Some(word) => problem.help(format!("did you mean `{word}`?")),
                    None => problem.help("add the tool to `agent.tools`, or remove its user"),
                });
                continue;
            };
            if tool.implementation.is_some() {
                let message = format!("tool `{}` asks the user, so it never runs for real", user.tool);
                problems
                    .push(problem("no-effect", message).help("remove its `command` or `http`, or its user"));
            }
            if self.setup.mocks.iter().any(|mock| mock.plays(tool)) {
                let message = format!("tool `{}` asks the user, so its mock never answers", user.tool);
                problems.push(problem("no-effect", message).help("remove the mock, or its user"));
            }
        }
        problems
    }
}
