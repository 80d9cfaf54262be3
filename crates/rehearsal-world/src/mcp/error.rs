//! Why a server could not be talked with.

use std::time::Duration;

use serde_json::Value;

/// Why a server could not be talked with.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpError {
    /// Its process could not be started.
    #[error("the MCP server could not be started: {why}")]
    Start {
        /// Why.
        why: String,
    },
    /// What its address is made of cannot be used.
    #[error("the MCP server cannot be reached: {why}")]
    Address {
        /// Why.
        why: String,
    },
    /// It ended, or broke the connection off.
    #[error("{what}")]
    Gone {
        /// What happened, with what it wrote as errors.
        what: String,
    },
    /// It did not answer in time.
    #[error("{what}")]
    TooSlow {
        /// What was asked, and for how long.
        what: String,
    },
    /// It said something that has no meaning in the protocol.
    #[error("{what}")]
    Misread {
        /// What it said.
        what: String,
    },
    /// It answered with an error.
    #[error("the MCP server answered `{method}` with the error {code}: {message}")]
    Refused {
        /// What was asked.
        method: String,
        /// The number of the error.
        code: i64,
        /// Its text.
        message: String,
        /// What came with it.
        data: Box<Value>,
    },
    /// It answered with an HTTP status that is an error.
    #[error("{what}")]
    Status {
        /// The status.
        status: u16,
        /// What it said.
        what: String,
    },
    /// It speaks no revision that is known here.
    #[error(
        "the MCP server speaks {}, and none of these is known here\n\nhint: use a version of the server that speaks 2024-11-05 to 2025-11-25, or 2026-07-28",
        list(versions)
    )]
    Version {
        /// What it speaks.
        versions: Vec<String>,
    },
}

impl McpError {
    /// How long a server that is too slow was waited for, and for what.
    pub(super) fn too_slow(server: &str, method: &str, limit: Duration, report: &str) -> Self {
        let what = format!(
            "{server} did not answer `{method}` within {limit:?}{report}\n\nhint: raise `timeout`, or look at what it waits for"
        );
        Self::TooSlow { what }
    }
}

fn list(versions: &[String]) -> String {
    if versions.is_empty() { "no revision of the protocol".to_owned() } else { versions.join(", ") }
}
