//! What one provider knows and the core does not: merged into what is written, and taken out of what is read.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use super::{Field, WireError};

/// Merges `extra` into the JSON of `written`. Objects are merged and lists joined; a value that is there
/// already is not overwritten but an error, so nobody is left to wonder which of two settings was meant.
///
/// `reserved` names members that only the conversation decides.
pub(crate) fn merge<T: Serialize + DeserializeOwned>(
    written: T,
    extra: &Map<String, Value>,
    reserved: &[&str],
) -> Result<T, WireError> {
    if extra.is_empty() {
        return Ok(written);
    }
    if let Some(key) = extra.keys().find(|key| reserved.contains(&key.as_str())) {
        return Err(WireError::unsupported(format!("the extra setting `{key}` would replace what is asked")));
    }
    let mut json = serde_json::to_value(&written)
        .map_err(|error| WireError::unsupported(format!("it cannot be written as JSON: {error}")))?;
    for (key, value) in extra {
        merge_member(&mut json, key, value, key)?;
    }
    serde_json::from_value(json)
        .map_err(|error| WireError::unsupported(format!("the extra settings do not fit: {error}")))
}

fn merge_member(target: &mut Value, key: &str, value: &Value, path: &str) -> Result<(), WireError> {
    let Value::Object(members) = target else {
        return Err(WireError::unsupported(format!("the extra setting `{path}` does not fit")));
    };
    match (members.get_mut(key), value) {
        (None, value) => {
            members.insert(key.to_owned(), value.clone());
        }
        (Some(present), value) if present == value => {}
        (Some(present @ Value::Object(_)), Value::Object(more)) => {
            for (key, value) in more {
                merge_member(present, key, value, &format!("{path}.{key}"))?;
            }
        }
        (Some(Value::Array(present)), Value::Array(more)) => present.extend(more.iter().cloned()),
        (Some(_), _) => {
            return Err(WireError::unsupported(format!(
                "the extra setting `{path}` contradicts a setting that has its own name; set only one of them"
            )));
        }
    }
    Ok(())
}

/// Refuses a number of answers other than one: only the first is read, so the others would be paid for and lost.
pub(crate) fn refuse_many_answers(name: &str, asked: Option<&Value>) -> Result<(), WireError> {
    match asked {
        None | Some(Value::Null) => Ok(()),
        Some(count) if count.as_u64() == Some(1) => Ok(()),
        Some(count) => Err(WireError::unsupported(format!(
            "the extra setting `{name}` asks for {} answers, and only one is read",
            rehearsal_core::json::shown(count)
        ))),
    }
}

/// A setting that is a number.
pub(crate) fn number(name: &str, value: Option<f64>) -> Result<Field<Number>, WireError> {
    match value {
        None => Ok(Field::Missing),
        Some(value) => Number::from_f64(value).map(Field::Value).ok_or_else(|| {
            WireError::unsupported(format!("the setting `{name}` is {value}, which is no number"))
        }),
    }
}

/// Notes what an API says beyond the core's words, under the API's name.
pub(crate) fn note(extra: &mut Map<String, Value>, api: &str, said: &Map<String, Value>) {
    if !said.is_empty() {
        extra.insert(api.to_owned(), Value::Object(said.clone()));
    }
}

/// What was noted under the API's name.
pub(crate) fn noted<'a>(extra: &'a Map<String, Value>, api: &str) -> Option<&'a Map<String, Value>> {
    extra.get(api).and_then(Value::as_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(extra: &Value, merged: Result<Value, &str>) {
        let written = json!({"model": "m", "tools": [1], "config": {"format": "json"}});
        let result = merge(written, extra.as_object().unwrap(), &["messages"]);
        match merged {
            Ok(json) => assert_eq!(result.unwrap(), json),
            Err(part) => {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(part), "{error}");
            }
        }
    }

    #[test]
    fn extra_settings_add_but_never_replace() {
        check(
            &json!({"user": "u"}),
            Ok(json!({"model": "m", "tools": [1], "config": {"format": "json"}, "user": "u"})),
        );
        check(
            &json!({"tools": [2]}),
            Ok(json!({"model": "m", "tools": [1, 2], "config": {"format": "json"}})),
        );
        check(
            &json!({"config": {"effort": "low"}}),
            Ok(json!({"model": "m", "tools": [1], "config": {"format": "json", "effort": "low"}})),
        );
        check(&json!({"config": {"format": "text"}}), Err("`config.format` contradicts"));
        check(&json!({"model": "n"}), Err("`model` contradicts"));
        check(&json!({"messages": []}), Err("would replace what is asked"));
    }
}
