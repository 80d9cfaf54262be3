//! The users of tools: who plays them.

use rehearsal_agent::{AgentRef, ToolRef, YieldingTool};
use rehearsal_sim::Case;

use super::{Compiled, Role};
use crate::play::{tools, users};
use crate::{AgentUnderTest, AnsweredBy, ToolUser};

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
