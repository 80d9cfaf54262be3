//! What ADK takes: the models of google-adk 2.13, field by field.
//!
//! `shape.json` is written from them by `python/tests/shape.py`, and a test holds both together. A file that fits is given
//! back in one form: names in snake case, in the order in which ADK declares them, without what is null.

use std::sync::LazyLock;

use base64::Engine as _;
use indexmap::IndexMap;
use rehearsal_core::json::{as_text, text_or_digits};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::fields::{below, unexpected};
use super::{ImportError, Note};
use crate::trace::camel_case;

type Models = IndexMap<String, Model>;

static MODELS: LazyLock<Models> =
    LazyLock::new(|| rehearsal_core::json::from_str(include_str!("shape.json")).unwrap_or_default());

/// The personas that ADK knows by name.
const PERSONAS: [&str; 3] = ["EXPERT", "NOVICE", "EVALUATOR"];

#[derive(Debug, Deserialize)]
struct Model {
    extra: Extra,
    /// Whether names may be written in camel case too.
    camel: bool,
    fields: IndexMap<String, FieldShape>,
}

/// What becomes of fields that are not known.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Extra {
    Refused,
    Dropped,
    Kept,
}

#[derive(Debug, Deserialize)]
struct FieldShape {
    kind: Kind,
    #[serde(default)]
    nullable: bool,
    #[serde(default)]
    required: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Number,
    Whole,
    Flag,
    Bytes,
    Any,
    Words(Vec<String>),
    List(Box<Kind>),
    Map(Box<Kind>),
    Tuple(Vec<Kind>),
    Model(String),
    OneOf(Vec<String>),
}

/// A value of one of ADK's models, in one form. What ADK refuses is an error; what is not acted on, and what cannot be
/// kept, is noted.
pub(super) fn fit(
    model: &str,
    value: Value,
    path: &str,
    notes: &mut Vec<Note>,
) -> Result<Value, ImportError> {
    Fit { notes }.model(model, value, path)
}

struct Fit<'n> {
    notes: &'n mut Vec<Note>,
}

