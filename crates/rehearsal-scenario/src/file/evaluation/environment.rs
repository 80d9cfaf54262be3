//! Evaluations of replies, files, commands and time.

use super::Check;
use crate::Problem;
use crate::js::Pattern;
use crate::read::{Fields, Reader};
use crate::yaml::{Node, NodeValue};

pub(super) fn string_contains(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let example = "value: the text to look for";
    let value = telling_text(reader, fields, "value", example, "every reply contains the empty text");
    let case_sensitive = fields.boolean(reader, "case_sensitive").unwrap_or(false);
    Check::StringContains { value, case_sensitive }
}

pub(super) fn regex_match(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let example = "pattern: \"order #\\\\d+\"";
    let always = "every reply matches the empty pattern";
    let pattern = telling_text(reader, fields, "pattern", example, always);
    let case_sensitive = fields.boolean(reader, "case_sensitive").unwrap_or(false);
    let flags = if case_sensitive { "" } else { "i" };
    if let (Some(node), Err(error)) = (fields.get("pattern"), Pattern::new(&pattern, flags)) {
        let message = format!("`pattern` is not a regular expression: {}", error.message);
        let problem = Problem::error("invalid-pattern", node.span.clone(), message);
        let help = "patterns have the syntax of JavaScript, without slashes; upper and lower case are one \
                    unless `case_sensitive` is true";
        reader.report_without_effect(problem.help(help));
    }
    Check::RegexMatch { pattern, case_sensitive }
}

pub(super) fn file_exists(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    Check::FileExists { path: fields.require_text(reader, "path", "path: report.md") }
}

pub(super) fn file_contains(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let path = fields.require_text(reader, "path", "path: report.md");
    let example = "value: the text to look for";
    let value = telling_text(reader, fields, "value", example, "every file contains the empty text");
    let case_sensitive = fields.boolean(reader, "case_sensitive").unwrap_or(true);
    Check::FileContains { path, value, case_sensitive }
}

pub(super) fn command_exit_code_is(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    let command = fields.require_text(reader, "command", "command: test -s report.md");
    let there = fields.require(reader, "expected_code", "expected_code: 0").is_some();
    let expected_code = if there { fields.integer(reader, "expected_code", 0.0..=255.0) } else { None };
    Check::CommandExitCodeIs { command, expected_code: expected_code.unwrap_or(0) }
}

pub(super) fn execution_time(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Check {
    const ANY: std::ops::RangeInclusive<f64> = f64::NEG_INFINITY..=f64::INFINITY;
    let there = fields.require(reader, "max_duration_ms", "max_duration_ms: 5000").is_some();
    let max = if there { fields.number(reader, "max_duration_ms", ANY) } else { None };
    let min = fields.number(reader, "min_duration_ms", ANY);
    let target = fields.number(reader, "target_duration_ms", ANY);
    let wrong = max.and_then(|max| {
        let never = "nothing takes less than no time".to_owned();
        let crossed = |min| format!("nothing takes at least {min} ms and at most {max} ms");
        if max < 0.0 { Some(never) } else { min.filter(|min| *min > max).map(crossed) }
    });
    if let (Some(node), Some(message)) = (fields.get("max_duration_ms"), wrong) {
        let problem = Problem::error("never-true", node.span.clone(), message);
        reader.report_without_effect(problem.help("write: max_duration_ms: 5000"));
    }
    Check::ExecutionTime {
        max_duration_ms: max.unwrap_or(0.0),
        min_duration_ms: min,
        target_duration_ms: target,
    }
}

/// A text that must be there and would say nothing if it were empty.
pub(super) fn telling_text(
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
