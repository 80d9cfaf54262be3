//! Evaluations in a scenario file.

use std::error::Error as _;

use rehearsal_core::QueryError;

use crate::read::{Fields, Reader, choose};
use crate::yaml::Node;
use crate::{Problem, StepKind};

mod answer;
mod check;
mod environment;
mod judge;
mod prices;
mod talk;
mod tools;
mod value;

pub use answer::{AnswerPath, JsonPathCheck};
pub use check::{CallStatus, Check, FlowPattern, JudgeEvaluation, SatisfactionMethod, ToolCalled};
pub use judge::Expectation;
pub use prices::{Price, Prices};
pub use tools::ArgumentPattern;
pub use value::ValueQuery;
pub(crate) use value::{is_same, shorten, shown, unmet};

/// Something that is asked of a step, a turn or a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The line it stands on, from 1.
    pub line: usize,
    /// Why it is asked, in its author's words.
    pub description: Option<String>,
    /// What is asked.
    pub check: Check,
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
}

impl Evaluation {
    /// The word that stands under `type`.
    pub fn type_name(&self) -> &'static str {
        self.check.type_name()
    }

    /// What is asked, in a few words.
    pub fn label(&self) -> String {
        self.check.label()
    }

    /// Whether a judge has to be asked.
    pub fn needs_judge(&self) -> bool {
        match &self.check {
            Check::LlmJudge(_) | Check::ConversationFlow { .. } | Check::ContextRetention { .. } => true,
            Check::UserSatisfaction { measurement_method, .. } => {
                *measurement_method != SatisfactionMethod::KeywordAnalysis
            }
            _ => false,
        }
    }

    /// The judge it names, by its key in `models`.
    pub fn judge_key(&self) -> Option<&str> {
        match &self.check {
            Check::LlmJudge(judge) => judge.model_type.as_deref(),
            _ => None,
        }
    }

    /// The command that has to be run when the step ends.
    pub fn command(&self) -> Option<&str> {
        match &self.check {
            Check::CommandExitCodeIs { command, .. } => Some(command),
            _ => None,
        }
    }

    /// Whether it can be asked there.
    ///
    /// # Errors
    /// There is nothing there that it could look at; the text says where to ask instead.
    pub fn allowed_in(&self, place: Place) -> Result<(), String> {
        let name = self.type_name();
        match (self.check.looks_at(), place) {
            (LooksAt::Environment, Place::Turn) => {
                Err(format!("`{name}` cannot be asked of a turn: a turn has no files; ask in `evaluations`"))
            }
            (LooksAt::Conversation, Place::Turn) => Err(format!(
                "`{name}` cannot be asked of a turn: it looks at all of them; ask in `final_evaluations`"
            )),
            (LooksAt::Conversation, Place::Step(StepKind::Input | StepKind::Code)) => {
                Err(format!("`{name}` cannot be asked of this step: it has no `conversation`"))
            }
            (LooksAt::Agent, Place::Step(StepKind::Code)) => {
                Err(format!("`{name}` cannot be asked of a code step: no agent takes part in it"))
            }
            _ => Ok(()),
        }
    }
}

/// What an evaluation looks at, as far as that decides where it can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LooksAt {
    /// The reply, the time or the state, which every step has.
    Reply,
    /// What the agent did.
    Agent,
    /// Files and commands.
    Environment,
    /// The turns of a conversation.
    Conversation,
}

type Read = fn(&mut Reader<'_>, &mut Fields<'_>) -> Check;

/// Every type with how it is read. The runner of `ElizaOS` knows the first ten.
const TYPES: [(&str, Read); 20] = [
    ("string_contains", environment::string_contains),
    ("regex_match", environment::regex_match),
    ("file_exists", environment::file_exists),
    ("trajectory_contains_action", tools::trajectory_contains_action),
    ("llm_judge", judge::llm_judge),
    ("execution_time", environment::execution_time),
    ("conversation_length", talk::conversation_length),
    ("conversation_flow", talk::conversation_flow),
    ("user_satisfaction", talk::user_satisfaction),
    ("context_retention", talk::context_retention),
    ("file_contains", environment::file_contains),
    ("command_exit_code_is", environment::command_exit_code_is),
    ("tool_called", tools::tool_called),
    ("tool_not_called", tools::tool_not_called),
    ("step_count", tools::step_count),
    ("token_count", prices::token_count),
    ("cost", prices::cost),
    ("state", answer::state),
    ("json_path", answer::json_path),
    ("answer_schema", answer::answer_schema),
];

pub(super) fn read_all(reader: &mut Reader<'_>, node: &Node, what: &str, place: Place) -> Vec<Evaluation> {
    reader.list(node, what).iter().filter_map(|node| read(reader, node, place)).collect()
}

fn read(reader: &mut Reader<'_>, node: &Node, place: Place) -> Option<Evaluation> {
    let mut fields = reader.fields(node, "an evaluation")?;
    let word = fields.require(reader, "type", "type: string_contains")?;
    let text = reader.text(word, "the `type` of an evaluation")?;
    let read = choose(reader, word, &text, "the `type` of an evaluation", &TYPES)?;
    let description = fields.text(reader, "description");
    let check = read(reader, &mut fields);
    fields.finish(reader);
    let evaluation = Evaluation { line: reader.line(node.span.start), description, check };
    if let Err(why) = evaluation.allowed_in(place) {
        reader.report_without_effect(Problem::error("not-here", word.span.clone(), why));
    }
    Some(evaluation)
}

/// Reports bounds that nothing keeps.
fn report_bounds(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    bounds: (Option<u64>, Option<u64>),
    keys: (&str, &str),
) {
    if let (Some(low), Some(high)) = bounds
        && low > high
    {
        let place = fields.key_span(keys.1).unwrap_or_else(|| fields.span());
        let message = format!("nothing is at least {low} and at most {high}");
        let problem = Problem::error("never-true", place, message);
        reader.report_without_effect(problem.help(format!("make `{}` the smaller one", keys.0)));
    }
}

/// Reports a query that is none, with its cause.
fn report_query(reader: &mut Reader<'_>, node: Option<&Node>, error: &QueryError) {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    let span = node.map_or(0..0, |node| node.span.clone());
    reader.report(Problem::error("invalid-query", span, format!("{error}{cause}")));
}
