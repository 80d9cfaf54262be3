//! Serving: ports, connections and the end.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rehearsal_core::Clock;
use rehearsal_store::StoreRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt as _;

use crate::adksim::Adksim;
use crate::adksim::service::SimulatorGrpc;
use crate::desk::Desk;
use crate::first_byte_timeout::Punctual;
use crate::http::{self, App, Door, Paced, Visits};
use crate::lobby::{Guest, Lobby};
use crate::metrics::Metrics;

/// How many connections are held at once. More wait to be accepted.
const MOST_CONNECTIONS: usize = 16_384;
/// How many event streams are open at once.
const MOST_STREAMS: usize = 8_192;
/// How long a caller may take to say what it wants.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// The largest headers.
const LARGEST_HEADERS: u32 = 64 << 10;
/// How long to wait before the next connection when one could not be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long calls may take to end once the server is to end.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How a server is set up.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The address to listen on.
    pub host: IpAddr,
    /// The port for HTTP and gRPC; 0 for any that is free.
    pub port: u16,
    /// A second, loopback-only port for gRPC without a token, for the published plugin.
    pub grpc_port: Option<u16>,
    /// What callers must show.
    pub token: String,
    /// The file that keeps which browsers were shut out before their day was over; without one, a restart forgets it.
    pub ended_visits: Option<PathBuf>,
    /// Names under which the server is called, besides those of loopback.
    pub names: Vec<String>,
    /// How long the asker of a cue may be gone before the cue counts as abandoned.
    pub grace: Duration,
}

/// A server that has its ports and does not yet serve.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    grpc_listener: Option<TcpListener>,
    desk: Arc<Desk>,
    router: Router,
    grpc_router: Router,
}

impl Server {
    /// Takes the ports.
    ///
    /// # Errors
    /// A port cannot be had.
    pub async fn bind(config: ServerConfig, store: StoreRef, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let listener = bind(config.host, config.port, "--port").await?;
        let grpc_listener = match config.grpc_port {
            Some(port) => Some(bind(IpAddr::V4(Ipv4Addr::LOCALHOST), port, "--grpc-port").await?),
            None => None,
        };
        let visits = Visits::new(&config.token, clock.clone(), config.ended_visits);
        let desk = Desk::new(store, clock, Arc::new(Adksim), config.grace);
        let metrics = Metrics::default();
        let app = Arc::new(App {
            desk: desk.clone(),
            metrics: metrics.clone(),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
        });
        let grpc = SimulatorGrpc::new(desk.clone(), metrics.clone(), app.streams.clone()).router();
        let door = Door {
            lock: Some((config.token, visits)),
            names: config.names,
            numbers: !config.host.is_loopback(),
        };
        let open_door = Door { lock: None, names: Vec::new(), numbers: false };
        let router = guard(http::router(app).merge(grpc.clone()), door, &metrics);
        let grpc_router = guard(grpc, open_door, &metrics);
        Ok(Self { listener, grpc_listener, desk, router, grpc_router })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Where it listens for the published plugin.
    ///
    /// # Errors
    /// The system does not say.
    pub fn grpc_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.grpc_listener.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// The desk behind it.
    pub fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// Serves until `end` comes: then nobody new is let in, those who wait are sent home, and calls that are under
    /// way get a few seconds.
    pub async fn serve(self, end: impl Future<Output = ()>) {
        let Self { listener, grpc_listener, desk, router, grpc_router } = self;
        let minding = tokio::spawn(desk.clone().mind_cues());
        let graceful = GracefulShutdown::new();
        let hall = Hall { room: Arc::new(Semaphore::new(MOST_CONNECTIONS)), lobby: Arc::default() };
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => break,
                accepted = accept(&listener, &hall) => admit(accepted, &router, &graceful, &desk),
                accepted = accept_on(grpc_listener.as_ref(), &hall) => {
                    admit(accepted, &grpc_router, &graceful, &desk);
                }
            }
        }
        drop((listener, grpc_listener));
        desk.close();
        if tokio::time::timeout(LAST_WORDS, graceful.shutdown()).await.is_err() {
            tracing::warn!("some calls did not end in time and were cut");
        }
        minding.abort();
    }
}

/// Takes a port. Where it cannot be had, the error names the option that chooses another.
async fn bind(host: IpAddr, port: u16, option: &str) -> std::io::Result<TcpListener> {
    TcpListener::bind(SocketAddr::new(host, port)).await.map_err(|error| {
        let remedy = match error.kind() {
            std::io::ErrorKind::AddrInUse => {
                format!("; another program uses this port: choose another one with {option}")
            }
            std::io::ErrorKind::PermissionDenied => format!("; choose a port above 1023 with {option}"),
            _ => String::new(),
        };
        std::io::Error::new(error.kind(), format!("cannot listen on {host}:{port}: {error}{remedy}"))
    })
}

