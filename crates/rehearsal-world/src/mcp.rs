//! A client of MCP servers: their tools, over standard input and output or streamable HTTP.
//!
//! Both kinds of the protocol are spoken: the sessions of the revisions up to 2025-11-25, begun with `initialize`, and the
//! stateless one of 2026-07-28, where every request says for itself which revision it is of. [`McpClient::open`] asks
//! which of them a server knows, the newer one first, and falls back to the older on the same process.
//!
//! A client asks one thing at a time. What a server says beside its answers is heard: that its tools changed, progress,
//! logs. What it asks of us is declined by an error that it gets at once, but for `ping`.
//!
//! ```no_run
//! # async fn example(launcher: Box<dyn rehearsal_world::remote::Launcher>) -> Result<(), rehearsal_world::mcp::McpError> {
//! use rehearsal_world::mcp::{McpClient, McpServer, McpSettings};
//! use serde_json::Map;
//!
//! let mut client = McpClient::open(McpServer::Process(launcher), McpSettings::default()).await?;
//! let names: Vec<&str> = client.tools().iter().map(|tool| tool.name.as_str()).collect();
//! println!("{names:?}");
//! let answer = client.call("echo", &Map::new()).await?;
//! println!("{:?}", answer.result);
//! # Ok(())
//! # }
//! ```

use std::time::Duration;

use futures::future::FutureExt;
use rehearsal_core::mask::Masker;
use rehearsal_core::{ToolDeclaration, ToolError};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::remote::Launcher;
use message::{Incoming, Outgoing, RpcError};
use transport::Transport;

mod answer;
mod error;
#[cfg(feature = "http")]
mod http;
mod message;
mod open;
#[cfg(feature = "http")]
mod sse;
mod stdio;
mod transport;

pub use error::McpError;
#[cfg(feature = "http")]
pub use http::McpAddress;

/// The newest revision with sessions.
const SESSIONS: &str = "2025-11-25";

/// The revisions with sessions that a server may choose.
const SESSION_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", SESSIONS];

/// The stateless revision.
const STATELESS: &str = "2026-07-28";

/// How often a list is asked for anew because the server said in between that it changed.
const MOST_LISTS: usize = 5;

/// How many pages a list may have.
const MOST_PAGES: usize = 1000;

/// Where a server is.
#[derive(Debug)]
pub enum McpServer {
    /// A process that is started, and talked with on its standard input and output.
    Process(Box<dyn Launcher>),
    /// At an address.
    #[cfg(feature = "http")]
    Http(McpAddress),
}

/// Which protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// What the server knows: the stateless revision, else one with sessions.
    #[default]
    Negotiated,
    /// A revision with sessions, without asking for the stateless one.
    Sessions,
    /// The stateless revision and no other.
    Stateless,
}

/// How a server is talked with.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// Which protocol is spoken.
    pub protocol: Protocol,
    /// How long a server may take to start and to say what it can do.
    pub start_within: Duration,
    /// How long it may take to say whether it knows the stateless revision, before the older one is tried.
    pub discover_within: Duration,
    /// How long an answer may take.
    pub answer_within: Duration,
    /// What is hidden in what it says.
    pub masker: Masker,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            protocol: Protocol::Negotiated,
            start_within: Duration::from_secs(30),
            discover_within: Duration::from_secs(10),
            answer_within: Duration::from_mins(1),
            masker: Masker::default(),
        }
    }
}

/// What a call of a tool came to.
#[derive(Clone, Debug, PartialEq)]
pub struct McpAnswer {
    /// What the tool gave, or its error.
    pub result: Result<Value, ToolError>,
    /// Whether the server's tools are others than before the call.
    pub tools_changed: bool,
}

/// Which revision a conversation is of.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Era {
    /// None was agreed on yet.
    Unknown,
    /// One with sessions.
    Sessions(String),
    /// The stateless one.
    Stateless,
}

/// A conversation with a server.
#[derive(Debug)]
pub struct McpClient {
    transport: Transport,
    settings: McpSettings,
    era: Era,
    next_id: u64,
    /// What the server calls itself.
    server: String,
    tools: Vec<ToolDeclaration>,
    /// Whether the server said that its tools may change.
    may_change: bool,
    /// Whether it said that they did, since they were listed.
    is_stale: bool,
}

impl McpClient {
    /// Starts or reaches a server, agrees on a revision, and asks for its tools.
    ///
    /// # Errors
    /// It cannot be started or reached, does not answer in time, or speaks no revision that is known here.
    pub async fn open(server: McpServer, settings: McpSettings) -> Result<Self, McpError> {
        open::open(server, settings).await
    }

    /// Its tools, in its order.
    pub fn tools(&self) -> &[ToolDeclaration] {
        &self.tools
    }

