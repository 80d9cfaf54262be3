//! Users of conversations: what their scripts call, and who can open.

use rehearsal_core::Schema;
use serde_json::Value;

use crate::read::nearest;
use crate::{Action, ConversationOpening, Problem, Scenario};

impl Scenario {
    /// What is wrong with the users of conversations.
    pub(super) fn misplaced_speakers(&self) -> Vec<Problem> {
        let mut problems = self.unfit_script_calls();
        problems.extend(self.late_openings());
        problems
    }

    /// Calls of scripted users that name a tool they do not have, or break its schema.
    fn unfit_script_calls(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for step in &self.run {
            let Action::Conversation { conversation, .. } = &step.action else { continue };
            let tools = conversation.user.tools();
            let calls = conversation.user.script().unwrap_or_default().iter().flat_map(|turn| &turn.calls);
            for call in calls {
                let Some(tool) = tools.iter().find(|tool| tool.name == call.tool) else {
                    // Which tools of the user's a world has is known when it runs.
                    if self.world.is_some() {
                        continue;
                    }
                    let message = format!("this user has no tool `{}`", call.tool);
                    let problem = Problem::error("never-used", call.span.clone(), message);
                    problems.push(match nearest(&call.tool, tools.iter().map(|tool| tool.name.as_str())) {
                        Some(word) => problem.help(format!("did you mean `{word}`?")),
                        None => problem.help(format!(
                            "add it to the user: tools: [{{name: {}, response: ok}}]",
                            call.tool
                        )),
                    });
                    continue;
                };
                let Some(schema) = &tool.parameters else { continue };
                let args = Value::Object(call.args.clone());
                let broken = Schema::new(schema.clone()).check(&args).unwrap_or_default();
                if !broken.is_empty() {
                    let listed: Vec<String> = broken.iter().map(ToString::to_string).collect();
                    let message = format!(
                        "this call breaks the `parameters` of `{}`: {}",
                        call.tool,
                        listed.join("; ")
                    );
                    let problem = Problem::error("bad-call", call.span.clone(), message);
                    problems.push(problem.help("give the arguments that the tool takes"));
                }
            }
        }
        problems
    }

    /// Conversations that the agent is to open when something was said already.
    fn late_openings(&self) -> Vec<Problem> {
        let talks = self.run.iter().filter(|step| !matches!(step.action, Action::Code { .. }));
        let late = talks.skip(1).filter(|step| match &step.action {
            Action::Conversation { conversation, .. } => conversation.opening == ConversationOpening::Agent,
            _ => false,
        });
        let problem = |step: &crate::Step| {
            let message =
                "the agent can only open its session, and something was said to it before this step";
            let problem = Problem::error("no-effect", step.span.clone(), message);
            problem.help("make it the first step that talks, or remove `opening: agent`")
        };
        late.map(problem).collect()
    }
}
