//! What looks like a variable and is none: `${EMAIL}` goes out as it stands.

use std::sync::LazyLock;

use regex::Regex;

use crate::read::Reader;
use crate::yaml::{Entry, Node, NodeValue};
use crate::{Problem, Severity};

/// Something like `${EMAIL}`.
static PLACEHOLDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\$\{[A-Za-z_][A-Za-z0-9_.]*\}").expect("it is a regular expression"));

/// What becomes of the texts below a key.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    /// Somebody is sent them: the agent, its model, a simulated user, a judge.
    Sent,
    /// They are compared with what happened.
    Compared,
    /// Headers of a request, in which `${env.NAME}` is filled in.
    Header,
    /// An address, in which `${port}` is filled in.
    Address,
    /// Code, files, templates with placeholders of their own, patterns, and remarks.
    Apart,
}

/// Warns of placeholders that nothing fills in.
pub(super) fn report(reader: &mut Reader<'_>, root: &Node) {
    walk(reader, root, "", Use::Sent);
}

fn walk(reader: &mut Reader<'_>, node: &Node, within: &str, used: Use) {
    match &node.value {
        // Files have placeholders of their own: those of shells, templates and programs.
        NodeValue::Map(entries) if is_of_files(entries) => {}
        NodeValue::Map(entries) => {
            for entry in entries {
                let used = use_of(&entry.key, within, used);
                if used != Use::Apart {
                    walk(reader, &entry.value, &entry.key, used);
                }
            }
        }
        NodeValue::List(items) => items.iter().for_each(|item| walk(reader, item, within, used)),
        NodeValue::Text(text) => report_text(reader, node, text, used),
        _ => {}
    }
}

fn is_of_files(entries: &[Entry]) -> bool {
    let is_it = |entry: &Entry| entry.value.value == NodeValue::Text("file_contains".to_owned());
    entries.iter().any(|entry| entry.key == "type" && is_it(entry))
}

fn use_of(key: &str, within: &str, used: Use) -> Use {
    match (key, within) {
        // They are templates.
        ("instructions", "user_simulator") | ("prompt" | "response", "bridge") | ("stateFn", _) => Use::Apart,
        ("description", "tools") | ("prompt", _) => Use::Sent,
        ("headers", "http") => Use::Header,
        ("url", "http" | "chat") | ("http", "tools") if used == Use::Sent => Use::Address,
        ("evaluations" | "turn_evaluations" | "final_evaluations" | "when" | "termination_conditions", _) => {
            Use::Compared
        }
        (
            "name" | "description" | "tags" | "environment" | "variables" | "prices" | "plugins" | "judgment"
            | "code" | "command" | "seed" | "start" | "virtual_fs" | "responseFn" | "matcher" | "expression"
            | "pattern" | "user_matches" | "request" | "parameters" | "output" | "output_schema" | "schema"
            | "json_schema" | "path" | "type",
            _,
        ) => Use::Apart,
        _ => used,
    }
}

fn report_text(reader: &mut Reader<'_>, node: &Node, text: &str, used: Use) {
    for found in PLACEHOLDER.find_iter(text) {
        let found = found.as_str();
        let word = &found[2..found.len() - 1];
        let (what, help) = match used {
            Use::Header if word.starts_with("env.") => continue,
            Use::Address if word == "port" => continue,
            Use::Header => ("is sent as it stands", format!("to fill it in, write: ${{env.{word}}}")),
            Use::Address => ("is sent as it stands", "only `${port}` is filled in in addresses".to_owned()),
            Use::Compared => (
                "is compared as it stands: nothing is filled in here",
                "write the value itself; leave it where just these characters are meant".to_owned(),
            ),
            _ => (
                "is sent as it stands: nothing is filled in here",
                "write the value itself; leave it where just these characters are to be seen".to_owned(),
            ),
        };
        let written = reader.text.get(node.span.clone()).and_then(|source| source.find(found));
        let from = node.span.start + written.unwrap_or_default();
        let end = if written.is_some() { from + found.len() } else { node.span.end };
        let mut problem = Problem::error("not-filled-in", from..end, format!("`{found}` {what}"));
        problem.severity = Severity::Warning;
        reader.report(problem.help(help));
    }
}
