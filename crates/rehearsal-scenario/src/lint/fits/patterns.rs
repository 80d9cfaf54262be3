//! Whether what is asked of the arguments of a call can hold at all, by the schema of the tool.

use serde_json::{Map, Value, json};

use super::violations;
use crate::Problem;
use crate::read::nearest;

/// How many references are followed from one place of a schema.
const MOST_REFERENCES: usize = 32;

/// Something that is asked of an argument and that the tool's schema does not allow.
pub(super) struct Misfit {
    pub(super) message: String,
    help: Option<String>,
}

impl Misfit {
    pub(super) fn help(&self, problem: Problem) -> Problem {
        match &self.help {
            Some(help) => problem.help(help.clone()),
            None => problem,
        }
    }
}

/// What may be asked of the arguments of a tool.
pub(super) struct Patterns<'a> {
    tool: &'a str,
    /// The schema of all arguments.
    root: &'a Value,
    /// Whether a map of operators is a query, or a value like another.
    queries: bool,
}

impl<'a> Patterns<'a> {
    /// Patterns with queries in them.
    pub(super) fn of_queries(tool: &'a str, root: &'a Value) -> Self {
        Self { tool, root, queries: true }
    }

    /// Patterns of values alone.
    pub(super) fn of_values(tool: &'a str, root: &'a Value) -> Self {
        Self { tool, root, queries: false }
    }

    /// What of a pattern, by the names of the arguments, no call can have.
    pub(super) fn misfits(&self, pattern: &Map<String, Value>) -> Vec<Misfit> {
        let mut found = Vec::new();
        self.compare_fields(pattern, self.root, "", &mut found);
        found
    }

    /// Why a list of arguments is that of no call: neither by name, in one object, nor by place.
    pub(super) fn misfit_of_list(&self, list: &[Value], all: bool) -> Option<Misfit> {
        let by_name = match list {
            [] if !all => return None,
            [] => self.of_all(&Map::new()),
            [Value::Object(fields)] => {
                self.misfits(fields).into_iter().next().or_else(|| all.then(|| self.of_all(fields)).flatten())
            }
            _ => Some(self.other("one object with the arguments by name")),
        };
        let by_place = self.misfit_by_place(list);
        match (by_name, by_place) {
            (Some(_), Some(by_place)) if !matches!(list, [] | [Value::Object(_)]) => Some(by_place),
            (Some(by_name), Some(_)) => Some(by_name),
            _ => None,
        }
    }

    /// What is wrong with arguments that are all there are.
    fn of_all(&self, fields: &Map<String, Value>) -> Option<Misfit> {
        let broken = violations(self.root, &Value::Object(fields.clone()));
        let first = broken.first()?;
        let help = Some("`args` are all arguments of a call; for some of them, write: input: {name: value}");
        let message = format!("no call of `{}` has just these arguments: {first}", self.tool);
        Some(Misfit { message, help: help.map(str::to_owned) })
    }

