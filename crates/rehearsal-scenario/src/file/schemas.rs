//! JSON Schemas in files: slips of the pen that a validator passes over or tells badly.

use crate::read::{Reader, nearest};
use crate::yaml::{Entry, Node, NodeValue};
use crate::{Problem, Severity};

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Keywords whose value is a schema, or a list of schemas.
const SCHEMAS: [&str; 17] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependencies",
];

/// Keywords whose value is a map of schemas by names of the author's own.
const NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

const OTHERS: [&str; 37] = [
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "const",
    "contentEncoding",
    "contentMediaType",
    "default",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "nullable",
    "pattern",
    "readOnly",
    "required",
    "title",
];

/// Keywords that are too like others to be taken for slips of them.
const MORE: [&str; 3] = ["type", "uniqueItems", "writeOnly"];

/// Reports types that there are none of under this code, and keys that were meant to be keywords. Says whether one of them
/// is an error.
pub(super) fn report(reader: &mut Reader<'_>, schema: &Node, code: &'static str) -> bool {
    let before = reader.problems.len();
    walk(reader, schema, code);
    reader.problems[before..].iter().any(|problem| problem.severity == Severity::Error)
}

fn walk(reader: &mut Reader<'_>, schema: &Node, code: &'static str) {
    let NodeValue::Map(entries) = &schema.value else { return };
    for Entry { key, key_span, value } in entries {
        match &**key {
            "type" => report_types(reader, value, code),
            key if NAMED.contains(&key) => {
                if let NodeValue::Map(named) = &value.value {
                    for entry in named {
                        walk(reader, &entry.value, code);
                    }
                }
            }
            key if SCHEMAS.contains(&key) => match &value.value {
                NodeValue::List(schemas) => {
                    for schema in schemas {
                        walk(reader, schema, code);
                    }
                }
                _ => walk(reader, value, code),
            },
            key if OTHERS.contains(&key) || MORE.contains(&key) => {}
            key => {
                let known = NAMED.iter().chain(&SCHEMAS).chain(&OTHERS).chain(&MORE);
                if let Some(word) = nearest(key, known.copied()) {
                    let message = format!("`{key}` is no keyword of JSON Schema, so it asks for nothing");
                    let mut problem = Problem::error("unknown-keyword", key_span.clone(), message);
                    problem.severity = Severity::Warning;
                    reader.report(problem.help(format!("did you mean `{word}`?")));
                }
            }
        }
    }
}

fn report_types(reader: &mut Reader<'_>, value: &Node, code: &'static str) {
    let words = match &value.value {
        NodeValue::List(words) => words.as_slice(),
        _ => std::slice::from_ref(value),
    };
    for word in words {
        let NodeValue::Text(text) = &word.value else { continue };
        if TYPES.contains(&text.as_str()) {
            continue;
        }
        let problem = Problem::error(code, word.span.clone(), format!("`{text}` is no type of JSON Schema"));
        reader.report(match nearest(text, TYPES.into_iter()) {
            Some(word) => problem.help(format!("did you mean `{word}`?")),
            None => problem.help(format!("its types are `{}`", TYPES.join("`, `"))),
        });
    }
}
