//! The parser's errors in words for authors of scenarios.

use std::ops::Range;

use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use super::{MAX_ALIASES, MAX_DEPTH, MAX_EVENTS, MAX_MEBIBYTES, MAX_VALUES};
use crate::Problem;

/// What the parser says, what that means to the author of a file, and what would be right.
const MEANINGS: &[(&str, &str, &str)] = &[
    ("unexpected character: `@'", "a value cannot begin with `@`", QUOTES),
    ("unexpected character: ``'", "a value cannot begin with a backtick", QUOTES),
    ("unexpected character: `%'", "a value cannot begin with `%`", QUOTES),
    (
        "mapping values are not allowed",
        "a `:` cannot stand here",
        "put a text that contains `: ` in quotes, or check the indentation",
    ),
    (
        "alias references unknown anchor",
        "no anchor before this has that name",
        "write `&name` before the value it stands for",
    ),
    ("recursive references", "an alias stands inside the value it stands for", ""),
    ("tabs disallowed", "a tab cannot indent", SPACES),
    ("tab cannot be used", "a tab cannot indent", SPACES),
    (
        "invalid indentation in multiline quoted scalar",
        "a text in quotes ends nowhere, or its next line is not indented",
        CLOSE_QUOTE,
    ),
    ("unclosed quote", "a text in quotes ends nowhere", CLOSE_QUOTE),
    ("misplaced bracket", "nothing is open that this could close", ""),
    ("while parsing a block mapping, did not find expected key", "a key was expected here", INDENT),
    (
        "while parsing a block collection, did not find expected '-'",
        "an item of the list was expected here",
        INDENT,
    ),
    ("simple key expected ':'", "a `:` is missing behind this key", "write `key: value`"),
    (
        "while parsing a quoted scalar, found unknown escape",
        "an escape in this text is unknown",
        "write `\\\\` for a backslash, or use single quotes",
    ),
    ("YAML merge value must be", "only a map, or a list of maps, can be merged", "write `<<: *name`"),
    (
        "while scanning an anchor or alias",
        "the name of an anchor or an alias is missing",
        "put a text that begins with `*` or `&` in quotes",
    ),
    (
        "invalid trailing content",
        "something stands behind the end of a text in quotes",
        "put the whole value in quotes",
    ),
    ("multiple YAML documents", "a second document begins here, but a scenario file holds one", ""),
    ("non-finite float", "infinite numbers, and those that are no number, cannot be used", QUOTES),
];

const QUOTES: &str = "put it in quotes";
const SPACES: &str = "use spaces";
const INDENT: &str = "check the indentation";
const CLOSE_QUOTE: &str = "close the quote";
const TOO_LARGE: &str = "too-large";

/// An error of the parser as a problem of the file.
pub(super) fn problem(error: &Error, place: Range<usize>) -> Problem {
    match error {
        Error::AliasError { error, .. } => {
            let mut problem = problem(error, place);
            if problem.code == TOO_LARGE {
                problem.message.push_str(" once its aliases are written out");
            }
            problem
        }
        Error::Budget { breach: BudgetBreach::Depth { .. }, .. } => too_deep(place),
        Error::Budget { breach, .. } => {
            Problem::error(TOO_LARGE, place, format!("the file holds more than {}", limit(breach)))
        }
        Error::AliasReplayLimitExceeded { .. } => {
            Problem::error(TOO_LARGE, place, "the aliases of the file stand for more than a million values")
        }
        Error::UnsupportedTag { tag, .. } => {
            let tag = tag.replace("tag:yaml.org,2002:", "!!");
            let problem = Problem::error("yaml", place, format!("the tag `{tag}` is not known"));
            problem.help("remove the tag, or put a text that begins with `!` in quotes")
        }
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            Problem::error("yaml", place, format!("key `{key}` stands twice in one map"))
        }
        Error::InvalidScalar { ty, .. } => {
            let kind = match *ty {
                "floating point" => "a number",
                "boolean" => "true or false",
                _ => "a whole number",
            };
            Problem::error(
                "yaml",
                place,
                format!("its tag makes this {kind}, but it is not written like one"),
            )
        }
        other => {
            let text = other.to_string();
            let text = text.rfind(" at line ").map_or(text.as_str(), |at| text[..at].trim_end_matches(','));
            if text == "recursion limit exceeded" {
                return too_deep(place);
            }
            if let Some(bracket) = text.strip_prefix("unclosed bracket ") {
                return Problem::error("yaml", place, format!("this {bracket} is never closed"));
            }
            if let Some(brackets) = text.strip_prefix("mismatched bracket ") {
                return Problem::error(
                    "yaml",
                    place,
                    format!("this {}", brackets.replace(" closed by", " is closed by")),
                );
            }
            if let Some(character) =
                text.strip_prefix("unexpected character: `").and_then(|rest| rest.strip_suffix('\''))
                && character.starts_with("\\u")
            {
                return Problem::error(
                    "yaml",
                    place,
                    format!("the character {character} cannot stand in a file"),
                );
            }
            match MEANINGS.iter().find(|(said, ..)| text.starts_with(said)) {
                Some((_, meaning, "")) => Problem::error("yaml", place, *meaning),
                Some((_, meaning, help)) => Problem::error("yaml", place, *meaning).help(*help),
                None => Problem::error("yaml", place, text),
            }
        }
    }
}

/// The code of that problem.
pub(super) const TOO_DEEP: &str = "too-deep";

/// A problem with values that are nested too deeply.
pub(super) fn too_deep(place: Range<usize>) -> Problem {
    Problem::error(TOO_DEEP, place, format!("values are nested more than {MAX_DEPTH} deep here"))
}

/// The limit that a file exceeds.
fn limit(breach: &BudgetBreach) -> String {
    match breach {
        BudgetBreach::Nodes { .. } => format!("{MAX_VALUES} values"),
        BudgetBreach::Events { .. } => format!("{MAX_EVENTS} values and remarks"),
        BudgetBreach::Anchors { .. } => format!("{MAX_ALIASES} anchors"),
        BudgetBreach::Aliases { .. } => format!("{MAX_ALIASES} aliases"),
        BudgetBreach::MergeKeys { .. } => format!("{MAX_ALIASES} merge keys"),
        BudgetBreach::ScalarBytes { .. } => format!("{MAX_MEBIBYTES} MiB of text"),
        _ => "can be read".to_owned(),
    }
}
