//! The two ways to a server, as one.

use std::time::Duration;

use serde_json::{Value, json};

use super::McpError;
#[cfg(feature = "http")]
use super::http::Http;
use super::message::Outgoing;
use super::stdio::Stdio;

/// The way to a server.
#[derive(Debug)]
pub(super) enum Transport {
    Stdio(Stdio),
    #[cfg(feature = "http")]
    Http(Box<Http>),
}

impl Transport {
    /// Takes note of the revision that was agreed on.
    pub(super) fn agree(&mut self, version: &str) {
        match self {
            Self::Stdio(_) => {}
            #[cfg(feature = "http")]
            Self::Http(http) => http.agree(version),
        }
    }

    /// Sends a request; what comes of it is received next.
    pub(super) async fn request(&mut self, request: Outgoing) -> Result<(), McpError> {
        match self {
            Self::Stdio(stdio) => {
                stdio.begin();
                stdio.send(&request.body);
                Ok(())
            }
            #[cfg(feature = "http")]
            Self::Http(http) => http.request(request).await,
        }
    }

    /// Sends what nobody answers.
    pub(super) async fn notify(&mut self, message: Value) -> Result<(), McpError> {
        match self {
            Self::Stdio(stdio) => {
                stdio.send(&message);
                Ok(())
            }
            #[cfg(feature = "http")]
            Self::Http(http) => http.notify(message).await,
        }
    }

    /// The next thing the server says. Nothing is lost if this is dropped before it is done.
    pub(super) async fn receive(&mut self) -> Result<Value, McpError> {
        match self {
            Self::Stdio(stdio) => stdio.receive().await,
            #[cfg(feature = "http")]
            Self::Http(http) => http.receive().await,
        }
    }

    /// What the server says although nothing was asked; nothing where it cannot.
    pub(super) async fn overheard(&mut self) -> Option<Value> {
        match self {
            // What is wrong with it is found when something is asked the next time.
            Self::Stdio(stdio) => stdio.receive().await.ok(),
            #[cfg(feature = "http")]
            Self::Http(_) => None,
        }
    }

    /// Whether the server can say something while nothing is asked.
    pub(super) fn is_heard_between_requests(&self) -> bool {
        matches!(self, Self::Stdio(_))
    }

    /// Has a request that takes too long ended.
    pub(super) async fn give_up(&mut self, id: u64, tell: bool) {
        let cancelled = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id, "reason": "it took too long"},
        });
        match self {
            Self::Stdio(stdio) if tell => stdio.send(&cancelled),
            Self::Stdio(_) => {}
            #[cfg(feature = "http")]
            Self::Http(http) => {
                http.hang_up();
                if tell {
                    drop(http.notify(cancelled).await);
                }
            }
        }
    }

    pub(super) async fn close(self, patience: Duration) {
        match self {
            Self::Stdio(stdio) => stdio.close(patience).await,
            #[cfg(feature = "http")]
            Self::Http(http) => http.close(patience).await,
        }
    }

    /// The error for something that has no meaning.
    pub(super) fn misread(&self, what: &str) -> McpError {
        let what = format!("{} broke the protocol: {what}{}", self.name(), self.report());
        McpError::Misread { what }
    }

    /// The error for an answer that did not come.
    pub(super) fn too_slow(&self, method: &str, limit: Duration) -> McpError {
        McpError::too_slow(&self.name(), method, limit, &self.report())
    }

    fn name(&self) -> String {
        match self {
            Self::Stdio(_) => "the MCP server".to_owned(),
            #[cfg(feature = "http")]
            Self::Http(http) => http.to_string(),
        }
    }

    /// What a process said beside its messages.
    fn report(&self) -> String {
        match self {
            Self::Stdio(stdio) => stdio.report(),
            #[cfg(feature = "http")]
            Self::Http(_) => String::new(),
        }
    }
}
