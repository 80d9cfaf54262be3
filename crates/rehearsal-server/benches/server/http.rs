//! The HTTP API: turns taken in, and agents that wait by long poll.

use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::asked::{self, ANSWER, id};
use crate::figures::{now, per_second};
use crate::machine;
use crate::process::{Rehearse, TOKEN};
use crate::waiting::{Arrival, BURST, CLIENTS, WARM, answer_all};

/// Sessions whose agents ask side by side.
const ASKERS: usize = 128;
/// Turns that each of them sends.
const TURNS: usize = 32;

pub(crate) async fn measure() {
    submit().await;
    wait().await.expect("the server serves");
}

/// A client whose connections are its own: one for each call that is under way.
pub(crate) fn client() -> Client {
    let mut headers = reqwest::header::HeaderMap::new();
    let bearer = format!("Bearer {TOKEN}").parse().expect("the token is plain text");
    headers.insert(reqwest::header::AUTHORIZATION, bearer);
    let builder = Client::builder().no_proxy().http1_only().tcp_nodelay(true).default_headers(headers);
    builder.build().expect("a client can be built")
}

async fn submit() {
    let folder = machine::folder();
    let server = Rehearse::start(folder.path());
    let client = client();
    let body = asked::body().to_string();
    let ask = |asker: usize| {
        let (client, body, url) = (client.clone(), body.clone(), server.url.clone());
        tokio::spawn(async move {
            for turn in 0..TURNS {
                let (session, turn) = (id("asker", asker), id(&format!("turn-{asker}"), turn));
                put_turn(&client, &format!("{url}/v1/sessions/{session}/turns/{turn}"), body.clone()).await?;
            }
            Ok::<_, String>(())
        })
    };
    for asker in 0..ASKERS {
        create(&client, &server.url, &id("asker", asker)).await.expect("a session can be made");
    }
    let began = now();
    for asking in (0..ASKERS).map(ask).collect::<Vec<_>>() {
        asking.await.expect("no asker fails").expect("a turn is taken in");
    }
    let rate = per_second(ASKERS * TURNS, began.elapsed());
    println!("turns over HTTP: {} of {} bytes, {ASKERS} agents side by side", ASKERS * TURNS, body.len());
    println!("  PUT turn, with its cue, durable       {rate:9.0} /s");
}

async fn create(client: &Client, url: &str, session: &str) -> Result<(), String> {
    let body = json!({"id": session, "agent": asked::AGENT});
    let sent = client.post(format!("{url}/v1/sessions")).json(&body).send().await;
    expect(sent, StatusCode::CREATED)
}

async fn put_turn(client: &Client, turn: &str, body: String) -> Result<(), String> {
    let call = client.put(turn);
    let sent = call.header("content-type", "application/json").body(body).send().await;
    expect(sent, StatusCode::CREATED)
}

/// Answers the cue of a turn.
pub(crate) async fn answer(client: &Client, url: &str, turn: &str) -> Result<(), String> {
    let call = client.post(format!("{url}/v1/cues/{turn}/answer")).json(&json!({"text": ANSWER}));
    let reply = call.send().await.map_err(|error| error.to_string())?;
    if reply.status().is_success() {
        return Ok(());
    }
    Err(format!("an answer was refused: {}", reply.text().await.unwrap_or_default()))
}

fn expect(sent: reqwest::Result<reqwest::Response>, status: StatusCode) -> Result<(), String> {
    match sent {
        Ok(reply) if reply.status() == status => Ok(()),
        Ok(reply) => Err(format!("{} gave {}", reply.url(), reply.status())),
        Err(error) => Err(error.to_string()),
    }
}

