//! A world that is an MCP server.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_core::ToolOutcome;

use super::{Occasion, Side, World, WorldAnswer, WorldCall, WorldError, WorldStarter, WorldState, WorldTool};
#[cfg(feature = "http")]
use crate::mcp::McpAddress;
use crate::mcp::{McpClient, McpError, McpServer, McpSettings};
use crate::program::{Connection, Launcher};

/// Starts worlds that are MCP servers: a process, or a session, for each case.
///
/// All of a server's tools are the agent's. MCP has no word for the state of a server, so such a world has none.
#[derive(Clone, Debug)]
pub struct McpStarter {
    /// Where the server is.
    pub server: McpPlace,
    /// How it is talked with.
    pub settings: McpSettings,
}

/// Where an MCP server is.
#[derive(Clone)]
pub enum McpPlace {
    /// A process that this starts.
    Process(Arc<dyn Launcher>),
    /// An address.
    #[cfg(feature = "http")]
    Http(McpAddress),
}

impl fmt::Debug for McpPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Process(_) => "Process",
            #[cfg(feature = "http")]
            Self::Http(_) => "Http",
        })
    }
}

impl McpPlace {
    fn server(&self) -> McpServer {
        match self {
            Self::Process(launcher) => McpServer::Process(Box::new(Shared(launcher.clone()))),
            #[cfg(feature = "http")]
            Self::Http(address) => McpServer::Http(address.clone()),
        }
    }
}

/// A launcher that others use too.
#[derive(Debug)]
struct Shared(Arc<dyn Launcher>);

#[async_trait]
impl Launcher for Shared {
    async fn start(&self) -> Result<Connection, String> {
        self.0.start().await
    }
}

#[async_trait]
impl WorldStarter for McpStarter {
    async fn start(&self, _occasion: &Occasion) -> Result<Arc<dyn World>, WorldError> {
        let opened = McpClient::open(self.server.server(), self.settings.clone()).await;
        let client = opened.map_err(|error| WorldError::NotStarted { why: told(&error) })?;
        let tools = Mutex::new(tools(&client));
        Ok(Arc::new(McpWorld { tools, client: tokio::sync::Mutex::new(Ok(client)) }))
    }
}

/// A world whose server is there.
#[derive(Debug)]
struct McpWorld {
    tools: Mutex<Arc<[WorldTool]>>,
    /// The conversation; or why there is none any more.
    client: tokio::sync::Mutex<Result<McpClient, String>>,
}

#[async_trait]
impl World for McpWorld {
    fn tools(&self) -> Arc<[WorldTool]> {
        // Nothing that can panic happens while it is held.
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn call(&self, call: &WorldCall) -> Result<WorldAnswer, WorldError> {
        let mut kept = self.client.lock().await;
        // A call that is dropped in the middle leaves nothing that its answer could be mistaken for.
        let interrupted = Err("it was interrupted in the middle of a call".to_owned());
        let mut client = std::mem::replace(&mut *kept, interrupted)
            .map_err(|because| WorldError::Gone { because: format!(": {because}") })?;
        match client.call(&call.tool, &call.args).await {
            Ok(answer) => {
                if answer.tools_changed {
                    *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = tools(&client);
                }
                *kept = Ok(client);
                let outcome = match answer.result {
                    Ok(output) => ToolOutcome::Output(output),
                    Err(error) => ToolOutcome::Error(error),
                };
                Ok(WorldAnswer { outcome, state: None })
            }
            Err(error) => {
                let why = format!("during the call of `{}`, {}", call.tool, told(&error));
                *kept = Err(why.lines().next().unwrap_or_default().to_owned());
                Err(WorldError::Failed { why })
            }
        }
    }

    async fn state(&self) -> Result<Option<WorldState>, WorldError> {
        Ok(None)
    }

    async fn close(&self, patience: Duration) {
        let client = std::mem::replace(&mut *self.client.lock().await, Err("the case is over".to_owned()));
        if let Ok(client) = client {
            client.close(patience).await;
        }
    }
}

fn tools(client: &McpClient) -> Arc<[WorldTool]> {
    let tools = client.tools().iter();
    tools.map(|tool| WorldTool { declaration: tool.clone(), side: Side::Agent }).collect()
}

fn told(error: &McpError) -> String {
    error.to_string()
}
