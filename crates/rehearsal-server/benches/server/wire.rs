//! The published protocol: requests taken in, and agents that wait on a stream.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::{Request, Response, Uri};
use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rehearsal_server::adksim::wire::session_event::Payload;
use rehearsal_server::adksim::wire::simulator_service_client::SimulatorServiceClient;
use rehearsal_server::adksim::wire::{
    CreateSessionRequest, SubmitDecisionRequest, SubmitRequestRequest, SubscribeRequest,
};
use rehearsal_server::adksim::{request_to_wire, response_to_wire};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::asked::{self, AGENT, id};
use crate::figures::{now, per_second};
use crate::machine;
use crate::process::Rehearse;
use crate::waiting::{Arrival, BURST, CLIENTS, Delays, WARM, answer_all};

/// Connections that send requests side by side.
pub(crate) const ASKERS: usize = 64;

/// A connection of its own.
#[derive(Clone)]
pub(crate) struct Connection(SendRequest<tonic::body::Body>);

impl tower::Service<Request<tonic::body::Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

pub(crate) type WireClient = SimulatorServiceClient<Connection>;

/// Opens a connection.
pub(crate) async fn connect(address: &str) -> Result<WireClient, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let opened = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (sender, connection) = opened.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let origin: Uri = format!("http://{address}").parse().expect("an address is part of an URI");
    Ok(SimulatorServiceClient::with_origin(Connection(sender), origin))
}

/// A session and the turn whose answer its agent waits for.
pub(crate) type Turn = (String, String);

/// Makes sessions and sends a request in each, over so many connections; gives the turns, and how many requests were
/// taken in a second.
pub(crate) async fn submit(address: &str, count: usize, askers: usize) -> Result<(Vec<Turn>, f64), String> {
    let mut clients = Vec::with_capacity(askers);
    for _ in 0..askers {
        clients.push(connect(address).await?);
    }
    let mut turns = Vec::with_capacity(count);
    for number in 0..count {
        let made = clients[0].create_session(CreateSessionRequest { description: String::new() }).await;
        let made = made.map_err(|status| status.to_string())?.into_inner();
        turns.push((made.session.unwrap_or_default().id, id("turn", number)));
    }
    let request = Bytes::from(request_to_wire(&asked::request()));
    let began = now();
    let share = count.div_ceil(askers);
    join_all(clients.into_iter().zip(turns.chunks(share)).map(|(mut client, turns)| {
        let request = request.clone();
        async move {
            for (session_id, turn_id) in turns.iter().cloned() {
                let (agent_name, request) = (AGENT.to_owned(), request.clone());
                let request = SubmitRequestRequest { session_id, turn_id, agent_name, request };
                client.submit_request(request).await.map_err(|status| status.to_string())?;
            }
            Ok::<_, String>(())
        }
    }))
    .await
    .into_iter()
    .collect::<Result<(), _>>()?;
    let rate = per_second(count, began.elapsed());
    Ok((turns, rate))
}

/// Decides a turn.
pub(crate) async fn decide(client: &WireClient, (session, turn): &Turn) -> Result<(), String> {
    let response = Bytes::from(response_to_wire(&asked::response()));
    let decision = SubmitDecisionRequest { session_id: session.clone(), turn_id: turn.clone(), response };
    client.clone().submit_decision(decision).await.map(drop).map_err(|status| status.to_string())
}

/// Follows a session: says when its history is told and when the answer is there, and waits for more.
async fn follow(
    mut client: WireClient,
    number: usize,
    (session_id, turn): Turn,
    ready: mpsc::Sender<()>,
    tell: mpsc::UnboundedSender<Arrival>,
) -> Result<(), String> {
    let asked = SubscribeRequest { session_id, client_id: format!("agent-{number}") };
    let mut events = client.subscribe(asked).await.map_err(|status| status.to_string())?.into_inner();
    while let Some(message) = events.message().await.map_err(|status| status.to_string())? {
        let event = message.event.unwrap_or_default();
        match event.payload {
            Some(Payload::HistoryComplete(_)) => ready.send(()).await.map_err(|error| error.to_string())?,
            Some(Payload::LlmResponse(_)) if event.turn_id == turn => {
                tell.send((number, now())).ok();
            }
            _ => {}
        }
    }
    Err("the stream ended".to_owned())
}

