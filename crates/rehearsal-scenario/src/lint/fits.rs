//! Whether what a file says fits the tools and the state it speaks of: what could never hold, or always would.

use std::ops::Range;

use rehearsal_core::{Query, Schema, Violation};
use rehearsal_metrics::folded;
use serde_json::Value;

use self::patterns::{Misfit, Patterns};
use crate::read::nearest;
use crate::{
    Action, AgentFile, AgentUnderTest, AnsweredBy, CallStatus, Check, Dialect, Mock, ModelChoice, Problem,
    Reached, Scenario, ScriptedReply, Severity, ToolDefinition, UserTool,
};

mod patterns;

impl AgentFile {
    /// What does not fit the schemas of its tools.
    pub(crate) fn breaks_of_schemas(&self, dialect: Dialect) -> Vec<Problem> {
        let Some(mut stage) = crate::compile::stage() else { return Vec::new() };
        stage.dialect = dialect;
        stage.models.clone_from(&self.models);
        let own = self.mocks.iter().map(|mock| Mock { of_agent: false, ..mock.clone() });
        stage.setup.mocks = own.collect();
        stage.breaks_of_schemas(&self.agent)
    }
}

impl Scenario {
    /// What does not fit the schemas of the agent's tools.
    pub(super) fn breaks_of_schemas(&self, agent: &AgentUnderTest) -> Vec<Problem> {
        let mut problems = Vec::new();
        for mock in self.setup.mocks.iter().filter(|mock| !mock.of_agent) {
            let place = mock.span.clone();
            for tool in agent.tools.iter().filter(|tool| mock.plays(tool)) {
                problems.extend(unfit_response(mock, tool, &place));
                problems.extend(unfit_condition(mock, tool, &place));
            }
        }
        problems.extend(self.unfit_evaluations(agent));
        problems.extend(self.unfit_calls(agent));
        problems.extend(self.unsaid());
        if self.dialect == Dialect::ElizaOs {
            for problem in &mut problems {
                problem.severity = Severity::Warning;
            }
        }
        problems
    }

    /// Evaluations of calls with arguments that the tool does not take.
    fn unfit_evaluations(&self, agent: &AgentUnderTest) -> Vec<Problem> {
        let mut problems = Vec::new();
        for evaluation in self.evaluations() {
            let (tool, args, code, so) = match &evaluation.check {
                // A call that breaks the schema of its tool is made all the same, and fails.
                Check::ToolCalled(called) if called.status == CallStatus::Succeeded => {
                    (&called.tool, &called.args, "never-true", "so no call that succeeds has it")
                }
                Check::ToolNotCalled(called) => {
                    (&called.tool, &called.args, "always-true", "so this always holds")
                }
                _ => continue,
            };
            let (Some(args), Some(tool)) = (args, agent.tools.iter().find(|own| own.name == *tool)) else {
                continue;
            };
            let Some(schema) = &tool.parameters else { continue };
            for misfit in Patterns::of_queries(&tool.name, schema).misfits(args.source()) {
                let message = format!("{}, {so}", misfit.message);
                let problem = Problem::error(code, evaluation.span.clone(), message);
                problems.push(misfit.help(problem));
            }
        }
        problems
    }

    /// Rules on what comes after words of the user, where all that the user says is known and these are not in it.
    fn unsaid(&self) -> Vec<Problem> {
        let mut said = Vec::new();
        for step in &self.run {
            match &step.action {
                Action::Input(input) => said.push(folded(input)),
                Action::Conversation { input, conversation } => {
                    let Some(turns) = conversation.user.script() else { return Vec::new() };
                    let lines = turns.iter().filter_map(|turn| turn.says.as_ref());
                    said.extend(input.iter().chain(lines).map(|line| folded(line)));
                }
                Action::Code { .. } => {}
            }
        }
        let mut problems = Vec::new();
        for evaluation in self.evaluations() {
            let Some(words) = evaluation.check.words_of_user() else { continue };
            if said.iter().all(|line| !line.contains(&folded(words))) {
                let message = format!("the user of this file never says {words:?}, so this always holds");
                let mut problem = Problem::error("always-true", evaluation.span.clone(), message);
                problem.severity = Severity::Warning;
                problems.push(problem.help("write it as an `input` or a line of the user has it"));
            }
        }
        problems
    }

