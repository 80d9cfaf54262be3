//! What is sent and what is read: request templates, and paths into answers.

use std::fmt;

use serde_json::{Map, Value};

/// A request with places for what is only known when it is sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Template {
    Fixed(Value),
    Whole(Placeholder),
    Text(Vec<Piece>),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

/// What can stand between `${` and `}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placeholder {
    Message,
    Session,
    Turn,
    Scenario,
    History,
    Plugins,
    Context,
}

impl Placeholder {
    const ALL: [Self; 7] = [
        Self::Message,
        Self::Session,
        Self::Turn,
        Self::Scenario,
        Self::History,
        Self::Plugins,
        Self::Context,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Scenario => "scenario",
            Self::History => "history",
            Self::Plugins => "plugins",
            Self::Context => "context",
        }
    }

    /// Whether it is a value of several parts, which cannot stand within a text.
    fn stands_alone(self) -> bool {
        matches!(self, Self::History | Self::Plugins | Self::Context)
    }
}

/// What is wrong with a request template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A placeholder that does not exist.
    #[error("`{at}`: there is no placeholder `${{{name}}}`; the placeholders are: {}", known())]
    Unknown {
        /// Where in the template.
        at: String,
        /// The name it has there.
        name: String,
    },
    /// A placeholder for a list or an object, within a text.
    #[error("`{at}`: `${{{name}}}` is not text and must be all of the string: \"${{{name}}}\"")]
    NotAlone {
        /// Where in the template.
        at: String,
        /// The placeholder.
        name: &'static str,
    },
    /// A placeholder without its end.
    #[error("`{at}`: `${{` without `}}`; write `$${{` for the characters themselves")]
    Unclosed {
        /// Where in the template.
        at: String,
    },
    /// A placeholder in the name of a field.
    #[error("`{at}`: the field `{key}` holds a placeholder; placeholders are replaced in values only")]
    InKey {
        /// Where in the template.
        at: String,
        /// The name of the field.
        key: String,
    },
}

fn known() -> String {
    Placeholder::ALL.map(|placeholder| format!("`${{{}}}`", placeholder.name())).join(", ")
}

impl Template {
    pub(super) fn parse(value: &Value) -> Result<Self, TemplateError> {
        Self::parse_at(value, "$")
    }

    fn parse_at(value: &Value, at: &str) -> Result<Self, TemplateError> {
        match value {
            Value::String(text) => parse_text(text, at),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                items
                    .map(|(index, item)| Self::parse_at(item, &format!("{at}[{index}]")))
                    .collect::<Result<_, _>>()
                    .map(Self::List)
            }
            Value::Object(fields) => {
                let field = |(key, value): (&String, &Value)| {
                    if key.contains("${") {
                        return Err(TemplateError::InKey { at: at.to_owned(), key: key.clone() });
                    }
                    Ok((key.clone(), Self::parse_at(value, &format!("{at}.{key}"))?))
                };
                fields.iter().map(field).collect::<Result<_, _>>().map(Self::Object)
            }
            other => Ok(Self::Fixed(other.clone())),
        }
    }

    /// The request, with what each placeholder stands for.
    pub(super) fn fill(&self, value_of: &dyn Fn(Placeholder) -> Value) -> Value {
        match self {
            Self::Fixed(value) => value.clone(),
            Self::Whole(placeholder) => value_of(*placeholder),
            Self::Text(pieces) => pieces.iter().map(|piece| piece.fill(value_of)).collect::<String>().into(),
            Self::List(items) => items.iter().map(|item| item.fill(value_of)).collect(),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.clone(), value.fill(value_of)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

impl Piece {
    fn fill(&self, value_of: &dyn Fn(Placeholder) -> Value) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Placeholder(placeholder) => match value_of(*placeholder) {
                Value::Null => String::new(),
                value => rehearsal_core::json::said(&value),
            },
        }
    }
}

fn parse_text(text: &str, at: &str) -> Result<Template, TemplateError> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let before = &rest[..start];
        if let Some(before) = before.strip_suffix('$') {
            plain.push_str(before);
            plain.push_str("${");
            rest = &rest[start + 2..];
            continue;
        }
        plain.push_str(before);
        let inner = &rest[start + 2..];
        let end = inner.find('}').ok_or_else(|| TemplateError::Unclosed { at: at.to_owned() })?;
        let name = inner[..end].trim();
        let found = Placeholder::ALL.into_iter().find(|placeholder| placeholder.name() == name);
        let placeholder =
            found.ok_or_else(|| TemplateError::Unknown { at: at.to_owned(), name: name.to_owned() })?;
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Placeholder(placeholder));
        rest = &inner[end + 1..];
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    match pieces.as_slice() {
        [] | [Piece::Text(_)] => Ok(Template::Fixed(pieces.first().map_or("", Piece::as_text).into())),
        [Piece::Placeholder(placeholder)] => Ok(Template::Whole(*placeholder)),
        _ => match pieces.iter().find_map(Piece::not_alone) {
            Some(name) => Err(TemplateError::NotAlone { at: at.to_owned(), name }),
            None => Ok(Template::Text(pieces)),
        },
    }
}

impl Piece {
    fn as_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Placeholder(_) => "",
        }
    }

    fn not_alone(&self) -> Option<&'static str> {
        match self {
            Self::Placeholder(placeholder) if placeholder.stands_alone() => Some(placeholder.name()),
            _ => None,
        }
    }
}

/// A path into a JSON value: `$.a.b[0].c`, or `a.b.0.c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    steps: Vec<String>,
}

/// A path that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not a path; write it like `$.choices[0].text` or `choices.0.text`")]
pub struct PathError {
    /// What was written.
    pub path: String,
}

