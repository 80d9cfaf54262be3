//! What `adk eval` cannot do again of a golden trace.
//!
//! It plays the user's messages to the agent as it is, with its own tools and nobody at hand. So what a person or an error
//! callback did in the session comes out differently there, though the file loads.

use std::fmt;

use rehearsal_core::ToolOutcome;

use crate::conversation::What;

/// Why `adk eval` cannot run a golden trace to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caution {
    /// The number of the event that shows it.
    pub seq: u64,
    /// The place of its message among those of the eval case, from zero.
    pub place: usize,
    /// What stands in the way.
    pub obstacle: Obstacle,
}

/// What stands in the way of `adk eval`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// A tool raised. `adk eval` gives the case up there, unless an error callback gives something in its place.
    ToolRaised {
        /// The tool.
        tool: String,
        /// The kind of error.
        error: String,
    },
    /// The agent asked a person for a confirmation, an input or a credential, and nobody gives one.
    AsksPerson {
        /// What ADK calls the question.
        tool: String,
    },
    /// The agent gives no answer to a message, or one without words, which `adk eval` scores 0 even against itself.
    NoWords,
    /// The user's message is the result of a call, whose id is another one in every run.
    Resumes {
        /// The tool.
        tool: String,
    },
}

/// Errors that ADK gives to the model as results, and does not raise.
const NOT_RAISED: [&str; 2] = ["McpToolError", "McpError"];

impl Obstacle {
    pub(crate) fn of(what: &What<'_>) -> Option<Self> {
        match what {
            What::Called { tool, .. } if is_question(tool) => {
                Some(Self::AsksPerson { tool: (*tool).to_owned() })
            }
            What::Answered { tool, outcome, .. } => match &**outcome {
                ToolOutcome::Error(error) if !NOT_RAISED.contains(&&*error.kind) => {
                    Some(Self::ToolRaised { tool: tool.to_string(), error: error.kind.clone() })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// What the user gave instead of words.
    pub(crate) fn answered(tool: &str) -> Self {
        if is_question(tool) {
            Self::AsksPerson { tool: tool.to_owned() }
        } else {
            Self::Resumes { tool: tool.to_owned() }
        }
    }
}

fn is_question(tool: &str) -> bool {
    ["adk_request_confirmation", "adk_request_input", "adk_request_credential"].contains(&tool)
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seq, place, obstacle } = self;
        let message = place + 1;
        match obstacle {
            Obstacle::ToolRaised { tool, error } => write!(
                f,
                "`adk eval` ends at message {message} where `{tool}` raises {error} again (event {seq}), unless the agent or a \
                 plugin of its app has an `on_tool_error_callback` that returns a dict"
            ),
            Obstacle::AsksPerson { tool } => write!(
                f,
                "`adk eval` cannot pass message {message}: the agent asks a person there (`{tool}`, event {seq}), and nobody \
                 answers"
            ),
            Obstacle::NoWords => write!(
                f,
                "`adk eval` scores the answer to message {message} (event {seq}) 0, as it does where an agent says nothing or \
                 no word"
            ),
            Obstacle::Resumes { tool } => write!(
                f,
                "`adk eval` cannot pass message {message}: it is the later result of `{tool}` (event {seq}), whose call has \
                 another id in every run"
            ),
        }
    }
}
