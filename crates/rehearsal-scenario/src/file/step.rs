//! Steps in a scenario file.

use rehearsal_core::keys::Table;
use rehearsal_world::environment::Language;
use serde_json::{Map, Value};

use super::keys::{CODE_STEP, INPUT_STEP, TALK_STEP};
use super::{Action, Step, conversation, evaluation, mock};
use crate::read::{Dialect, Fields, Reader, nearest};
use crate::yaml::Node;
use crate::{Place, Problem, StepKind};

pub(super) fn read(reader: &mut Reader<'_>, node: &Node, number: usize) -> Option<Step> {
    let kinds: [&Table; 3] = [&INPUT_STEP, &TALK_STEP, &CODE_STEP];
    let mut fields = reader.fields_of_one(node, format!("step {number}"), &kinds)?;
    let name = fields.text(reader, "name");
    let description = fields.text(reader, "description");
    let context = fields.json_map(reader, "context").unwrap_or_default();
    let timeout_ms = fields.integer(reader, "timeout_ms");
    let input = fields.given_text(reader, "input");
    let lang = read_language(reader, &mut fields);
    let code = fields.given_text(reader, "code");
    let conversation = fields.get("conversation");
    // The order is the one of the shipped runner; in our dialect there is never more than one to choose from.
    let says_nothing = reader.dialect == Dialect::ElizaOs && input.as_deref() == Some("");
    let kind = match (conversation, &input, &code) {
        (Some(_), _, _) => StepKind::Conversation,
        (None, None, Some(_)) => StepKind::Code,
        (None, Some(_), Some(_)) if says_nothing => StepKind::Code,
        _ => StepKind::Input,
    };
    let evaluations = match (fields.get("evaluations"), conversation, reader.dialect) {
        (Some(node), _, _) => evaluation::read_all(reader, node, "`evaluations`", Place::Step(kind)),
        (None, Some(_), Dialect::Rehearsal) => Vec::new(),
        (None, _, _) => {
            fields.require(reader, "evaluations");
            Vec::new()
        }
    };
    let conversation = conversation.map(|node| conversation::read(reader, node, fields.has("input")));
    report_actions(reader, &fields, number, input.as_deref());
    report_unused(reader, &fields, kind, &context);
    let action = match (conversation, input, code) {
        (Some(conversation), input, _) => conversation
            .map(|conversation| Action::Conversation { input, conversation: Box::new(conversation) }),
        (None, Some(input), _) if !says_nothing => Some(Action::Input(input)),
        (None, _, code) => code.map(|code| {
            let (lang, interpreter) = lang.unwrap_or_default();
            Action::Code { lang, interpreter, code }
        }),
    };
    fields.finish(reader);
    let (line, span) = (reader.line(node.span.start), reader.line_span(node.span.start));
    Some(Step { name, description, action: action?, context, timeout_ms, line, span, evaluations })
}

/// The language of a step, or the program that another runner would run for it.
fn read_language(reader: &mut Reader<'_>, fields: &mut Fields<'_>) -> Option<(Language, Option<String>)> {
    let node = fields.get("lang")?;
    let text = reader.text(node, "`lang`")?;
    match (Language::parse(&text), reader.dialect) {
        (Some(language), _) => Some((language, None)),
        (None, Dialect::ElizaOs) => Some((Language::default(), Some(text))),
        (None, Dialect::Rehearsal) => {
            let message = format!("`lang` cannot be `{text}`");
            let problem = Problem::error("unknown-value", node.span.clone(), message);
            reader.report(match nearest(&text, Language::WORDS.into_iter()) {
                Some(word) => problem.help(format!("did you mean `{word}`?")),
                None => problem.help(format!("it can be: `{}`", Language::WORDS.join("`, `"))),
            });
            None
        }
    }
}

/// Reports settings of a step that its kind does not use.
fn report_unused(reader: &mut Reader<'_>, fields: &Fields<'_>, kind: StepKind, context: &Map<String, Value>) {
    if let (StepKind::Conversation, Some(place)) = (kind, fields.key_span("timeout_ms")) {
        let problem = Problem::error("no-effect", place, "a conversation has limits of its own");
        let help = "write `timeout_per_turn_ms` or `total_timeout_ms` into `conversation`";
        reader.report(problem.help(help));
    }
    let Some(place) = fields.key_span("context") else { return };
    if kind == StepKind::Code {
        let message = "code makes no calls that could find a `context`";
        reader.report(Problem::error("no-effect", place.clone(), message).help("remove it"));
    }
    for (key, meaning) in mock::ALWAYS_IN_CONTEXT.iter().filter(|(key, _)| context.contains_key(*key)) {
        let problem =
            Problem::error("no-effect", place.clone(), format!("`{key}` in `context` is always {meaning}"));
        reader.report(problem.help("give it another name"));
    }
}

/// Reports a step that does nothing, or says more than it does.
fn report_actions(reader: &mut Reader<'_>, fields: &Fields<'_>, number: usize, input: Option<&str>) {
    let place = |key: &str| fields.key_span(key).unwrap_or_else(|| fields.span());
    let (conversation, code) = (fields.has("conversation"), fields.has("code"));
    // The shipped runner takes an empty input for none.
    let says_nothing = reader.dialect == Dialect::ElizaOs && input == Some("");
    if !conversation && !code && (!fields.has("input") || says_nothing) {
        let message = format!("step {number} does nothing");
        let help = "add one of `input`, `conversation` and `code`";
        reader.report(Problem::error("no-action", fields.span(), message).help(help));
    }
    if code && (conversation || fields.has("input")) {
        let message = format!("step {number} has `code` and something to say; only one of them is done");
        let problem = Problem::error("two-actions", place("code"), message).help("make two steps of it");
        reader.report_without_effect(problem);
    }
    if fields.has("lang") && !code {
        let message = format!("step {number} has `lang` but no `code`");
        let problem = Problem::error("no-effect", place("lang"), message);
        reader.report_without_effect(problem.help("add `code` or remove `lang`"));
    }
}
