//! The parts of a scenario that people play.

use super::{Backstage, CompileError, Role};
use crate::{Action, AnsweredBy, ConversationUser, ModelChoice, Scenario};

impl Role {
    /// What to write instead, where a person cannot play the part.
    pub(crate) fn instead_of_person(self) -> Option<&'static str> {
        match self {
            Self::Agent => None,
            Self::User => {
                Some("let a person speak for themselves: user: person, in place of `user_simulator`")
            }
            Self::Judge => {
                Some("name a model: judge: openai:gpt-4o, or a script: judge: {rules: [{json: {…}}]}")
            }
        }
    }

    pub(crate) fn not_by_person(self) -> String {
        format!("{} cannot be played by a person", self.of())
    }
}

impl Scenario {
    /// Refuses a scenario in which a person plays a part and nobody can be asked.
    pub(super) fn refuse_missing_people(&self, backstage: &Backstage) -> Result<(), CompileError> {
        let parts = self.parts_of_people(backstage.live);
        if parts.is_empty() || backstage.people.is_some() {
            return Ok(());
        }
        Err(CompileError::NobodyAsked { parts })
    }

    /// The parts that people play, in words; under `--live` mocks do not answer, whoever plays them.
    fn parts_of_people(&self, live: bool) -> Vec<String> {
        let mut parts = Vec::new();
        if self
            .uses()
            .iter()
            .any(|(role, written, _)| *role == Role::Agent && self.is_person(*role, *written))
        {
            parts.push("the model of the agent".to_owned());
        }
        let mocks = self.setup.mocks.iter().filter(|mock| mock.person && !live);
        parts.extend(mocks.map(|mock| format!("tool `{}` (line {})", mock.method, mock.line)));
        let users = self.users.iter().filter(|user| user.answered_by == AnsweredBy::Person);
        parts.extend(users.map(|user| format!("the user of tool `{}` (line {})", user.tool, user.line)));
        for (index, step) in self.run.iter().enumerate() {
            if let Action::Conversation { conversation, .. } = &step.action
                && conversation.user == ConversationUser::Person
            {
                parts.push(format!("the user of step {} (line {})", index + 1, step.line));
            }
        }
        parts
    }

    pub(crate) fn is_person(&self, role: Role, written: Option<&str>) -> bool {
        self.model(role, written).is_some_and(|named| named.model == ModelChoice::Person)
    }
}