    /// Arguments that may be left out are not in the list, so each value may be that of its own place or of a later one.
    fn misfit_by_place(&self, list: &[Value]) -> Option<Misfit> {
        let properties =
            self.resolved(self.root)["properties"].as_object().filter(|_| is_closed(self.root))?;
        let required = self.resolved(self.root)["required"].as_array();
        let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|own| own == name));
        let mut places = properties.iter();
        for (at, value) in list.iter().enumerate() {
            let fits = places
                .by_ref()
                .map(|(name, schema)| {
                    let mut found = Vec::new();
                    self.compare(value, schema, "", &mut found);
                    (found.is_empty(), is_required(name))
                })
                .find(|(fits, is_required)| *fits || *is_required);
            let fits = fits.is_some_and(|(fits, _)| fits);
            if !fits {
                let value = rehearsal_core::json::text(value);
                let message = if at < properties.len() {
                    format!("no argument of `{}` at place {} can be {value}", self.tool, at + 1)
                } else {
                    format!("`{}` takes {} arguments, not {}", self.tool, properties.len(), list.len())
                };
                let names: Vec<&str> = properties.keys().map(String::as_str).collect();
                let help = format!("its arguments are, in order: {}", names.join(", "));
                return Some(Misfit { message, help: Some(help) });
            }
        }
        None
    }

    fn other(&self, what: &str) -> Misfit {
        Misfit { message: format!("`{}` takes {what}", self.tool), help: None }
    }

    fn compare(&self, pattern: &Value, schema: &Value, path: &str, found: &mut Vec<Misfit>) {
        let schema = self.resolved(schema);
        match pattern {
            Value::Object(fields) if self.queries && fields.keys().any(|key| key.starts_with('$')) => {
                found.extend(fields.iter().find_map(|(operator, value)| {
                    let why = self.unfit_query(operator, value, schema)?;
                    Some(self.cannot_be(path, &why))
                }));
            }
            // Of what is in them not all has to be said, so they are not held to the whole schema.
            Value::Object(fields) => {
                if let Some(why) = self.broken(&only(schema, &["type"]), pattern) {
                    return found.push(self.cannot_be(path, &why));
                }
                self.compare_fields(fields, schema, path, found);
            }
            Value::Array(items) => {
                if let Some(why) = self.broken(&only(schema, &["type", "minItems", "maxItems"]), pattern) {
                    return found.push(self.cannot_be(path, &why));
                }
                let each = schema.get("items").filter(|each| each.is_object());
                for item in each.map(|_| items.as_slice()).unwrap_or_default() {
                    self.compare(item, &schema["items"], &format!("{path}[]"), found);
                }
            }
            value => {
                found.extend(self.broken(schema, value).map(|why| self.cannot_be(path, &why)));
            }
        }
    }

    fn compare_fields(
        &self,
        fields: &Map<String, Value>,
        schema: &Value,
        path: &str,
        found: &mut Vec<Misfit>,
    ) {
        let schema = self.resolved(schema);
        let Some(properties) = schema["properties"].as_object() else { return };
        for (key, value) in fields {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            if let Some(schema) = properties.get(key) {
                self.compare(value, schema, &path, found);
            } else if is_closed(schema) {
                let known = nearest(key, properties.keys().map(String::as_str));
                let help = known.map(|word| format!("did you mean `{word}`?"));
                found.push(Misfit { message: format!("`{}` takes no argument `{path}`", self.tool), help });
            }
        }
    }

    fn cannot_be(&self, path: &str, why: &str) -> Misfit {
        let help = "give a value that the `parameters` of the tool allow, or change them".to_owned();
        Misfit { message: format!("`{path}` of `{}` cannot be this: {why}", self.tool), help: Some(help) }
    }

    /// Why an operator finds nothing among the values that a schema allows. Those that ask what a value is not, or of what
    /// is in it, may always find one.
    fn unfit_query(&self, operator: &str, value: &Value, schema: &Value) -> Option<String> {
        match (operator, value) {
            ("$eq", value) => self.broken(schema, value),
            ("$in", Value::Array(values)) => {
                let all: Option<Vec<String>> =
                    values.iter().map(|value| self.broken(schema, value)).collect();
                all?.into_iter().next()
            }
            // A number is compared with numbers and a text with texts.
            ("$gt" | "$gte" | "$lt" | "$lte", value) => {
                let whole = if rehearsal_core::json::is_number(value) { json!(0) } else { value.clone() };
                let broken = self.broken(&only(schema, &["type"]), &whole);
                broken.map(|_| format!("{} is not of its type", rehearsal_core::json::text(value)))
            }
            _ => None,
        }
    }

    fn broken(&self, schema: &Value, value: &Value) -> Option<String> {
        let mut schema = schema.clone();
        if let Some(fields) = schema.as_object_mut() {
            for key in ["$defs", "definitions"] {
                if let Some(named) = self.root.get(key) {
                    fields.entry(key).or_insert_with(|| named.clone());
                }
            }
        }
        violations(&schema, value).first().map(|violation| violation.message.clone())
    }

    /// The schema that a reference into the tool's own stands for.
    fn resolved<'s>(&self, schema: &'s Value) -> &'s Value
    where
        'a: 's,
    {
        let mut schema = schema;
        for _ in 0..MOST_REFERENCES {
            let target = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
            match target.and_then(|pointer| self.root.pointer(pointer)) {
                Some(target) => schema = target,
                None => return schema,
            }
        }
        schema
    }
}

/// A schema with some of its keys.
fn only(schema: &Value, keys: &[&str]) -> Value {
    let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), schema.get(*key)?.clone())));
    Value::Object(kept.collect())
}

/// Whether a schema names all that it takes. One that does not say otherwise is taken at its word.
fn is_closed(schema: &Value) -> bool {
    let open = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "dependentSchemas"];
    let more = schema.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false));
    !more && open.iter().all(|key| schema.get(key).is_none())
}
