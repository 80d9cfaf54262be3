//! What a world that is a program says.

use std::collections::BTreeSet;

use rehearsal_core::{ToolDeclaration, ToolError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Side, WorldState, WorldTool};
use crate::program::Spoken;

/// What a world says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Incoming {
    Tools {
        tools: Vec<ListedTool>,
    },
    Result {
        id: String,
        /// Told apart from an output that is null.
        #[serde(default, deserialize_with = "given")]
        output: Option<Value>,
        error: Option<Box<ToolError>>,
        state: Option<WorldState>,
        tools: Option<Vec<ListedTool>>,
    },
    State {
        state: Option<WorldState>,
    },
    Error {
        message: String,
    },
    Log {
        text: String,
    },
}

impl Spoken for Incoming {
    const SPEAKER: &'static str = "a world";
    const TOO_MUCH: &'static str =
        "a call is answered by one `result`; print what is for people to standard error";

    fn is_last_words(&self) -> bool {
        matches!(self, Self::Error { .. } | Self::Log { .. })
    }
}

impl Incoming {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Tools { .. } => "tools",
            Self::Result { .. } => "result",
            Self::State { .. } => "state",
            Self::Error { .. } => "error",
            Self::Log { .. } => "log",
        }
    }
}

fn given<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(reader).map(Some)
}

/// A tool as a world lists it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Option<Value>,
    #[serde(default)]
    output: Option<Value>,
    #[serde(default)]
    by: Option<By>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum By {
    Agent,
    User,
}

/// The tools of a list; or what is wrong with it.
pub(super) fn tools(listed: Vec<ListedTool>) -> Result<Vec<WorldTool>, String> {
    let mut names = BTreeSet::new();
    for tool in &listed {
        if tool.name.is_empty() {
            return Err("it listed a tool without a name".to_owned());
        }
        if !names.insert(tool.name.as_str()) {
            return Err(format!("it listed two tools called `{}`", tool.name));
        }
        for (what, schema) in [("parameters", &tool.parameters), ("output", &tool.output)] {
            let Some(schema) = schema else { continue };
            if let Err(why) = rehearsal_core::Schema::new(schema.clone()).usability() {
                return Err(format!("`{what}` of its tool `{}` is no JSON Schema: {why}", tool.name));
            }
        }
    }
    let tool = |listed: ListedTool| {
        let mut parameters = listed.parameters.unwrap_or_else(|| json!({}));
        if let Value::Object(fields) = &mut parameters {
            fields.entry("type").or_insert_with(|| "object".into());
        }
        let declaration = ToolDeclaration::new(listed.name, listed.description).parameters(parameters);
        WorldTool {
            declaration: ToolDeclaration { output: listed.output, ..declaration },
            side: match listed.by {
                Some(By::User) => Side::User,
                Some(By::Agent) | None => Side::Agent,
            },
        }
    };
    Ok(listed.into_iter().map(tool).collect())
}