    /// What the server calls itself, with its version.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The revision of the protocol that is spoken.
    pub fn protocol(&self) -> &str {
        match &self.era {
            Era::Sessions(version) => version,
            Era::Stateless | Era::Unknown => STATELESS,
        }
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// The server is gone, does not answer in time, or answers something that is no answer. What a tool itself reports
    /// is an answer.
    pub async fn call(&mut self, tool: &str, args: &Map<String, Value>) -> Result<McpAnswer, McpError> {
        let schema = self.tools.iter().find(|known| known.name == tool).map(|known| &known.parameters);
        let headers = match (&self.era, schema) {
            (Era::Stateless, Some(schema)) => message::parameter_headers(schema, args),
            _ => Vec::new(),
        };
        let params = Map::from_iter([
            ("name".to_owned(), Value::from(tool)),
            ("arguments".to_owned(), Value::Object(args.clone())),
        ]);
        let limit = self.settings.answer_within;
        let asked = self.ask("tools/call", params, Some((tool, headers)), limit).await;
        let result = match asked {
            Ok(result) => answer::read(&result).map_err(|what| self.transport.misread(&what))?,
            Err(McpError::Refused { code, message, .. }) => Err(answer::refused(code, message)),
            Err(error) => return Err(error),
        };
        let tools_changed = self.listen().await?;
        Ok(McpAnswer { result, tools_changed })
    }

    /// Ends the conversation: a process gets so long to end by itself.
    pub async fn close(self, patience: Duration) {
        self.transport.close(patience).await;
    }

    /// Hears what the server has said since, and asks for its tools again where they may be others. A server that is
    /// not heard between two requests is asked after every call, if it says that its tools can change.
    async fn listen(&mut self) -> Result<bool, McpError> {
        while let Some(heard) = self.transport.overheard().now_or_never().flatten() {
            self.take(heard, None).await?;
        }
        let is_heard = matches!(self.era, Era::Sessions(_)) && self.transport.is_heard_between_requests();
        if !self.is_stale && (is_heard || !self.may_change) {
            return Ok(false);
        }
        let before = std::mem::take(&mut self.tools);
        self.list_tools().await?;
        Ok(before != self.tools)
    }

    /// Asks for the tools, all pages of them, until the list holds still.
    async fn list_tools(&mut self) -> Result<(), McpError> {
        for _ in 0..MOST_LISTS {
            self.is_stale = false;
            self.tools = self.pages().await?;
            if !self.is_stale {
                break;
            }
        }
        Ok(())
    }

    async fn pages(&mut self) -> Result<Vec<ToolDeclaration>, McpError> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        for _ in 0..MOST_PAGES {
            let params = cursor.map(|cursor| ("cursor".to_owned(), cursor)).into_iter().collect();
            let limit = self.settings.answer_within;
            let page = self.ask("tools/list", params, None, limit).await?;
            answer::read_tools(&page, &mut tools).map_err(|what| self.transport.misread(&what))?;
            match page.get("nextCursor") {
                None | Some(Value::Null) => return Ok(tools),
                Some(next) => cursor = Some(next.clone()),
            }
        }
        Err(self.transport.misread(&format!("its list of tools has more than {MOST_PAGES} pages")))
    }

    /// Asks for something and waits for the answer, so long.
    async fn ask(
        &mut self,
        method: &'static str,
        mut params: Map<String, Value>,
        tool: Option<(&str, Vec<(String, String)>)>,
        limit: Duration,
    ) -> Result<Value, McpError> {
        let id = self.next_id;
        self.next_id += 1;
        let version = match &self.era {
            Era::Stateless => {
                params.insert("_meta".to_owned(), message::meta());
                Some(STATELESS.to_owned())
            }
            Era::Sessions(version) => Some(version.clone()),
            Era::Unknown => None,
        };
        let is_stateless = self.era == Era::Stateless;
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let (name, headers) =
            tool.map_or((None, Vec::new()), |(name, headers)| (Some(name.to_owned()), headers));
        let outgoing = Outgoing { body, version, routed: is_stateless.then_some((method, name)), headers };
        let answered = timeout(limit, self.converse(id, outgoing)).await;
        let Ok(answer) = answered else {
            self.transport.give_up(id, !is_stateless && method != "initialize").await;
            return Err(self.transport.too_slow(method, limit));
        };
        answer?.map_err(|RpcError { code, message, data }| McpError::Refused {
            method: method.to_owned(),
            code,
            message: self.settings.masker.mask(&message).into_owned(),
            data: Box::new(data),
        })
    }

    /// Sends a request and hears what comes until its answer does.
    async fn converse(&mut self, id: u64, request: Outgoing) -> Result<Result<Value, RpcError>, McpError> {
        self.transport.request(request).await?;
        loop {
            let heard = self.transport.receive().await?;
            if let Some(answer) = self.take(heard, Some(id)).await? {
                return Ok(answer);
            }
        }
    }

    /// Acts on what the server said; gives the answer to the request of this id, if that is what it said.
    async fn take(
        &mut self,
        mut heard: Value,
        awaited: Option<u64>,
    ) -> Result<Option<Result<Value, RpcError>>, McpError> {
        self.settings.masker.mask_value(&mut heard);
        match Incoming::read(heard).map_err(|what| self.transport.misread(&what))? {
            // An answer that nobody waits for any more came too late.
            Incoming::Answer { id, result } => {
                Ok((awaited.is_some() && id.as_u64() == awaited).then_some(result))
            }
            Incoming::Lost(error) if awaited.is_some() => Ok(Some(Err(error))),
            Incoming::Request { id, method } => {
                self.transport.notify(message::reply(&id, &method)).await?;
                Ok(None)
            }
            Incoming::Notification { method } => {
                self.is_stale |= method == "notifications/tools/list_changed";
                Ok(None)
            }
            Incoming::Lost(_) => Ok(None),
        }
    }
}
