//! Evaluations in a scenario file.

use serde_json::{Map, Value};

use crate::Problem;
use crate::read::{Fields, Reader, choose};
use crate::yaml::{Node, NodeValue};

/// Something that is asked of a step, a turn or a conversation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Evaluation {
    /// The reply contains this.
    StringContains {
        /// The text.
        value: String,
        /// Whether upper and lower case differ.
        case_sensitive: bool,
    },
    /// The reply matches this pattern.
    RegexMatch {
        /// The pattern, in JavaScript's syntax.
        pattern: String,
    },
    /// A file is there.
    FileExists {
        /// Its path.
        path: String,
    },
    /// A file contains this.
    FileContains {
        /// Its path.
        path: String,
        /// The text.
        value: String,
    },
    /// A command ends with this code.
    CommandExitCodeIs {
        /// The command.
        command: String,
        /// The code.
        expected_code: u64,
    },
    /// The agent did this.
    TrajectoryContainsAction {
        /// The action.
        action: String,
    },
    /// A judge says so.
    LlmJudge(JudgeEvaluation),
    /// It took as long as it should.
    ExecutionTime {
        /// At most, in milliseconds.
        max_duration_ms: f64,
        /// At least.
        min_duration_ms: Option<f64>,
        /// About.
        target_duration_ms: Option<f64>,
    },
    /// The conversation was as long as it should be.
    ConversationLength {
        /// At least.
        min_turns: Option<u64>,
        /// At most.
        max_turns: Option<u64>,
        /// At best.
        optimal_turns: Option<u64>,
        /// Between these.
        target_range: Option<(u64, u64)>,
    },
    /// The conversation went through these patterns.
    ConversationFlow {
        /// The patterns.
        required_patterns: Vec<FlowPattern>,
        /// The share of them that must be there.
        flow_quality_threshold: f64,
    },
    /// The user was content.
    UserSatisfaction {
        /// How content.
        satisfaction_threshold: f64,
        /// Words that show it, where the author names them.
        positive: Option<Vec<String>>,
        /// Words that show the opposite, where the author names them.
        negative: Option<Vec<String>>,
        /// How it is measured.
        measurement_method: SatisfactionMethod,
    },
    /// The agent remembered.
    ContextRetention {
        /// What.
        test_memory_of: Vec<String>,
        /// For how many turns.
        retention_turns: u64,
        /// How well.
        memory_accuracy_threshold: f64,
    },
}

/// A question for the judge.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeEvaluation {
    /// The question.
    pub prompt: String,
    /// The answer that passes: `yes`, `no`, `0.8+`, `0.3-`, `0.2-0.4`.
    pub expected: String,
    /// The model that judges, by its key in `models`.
    pub model_type: Option<String>,
    /// How freely it judges.
    pub temperature: Option<f64>,
    /// The form its answer must have.
    pub json_schema: Option<Map<String, Value>>,
    /// What the agent should be able to do, each asked for by itself.
    pub capabilities: Vec<String>,
}

/// Patterns of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPattern {
    /// The agent asks, the user answers.
    QuestionThenAnswer,
    /// The user states a problem, the agent solves it.
    ProblemThenSolution,
    /// Something is made clear in several steps.
    ClarificationCycle,
    /// The agent shows that it cares before it solves.
    EmpathyThenSolution,
    /// The agent hands over where it should.
    EscalationPattern,
}

/// How satisfaction is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SatisfactionMethod {
    /// By words.
    KeywordAnalysis,
    /// By a judge who looks at how the mood goes.
    SentimentAnalysis,
    /// By a judge who looks at everything.
    LlmJudge,
}

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

type Read = fn(&mut Reader<'_>, &mut Fields<'_>) -> Evaluation;

/// Every type with how it is read. The runner of `ElizaOS` does not know the last two.
const TYPES: [(&str, Read); 12] = [
    ("string_contains", string_contains),
    ("regex_match", regex_match),
    ("file_exists", file_exists),
    ("trajectory_contains_action", trajectory_contains_action),
    ("llm_judge", llm_judge),
    ("execution_time", execution_time),
    ("conversation_length", conversation_length),
    ("conversation_flow", conversation_flow),
    ("user_satisfaction", user_satisfaction),
    ("context_retention", context_retention),
    ("file_contains", file_contains),
    ("command_exit_code_is", command_exit_code_is),
];

