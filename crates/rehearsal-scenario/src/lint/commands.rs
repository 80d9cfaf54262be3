//! Which programs a run of a file would start.

use rehearsal_metrics::evaluator::CheckProgram;

use crate::{Action, AgentFile, AgentUnderTest, Implementation, Problem, Reached, Scenario};

const HELP: &str = "read what it runs; if you want that, leave out: --no-commands";

fn refused(place: std::ops::Range<usize>, what: &str) -> Problem {
    Problem::error("runs-commands", place, format!("{what}, and `--no-commands` says that none is run"))
        .help(HELP)
}

impl Scenario {
    /// The places of the file that would start a program if it were run; `live` lets all tools run for real.
    pub fn commands(&self, live: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.setup.seed.is_empty() {
            problems.push(refused(self.setup.seed_span.clone(), "`seed` runs commands"));
        }
        for step in &self.run {
            if matches!(step.action, Action::Code { .. }) {
                problems.push(refused(step.span.clone(), "this step runs code"));
            }
        }
        for evaluation in self.evaluations() {
            let runs = |program: &&CheckProgram| {
                matches!(program, CheckProgram::Command { .. } | CheckProgram::Python { .. })
            };
            if !evaluation.commands().is_empty() {
                problems.push(refused(evaluation.span.clone(), "this evaluation runs a command"));
            } else if evaluation.check.programs().iter().any(runs) {
                problems.push(refused(evaluation.span.clone(), "this evaluation runs a program"));
            }
        }
        if let Some(world) = self.world.as_ref().filter(|world| world.starts_program()) {
            let place = if world.span.is_empty() { self.head.clone() } else { world.span.clone() };
            problems.push(refused(place, "the world is a program"));
        }
        let Some(agent) = &self.agent else { return problems };
        // An agent of another file has no place in this one.
        let is_own = agent.span.start > 0;
        let place = |own: &std::ops::Range<usize>| if is_own { own.clone() } else { self.head.clone() };
        problems.extend(starts(agent).map(|what| refused(place(&agent.span), what)));
        let runs = |name: &String| live || self.setup.passthrough.contains(name);
        for tool in agent.tools.iter().filter(|tool| runs(&tool.name)) {
            if matches!(tool.implementation, Some(Implementation::Command(_))) {
                let what = format!("the tool `{}` runs a command", tool.name);
                problems.push(refused(place(&tool.span), &what));
            }
        }
        problems
    }
}

impl AgentFile {
    /// The same for an agent of a file of its own, but for its tools, which run when a scenario says so.
    pub fn commands(&self) -> Vec<Problem> {
        let agent = starts(&self.agent).map(|what| refused(self.agent.span.clone(), what));
        let world = self.world.as_ref().filter(|world| world.starts_program());
        let world = world.map(|world| refused(world.span.clone(), "the world is a program"));
        agent.into_iter().chain(world).collect()
    }
}

/// What an agent starts, in words.
fn starts(agent: &AgentUnderTest) -> Option<&'static str> {
    let server = match &agent.reached {
        Reached::Command(_) => return Some("the agent is a command"),
        Reached::Http(endpoint) => &endpoint.server,
        Reached::Chat { server, .. } => server,
        Reached::Inline(_) | Reached::Socket(_) => return None,
    };
    server.as_ref().map(|_| "`start` runs a command")
}