impl Fit<'_> {
    fn model(&mut self, name: &str, value: Value, path: &str) -> Result<Value, ImportError> {
        let Some(model) = MODELS.get(name) else {
            return Err(ImportError::at(
                path,
                format!("this program does not know {name}"),
                "use a newer version",
            ));
        };
        let mut given = match value {
            Value::Object(given) => given,
            other => return Err(unexpected(path.to_owned(), &other, "an object", "{ … }")),
        };
        let mut fitted = Map::new();
        for (field, shape) in &model.fields {
            let camel = camel_case(field);
            let other = if model.camel && camel != *field { given.shift_remove(&camel) } else { None };
            let (spelling, value) = match (given.shift_remove(field), other) {
                (Some(_), Some(_)) => {
                    let problem = format!("is there as `{camel}` too");
                    return Err(ImportError::at(below(path, field), problem, "keep one of the two"));
                }
                (Some(value), None) => (field, value),
                (None, Some(value)) => (&camel, value),
                (None, None) if shape.required => return Err(missing(field, &camel, &given, path)),
                (None, None) => continue,
            };
            let place = below(path, spelling);
            if value.is_null() && shape.nullable {
                continue;
            }
            self.note_unread(name, field, &value, &place);
            let value = match (name, &**field) {
                ("ConversationScenario", "user_persona") => self.persona(value, &place)?,
                _ => self.kind(&shape.kind, value, &place).map_err(|error| error.for_field(name, field))?,
            };
            fitted.insert(field.clone(), value);
        }
        self.rest(name, model, given, path, &mut fitted)?;
        Ok(Value::Object(fitted))
    }

    /// Fields that are not known.
    fn rest(
        &mut self,
        name: &str,
        model: &Model,
        given: Map<String, Value>,
        path: &str,
        fitted: &mut Map<String, Value>,
    ) -> Result<(), ImportError> {
        for (field, value) in given {
            let place = below(path, &field);
            match model.extra {
                Extra::Refused => {
                    let known: Vec<&str> = model.fields.keys().map(String::as_str).collect();
                    let problem = format!("ADK refuses it: {name} has no such field");
                    return Err(ImportError::at(
                        place,
                        problem,
                        format!("remove it, or write one of {}", known.join(", ")),
                    ));
                }
                Extra::Dropped => self.notes.push(Note::dropped(place, "unknown field, which ADK drops too")),
                Extra::Kept => {
                    self.notes.push(Note::kept(place, "unknown field"));
                    fitted.insert(field, value);
                }
            }
        }
        Ok(())
    }

    fn kind(&mut self, kind: &Kind, value: Value, path: &str) -> Result<Value, ImportError> {
        let refuse =
            |value: &Value, expected, example| Err(unexpected(path.to_owned(), value, expected, example));
        match kind {
            Kind::Any => Ok(value),
            Kind::Text if as_text(&value).is_some() => Ok(value),
            Kind::Text => refuse(&value, "a text", "\"…\""),
            Kind::Number => number(&value).map_or_else(|| refuse(&value, "a number", "1766500200.0"), Ok),
            Kind::Whole => whole(&value).map_or_else(|| refuse(&value, "a whole number", "17"), Ok),
            Kind::Flag => flag(&value).map_or_else(|| refuse(&value, "true or false", "true"), Ok),
            Kind::Bytes if is_base64(&value) => Ok(value),
            Kind::Bytes => refuse(&value, "bytes in base64", "\"aGVsbG8=\""),
            Kind::Words(words)
                if as_text(&value).is_some_and(|text| words.iter().any(|word| word == text)) =>
            {
                Ok(value)
            }
            Kind::Words(words) => {
                refuse(&value, "one of few words", &format!("\"{}\"", words.join("\" or \"")))
            }
            Kind::List(items) => self.list(value, path, |_| items),
            Kind::Tuple(kinds) => {
                if value.as_array().is_some_and(|items| items.len() != kinds.len()) {
                    let problem = format!("expected a list of {}", kinds.len());
                    return Err(ImportError::at(
                        path,
                        problem,
                        "write it as [\"author\", [{\"text\": \"…\"}]]",
                    ));
                }
                self.list(value, path, |index| &kinds[index])
            }
            Kind::Map(values) => {
                let Value::Object(fields) = value else { return refuse(&value, "an object", "{ … }") };
                let fitted = fields.into_iter().map(|(key, value)| {
                    let value = self.kind(values, value, &below(path, &key))?;
                    Ok((key, value))
                });
                fitted.collect::<Result<Map<_, _>, _>>().map(Value::Object)
            }
            Kind::Model(name) => self.model(name, value, path),
            Kind::OneOf(names) => self.one_of(names, value, path),
        }
    }

    fn list<'k>(
        &mut self,
        value: Value,
        path: &str,
        kind: impl Fn(usize) -> &'k Kind,
    ) -> Result<Value, ImportError> {
        let Value::Array(items) = value else {
            return Err(unexpected(path.to_owned(), &value, "a list", "[ … ]"));
        };
        let items = items.into_iter().enumerate();
        let items = items.map(|(index, item)| self.kind(kind(index), item, &format!("{path}[{index}]")));
        items.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    /// The form of which it has a field, else the first.
    fn one_of(&mut self, names: &[String], value: Value, path: &str) -> Result<Value, ImportError> {
        let fields = |name: &String| MODELS.get(name).map(|model| &model.fields);
        let has = |name: &&String| {
            fields(name).is_some_and(|fields| {
                fields.keys().any(|field| value.get(field).or_else(|| value.get(camel_case(field))).is_some())
            })
        };
        let mut found = names.iter().filter(has);
        match (found.next().or(names.first()), found.next()) {
            (Some(_), Some(_)) => {
                let remedy = "keep either `invocation_events` or `tool_uses` and `tool_responses`";
                Err(ImportError::at(path, "ADK refuses both forms of intermediate data together", remedy))
            }
            (Some(name), None) => self.model(name, value, path),
            (None, _) => Ok(value),
        }
    }

    fn persona(&mut self, value: Value, path: &str) -> Result<Value, ImportError> {
        match as_text(&value) {
            None => self.model("UserPersona", value, path),
            Some(name) if PERSONAS.contains(&name) => Ok(value),
            Some(name) => {
                let problem = format!("ADK knows no persona `{name}`");
                Err(ImportError::at(
                    path,
                    problem,
                    format!("write one of {}, or a persona of your own", PERSONAS.join(", ")),
                ))
            }
        }
    }

    /// Notes what is kept and not acted on.
    fn note_unread(&mut self, model: &str, field: &str, value: &Value, path: &str) {
        let is_empty = match value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if is_empty {
            return;
        }
        let why = match (model, field) {
            ("EvalCase" | "Invocation", "rubrics") => "rubrics need a judge; nothing here reads them",
            ("Invocation", "app_details") => "only judges read what the app was made of",
            ("Invocation", "duration" | "model_duration" | "tool_duration") => {
                "how long something took is not compared"
            }
            ("IntermediateData", "intermediate_responses") => "what is said between calls is not compared",
            ("InvocationEvent", "content") if says_more(value) => {
                "only its calls and responses are read; what is said between calls is not compared"
            }
            ("InvocationEvent", "usage_metadata") => "tokens are not compared",
            ("SessionInput", "session_id") => "sessions get ids of their own",
            ("InvocationEvent", "grounding_metadata" | "model_version")
            | ("FunctionCall", "partial_args" | "will_continue")
            | ("FunctionResponse", "scheduling" | "will_continue" | "parts")
            | ("Part", "audio_transcription" | "media_processing" | "speech_metadata") => "not compared",
            _ => return,
        };
        self.notes.push(Note::kept(path, why));
    }
}