fn guard(router: Router, door: Door, metrics: &Metrics) -> Router {
    let state = (Arc::new(door), metrics.clone());
    router.layer(axum::middleware::from_fn_with_state(state, http::pass))
}

/// Where connections are.
struct Hall {
    room: Arc<Semaphore>,
    lobby: Arc<Lobby>,
}

/// A connection and its place.
struct Arrival {
    stream: TcpStream,
    guest: Arc<Guest>,
    place: OwnedSemaphorePermit,
}

type Accepted = std::io::Result<Arrival>;

async fn accept(listener: &TcpListener, hall: &Hall) -> Accepted {
    if hall.room.available_permits() == 0 {
        // Those who have not shown that they may call are the first to go.
        hall.lobby.make_room();
    }
    let place = hall.room.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    match listener.accept().await {
        Ok((stream, from)) => Ok(Arrival { stream, guest: hall.lobby.enter(from.ip()), place }),
        Err(error) => {
            // Most errors are of this machine, such as too many open files, and stay for a while.
            tokio::time::sleep(ACCEPT_PAUSE).await;
            Err(error)
        }
    }
}

async fn accept_on(listener: Option<&TcpListener>, hall: &Hall) -> Accepted {
    match listener {
        Some(listener) => accept(listener, hall).await,
        None => std::future::pending().await,
    }
}

fn admit(accepted: Accepted, router: &Router, graceful: &GracefulShutdown, desk: &Arc<Desk>) {
    let Arrival { stream, guest, place } = match accepted {
        Ok(accepted) => accepted,
        Err(error) => {
            tracing::warn!("a connection could not be taken: {error}");
            return;
        }
    };
    // An answer is one small packet; it is sent when it is there.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("a connection cannot be told to send at once: {error}");
    }
    let (router, watcher, desk) = (router.clone(), graceful.watcher(), desk.clone());
    tokio::spawn(async move {
        let http1 = tokio::select! {
            // Whoever has said something is heard, even when it was to leave.
            biased;
            begun = tokio::time::timeout(HEADER_TIME, begins_as_http1(&stream)) => begun,
            () = guest.has_to_leave() => return,
            () = desk.closed() => return,
        };
        guest.speaks();
        let serving = async {
            match http1 {
                Ok(Ok(true)) => serve_http1(stream, router, guest.clone(), watcher).await,
                Ok(Ok(false)) => Box::pin(serve_any(stream, router, guest.clone(), watcher)).await,
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err("it said nothing".to_owned()),
            }
        };
        let ended = tokio::select! {
            biased;
            ended = serving => ended,
            () = guest.has_to_leave() => Err("it did not show in time that it may call".to_owned()),
        };
        if let Err(error) = ended {
            tracing::debug!("a connection ended: {error}");
        }
        drop(place);
    });
}

/// Waits for the first bytes, leaves them where they are, and says whether they can only be HTTP/1.
///
/// Most who wait do so over HTTP/1, each on a connection of its own. One that is known for it from the start needs half
/// the memory of one that may yet turn out to be HTTP/2.
async fn begins_as_http1(stream: &TcpStream) -> std::io::Result<bool> {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let mut first = [0; PREFACE.len()];
    let count = stream.peek(&mut first).await?;
    Ok(!PREFACE.starts_with(&first[..count]))
}

type Call = hyper::Request<Incoming>;

/// What answers the calls of one connection. A call brings its connection along, so that the door can say that its
/// caller is known, and its body comes at a pace.
fn calls(
    router: Router,
    guest: Arc<Guest>,
) -> impl Service<Call, Response = Response, Error = Infallible, Future: Send + 'static> + Clone {
    service_fn(move |request: Call| {
        let mut request = request.map(Paced::new);
        request.extensions_mut().insert(guest.clone());
        router.clone().oneshot(request)
    })
}

async fn serve_http1(
    stream: TcpStream,
    router: Router,
    guest: Arc<Guest>,
    watcher: Watcher,
) -> Result<(), String> {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(LARGEST_HEADERS as usize)
        .serve_connection(TokioIo::new(stream), calls(router, guest));
    watcher.watch(connection).await.map_err(|error| error.to_string())
}

async fn serve_any(
    stream: TcpStream,
    router: Router,
    guest: Arc<Guest>,
    watcher: Watcher,
) -> Result<(), String> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(LARGEST_HEADERS as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(30))
        .max_concurrent_streams(2048)
        .max_header_list_size(LARGEST_HEADERS);
    // The beginning of a preface may never be followed by its rest.
    let stream = TokioIo::new(Punctual::new(stream, HEADER_TIME));
    let connection = builder.serve_connection(stream, calls(router, guest));
    watcher.watch(connection.into_owned()).await.map_err(|error| error.to_string())
}
