//! Evaluations in a scenario file.

use serde_json::{Map, Value};

use crate::Problem;
use crate::read::{Fields, Reader, choose};
use crate::yaml::Node;

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

type Read = fn(&mut Reader, &mut Fields<'_>) -> Evaluation;

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

pub(super) fn read_all(reader: &mut Reader, node: &Node, what: &str) -> Vec<Evaluation> {
    reader.list(node, what).iter().filter_map(|node| read(reader, node)).collect()
}

fn read(reader: &mut Reader, node: &Node) -> Option<Evaluation> {
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

fn string_contains(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    let node = fields.require(reader, "value", "value: the text to look for");
    let value = node.and_then(|node| reader.text(node, "`value` of an evaluation"));
    if let (Some(node), Some("")) = (node, value.as_deref()) {
        let problem = Problem::error("always-true", node.span.clone(), "every reply contains the empty text");
        reader.report_without_effect(problem.help("name the text to look for"));
    }
    let case_sensitive = fields.boolean(reader, "case_sensitive").unwrap_or(false);
    Evaluation::StringContains { value: value.unwrap_or_default(), case_sensitive }
}

fn regex_match(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    Evaluation::RegexMatch { pattern: fields.require_text(reader, "pattern", "pattern: \"order #\\\\d+\"") }
}

fn file_exists(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    Evaluation::FileExists { path: fields.require_text(reader, "path", "path: report.md") }
}

fn file_contains(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    Evaluation::FileContains {
        path: fields.require_text(reader, "path", "path: report.md"),
        value: fields.require_text(reader, "value", "value: the text to look for"),
    }
}

fn command_exit_code_is(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    let command = fields.require_text(reader, "command", "command: test -s report.md");
    let there = fields.require(reader, "expected_code", "expected_code: 0").is_some();
    let expected_code = if there { fields.integer(reader, "expected_code", 0.0..=255.0) } else { None };
    Evaluation::CommandExitCodeIs { command, expected_code: expected_code.unwrap_or(0) }
}

fn trajectory_contains_action(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    Evaluation::TrajectoryContainsAction {
        action: fields.require_text(reader, "action", "action: SEND_EMAIL"),
    }
}

fn llm_judge(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    let capabilities = fields.get("capabilities");
    let list = capabilities.map(|node| reader.texts(node, "`capabilities`")).unwrap_or_default();
    if let (Some(node), true) = (capabilities, list.is_empty()) {
        reader.report(Problem::error("empty", node.span.clone(), "`capabilities` must name at least one"));
    }
    Evaluation::LlmJudge(JudgeEvaluation {
        prompt: fields.require_text(reader, "prompt", "prompt: Did the agent answer the question?"),
        expected: fields.require_text(reader, "expected", "expected: \"yes\""),
        model_type: fields.text(reader, "model_type"),
        temperature: fields.number(reader, "temperature", 0.0..=2.0),
        json_schema: fields.json_map(reader, "json_schema"),
        capabilities: list,
    })
}

fn execution_time(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    const ANY: std::ops::RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;
    let there = fields.require(reader, "max_duration_ms", "max_duration_ms: 5000").is_some();
    let max = if there { fields.number(reader, "max_duration_ms", ANY) } else { None };
    Evaluation::ExecutionTime {
        max_duration_ms: max.unwrap_or(0.0),
        min_duration_ms: fields.number(reader, "min_duration_ms", ANY),
        target_duration_ms: fields.number(reader, "target_duration_ms", ANY),
    }
}

fn conversation_length(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    let turns = 1.0..=f64::INFINITY;
    let target_range = fields.get("target_range").and_then(|node| read_range(reader, node));
    Evaluation::ConversationLength {
        min_turns: fields.integer(reader, "min_turns", turns.clone()),
        max_turns: fields.integer(reader, "max_turns", turns.clone()),
        optimal_turns: fields.integer(reader, "optimal_turns", turns),
        target_range,
    }
}

fn read_range(reader: &mut Reader, node: &Node) -> Option<(u64, u64)> {
    let value = node.to_json();
    let pair = value.as_array().and_then(|items| match items.as_slice() {
        [low, high] => Some((low.as_u64()?, high.as_u64()?)),
        _ => None,
    });
    let pair = pair.filter(|(low, high)| low < high);
    if pair.is_none() {
        let message = "`target_range` must be two whole numbers, the smaller one first";
        reader.report(Problem::error("wrong-type", node.span.clone(), message).help("write: [3, 6]"));
    }
    pair
}

fn conversation_flow(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    let node = fields.require(reader, "required_patterns", "required_patterns: [question_then_answer]");
    let items: &[Node] = node.map_or(&[], |node| reader.list(node, "`required_patterns`"));
    let mut required_patterns = Vec::new();
    for item in items {
        let Some(text) = reader.text(item, "a pattern") else { continue };
        required_patterns.extend(choose(reader, item, &text, "a pattern", &PATTERNS));
    }
    let flow_quality_threshold = fields.number(reader, "flow_quality_threshold", 0.0..=1.0).unwrap_or(0.7);
    Evaluation::ConversationFlow { required_patterns, flow_quality_threshold }
}

fn user_satisfaction(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
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

fn context_retention(reader: &mut Reader, fields: &mut Fields<'_>) -> Evaluation {
    let node = fields.require(reader, "test_memory_of", "test_memory_of: [the user's name]");
    Evaluation::ContextRetention {
        test_memory_of: node.map(|node| reader.texts(node, "`test_memory_of`")).unwrap_or_default(),
        retention_turns: fields.integer(reader, "retention_turns", 1.0..=f64::INFINITY).unwrap_or(3),
        memory_accuracy_threshold: fields
            .number(reader, "memory_accuracy_threshold", 0.0..=1.0)
            .unwrap_or(0.8),
    }
}
