//! Users of tools that the agent does not have, or that never ask.

use crate::read::nearest;
use crate::{AgentUnderTest, Problem, Reached, Scenario};

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
