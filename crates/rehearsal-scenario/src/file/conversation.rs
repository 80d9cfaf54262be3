//! Conversations in a scenario file.

use std::ops::Range;

pub(crate) mod speaker;

pub use speaker::{ConversationUser, Knowledge, ScriptTurn, ScriptedCall, UserSimulator};

use super::evaluation::{self, Evaluation};
use super::keys::{CONVERSATION, COUNTED_END, DEBUG_OPTIONS, END_QUESTION, OWN_END, STATE_END, TOLD_END};

use rehearsal_core::Query;
use rehearsal_core::keys::Table;
use rehearsal_js::Expression;

use crate::read::{Fields, Reader, choose};
use crate::yaml::{Node, NodeValue};
use crate::{Dialect, Place, Problem};

/// How a conversation goes on after its first message.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// The most turns it may take.
    pub max_turns: u64,
    /// Who speaks first.
    pub opening: ConversationOpening,
    /// How long a turn may take.
    pub timeout_per_turn_ms: u64,
    /// How long all of it may take.
    pub total_timeout_ms: u64,
    /// Who plays the user.
    pub user: ConversationUser,
    /// What ends it early.
    pub termination_conditions: Vec<TerminationCondition>,
    /// What is asked of every turn.
    pub turn_evaluations: Vec<Evaluation>,
    /// What is asked of the whole.
    pub final_evaluations: Vec<Evaluation>,
    /// Whether the simulator's prompts are logged.
    pub log_user_simulation: bool,
    /// Whether decisions about ending are logged.
    pub log_turn_decisions: bool,
    /// Whether the whole transcript is exported.
    pub export_full_transcript: bool,
}

/// Who speaks first in a conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConversationOpening {
    /// The user, or the input of the step in their place.
    #[default]
    User,
    /// The agent.
    Agent,
}

/// Something that ends a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct TerminationCondition {
    /// What kind of end it is.
    pub kind: TerminationKind,
    /// What it is about.
    pub description: Option<String>,
    /// Words that show it.
    pub keywords: Option<Vec<String>>,
    /// A question for the judge that shows it.
    pub llm_judge: Option<LlmCondition>,
    /// A JavaScript expression over the transcript that shows it.
    pub expression: Option<Expression>,
    /// A query that the state satisfies.
    pub matches: Option<Query>,
    /// The line it begins at.
    pub line: usize,
    /// That line, in bytes.
    pub span: Range<usize>,
}

/// Kinds of ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminationKind {
    /// The most turns were taken.
    MaxTurnsReached,
    /// The user is content.
    UserExpressesSatisfaction,
    /// The agent gave a solution.
    AgentProvidesSolution,
    /// Nothing new is said.
    ConversationStuck,
    /// Somebody else has to take over.
    EscalationNeeded,
    /// What the user wanted is there.
    GoalAchieved,
    /// The state satisfies a query.
    StateMatches,
    /// Something of the author's own.
    CustomCondition,
}

/// A question for the judge that ends a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmCondition {
    /// The question.
    pub prompt: String,
    /// How sure the judge must be.
    pub threshold: f64,
}

impl TerminationKind {
    const ALL: [Self; 8] = [
        Self::MaxTurnsReached,
        Self::UserExpressesSatisfaction,
        Self::AgentProvidesSolution,
        Self::ConversationStuck,
        Self::EscalationNeeded,
        Self::GoalAchieved,
        Self::StateMatches,
        Self::CustomCondition,
    ];
}

/// Reads a conversation; `has_input` says whether its step gives the first message.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, has_input: bool) -> Option<Conversation> {
    let mut fields = reader.fields(node, "`conversation`", &CONVERSATION)?;
    let max_turns = read_max_turns(reader, &mut fields);
    let opening = match fields.word(reader, "opening") {
        Some("agent") => ConversationOpening::Agent,
        _ => ConversationOpening::User,
    };
    if let (Some(place), true) =
        (fields.key_span("opening"), has_input && opening == ConversationOpening::Agent)
    {
        let message = "the agent opens, so the `input` of the step is never the first message";
        let help = "remove `input`, and let the user of the conversation say it; or remove `opening`";
        reader.report(Problem::error("no-effect", place, message).help(help));
    }
    let given = u64::from(has_input || opening == ConversationOpening::Agent);
    let user = speaker::read(reader, &mut fields, max_turns, given);
    let conditions = fields.list(reader, "termination_conditions");
    let termination_conditions = conditions.iter().filter_map(|node| read_condition(reader, node)).collect();
    let timeout_per_turn_ms = fields.integer(reader, "timeout_per_turn_ms").unwrap_or_default();
    let total_timeout_ms = fields.integer(reader, "total_timeout_ms").unwrap_or_default();
    let mut evaluations = |key: &'static str, what: &str, place: Place| {
        fields.get(key).map(|node| evaluation::read_all(reader, node, what, place)).unwrap_or_default()
    };
    let turn_evaluations = evaluations("turn_evaluations", "`turn_evaluations`", Place::Turn);
    let final_evaluations = evaluations("final_evaluations", "`final_evaluations`", Place::Final);
    let (log_user_simulation, log_turn_decisions, export_full_transcript) =
        fields.get("debug_options").map_or((false, false, true), |node| read_debug(reader, node));
    fields.finish(reader);
    Some(Conversation {
        max_turns: max_turns.unwrap_or(2),
        opening,
        timeout_per_turn_ms,
        total_timeout_ms,
        user: user?,
        termination_conditions,
        turn_evaluations,
        final_evaluations,
        log_user_simulation,
        log_turn_decisions,
        export_full_transcript,
    })
}

/// The most turns of a conversation in files of the `ElizaOS` runner.
const ELIZA_TURNS: u64 = 20;