async fn wait() -> Result<(), String> {
    let folder = machine::folder();
    let turns: Vec<(String, String)> =
        (0..CLIENTS).map(|number| (id("waits", number), id("turn", number))).collect();
    let server = Rehearse::start(folder.path());
    prepare(&server.url, &turns).await?;
    drop(server);
    // A fresh server has no memory left over from taking the turns in, in which those who wait could be hidden.
    let server = Rehearse::start(folder.path());
    warm_up(&server.url, &turns).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = server.process.memory();
    let (tell, mut arrivals) = mpsc::unbounded_channel();
    let client_of_agents = client();
    let mut agents = JoinSet::new();
    for (number, (session, turn)) in turns.iter().enumerate() {
        let url = format!("{}/v1/sessions/{session}/turns", server.url);
        agents.spawn(play(client_of_agents.clone(), url, turn.clone(), number, tell.clone()));
    }
    drop(tell);
    let person = client();
    all_wait(&person, &server.url).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let each = (server.process.memory() - before) / f64::from(u32::try_from(CLIENTS).unwrap_or(1));
    let delays = answer_all(&mut arrivals, CLIENTS, async |number| {
        answer(&person, &server.url, &turns[number].1).await
    })
    .await?;
    all_wait(&person, &server.url).await?;
    drop(agents);
    println!("long polls: {CLIENTS} agents wait over HTTP, each on its own connection; answers over HTTP");
    println!("  answer to agent, one by one   {}   (aim: p99 under 20 ms)", delays.single);
    println!("  answer to agent, {BURST} at once   {}", delays.burst);
    println!(
        "  memory for each that waits    {each:6.1} KiB (aim: under 24; the server has {before:.0} without them)"
    );
    Ok(())
}

async fn prepare(url: &str, turns: &[(String, String)]) -> Result<(), String> {
    let client = client();
    let body = asked::body().to_string();
    stream::iter(turns)
        .map(|(session, turn)| {
            let (client, body) = (&client, body.clone());
            async move {
                create(client, url, session).await?;
                put_turn(client, &format!("{url}/v1/sessions/{session}/turns/{turn}"), body).await
            }
        })
        .buffer_unordered(WARM)
        .try_collect::<()>()
        .await
}

/// Asks once for everything, without waiting: what the server fills on first use is full before anything is measured.
async fn warm_up(url: &str, turns: &[(String, String)]) -> Result<(), String> {
    let client = client();
    let ask = |(session, turn): &(String, String)| {
        let call = client.get(format!("{url}/v1/sessions/{session}/turns/{turn}/response"));
        async move { expect(call.send().await, StatusCode::NO_CONTENT) }
    };
    stream::iter(turns).map(ask).buffer_unordered(WARM).try_collect::<()>().await
}

/// An agent: it waits for the answer to its turn, then asks again and waits for an answer that nobody gives.
async fn play(
    client: Client,
    url: String,
    turn: String,
    number: usize,
    tell: mpsc::UnboundedSender<Arrival>,
) {
    let (answer, at) = long_poll(&client, &format!("{url}/{turn}")).await;
    assert_eq!(answer["response"]["content"]["parts"][0]["text"], ANSWER);
    tell.send((number, at)).ok();
    let next = format!("{url}/{}", id("next", number));
    put_turn(&client, &next, asked::body().to_string()).await.expect("an agent can ask again");
    long_poll(&client, &next).await;
}

async fn long_poll(client: &Client, turn: &str) -> (Value, Instant) {
    let url = format!("{turn}/response?wait=60");
    loop {
        let reply = client.get(&url).send().await.expect("the server answers");
        match reply.status() {
            StatusCode::NO_CONTENT => {}
            StatusCode::OK => {
                let answer = reply.bytes().await.expect("the answer arrives whole");
                let at = now();
                return (rehearsal_core::json::from_slice(&answer).expect("the answer is JSON"), at);
            }
            other => panic!("{url} gave {other}"),
        }
    }
}

/// Returns when the server counts all of them as waiting.
async fn all_wait(client: &Client, url: &str) -> Result<(), String> {
    for _ in 0..200 {
        let reply = client.get(format!("{url}/metrics")).send().await.map_err(|error| error.to_string())?;
        let text = reply.text().await.map_err(|error| error.to_string())?;
        if text.lines().any(|line| line == format!("rehearsal_waiting {CLIENTS}")) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(format!("not all of the {CLIENTS} agents wait"))
}