impl ImportError {
    /// The same error with what helps in this field.
    fn for_field(self, model: &str, field: &str) -> Self {
        let better = match (model, field) {
            ("FunctionResponse", "response") => "wrap other values as {\"result\": …}",
            ("FunctionCall", "args") => "write the arguments as an object: {\"name\": …}",
            (_, "creation_timestamp") => "write seconds since 1970, such as 1766500200.0",
            _ => return self,
        };
        match self {
            Self::At { path, problem, .. } if path.ends_with(field) || path.ends_with(&camel_case(field)) => {
                Self::At { path, problem, remedy: better.to_owned() }
            }
            other => other,
        }
    }
}

fn missing(field: &str, camel: &str, given: &Map<String, Value>, path: &str) -> ImportError {
    if given.contains_key(camel) {
        let remedy = format!("rename it to `{field}`");
        return ImportError::at(
            below(path, camel),
            "the top of an EvalSet has snake_case names only",
            remedy,
        );
    }
    ImportError::at(path, format!("`{field}` is missing"), format!("add `\"{field}\": …`"))
}

/// Whether a content has parts beside calls and responses.
fn says_more(content: &Value) -> bool {
    const READ: [&str; 4] = ["function_call", "functionCall", "function_response", "functionResponse"];
    let is_more = |(key, value): (&String, &Value)| !READ.contains(&&**key) && !value.is_null();
    let parts = content.get("parts").and_then(Value::as_array);
    parts.into_iter().flatten().filter_map(Value::as_object).any(|part| part.iter().any(is_more))
}

/// A number, also one in a text or a truth value, as pydantic takes it.
fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag)).into()),
        Value::String(text) => {
            let number: f64 = text_or_digits(text).trim().replace('_', "").parse().ok()?;
            number.is_finite().then(|| if as_text(value).is_some() { number.into() } else { value.clone() })
        }
        _ => None,
    }
}

fn whole(value: &Value) -> Option<Value> {
    let number = number(value)?;
    let is_whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
    is_whole.then_some(number)
}

fn flag(value: &Value) -> Option<Value> {
    let flag = match value {
        Value::Bool(flag) => *flag,
        Value::Number(number) => match number.as_f64() {
            Some(0.0) => false,
            Some(1.0) => true,
            _ => return None,
        },
        Value::String(text) => match &*text.to_ascii_lowercase() {
            "true" | "t" | "yes" | "y" | "on" | "1" => true,
            "false" | "f" | "no" | "n" | "off" | "0" => false,
            _ => return None,
        },
        _ => return None,
    };
    Some(Value::Bool(flag))
}

/// Whether it is base64, with or without padding, of either alphabet.
fn is_base64(value: &Value) -> bool {
    use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
    let Some(text) = as_text(value) else { return false };
    let plain = text.trim_end_matches('=');
    STANDARD_NO_PAD.decode(plain).is_ok() || URL_SAFE_NO_PAD.decode(plain).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_are_read() {
        assert!(MODELS.contains_key("EvalSet") && MODELS.contains_key("Part"), "{:?}", MODELS.keys());
    }
}