    /// Calls of the agent's scripted model that break the schema of the tool.
    fn unfit_calls(&self, agent: &AgentUnderTest) -> Vec<Problem> {
        let Reached::Inline(inline) = &agent.reached else { return Vec::new() };
        let model = self.models.iter().find(|model| model.key == inline.model && !model.span.is_empty());
        let replies: Vec<&ScriptedReply> = match model.map(|model| &model.model) {
            Some(ModelChoice::Script(replies)) => replies.iter().collect(),
            Some(ModelChoice::Rules(rules)) => rules.iter().map(|rule| &rule.reply).collect(),
            _ => Vec::new(),
        };
        let mut problems = Vec::new();
        for reply in replies.into_iter().filter(|reply| !reply.invalid) {
            for (name, args) in &reply.calls {
                let tool = agent.tools.iter().find(|tool| tool.name == *name);
                let Some(schema) = tool.and_then(|tool| tool.parameters.as_ref()) else { continue };
                let broken = violations(schema, &Value::Object(args.clone()));
                if !broken.is_empty() {
                    let message =
                        format!("this call breaks the `parameters` of `{name}`: {}", listed(&broken));
                    let place = reply.span.clone();
                    let help = "give the arguments that the tool takes; to play a model that gets them wrong, add: invalid: true";
                    problems.push(Problem::error("bad-call", place, message).help(help));
                }
            }
        }
        problems
    }

    /// Conditions on the state that nothing in the file writes.
    pub(super) fn unwritten_state(&self, agent: &AgentUnderTest) -> Vec<Problem> {
        // Another program may change the state as it likes.
        if !matches!(agent.reached, Reached::Inline(_)) || self.dialect == Dialect::ElizaOs {
            return Vec::new();
        }
        let mut written = vec!["scenario".to_owned()];
        written.extend(self.world.iter().map(|world| world.scope.clone()));
        paths_of(&Value::Object(self.setup.state.clone()), "", &mut written);
        for patch in self.setup.mocks.iter().filter_map(|mock| mock.state.as_ref()) {
            paths_of(&serde_json::to_value(patch).unwrap_or_default(), "", &mut written);
        }
        for tool in self.tools_of_users() {
            if tool.state_fn.is_some() {
                // What a function gives is only known when it runs.
                return Vec::new();
            }
            if let Some(patch) = &tool.state {
                paths_of(&serde_json::to_value(patch).unwrap_or_default(), "", &mut written);
            }
        }
        let mut problems = Vec::new();
        for (span, matches) in self.queries() {
            let mut asked = Vec::new();
            asked_paths(matches.source(), &mut asked);
            for path in asked.iter().filter(|path| !is_written(path, &written)) {
                let message = format!("nothing in this file writes `{path}`");
                let mut problem = Problem::error("never-written", span.clone(), message);
                problem.severity = Severity::Warning;
                let scoped = format!("session.{path}");
                let help = if is_written(&scoped, &written) {
                    format!("did you mean `{scoped}`?")
                } else {
                    match nearest(path, written.iter().map(String::as_str)) {
                        Some(word) => format!("did you mean `{word}`?"),
                        None => "the state is written by `setup.state` and by `state` of a mock: state: {session: {key: value}}"
                            .to_owned(),
                    }
                };
                problems.push(problem.help(help));
            }
        }
        problems
    }
}

impl Scenario {
    fn tools_of_users(&self) -> impl Iterator<Item = &UserTool> {
        let of_calls = self.users.iter().flat_map(|user| match &user.answered_by {
            AnsweredBy::Model(simulated) => simulated.tools.as_slice(),
            AnsweredBy::Script(_) | AnsweredBy::Person => &[],
        });
        let of_talks = self.run.iter().flat_map(|step| match &step.action {
            Action::Conversation { conversation, .. } => conversation.user.tools(),
            Action::Input(_) | Action::Code { .. } => &[],
        });
        of_calls.chain(of_talks)
    }

