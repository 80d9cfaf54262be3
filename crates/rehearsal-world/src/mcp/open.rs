//! How a conversation begins: which revision both sides know.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::message::client_info;
use super::stdio::Stdio;
use super::transport::Transport;
use super::{
    Era, McpClient, McpError, McpServer, McpSettings, Protocol, SESSION_REVISIONS, SESSIONS, STATELESS,
};

/// The error of a server that knows other revisions.
const UNSUPPORTED_VERSION: i64 = -32022;

pub(super) async fn open(server: McpServer, settings: McpSettings) -> Result<McpClient, McpError> {
    let transport = connect(&server, &settings).await?;
    let mut client = McpClient {
        transport,
        era: Era::Unknown,
        next_id: 1,
        server: String::new(),
        tools: Vec::new(),
        may_change: true,
        is_stale: false,
        settings,
    };
    match client.settings.protocol {
        Protocol::Sessions => client.initialize().await?,
        Protocol::Stateless => {
            let limit = client.settings.start_within;
            let discovered = client.discover(limit).await?;
            client.adopt(&discovered).ok_or_else(|| McpError::Version { versions: versions(&discovered) })?;
        }
        Protocol::Negotiated => client.negotiate(&server).await?,
    }
    client.list_tools().await?;
    Ok(client)
}

async fn connect(server: &McpServer, settings: &McpSettings) -> Result<Transport, McpError> {
    Ok(match server {
        McpServer::Process(launcher) => {
            let connection = launcher.start().await.map_err(|why| McpError::Start { why })?;
            Transport::Stdio(Stdio::new(connection, settings.masker.clone()))
        }
        #[cfg(feature = "http")]
        McpServer::Http(address) => Transport::Http(Box::new(super::http::Http::new(address, settings)?)),
    })
}

/// What comes of the first question.
enum Probe {
    Stateless(Value),
    Older,
    /// The process ended: some servers do when the first message is not `initialize`.
    Ended(McpError),
}

impl McpClient {
    /// Asks whether the server knows the stateless revision, and begins a session where it does not.
    async fn negotiate(&mut self, server: &McpServer) -> Result<(), McpError> {
        match self.probe().await? {
            Probe::Stateless(discovered) if self.adopt(&discovered).is_some() => return Ok(()),
            Probe::Stateless(_) | Probe::Older => {}
            Probe::Ended(error) => {
                if !matches!(server, McpServer::Process(_)) {
                    return Err(error);
                }
                self.transport = connect(server, &self.settings).await?;
            }
        }
        match self.initialize().await {
            // A server that was slow to start may have understood the first question after all, and be settled on it.
            Err(McpError::Refused { code: UNSUPPORTED_VERSION, data, .. }) if names_stateless(&data) => {
                let limit = self.settings.start_within;
                let discovered = self.discover(limit).await?;
                self.adopt(&discovered).ok_or_else(|| McpError::Version { versions: versions(&discovered) })
            }
            begun => begun,
        }
    }

    /// Whatever is no sign of the stateless revision is taken for the older protocol, unless the server says that it
    /// knows neither.
    async fn probe(&mut self) -> Result<Probe, McpError> {
        let limit = self.settings.discover_within;
        let asked = self.discover(limit).await;
        self.era = Era::Unknown;
        match asked {
            Ok(discovered) => Ok(Probe::Stateless(discovered)),
            Err(McpError::Refused { code: UNSUPPORTED_VERSION, data, .. }) => {
                let versions = supported(&data);
                let is_older =
                    versions.is_empty() || versions.iter().any(|each| SESSION_REVISIONS.contains(&&**each));
                if is_older { Ok(Probe::Older) } else { Err(McpError::Version { versions }) }
            }
            Err(McpError::Refused { .. } | McpError::TooSlow { .. } | McpError::Misread { .. }) => {
                Ok(Probe::Older)
            }
            // A server with sessions refuses a request that belongs to none by a status alone.
            Err(McpError::Status { status: 400 | 404 | 405 | 406 | 415 | 422, .. }) => Ok(Probe::Older),
            Err(error @ McpError::Gone { .. }) => Ok(Probe::Ended(error)),
            Err(error) => Err(error),
        }
    }

    async fn discover(&mut self, limit: Duration) -> Result<Value, McpError> {
        self.era = Era::Stateless;
        self.ask("server/discover", Map::new(), None, limit).await
    }

    /// Takes what a server that knows the stateless revision said of itself.
    fn adopt(&mut self, discovered: &Value) -> Option<()> {
        versions(discovered).iter().any(|version| version == STATELESS).then_some(())?;
        self.era = Era::Stateless;
        let info = discovered.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/serverInfo"));
        self.introduce(info.or_else(|| discovered.get("serverInfo")), discovered.get("capabilities"));
        Some(())
    }

    /// Begins a session.
    async fn initialize(&mut self) -> Result<(), McpError> {
        self.era = Era::Unknown;
        let params = json!({"protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": client_info()});
        let Value::Object(params) = params else { unreachable!("it is written as an object") };
        let limit = self.settings.start_within;
        let result = self.ask("initialize", params, None, limit).await?;
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if !SESSION_REVISIONS.contains(&version) {
            let versions = Some(version).filter(|version| !version.is_empty()).map(str::to_owned);
            return Err(McpError::Version { versions: versions.into_iter().collect() });
        }
        self.era = Era::Sessions(version.to_owned());
        self.transport.agree(version);
        self.introduce(result.get("serverInfo"), result.get("capabilities"));
        self.transport.notify(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await
    }

    fn introduce(&mut self, info: Option<&Value>, capabilities: Option<&Value>) {
        let word =
            |key: &str| info.and_then(|info| info.get(key)).and_then(Value::as_str).unwrap_or_default();
        [word("name"), word("version")].join(" ").trim().clone_into(&mut self.server);
        let tools = capabilities.and_then(|capabilities| capabilities.get("tools"));
        self.may_change =
            tools.and_then(|tools| tools.get("listChanged")).and_then(Value::as_bool) == Some(true);
    }
}

/// The revisions that a server says it knows.
fn versions(discovered: &Value) -> Vec<String> {
    strings(discovered.get("supportedVersions"))
}

fn supported(data: &Value) -> Vec<String> {
    strings(data.get("supported"))
}

fn names_stateless(data: &Value) -> bool {
    supported(data).iter().any(|version| version == STATELESS)
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let list = list.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
