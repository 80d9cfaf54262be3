//! What is wrong with a scenario beyond what its reader sees: how its parts fit each other, its agent and whoever runs it.
//!
//! Every problem has its place in the file, as the reader found it.

use crate::compile::Role;
use crate::file::{not_runnable, unknown_tool, unreachable_mocks, unreachable_world};
use crate::read::nearest;
use crate::{Action, AgentUnderTest, Dialect, Mock, Problem, Reached, Scenario, Severity};

mod commands;
mod fits;
mod people;
mod secrets;
mod speakers;
mod users;

impl Scenario {
    /// What the scenario needs and does not name: an agent, and models for its parts.
    pub fn missing(&self) -> Vec<Problem> {
        self.missing_for(false)
    }

    /// What the scenario needs and does not name; mocks do not count where the tools run for real.
    pub fn missing_for(&self, live: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.talks() && self.agent.is_none() {
            let problem =
                Problem::error("no-agent", self.head.clone(), "the scenario does not say what is under test");
            problems.push(problem.help(
                "add an agent:\n  agent:\n    instructions: You are a helpful assistant.\n  models:\n    agent: openai:gpt-4o\n\
                 or name a file that has one: --agent FILE",
            ));
        }
        if let Some(agent) = self.agent.as_ref().filter(|agent| agent.span.is_empty()) {
            problems.extend(self.misfits(agent, live));
        }
        if let Some(agent) = &self.agent {
            problems.extend(self.unfindable(agent));
            problems.extend(self.breaks_of_schemas(agent));
            problems.extend(self.unwritten_state(agent));
            problems.extend(self.misplaced_users(agent));
        }
        problems.extend(self.misplaced_people());
        problems.extend(self.misplaced_speakers());
        let mut told: Vec<(Role, Option<&str>)> = Vec::new();
        for (role, written, at) in self.uses() {
            if self.model(role, written).is_some() || told.contains(&(role, written)) {
                continue;
            }
            told.push((role, written));
            let key = written.unwrap_or(role.key());
            let message = format!("{} needs a model, and no model is called `{key}`", role.of());
            let problem = Problem::error("no-model", at, message);
            problems.push(problem.help(format!(
                "add it:\n  models:\n    {key}: openai:gpt-4o   # or {{script: [{{say: Hello}}]}}\nor name it on the command line: --model {key}=openai:gpt-4o"
            )));
        }
        problems
    }

    /// What the file says about tools and does not fit an agent that it did not know.
    fn misfits(&self, agent: &AgentUnderTest, live: bool) -> Vec<Problem> {
        // The mocks of the agent's file fit it: that was seen when it was read.
        let own: Vec<&Mock> = self.setup.mocks.iter().filter(|mock| !mock.of_agent).collect();
        let first = own.first().map_or(&self.head, |mock| &mock.span).clone();
        let mut problems: Vec<Problem> =
            unreachable_mocks(agent, first).filter(|_| !live && !own.is_empty()).into_iter().collect();
        if let Some(world) = &self.world {
            problems.extend(unreachable_world(agent, world.span.clone()));
        } else {
            problems.extend(own.iter().filter_map(|mock| unknown_tool(mock, agent, mock.span.clone())));
        }
        if self.dialect == Dialect::ElizaOs {
            for problem in &mut problems {
                problem.severity = Severity::Warning;
            }
        }
        let listed = self.setup.passthrough.iter();
        problems.extend(listed.filter_map(|name| not_runnable(name, agent, self.head.clone())));
        problems
    }

    /// Evaluations of tool calls that could never find one.
    fn unfindable(&self, agent: &AgentUnderTest) -> Vec<Problem> {
        let elsewhere = match &agent.reached {
            Reached::Http(endpoint) => {
                // Which tools it has, only its answers tell.
                if endpoint.calls.is_some() {
                    return Vec::new();
                }
                Some(
                    "remove it, say where its answers tell them (`calls:` in `http`), or reach the agent by `command`",
                )
            }
            Reached::Chat { .. } => {
                Some("remove it, or reach the agent by `command`, where its tool calls come to us")
            }
            _ => None,
        };
        let mut problems = Vec::new();
        for evaluation in self.evaluations() {
            let place = evaluation.span.clone();
            let Some(names) = evaluation.check.tools() else { continue };
            if let Some(help) = elsewhere {
                let message = format!(
                    "`{}` has nothing to look at: the tool calls of an agent behind HTTP never reach us",
                    evaluation.type_name()
                );
                problems.push(Problem::error("no-effect", place, message).help(help));
                continue;
            }
            // Which tools a world has is known when it runs.
            if self.world.is_some() {
                continue;
            }
            for name in names.into_iter().filter(|name| !agent.tools.iter().any(|tool| tool.name == *name)) {
                let message = format!("the agent has no tool `{name}`, so nothing can be found of it");
                let problem = Problem::error("never-used", place.clone(), message);
                problems.push(match nearest(name, agent.tools.iter().map(|tool| tool.name.as_str())) {
                    Some(word) => problem.help(format!("did you mean `{word}`?")),
                    None => problem.help("name one of its tools"),
                });
            }
        }
        if self.dialect == Dialect::ElizaOs {
            for problem in &mut problems {
                problem.severity = Severity::Warning;
            }
        }
        problems
    }

    /// Says that nothing is asked, so that no run can pass or fail.
    pub fn asks_nothing(&self) -> Option<Problem> {
        if self.evaluations().next().is_some() {
            return None;
        }
        let at = self.run.first().map_or(&self.head, |step| &step.span).clone();
        let message =
            "there are no evaluations, so nothing is asked of the agent and every run is `unjudged`";
        let mut problem = Problem::error("no-evaluations", at, message);
        problem.severity = Severity::Warning;
        Some(problem.help("add one to a step: evaluations: [{type: string_contains, value: hello}]"))
    }

    /// Models of the file that nobody uses.
    pub fn unused(&self) -> Vec<Problem> {
        let used: Vec<&str> = self
            .uses()
            .into_iter()
            .filter_map(|(role, written, _)| self.model(role, written).map(|model| model.key.as_str()))
            .collect();
        let unused =
            self.models.iter().filter(|model| !model.span.is_empty() && !used.contains(&model.key.as_str()));
        // What is shared may offer more than one scenario uses.
        let unused = unused.filter(|model| !self.shared_models.contains(&model.key));
        unused
            .map(|model| {
                let message = format!("nobody uses the model `{}`", model.key);
                let problem = Problem::error("unused-model", model.span.clone(), message);
                problem
                    .help("`agent`, `user` and `judge` are asked where they are needed; remove what is not")
            })
            .collect()
    }

    /// Says that code of the file, which asks for a sandbox, would run on this machine.
    pub fn escapes_sandbox(&self) -> Option<Problem> {
        let place = self.sandbox.clone()?;
        let code = self.run.iter().any(|step| matches!(step.action, Action::Code { .. }));
        let commands = self.evaluations().any(|evaluation| !evaluation.commands().is_empty());
        if !code && !commands {
            return None;
        }
        let message =
            "this file asks for a sandbox (`e2b`), which is not there: its code would run on this machine";
        let problem = Problem::error("no-sandbox", place, message);
        Some(problem.help("to let it run on this machine, write: type: local, or add: --local-code"))
    }
}
