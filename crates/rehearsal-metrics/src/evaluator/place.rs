//! Where an evaluator can be asked.

use rehearsal_core::StepKind;

use super::Check;
use crate::view::View;

/// What an evaluator looks at, as far as that decides where it can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LooksAt {
    /// The reply, the time or the state, which every step has.
    Reply,
    /// What the agent did.
    Agent,
    /// Files and commands.
    Environment,
    /// The turns of a conversation.
    Conversation,
    /// The world that plays the tools, as it is when a step ends.
    World,
}

/// Where an evaluation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the `evaluations` of a step of this kind.
    Step(StepKind),
    /// In the `turn_evaluations` of a conversation.
    Turn,
    /// In the `final_evaluations` of a conversation.
    Final,
    /// Among the metrics of a whole session.
    Session,
}

impl Place {
    pub(super) fn of(view: &View<'_>) -> Self {
        match (view.turn(), view.kind()) {
            (Some(_), _) => Self::Turn,
            (None, Some(kind)) => Self::Step(kind),
            (None, None) => Self::Session,
        }
    }
}

/// There is nothing that an evaluator could look at; the text says where to ask instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misplaced {
    /// Files of a turn.
    #[error("`{name}` cannot be asked of a turn: a turn has no files; ask in `evaluations`")]
    FilesOfTurn {
        /// The `type` of the evaluator.
        name: &'static str,
    },
    /// Files of a session.
    #[error("`{name}` cannot be asked of a session: only the steps of a scenario have files")]
    FilesOfSession {
        /// The `type` of the evaluator.
        name: &'static str,
    },
    /// The turns of a turn.
    #[error("`{name}` cannot be asked of a turn: it looks at all of them; ask in `final_evaluations`")]
    TurnsOfTurn {
        /// The `type` of the evaluator.
        name: &'static str,
    },
    /// The turns of a step without a conversation.
    #[error("`{name}` cannot be asked of this step: it has no `conversation`")]
    NoConversation {
        /// The `type` of the evaluator.
        name: &'static str,
    },
    /// The world in the middle of a step, or of a session without steps.
    #[error("`{name}` is asked when a step ends; ask in `evaluations` or `final_evaluations`")]
    WorldOfTurn {
        /// The `type` of the evaluator.
        name: &'static str,
    },
    /// Other replies than that of a turn.
    #[error("`in` of `{name}` says nothing of a turn, which has one reply; ask in `final_evaluations`")]
    RepliesOfTurn {
        /// The `type` of the evaluator.
        name: &'static str,
    },
    /// The agent of a code step.
    #[error("`{name}` cannot be asked of a code step: no agent takes part in it")]
    NoAgent {
        /// The `type` of the evaluator.
        name: &'static str,
    },
}

impl Check {
    /// Whether it can be asked there.
    ///
    /// # Errors
    /// There is nothing there that it could look at.
    pub fn allowed_in(&self, place: Place) -> Result<(), Misplaced> {
        let kind = self.kind();
        let name = kind.name;
        match (kind.looks_at, place) {
            (LooksAt::Environment, Place::Turn) => Err(Misplaced::FilesOfTurn { name }),
            (LooksAt::Environment, Place::Session) => Err(Misplaced::FilesOfSession { name }),
            (LooksAt::World, Place::Turn | Place::Session) => Err(Misplaced::WorldOfTurn { name }),
            (LooksAt::Conversation, Place::Turn) => Err(Misplaced::TurnsOfTurn { name }),
            (LooksAt::Conversation, Place::Step(StepKind::Input | StepKind::Code)) => {
                Err(Misplaced::NoConversation { name })
            }
            (LooksAt::Agent, Place::Step(StepKind::Code)) => Err(Misplaced::NoAgent { name }),
            (LooksAt::Reply, _)
            | (LooksAt::Agent, Place::Step(_) | Place::Turn | Place::Final | Place::Session)
            | (LooksAt::Environment | LooksAt::World, Place::Step(_) | Place::Final)
            | (LooksAt::Conversation, Place::Step(_) | Place::Final | Place::Session) => Ok(()),
        }
    }
}
