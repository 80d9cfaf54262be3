//! The page of reference, from the list of evaluators.

use std::fmt::Write as _;

use rehearsal_core::keys::{Form, Key, Need};

use super::{KINDS, Kind, LooksAt};

/// What evaluators look at, with a heading, and whether it can be asked of turns and of code steps.
const GROUPS: [(LooksAt, &str, &str, &str); 5] = [
    (LooksAt::Reply, "The reply, the time and the state", "yes", "yes: of what the code wrote"),
    (LooksAt::Agent, "What the agent did", "yes", "no"),
    (LooksAt::Environment, "The environment", "no", "yes"),
    (LooksAt::World, "The world", "no", "yes"),
    (LooksAt::Conversation, "The conversation", "no, only of conversations", "no"),
];

/// The page docs/reference/evaluators.md.
pub fn evaluators_page() -> String {
    let mut page = include_str!("page_head.md").to_owned();
    page.push_str("| looks at | evaluators | in `turn_evaluations` | of code steps |\n|---|---|---|---|\n");
    for (looks_at, heading, of_turns, of_code) in GROUPS {
        let links: Vec<String> = of(looks_at).map(|kind| format!("[`{0}`](#{0})", kind.name)).collect();
        let _ = writeln!(page, "| {heading} | {} | {of_turns} | {of_code} |", links.join(", "));
    }
    page.push_str(include_str!("page_notes.md"));
    for (looks_at, heading, ..) in GROUPS {
        let _ = writeln!(page, "\n## {heading}");
        for kind in of(looks_at) {
            let _ = write!(page, "\n{}", entry(kind));
        }
    }
    page.push_str("\n[scenario file]: scenario-file.md\n");
    page
}

fn of(looks_at: LooksAt) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(move |kind| kind.looks_at == looks_at)
}

fn entry(kind: &Kind) -> String {
    let mut entry = format!("### {}\n\n{}\n\n| key | | |\n|---|---|---|\n", kind.name, kind.about);
    let how = if kind.of_replies { kind.how_keys() } else { &[] };
    for key in kind.keys.iter().chain(how.iter().filter(|key| key.name == "in")) {
        let _ = writeln!(entry, "| `{}` | {} | {} |", key.name, need(key), cell(key.about));
    }
    let _ = writeln!(entry, "\n{}", kind.page);
    entry
}

fn need(key: &Key) -> String {
    let words = match key.form {
        Form::Word(words) => format!(" (one of `{}`)", words.join("`, `")),
        _ => String::new(),
    };
    match key.need {
        Need::Required(_) => format!("required{words}"),
        Need::Optional | Need::Unless(_) => words.trim().to_owned(),
        Need::Default(default) => format!("`{}`{words}", default.trim_matches('"')),
    }
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
