//! A server on a port of its own, over a store in a folder of its own, and those who call it.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rehearsal_core::{FixedClock, Ids};
use rehearsal_server::adksim::wire::simulator_service_client::SimulatorServiceClient;
use rehearsal_server::{Server, ServerConfig};
use rehearsal_store::StoreRef;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

pub(crate) const TOKEN: &str = "secret-of-this-test";

/// A client of the published protocol.
pub(crate) type Wire = SimulatorServiceClient<Client<HttpConnector, tonic::body::Body>>;

/// A server that can be ended, killed and started again on the same store and the same port.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    pub(crate) clock: Arc<FixedClock>,
    grace: Duration,
    house: Option<House>,
    pub(crate) address: SocketAddr,
    pub(crate) grpc_address: SocketAddr,
    http: reqwest::Client,
}

/// A server's own threads, so that all of it can be stopped at once.
struct House {
    runtime: Runtime,
    end: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(house) = self.house.take() {
            house.runtime.shutdown_background();
        }
    }
}

impl Stage {
    /// A server whose clock stands still; nobody is ever gone for too long.
    pub(crate) async fn open() -> Self {
        Self::with_grace(Duration::from_hours(1)).await
    }

    /// A server for which askers are gone after so long.
    pub(crate) async fn with_grace(grace: Duration) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
        // The server closes connections that are quiet for long, and a test on a busy machine may be.
        let http = http.pool_max_idle_per_host(0);
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let mut stage = Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Arc::default(),
            grace,
            house: None,
            address: nowhere,
            grpc_address: nowhere,
            http: http.build().unwrap(),
        };
        stage.start().await;
        stage
    }

    /// Starts the server, on the ports it had if it had some.
    pub(crate) async fn start(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.unwrap();
        let (end, ending) = oneshot::channel();
        let (ready, addresses) = oneshot::channel();
        let config = ServerConfig {
            host: self.address.ip(),
            port: self.address.port(),
            grpc_port: Some(self.grpc_address.port()),
            token: TOKEN.to_owned(),
            ended_visits: Some(self.folder.path().join("ended-visits")),
            names: vec!["rehearsal.test".to_owned()],
            grace: self.grace,
        };
        let (place, clock) = (self.place(), self.clock.clone());
        let ended = runtime.spawn(async move {
            let store = rehearsal_store::open(&place).await.unwrap();
            let server = Server::bind(config, store, clock).await.unwrap();
            ready.send((server.address().unwrap(), server.grpc_address().unwrap().unwrap())).unwrap();
            server
                .serve(async {
                    let _ended_or_dropped = ending.await;
                })
                .await;
        });
        (self.address, self.grpc_address) = soon(addresses).await.unwrap();
        self.house = Some(House { runtime, end, ended });
    }

    /// Stops the server without warning: connections break, nothing is finished.
    pub(crate) async fn kill(&mut self) {
        let House { runtime, .. } = self.house.take().unwrap();
        let stop = move || runtime.shutdown_timeout(Duration::from_secs(30));
        tokio::task::spawn_blocking(stop).await.unwrap();
    }

    /// Ends the server as an operator does.
    pub(crate) async fn end(&mut self) {
        let House { runtime, end, ended } = self.house.take().unwrap();
        end.send(()).unwrap();
        soon(ended).await.unwrap();
        runtime.shutdown_background();
    }

    pub(crate) fn place(&self) -> String {
        self.folder.path().join("store.db").display().to_string()
    }

    /// The same store, opened once more, as another process would.
    pub(crate) async fn store(&self) -> StoreRef {
        rehearsal_store::open(&self.place()).await.unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// A call without the token.
    pub(crate) fn stranger(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, self.url(path))
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.stranger(method, path).bearer_auth(TOKEN)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        Reply::to(self.call(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Reply {
        Reply::to(self.call(Method::POST, path).json(&body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Reply {
        Reply::to(self.call(Method::PUT, path).json(&body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Reply {
        Reply::to(self.call(Method::PATCH, path).json(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Reply {
        Reply::to(self.call(Method::DELETE, path)).await
    }

    /// A new session with an agent, by its id.
    pub(crate) async fn session(&self) -> String {
        let made = self.post("/v1/sessions", json!({"agent": "clerk"})).await.is(201);
        made["id"].as_str().unwrap().to_owned()
    }

    /// Asks for a model turn and gives its id.
    pub(crate) async fn ask(&self, session: &str, body: Value) -> String {
        let turn = uuid();
        self.put(&format!("/v1/sessions/{session}/turns/{turn}"), body).await.is(201);
        turn
    }

    pub(crate) async fn answer(&self, cue: &str, answer: Value) -> Reply {
        self.post(&format!("/v1/cues/{cue}/answer"), answer).await
    }

    /// Puts observations on a session.
    pub(crate) async fn observe(&self, session: &str, events: Value) -> Reply {
        self.post(&format!("/v1/sessions/{session}/events"), json!({"events": events})).await
    }

    /// The bodies of a session's events.
    pub(crate) async fn bodies(&self, session: &str) -> Vec<Value> {
        let events = self.get(&format!("/v1/sessions/{session}/events?limit=1000")).await.is(200);
        events["events"].as_array().unwrap().iter().map(|event| event["body"].clone()).collect()
    }

    pub(crate) async fn kinds(&self, session: &str) -> Vec<String> {
        let kinds = self.bodies(session).await;
        kinds.iter().map(|body| body["type"].as_str().unwrap().to_owned()).collect()
    }

    /// A figure of the server.
    pub(crate) async fn figure(&self, name: &str) -> Option<f64> {
        let reply = self.get("/metrics").await;
        let line = reply.text.lines().find(|line| line.split(' ').next() == Some(name))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    /// A client of the published protocol on the port that asks for no token.
    pub(crate) fn wire(&self) -> Wire {
        wire_to(self.grpc_address)
    }
}

/// A client of the published protocol.
pub(crate) fn wire_to(address: SocketAddr) -> Wire {
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build(HttpConnector::new());
    let origin = format!("http://{address}").parse().unwrap();
    SimulatorServiceClient::with_origin(client, origin).max_decoding_message_size(64 << 20)
}

/// What the server replied.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) async fn to(request: RequestBuilder) -> Self {
        let response = soon(request.send()).await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, text: soon(response.text()).await.unwrap() }
    }

    pub(crate) fn json(&self) -> Value {
        rehearsal_core::json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// Its body, if it has this status.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// The problem, if it is this one.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, kind: &str) -> Value {
        let problem = self.json();
        assert_eq!((self.status, problem["type"].as_str()), (status, Some(kind)), "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(problem["status"], status);
        assert!(!problem["detail"].as_str().unwrap().is_empty() && !problem["title"].is_null(), "{problem}");
        problem
    }
}

/// What happens in less than a minute or never.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future).await.expect("it should have happened by now")
}

/// Looks again and again until something is there.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(mut look: impl FnMut() -> F) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(looking).await
}

/// A `UUIDv4` that nothing else in these tests has.
pub(crate) fn uuid() -> String {
    static GIVEN: AtomicU64 = AtomicU64::new(0);
    Ids::seeded(4).session("doors", GIVEN.fetch_add(1, Ordering::SeqCst)).to_string()
}

/// A model request of an agent with one tool.
pub(crate) fn asks(agent: &str, text: &str) -> Value {
    json!({"agent": agent, "request": {
        "model": "any",
        "system_instruction": "Be kind.",
        "contents": [{"role": "user", "parts": [{"text": text}]}],
        "tools": [{"name": "add", "description": "Adds", "parameters": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        }}],
    }})
}