/// A path that leads nowhere.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Missing {
    /// How far it leads.
    reached: Path,
    /// What is there.
    found: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is {}", self.reached, self.found)
    }
}

impl Path {
    pub(super) fn parse(text: &str) -> Result<Self, PathError> {
        let error = || PathError { path: text.to_owned() };
        let trimmed = text.trim();
        let mut rest = match trimmed.strip_prefix('$') {
            Some("") => return Ok(Self { steps: Vec::new() }),
            Some(rest) if rest.starts_with(['.', '[']) => rest.to_owned(),
            Some(_) => return Err(error()),
            None => format!(".{trimmed}"),
        };
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = if let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').ok_or_else(error)?;
                index.parse::<usize>().map_err(|_| error())?;
                (index, after)
            } else {
                let inner = rest.strip_prefix('.').ok_or_else(error)?;
                inner.split_at(inner.find(['.', '[']).unwrap_or(inner.len()))
            };
            if step.is_empty() || step.contains(']') {
                return Err(error());
            }
            steps.push(step.to_owned());
            rest = after.to_owned();
        }
        Ok(Self { steps })
    }

    /// What the path leads to.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Result<&'a Value, Missing> {
        let mut here = value;
        for (depth, step) in self.steps.iter().enumerate() {
            let next = match here {
                Value::Object(fields) => fields.get(step),
                Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
                _ => None,
            };
            here = next.ok_or_else(|| Missing {
                reached: Self { steps: self.steps[..depth].to_vec() },
                found: description(here),
            })?;
        }
        Ok(here)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in &self.steps {
            match step.parse::<usize>() {
                Ok(index) => write!(f, "[{index}]")?,
                Err(_) => write!(f, ".{step}")?,
            }
        }
        Ok(())
    }
}

/// What kind of value it is, and what can be found in it.
pub(super) fn description(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        value if rehearsal_core::json::is_number(value) => "a number".to_owned(),
        Value::Number(_) | Value::String(_) => "text".to_owned(),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(fields) if fields.is_empty() => "an object without fields".to_owned(),
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().map(|key| format!("`{key}`")).collect();
            format!("an object with the fields {}", crate::program::shortened(&names.join(", "), 500))
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn filled(template: &Value) -> Result<Value, TemplateError> {
        let value_of = |placeholder| match placeholder {
            Placeholder::Message => json!("hi \"you\""),
            Placeholder::Turn => json!(2),
            Placeholder::History => json!([{"role": "user", "content": "hi"}]),
            Placeholder::Context => json!({"tier": "gold"}),
            _ => Value::Null,
        };
        Template::parse(template).map(|template| template.fill(&value_of))
    }

    fn check_error(template: &Value, expect: &Expect) {
        expect.assert_eq(&filled(template).unwrap_err().to_string());
    }

    #[test]
    fn a_string_that_is_one_placeholder_becomes_the_value_and_others_stay_text() {
        let template =
            json!({"a": ["${turn}", "turn ${turn}: ${ message }"], "b": "${history}", "c": 1, "d": ""});
        let request = filled(&template).unwrap();
        assert_eq!(request["a"], json!([2, "turn 2: hi \"you\""]));
        assert_eq!(request["b"][0]["content"], "hi");
        assert_eq!((&request["c"], &request["d"]), (&json!(1), &json!("")));
        assert_eq!(filled(&json!("${context}")).unwrap(), json!({"tier": "gold"}));
    }

    #[test]
    fn two_dollars_keep_a_placeholder_from_being_one() {
        assert_eq!(filled(&json!("$${message} costs $5 {}")).unwrap(), "${message} costs $5 {}");
    }

    #[test]
    fn templates_that_cannot_be_filled_say_where_and_why() {
        check_error(
            &json!({"a": [{"b": "${mesage}"}]}),
            &expect![
                "`$.a[0].b`: there is no placeholder `${mesage}`; the placeholders are: `${message}`, `${session}`, `${turn}`, `${scenario}`, `${history}`, `${plugins}`, `${context}`"
            ],
        );
        check_error(
            &json!({"a": "so far: ${history}"}),
            &expect![[r#"`$.a`: `${history}` is not text and must be all of the string: "${history}""#]],
        );
        check_error(
            &json!("${message"),
            &expect!["`$`: `${` without `}`; write `$${` for the characters themselves"],
        );
        check_error(
            &json!({"${turn}": 1}),
            &expect![
                "`$`: the field `${turn}` holds a placeholder; placeholders are replaced in values only"
            ],
        );
    }

    #[test]
    fn both_ways_to_write_a_path_are_the_same_path() {
        let path = Path::parse("$.choices[0].text").unwrap();
        assert_eq!(path, Path::parse("choices.0.text").unwrap());
        assert_eq!(path.to_string(), "$.choices[0].text");
        assert_eq!(path.find(&json!({"choices": [{"text": "a"}]})), Ok(&json!("a")));
        assert_eq!(Path::parse("$").unwrap().find(&json!(1)), Ok(&json!(1)));
        assert_eq!(Path::parse("$[1]").unwrap().find(&json!([1, 2])), Ok(&json!(2)));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "a..b", "$a", "$.a[x]", "$.a[0", "a]", "$.a[0]b", "$."] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_that_leads_nowhere_says_what_is_there() {
        let missing = |path: &str| {
            let value = json!({"reply": {"text": "a", "id": 1}, "list": []});
            Path::parse(path).unwrap().find(&value).unwrap_err().to_string()
        };
        assert_eq!(missing("$.answer"), "`$` is an object with the fields `reply`, `list`");
        assert_eq!(missing("reply.content"), "`$.reply` is an object with the fields `text`, `id`");
        assert_eq!(missing("reply.text.0"), "`$.reply.text` is text");
        assert_eq!(missing("list[0]"), "`$.list` is an empty list");
    }
}
