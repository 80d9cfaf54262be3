//! Evaluations of conversations.

use serde_json::Value;

use super::{Check, FlowPattern, SatisfactionMethod, report_bounds};
use crate::Problem;
use crate::read::{Fields, Reader, choose};
use crate::yaml::{Node, NodeValue};

const PATTERNS: [(&str, FlowPattern); 5] = [
    ("question_then_answer", FlowPattern::QuestionThenAnswer),
    ("problem_then_solution", FlowPattern::ProblemThenSolution),
    ("clarification_cycle", FlowPattern::ClarificationCycle),
    ("empathy_then_solution", FlowPattern::EmpathyThenSolution),
    ("escalation_pattern", FlowPattern::EscalationPattern),
];

const METHODS: [(&str, SatisfactionMethod); 3] = [
    ("keyword_analysis", SatisfactionMethod::KeywordAnalysis),
    ("sentiment_analysis", SatisfactionMethod::SentimentAnalysis),
    ("llm_judge", SatisfactionMethod::LlmJudge),
];

pub(super) fn conversation_length(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let turns = 1.0..=f64::INFINITY;
    // `optimal_turns` is only told.
    if !["min_turns", "max_turns", "target_range"].iter().any(|key| fields.has(key)) {
        let message = "every conversation is as long as this asks for";
        let problem = Problem::error("always-true", fields.span(), message);
        reader.report_without_effect(problem.help("add one of `min_turns`, `max_turns` and `target_range`"));
    }
    let target_range = fields.get("target_range").and_then(|node| read_range(reader, node));
    let min_turns = fields.integer(reader, "min_turns", turns.clone());
    let max_turns = fields.integer(reader, "max_turns", turns.clone());
    let (from, to) = target_range.unzip();
    let bounds = (min_turns.max(from), [max_turns, to].into_iter().flatten().min());
    report_bounds(reader, fields, bounds, ("min_turns", "max_turns"));
    let optimal_turns = fields.integer(reader, "optimal_turns", turns);
    Check::ConversationLength { min_turns, max_turns, optimal_turns, target_range }
}

/// A whole number, also when it is written as `3.0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and in range")]
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|value| value.fract() == 0.0 && (0.0..1e15).contains(value));
    value.as_u64().or_else(|| float().map(|value| value as u64))
}

fn read_range(reader: &mut Reader<'_>, node: &Node) -> Option<(u64, u64)> {
    let value = node.to_json();
    let pair = value.as_array().and_then(|items| match items.as_slice() {
        [low, high] => Some((whole(low)?, whole(high)?)),
        _ => None,
    });
    let pair = pair.filter(|(low, high)| low < high);
    if pair.is_none() {
        let message = "`target_range` must be two whole numbers, the smaller one first";
        reader.report(Problem::error("wrong-type", node.span.clone(), message).help("write: [3, 6]"));
    }
    pair
}

pub(super) fn conversation_flow(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let node = fields.require(reader, "required_patterns", "required_patterns: [question_then_answer]");
    report_empty_list(reader, node, "required_patterns");
    let items: &[Node] = node.map_or(&[], |node| reader.list(node, "`required_patterns`"));
    let mut required_patterns = Vec::new();
    for item in items {
        let Some(text) = reader.text(item, "a pattern") else { continue };
        required_patterns.extend(choose(reader, item, &text, "a pattern", &PATTERNS));
    }
    let flow_quality_threshold = fields.number(reader, "flow_quality_threshold", 0.0..=1.0).unwrap_or(0.7);
    Check::ConversationFlow { required_patterns, flow_quality_threshold }
}

pub(super) fn user_satisfaction(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let mut words = (None, None);
    if let Some(mut indicators) =
        fields.get("indicators").and_then(|node| reader.fields(node, "`indicators`"))
    {
        words.0 = read_words(reader, &mut indicators, "positive");
        words.1 = read_words(reader, &mut indicators, "negative");
        indicators.finish(reader);
    }
    Check::UserSatisfaction {
        satisfaction_threshold: fields.number(reader, "satisfaction_threshold", 0.0..=1.0).unwrap_or(0.7),
        positive: words.0,
        negative: words.1,
        measurement_method: fields
            .choice(reader, "measurement_method", &METHODS)
            .unwrap_or(SatisfactionMethod::LlmJudge),
    }
}

fn read_words(reader: &mut Reader<'_>, fields: &mut Fields<'_>, key: &'static str) -> Option<Vec<String>> {
    let node = fields.get(key)?;
    report_empty_list(reader, Some(node), key);
    Some(reader.texts(node, &format!("`{key}`")))
}

pub(super) fn context_retention(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let node = fields.require(reader, "test_memory_of", "test_memory_of: [the user's name]");
    report_empty_list(reader, node, "test_memory_of");
    Check::ContextRetention {
        test_memory_of: node.map(|node| reader.texts(node, "`test_memory_of`")).unwrap_or_default(),
        retention_turns: fields.integer(reader, "retention_turns", 1.0..=f64::INFINITY).unwrap_or(3),
        memory_accuracy_threshold: fields
            .number(reader, "memory_accuracy_threshold", 0.0..=1.0)
            .unwrap_or(0.8),
    }
}

/// Reports a list that asks for nothing.
fn report_empty_list(reader: &mut Reader<'_>, node: Option<&Node>, key: &str) {
    if let Some(Node { span, value: NodeValue::List(items) }) = node
        && items.is_empty()
    {
        let problem =
            Problem::error("always-true", span.clone(), format!("an empty `{key}` asks for nothing"));
        reader.report_without_effect(problem.help("name at least one"));
    }
}
