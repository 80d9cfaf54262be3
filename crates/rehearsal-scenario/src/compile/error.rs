//! Why a scenario cannot be run.

use std::io;
use std::ops::Range;

use rehearsal_world::environment::EnvironmentError;
#[cfg(feature = "http")]
use rehearsal_world::remote::HttpAgentError;

use crate::Problem;

/// Why a model cannot be had: what is wrong with its name, or why it cannot be built. Whoever builds models says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelUnusable {
    /// What is wrong.
    pub message: String,
    /// What would help.
    pub hint: Option<String>,
}

impl ModelUnusable {
    /// This is wrong with it.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// The same with what would help.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl ModelUnusable {
    /// The same, of a place in a file.
    pub(crate) fn into_problem(self, code: &'static str, span: Range<usize>) -> Problem {
        let problem = Problem::error(code, span, self.message);
        match self.hint {
            Some(hint) => problem.help(hint),
            None => problem,
        }
    }
}

/// Why a scenario cannot be run, as far as that is known before it begins.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// A part has no model.
    #[error("{part} needs a model, and none is named")]
    NoModel {
        /// Whose model it is, in words.
        part: &'static str,
    },
    /// A model cannot be built.
    #[error(transparent)]
    Model(#[from] ModelUnusable),
    /// A person cannot play this part.
    #[error("{part} cannot be played by a person")]
    NotByPerson {
        /// The part, in words.
        part: &'static str,
        /// What to write instead.
        instead: &'static str,
    },
    /// People play parts, and nobody brings them what they are asked.
    #[error(
        "this scenario is played by a person: {}; and nobody here brings them what they are asked",
        parts.join(", ")
    )]
    NobodyAsked {
        /// The parts, in words.
        parts: Vec<String>,
    },
    /// An evaluation asks a judge that has no model.
    #[error("the evaluation at line {line} asks a judge, and no model is called `{key}`")]
    NoJudge {
        /// The line of the evaluation.
        line: usize,
        /// The key that the model needs.
        key: String,
    },
    /// A variable of the environment is not set.
    #[error("the scenario names the environment variable `{name}`, which is not set")]
    UnsetVariable {
        /// The variable.
        name: String,
    },
    /// A variable of the environment that a text such as a header or an address names is not set.
    #[error("`${{env.{name}}}` names an environment variable that is not set")]
    UnsetHeader {
        /// The variable.
        name: String,
    },
    /// A text names a variable and does not end its name.
    #[error("a text has `${{env.` without its `}}`")]
    UnclosedHeader,
    /// A header of a tool cannot have its value.
    #[error("the header `{header}` of tool `{tool}` cannot have this value")]
    Header {
        /// The header.
        header: String,
        /// The tool.
        tool: String,
    },
    /// A tool's address is none.
    #[error("`{url}` is no HTTP address: {why}")]
    Address {
        /// What stands there.
        url: String,
        /// Why it is none.
        why: String,
    },
    /// A tool's method is none.
    #[error("`{method}` is no HTTP method")]
    Method {
        /// What stands there.
        method: String,
    },
    /// What is reached over HTTP cannot be.
    #[cfg(feature = "http")]
    #[error(transparent)]
    Http(#[from] HttpAgentError),
    /// Something is reached over HTTP, which is not built in.
    #[error("agents and tools behind HTTP are not built in")]
    NoHttp,
    /// The folder of a run cannot be made.
    #[error("{}", crate::play::told(.0))]
    Folder(EnvironmentError),
    /// There is no port for the server of an agent.
    #[error("no free port: {0}")]
    NoPort(io::Error),
    /// An agent by itself that is a command.
    #[error("an agent that is a `command` runs only in scenarios")]
    CommandByItself,
    /// An agent by itself whose tools a world plays.
    #[error("a `world` is started only for the cases of scenarios")]
    WorldByItself,
    /// An agent by itself whose server has to be started.
    #[error("a server is started only for scenarios")]
    ServerByItself,
    /// An agent by itself, and no scenario can be made around it.
    #[error("an agent needs a scenario around it")]
    NoStage,
}

impl CompileError {
    /// What would help.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Model(model) => return model.hint.clone(),
            Self::NotByPerson { instead, .. } => instead,
            Self::NobodyAsked { .. } => {
                "cast somebody else: a model or a script under `models`, a `response` in the mock, `user: {script: […]}`"
            }
            Self::NoJudge { key, .. } => return Some(format!("name it: --model {key}=openai:gpt-4o")),
            Self::UnsetVariable { name } => {
                return Some(format!(
                    "set it, put it into a file for `--env-file`, or give it a value: variables: {{{name}: …}}"
                ));
            }
            Self::UnsetHeader { .. } => "set it, or put it into a file for `--env-file`",
            Self::NoHttp => "switch on the feature `http`",
            Self::CommandByItself => "write the agent inline, or reach it by `chat` or `http`",
            Self::WorldByItself => "give the agent's file mocks under `setup`, or run it in a scenario",
            Self::ServerByItself => "start it yourself and name its address",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// What is wrong and what would help, as a case says it that cannot be run.
    pub(crate) fn told(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self}\n\nhint: {hint}"),
            None => self.to_string(),
        }
    }
}