    /// The queries of the state, each with its place.
    fn queries(&self) -> impl Iterator<Item = (&Range<usize>, &Query)> {
        let asked = self.evaluations().filter_map(|evaluation| match &evaluation.check {
            Check::State(state) => Some((&evaluation.span, &state.matches)),
            _ => None,
        });
        let conditions = self.run.iter().flat_map(|step| match &step.action {
            Action::Conversation { conversation, .. } => conversation.termination_conditions.as_slice(),
            Action::Input(_) | Action::Code { .. } => &[],
        });
        asked.chain(conditions.filter_map(|condition| Some((&condition.span, condition.matches.as_ref()?))))
    }
}

/// A literal answer that is not of the form that the tool's answers have.
fn unfit_response(mock: &Mock, tool: &ToolDefinition, place: &Range<usize>) -> Option<Problem> {
    let always_fails = mock.probability.is_none() && mock.error.is_some();
    if mock.person || mock.response_fn.is_some() || always_fails {
        return None;
    }
    let broken = violations(tool.output.as_ref()?, mock.response.as_ref().unwrap_or(&Value::Null));
    if broken.is_empty() {
        return None;
    }
    let name = &tool.name;
    let message = match &mock.response {
        Some(_) => format!("`response` breaks the `output` schema of `{name}`: {}", listed(&broken)),
        None => format!(
            "without `response` it gives nothing, which breaks the `output` schema of `{name}`: {}",
            listed(&broken)
        ),
    };
    let help = "the tool itself would be refused such an answer; give one of its form, or change `output`";
    Some(Problem::error("bad-response", place.clone(), message).help(help))
}

/// Conditions of a mock on arguments that the tool does not take.
fn unfit_condition(mock: &Mock, tool: &ToolDefinition, place: &Range<usize>) -> Vec<Problem> {
    let (Some(schema), when) = (&tool.parameters, &mock.when) else { return Vec::new() };
    let patterns = Patterns::of_values(&tool.name, schema);
    let mut found = when.input.as_ref().map(|fields| patterns.misfits(fields)).unwrap_or_default();
    for (list, all) in [(&when.args, true), (&when.partial_args, false)] {
        found.extend(list.as_ref().and_then(|list| patterns.misfit_of_list(list, all)));
    }
    let problem = |misfit: Misfit| {
        let message = format!("{}, so this never holds", misfit.message);
        misfit.help(Problem::error("never-true", place.clone(), message))
    };
    found.into_iter().map(problem).collect()
}

/// What of a value breaks a schema; nothing where the schema cannot be used by itself.
fn violations(schema: &Value, value: &Value) -> Vec<Violation> {
    Schema::new(schema.clone()).check(value).unwrap_or_default()
}

fn listed(violations: &[Violation]) -> String {
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The paths at which a value has something.
fn paths_of(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                paths_of(value, &path, found);
            }
        }
        _ if path.is_empty() => {}
        _ => found.push(path.to_owned()),
    }
}

/// The paths that a query asks about.
fn asked_paths(query: &Value, found: &mut Vec<String>) {
    let Value::Object(fields) = query else { return };
    for (key, value) in fields {
        match (key.strip_prefix('$'), value) {
            (None, _) => found.push(key.clone()),
            (Some("and" | "or" | "nor"), Value::Array(parts)) => {
                for part in parts {
                    asked_paths(part, found);
                }
            }
            (Some(_), _) => {}
        }
    }
}

/// Whether something at, above or below a path is written.
fn is_written(path: &str, written: &[String]) -> bool {
    let under = |low: &str, high: &str| {
        low.strip_prefix(high).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    written.iter().any(|own| under(path, own) || under(own, path))
}
