//! What the user says, and whether the agent can take it.

use rehearsal_core::{Content, Role, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::{Kind, Problem};

/// What the user says: exactly one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QueryRequest {
    /// Plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A value, for agents with an input schema.
    #[serde(default, deserialize_with = "some_value", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub value: Option<Value>,
    /// Content with parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub content: Option<Content>,
}

/// A `null` that was written counts as a value.
pub(super) fn some_value<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl QueryRequest {
    /// What is said, checked against the agent's input schema.
    pub(super) fn content(&self, agent: Option<&rehearsal_store::AgentRecord>) -> Result<Content, Problem> {
        let schema =
            agent.and_then(|agent| agent.about.get("input_schema")).filter(|schema| !schema.is_null());
        match (&self.text, &self.value, &self.content) {
            (Some(text), None, None) if text.trim().is_empty() => {
                Err(Problem::invalid(Kind::EmptyQuery, "`text` is empty; say something"))
            }
            (Some(text), None, None) => {
                if let Some(schema) = schema {
                    let value = rehearsal_core::json::from_str(text).map_err(|error| {
                        let detail = format!(
                            "the agent takes structured input: send `value`, or JSON as `text` ({error})"
                        );
                        Problem::invalid(Kind::InvalidQuery, detail)
                    })?;
                    check("query", schema, &value)?;
                }
                Ok(Content::user(text))
            }
            (None, Some(value), None) => {
                if let Some(schema) = schema {
                    check("query", schema, value)?;
                }
                Ok(Content::user(match schema {
                    None => rehearsal_core::json::said(value),
                    Some(_) => rehearsal_core::json::text(value),
                }))
            }
            (None, None, Some(content)) if content.parts.is_empty() => {
                Err(Problem::invalid(Kind::EmptyQuery, "`content` has no parts; say something"))
            }
            (None, None, Some(content)) => {
                if let Some(schema) = schema {
                    let value = rehearsal_core::json::from_str(&content.text()).unwrap_or(Value::Null);
                    check("query", schema, &value)?;
                }
                Ok(Content { role: Some(Role::User), ..content.clone() })
            }
            _ => {
                Err(Problem::invalid(Kind::InvalidQuery, "send exactly one of `text`, `value` and `content`"))
            }
        }
    }
}

/// Holds a value to a schema.
fn check(what: &str, schema: &Value, value: &Value) -> Result<(), Problem> {
    let violations = Schema::new(schema.clone()).check(value).map_err(|error| {
        Problem::conflict(
            Kind::InvalidSchema,
            format!("the agent's own schema for the {what} cannot be used: {error}"),
        )
    })?;
    if violations.is_empty() {
        return Ok(());
    }
    let list = violations.iter().map(ToString::to_string).collect::<Vec<_>>();
    let detail = format!("the {what} breaks the agent's schema: {}", list.join("; "));
    Err(Problem::invalid(Kind::Schema, detail).with("violations", json!(violations)))
}