pub(super) fn read_all(reader: &mut Reader<'_>, node: &Node, what: &str) -> Vec<Evaluation> {
    reader.list(node, what).iter().filter_map(|node| read(reader, node)).collect()
}

fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Evaluation> {
    let mut fields = reader.fields(node, "an evaluation")?;
    let word = fields.require(reader, "type", "type: string_contains")?;
    let text = reader.text(word, "the `type` of an evaluation")?;
    let read = choose(reader, word, &text, "the `type` of an evaluation", &TYPES)?;
    // People write down why they ask; it changes nothing.
    fields.text(reader, "description");
    let evaluation = read(reader, &mut fields);
    fields.finish(reader);
    Some(evaluation)
}

/// A text that must be there and would say nothing if it were empty.
fn telling_text(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &'static str,
    example: &str,
    always: &str,
) -> String {
    let value = fields.require_text(reader, key, example);
    if let (Some(Node { span, value: NodeValue::Text(_) }), true) = (fields.get(key), value.is_empty()) {
        let problem = Problem::error("always-true", span.clone(), always);
        reader.report_without_effect(problem.help("name the text to look for"));
    }
    value
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

fn string_contains(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let example = "value: the text to look for";
    let value = telling_text(reader, fields, "value", example, "every reply contains the empty text");
    let case_sensitive = fields.boolean(reader, "case_sensitive").unwrap_or(false);
    Evaluation::StringContains { value, case_sensitive }
}

fn regex_match(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let example = "pattern: \"order #\\\\d+\"";
    let always = "every reply matches the empty pattern";
    Evaluation::RegexMatch { pattern: telling_text(reader, fields, "pattern", example, always) }
}

fn file_exists(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    Evaluation::FileExists { path: fields.require_text(reader, "path", "path: report.md") }
}

fn file_contains(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let path = fields.require_text(reader, "path", "path: report.md");
    let example = "value: the text to look for";
    let value = telling_text(reader, fields, "value", example, "every file contains the empty text");
    Evaluation::FileContains { path, value }
}

fn command_exit_code_is(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let command = fields.require_text(reader, "command", "command: test -s report.md");
    let there = fields.require(reader, "expected_code", "expected_code: 0").is_some();
    let expected_code = if there { fields.integer(reader, "expected_code", 0.0..=255.0) } else { None };
    Evaluation::CommandExitCodeIs { command, expected_code: expected_code.unwrap_or(0) }
}

fn trajectory_contains_action(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    Evaluation::TrajectoryContainsAction {
        action: fields.require_text(reader, "action", "action: SEND_EMAIL"),
    }
}

fn llm_judge(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let capabilities = fields.get("capabilities");
    let list = capabilities.map(|node| reader.texts(node, "`capabilities`")).unwrap_or_default();
    if let (Some(node), true) = (capabilities, list.is_empty()) {
        reader.report(Problem::error("empty", node.span.clone(), "`capabilities` must name at least one"));
    }
    let prompt = fields.require_text(reader, "prompt", "prompt: Did the agent answer the question?");
    let expected = fields.require_text(reader, "expected", "expected: \"yes\"");
    if let (Some(Node { span, value: NodeValue::Text(_) }), false) =
        (fields.get("expected"), is_expectation(&expected))
    {
        let message = format!("`expected` of a judge cannot be `{expected}`");
        let problem = Problem::error("unknown-value", span.clone(), message);
        reader.report_without_effect(
            problem.help("it can be: `yes`, `no`, a number, `0.8+`, `0.3-`, `0.2-0.4`"),
        );
    }
    Evaluation::LlmJudge(JudgeEvaluation {
        prompt,
        expected,
        model_type: fields.text(reader, "model_type"),
        temperature: fields.number(reader, "temperature", 0.0..=2.0),
        json_schema: fields.json_map(reader, "json_schema"),
        capabilities: list,
    })
}

/// `yes`, `no`, `0.8`, `0.8+`, `0.3-` or `0.2-0.4`.
fn is_expectation(text: &str) -> bool {
    let is_number = |text: &str| {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        [whole, fraction]
            .iter()
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let text = text.trim().to_lowercase();
    let number = text.strip_suffix(['+', '-']).unwrap_or(&text);
    let is_range = || text.split_once('-').is_some_and(|(low, high)| is_number(low) && is_number(high));
    text == "yes" || text == "no" || is_number(number) || is_range()
}

fn execution_time(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    const ANY: std::ops::RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;
    let there = fields.require(reader, "max_duration_ms", "max_duration_ms: 5000").is_some();
    let max = if there { fields.number(reader, "max_duration_ms", ANY) } else { None };
    if let (Some(node), Some(true)) = (fields.get("max_duration_ms"), max.map(|max| max < 0.0)) {
        let problem = Problem::error("never-true", node.span.clone(), "nothing takes less than no time");
        reader.report_without_effect(problem.help("write: max_duration_ms: 5000"));
    }
    Evaluation::ExecutionTime {
        max_duration_ms: max.unwrap_or(0.0),
        min_duration_ms: fields.number(reader, "min_duration_ms", ANY),
        target_duration_ms: fields.number(reader, "target_duration_ms", ANY),
    }
}

fn conversation_length(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let turns = 1.0..=f64::INFINITY;
    // `optimal_turns` is only told.
    if !["min_turns", "max_turns", "target_range"].iter().any(|key| fields.has(key)) {
        let message = "every conversation is as long as this asks for";
        let problem = Problem::error("always-true", fields.span(), message);
        reader.report_without_effect(problem.help("add one of `min_turns`, `max_turns` and `target_range`"));
    }
    let target_range = fields.get("target_range").and_then(|node| read_range(reader, node));
    Evaluation::ConversationLength {
        min_turns: fields.integer(reader, "min_turns", turns.clone()),
        max_turns: fields.integer(reader, "max_turns", turns.clone()),
        optimal_turns: fields.integer(reader, "optimal_turns", turns),
        target_range,
    }
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

fn conversation_flow(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let node = fields.require(reader, "required_patterns", "required_patterns: [question_then_answer]");
    report_empty_list(reader, node, "required_patterns");
    let items: &[Node] = node.map_or(&[], |node| reader.list(node, "`required_patterns`"));
    let mut required_patterns = Vec::new();
    for item in items {
        let Some(text) = reader.text(item, "a pattern") else { continue };
        required_patterns.extend(choose(reader, item, &text, "a pattern", &PATTERNS));
    }
    let flow_quality_threshold = fields.number(reader, "flow_quality_threshold", 0.0..=1.0).unwrap_or(0.7);
    Evaluation::ConversationFlow { required_patterns, flow_quality_threshold }
}

fn user_satisfaction(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let mut words = (None, None);
    if let Some(mut indicators) =
        fields.get("indicators").and_then(|node| reader.fields(node, "`indicators`"))
    {
        words.0 = indicators.get("positive").map(|node| reader.texts(node, "`positive`"));
        words.1 = indicators.get("negative").map(|node| reader.texts(node, "`negative`"));
        indicators.finish(reader);
    }
    Evaluation::UserSatisfaction {
        satisfaction_threshold: fields.number(reader, "satisfaction_threshold", 0.0..=1.0).unwrap_or(0.7),
        positive: words.0,
        negative: words.1,
        measurement_method: fields
            .choice(reader, "measurement_method", &METHODS)
            .unwrap_or(SatisfactionMethod::LlmJudge),
    }
}

fn context_retention(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Evaluation {
    let node = fields.require(reader, "test_memory_of", "test_memory_of: [the user's name]");
    report_empty_list(reader, node, "test_memory_of");
    Evaluation::ContextRetention {
        test_memory_of: node.map(|node| reader.texts(node, "`test_memory_of`")).unwrap_or_default(),
        retention_turns: fields.integer(reader, "retention_turns", 1.0..=f64::INFINITY).unwrap_or(3),
        memory_accuracy_threshold: fields
            .number(reader, "memory_accuracy_threshold", 0.0..=1.0)
            .unwrap_or(0.8),
    }
}
