//! Whose doing it is that a case did not pass.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose doing it is that a case did not pass. Only what the agent did says something about the agent: cases with any
/// other fault leave the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The agent under test: it was judged and did not pass, it broke, or it ran into a limit.
    Agent,
    /// The simulated user, or the person who plays it.
    User,
    /// Whoever plays the tools: a mock, a world, a real tool that was let through.
    Tool,
    /// The judge, or another metric that could not decide.
    Judge,
    /// What all of it runs on: a provider that cannot be reached, a process that dies, a full disk, the case's own file.
    Infrastructure,
    /// A budget was used up.
    Budget,
}

impl Fault {
    /// Whether a case with this fault says something about the agent.
    pub fn is_of_agent(self) -> bool {
        self == Self::Agent
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::Tool => "tool",
            Self::Judge => "judge",
            Self::Infrastructure => "infrastructure",
            Self::Budget => "budget",
        })
    }
}