/// Agents that wait until this is dropped.
pub(crate) struct Agents {
    pub(crate) arrivals: mpsc::UnboundedReceiver<Arrival>,
    _following: JoinSet<()>,
}

/// Lets agents wait, each on its own connection, and returns when all do.
pub(crate) async fn wait(address: &str, turns: &[Turn]) -> Result<Agents, String> {
    let (ready, mut all) = mpsc::channel(turns.len());
    let (tell, arrivals) = mpsc::unbounded_channel();
    let mut following = JoinSet::new();
    for (number, turn) in turns.iter().enumerate() {
        let client = connect(address).await?;
        let follow = follow(client, number, turn.clone(), ready.clone(), tell.clone());
        following.spawn(async move {
            if let Err(why) = follow.await {
                println!("  an agent lost its stream: {why}");
            }
        });
    }
    for _ in turns {
        let waits = tokio::time::timeout(Duration::from_secs(30), all.recv()).await;
        waits.map_err(|_| "not all streams began".to_owned())?;
    }
    Ok(Agents { arrivals, _following: following })
}

/// Follows every session once and lets go: what the server fills on first use is full before anything is measured.
pub(crate) async fn warm_up(address: &str, turns: &[Turn]) -> Result<(), String> {
    let client = connect(address).await?;
    let follow = |turn: &Turn| {
        let asked = SubscribeRequest { session_id: turn.0.clone(), client_id: String::new() };
        let mut client = client.clone();
        async move {
            let events = client.subscribe(asked).await;
            let mut events = events.map_err(|status| status.to_string())?.into_inner();
            while let Some(message) = events.message().await.map_err(|status| status.to_string())? {
                if matches!(message.event.unwrap_or_default().payload, Some(Payload::HistoryComplete(_))) {
                    break;
                }
            }
            Ok::<_, String>(())
        }
    };
    stream::iter(turns).map(follow).buffer_unordered(WARM).try_collect::<()>().await
}

pub(crate) fn print(delays: &Delays, each: f64, before: f64, aims: bool) {
    let aim = |text| if aims { text } else { "" };
    println!("  answer to agent, one by one   {}{}", delays.single, aim("   (aim: p99 under 20 ms)"));
    println!("  answer to agent, {BURST} at once   {}", delays.burst);
    let most = aim("aim: under 24; ");
    println!(
        "  memory for each that waits    {each:6.1} KiB ({most}the server has {before:.0} without them)"
    );
}

pub(crate) async fn measure() {
    series(false).await.expect("the server serves");
    series(true).await.expect("the server serves");
}

/// All agents wait on streams; they are answered over HTTP, or by decisions of the same protocol.
async fn series(decisions: bool) -> Result<(), String> {
    let folder = machine::folder();
    let server = Rehearse::start(folder.path());
    let (turns, rate) = submit(&server.grpc, CLIENTS, ASKERS).await?;
    drop(server);
    // A fresh server has no memory left over from taking the requests in, in which those who wait could be hidden.
    let server = Rehearse::start(folder.path());
    warm_up(&server.grpc, &turns).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = server.process.memory();
    let mut agents = wait(&server.grpc, &turns).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let each = (server.process.memory() - before) / f64::from(u32::try_from(CLIENTS).unwrap_or(1));
    let delays = if decisions {
        let person = connect(&server.grpc).await?;
        answer_all(&mut agents.arrivals, CLIENTS, async |number| decide(&person, &turns[number]).await)
            .await?
    } else {
        let person = crate::http::client();
        let answer = async |number: usize| crate::http::answer(&person, &server.url, &turns[number].1).await;
        answer_all(&mut agents.arrivals, CLIENTS, answer).await?
    };
    drop(agents);
    let how = if decisions { "SubmitDecision" } else { "HTTP" };
    println!("streams: {CLIENTS} agents wait over gRPC, each on its own connection; answers by {how}");
    print(&delays, each, before, true);
    println!("  SubmitRequest, {ASKERS} connections  {rate:9.0} /s");
    Ok(())
}