fn read_max_turns(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<u64> {
    let turns = fields.integer(reader, "max_turns")?;
    if reader.dialect == Dialect::ElizaOs && turns > ELIZA_TURNS {
        let place = fields.get("max_turns").map_or_else(|| fields.span(), |node| node.span.clone());
        let message = format!("`max_turns` of `conversation` must be from 2 to {ELIZA_TURNS}");
        reader.report(Problem::error("out-of-range", place, message));
        return None;
    }
    Some(turns)
}

fn read_condition(reader: &mut Reader<'_>, node: &Node) -> Option<TerminationCondition> {
    let kinds: [&Table; 4] = [&COUNTED_END, &TOLD_END, &STATE_END, &OWN_END];
    let mut fields = reader.fields_of_one(node, "a termination condition", &kinds)?;
    let kind = fields.require(reader, "type").and_then(|node| {
        let what = "`type` of a termination condition";
        let text = reader.text(node, what)?;
        choose(reader, node, &text, what, &TerminationKind::ALL.map(|kind| (kind.word(), kind)))
    });
    let description = fields.text(reader, "description");
    let keywords = fields.get("keywords").map(|node| reader.texts(node, "`keywords`"));
    let llm_judge = fields.get("llm_judge").and_then(|node| {
        let mut fields = reader.fields(node, "`llm_judge`", &END_QUESTION)?;
        let prompt = fields.text(reader, "prompt").unwrap_or_default();
        let threshold = fields.number(reader, "threshold").unwrap_or_default();
        fields.finish(reader);
        Some(LlmCondition { prompt, threshold })
    });
    let expression = fields.get("expression").and_then(|node| {
        let source = reader.text(node, "`expression`")?;
        let expression = super::mock::read_expression(reader, node, Expression::matcher(&source))?;
        if expression.why_constant().is_some() {
            let message = "it looks at nothing of the conversation, so it always gives the same";
            let problem = Problem::error("always-true", node.span.clone(), message);
            reader
                .report_without_effect(problem.help("compare something of `turns`, `transcript` or `state`"));
        }
        Some(expression)
    });
    let says_nothing =
        |words: &[String]| llm_judge.is_none() && words.iter().all(|word| word.trim().is_empty());
    if let (Some(place), true) = (fields.key_span("keywords"), keywords.as_deref().is_some_and(says_nothing))
    {
        let problem = Problem::error("never-true", place, "nobody can say a word that is not there");
        reader.report_without_effect(
            problem.help("name a word, or remove `keywords` for those that every such condition has"),
        );
    }
    let matches = read_query(reader, &mut fields, kind);
    report_condition(reader, &fields, kind);
    fields.finish(reader);
    let (line, span) = (reader.line(node.span.start), reader.line_span(node.span.start));
    Some(TerminationCondition {
        kind: kind?,
        description,
        keywords,
        llm_judge,
        expression,
        matches,
        line,
        span,
    })
}

/// Reads the query of a condition on the state.
fn read_query(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    kind: Option<TerminationKind>,
) -> Option<Query> {
    if kind == Some(TerminationKind::StateMatches) {
        fields.require(reader, "matches")?;
    }
    let node = fields.get("matches")?;
    let source = reader.names(node, "`matches`");
    if source.is_empty() && matches!(node.value, NodeValue::Map(_)) {
        let problem = Problem::error("always-true", node.span.clone(), "an empty `matches` asks for nothing");
        reader.report_without_effect(problem.help("write, for example: {session.stage: done}"));
    }
    match Query::parse(&node.to_json()) {
        Ok(query) => Some(query),
        Err(_) if !matches!(node.value, NodeValue::Map(_)) => None,
        Err(error) => {
            let message = format!("`matches` is no query: {error}");
            reader.report(Problem::error("invalid-query", node.span.clone(), message));
            None
        }
    }
}

/// Reports a condition that never holds, or that says more than it does.
fn report_condition(reader: &mut Reader<'_>, fields: &Fields<'_>, kind: Option<TerminationKind>) {
    let has = |key: &str| fields.has(key);
    if kind == Some(TerminationKind::CustomCondition) && !has("llm_judge") && !has("expression") {
        let message = "a `custom_condition` without `expression` and `llm_judge` never ends anything";
        let problem = Problem::error("never-true", fields.span(), message);
        reader.report_without_effect(
            problem.help("add: expression: turns.length > 3, or llm_judge: {prompt: Is the goal reached?}"),
        );
    }
    let without_effect: &[&str] = match kind {
        Some(TerminationKind::MaxTurnsReached | TerminationKind::ConversationStuck) => {
            &["keywords", "llm_judge", "expression", "matches"]
        }
        Some(TerminationKind::StateMatches) => &["keywords", "llm_judge", "expression"],
        Some(TerminationKind::CustomCondition) => &["keywords", "matches"],
        Some(_) => &["expression", "matches"],
        None => &[],
    };
    for key in without_effect {
        if let Some(place) = fields.key_span(key) {
            let message = format!("`{key}` has no effect on this type of condition");
            reader.report_without_effect(Problem::error("no-effect", place, message).help("remove it"));
        }
    }
}

fn read_debug(reader: &mut Reader<'_>, node: &Node) -> (bool, bool, bool) {
    let Some(mut fields) = reader.fields(node, "`debug_options`", &DEBUG_OPTIONS) else {
        return (false, false, true);
    };
    let simulation = fields.boolean(reader, "log_user_simulation").unwrap_or_default();
    let decisions = fields.boolean(reader, "log_turn_decisions").unwrap_or_default();
    let transcript = fields.boolean(reader, "export_full_transcript").unwrap_or_default();
    fields.finish(reader);
    (simulation, decisions, transcript)
}
