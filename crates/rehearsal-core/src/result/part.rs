//! Parts of a run that was spread over several processes or machines.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of so many parts of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shard {
    /// Which one, from 1.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

/// A text that names no part of a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no part of a run: write `2/5` for the second of five")]
pub struct ParseShardError(String);

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseShardError(text.to_owned());
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
        let shard = Self { index: number(index)?, of: number(of)? };
        if shard.index == 0 || shard.index > shard.of { Err(wrong()) } else { Ok(shard) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

/// A part that a run was merged from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunPart {
    /// Which part it is.
    pub shard: Shard,
    /// The run it was, by its id in the store in which it was kept.
    pub run: String,
    /// How many cases it brought, repeats counted.
    pub cases: u32,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// Where it ran, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// How often it was begun: more than once where a machine was lost. Only the last one counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
}
