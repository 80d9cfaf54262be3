//! What looks like a variable and is none: `${EMAIL}` goes out as it stands. And `${env.NAME}`, which is filled in where
//! nothing is written down of it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::read::{Dialect, Reader};
use crate::yaml::{Entry, Node, NodeValue};
use crate::{Problem, Severity};

/// Which placeholders are filled in before a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filled {
    /// `${row.NAME}`.
    pub(crate) row: bool,
    /// `${matrix.NAME}`.
    pub(crate) matrix: bool,
}

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
    /// Which model it is, and where.
    Model,
    /// Commands, bodies of requests and variables, which have placeholders of their own.
    Program,
    /// Code, files, templates with placeholders of their own, patterns, and remarks.
    Apart,
}

impl Use {
    /// Whether `${env.NAME}` is filled in here: only where the value is written down nowhere.
    fn takes_env(self) -> bool {
        matches!(self, Self::Header | Self::Address | Self::Model | Self::Program)
    }
}

/// Reports placeholders that nothing fills in.
pub(crate) fn report(reader: &mut Reader<'_>, root: &Node, filled: Filled) {
    walk(root, "", Use::Sent, &mut |node, text, used| {
        if used != Use::Program {
            report_text(reader, node, text, used, filled);
        }
    });
}

/// The variables of the environment that are filled in, each with its place.
pub(crate) fn env(root: &Node, source: &str) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    walk(root, "", Use::Sent, &mut |node, text, used| {
        for (name, at) in crate::filled::names(text).filter(|_| used.takes_env()) {
            let written = source.get(node.span.clone()).and_then(|source| source.find(&text[at.clone()]));
            let place = written
                .map_or(node.span.clone(), |from| node.span.start + from..node.span.start + from + at.len());
            found.push((name.to_owned(), place));
        }
    });
    found
}

/// The tree in which `$${env.NAME}` stands for these characters, where nothing is filled in.
pub(crate) fn settled(mut root: Node) -> Node {
    settle(&mut root, "", Use::Sent);
    root
}

fn settle(node: &mut Node, within: &str, used: Use) {
    match &mut node.value {
        NodeValue::Map(entries) if is_of_files(entries) => {}
        NodeValue::Map(entries) => {
            for entry in entries {
                let used = use_of(&entry.key, within, used);
                if used != Use::Apart {
                    settle(&mut entry.value, &entry.key, used);
                }
            }
        }
        NodeValue::List(items) => items.iter_mut().for_each(|item| settle(item, within, used)),
        NodeValue::Text(text) if !used.takes_env() && text.contains("$${env.") => {
            *text = text.replace("$${env.", "${env.");
        }
        _ => {}
    }
}

fn walk(node: &Node, within: &str, used: Use, tell: &mut dyn FnMut(&Node, &str, Use)) {
    match &node.value {
        // Files have placeholders of their own: those of shells, templates and programs.
        NodeValue::Map(entries) if is_of_files(entries) => {}
        NodeValue::Map(entries) => {
            for entry in entries {
                let used = use_of(&entry.key, within, used);
                if used != Use::Apart {
                    walk(&entry.value, &entry.key, used, tell);
                }
            }
        }
        NodeValue::List(items) => items.iter().for_each(|item| walk(item, within, used, tell)),
        NodeValue::Text(text) => tell(node, text, used),
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
        ("headers", "http" | "mcp") => Use::Header,
        ("models" | "judges", "") | ("model", "chat") => Use::Model,
        ("script" | "rules", _) if used == Use::Model => Use::Sent,
        ("environment" | "variables", "")
        | ("variables", "environment")
        | ("request", "http")
        | ("start", "http" | "chat")
        | ("command" | "cwd", "agent" | "tools" | "start" | "mcp" | "world")
        | ("seed", "setup") => Use::Program,
        ("url", "http" | "chat" | "mcp") | ("http", "tools") if used == Use::Sent => Use::Address,
        ("evaluations" | "turn_evaluations" | "final_evaluations" | "when" | "termination_conditions", _) => {
            Use::Compared
        }
        (
            "name" | "description" | "tags" | "environment" | "variables" | "prices" | "budget" | "plugins"
            | "judgment" | "code" | "command" | "cwd" | "seed" | "start" | "virtual_fs" | "responseFn"
            | "matcher" | "expression" | "pattern" | "user_matches" | "request" | "parameters" | "output"
            | "output_schema" | "schema" | "json_schema" | "path" | "type",
            _,
        ) => Use::Apart,
        _ => used,
    }
}

fn report_text(reader: &mut Reader<'_>, node: &Node, text: &str, used: Use, filled: Filled) {
    for found in PLACEHOLDER.find_iter(text) {
        // `$${row.name}` stands for the characters.
        let is_escaped = text[..found.start()].ends_with('$');
        let found = found.as_str();
        let word = &found[2..found.len() - 1];
        let root = word.split('.').next().unwrap_or_default();
        let is_ours = ["row", "matrix", "env"].contains(&root);
        let is_filled = (filled.row && root == "row") || (filled.matrix && root == "matrix");
        if is_filled || (is_escaped && is_ours) {
            continue;
        }
        let mut severity = Severity::Warning;
        let (what, help) = match used {
            _ if root == "env" && word != root && used.takes_env() => continue,
            Use::Address if word == "port" => continue,
            Use::Sent | Use::Compared
                if root == "env" && word != root && reader.dialect == Dialect::Rehearsal =>
            {
                severity = Severity::Error;
                (
                    "is not filled in here: what is said, mocked and compared is written down, and no value of the \
                     environment is",
                    format!(
                        "it can stand in addresses, headers, requests, commands, variables and models; `$${{{word}}}` \
                         stands for the characters themselves"
                    ),
                )
            }
            _ if root == "row" && word != root => {
                ("has no row that it could come from", "add rows: cases: [{…}]".to_owned())
            }
            _ if root == "matrix" && word != root => {
                ("has no matrix that it could come from", "add one: matrix: {AXIS: [a, b]}".to_owned())
            }
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
        problem.severity = severity;
        reader.report(problem.help(help));
    }
}
