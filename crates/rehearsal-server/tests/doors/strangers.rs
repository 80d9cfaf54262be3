//! Callers who have shown nothing, and callers who take for ever.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::stage::{Stage, TOKEN, soon, until};

/// A connection on which a call with the token was answered.
async fn known(stage: &Stage) -> TcpStream {
    let mut connection = TcpStream::connect(stage.address).await.unwrap();
    call(&mut connection).await;
    connection
}

async fn call(connection: &mut TcpStream) {
    let request =
        format!("GET /v1/runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\r\n");
    soon(connection.write_all(request.as_bytes())).await.unwrap();
    let mut heard = [0; 4096];
    let count = soon(connection.read(&mut heard)).await.unwrap();
    assert!(heard[..count].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&heard[..count]));
}

/// Whether the server has closed a connection.
fn is_closed(connection: &TcpStream) -> bool {
    let heard = connection.try_read(&mut [0; 1]);
    !matches!(heard, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}

#[tokio::test]
async fn strangers_are_few_and_the_first_to_go() {
    let stage = Stage::open().await;
    let mut friend = known(&stage).await;
    for said in ["", "G", "PRI * HTTP/2"] {
        let mut strangers = Vec::new();
        for _ in 0..600 {
            let mut stranger = soon(TcpStream::connect(stage.address)).await.unwrap();
            // It may have been sent away by then.
            let _cut = stranger.write_all(said.as_bytes()).await;
            strangers.push(stranger);
        }
        // The first one hears that it has to go; nobody who may call is kept waiting or goes with it.
        let mut heard = [0; 1];
        let gone = soon(strangers[0].read(&mut heard)).await;
        assert!(matches!(gone, Ok(0) | Err(_)), "{said:?}: {gone:?}");
        call(&mut friend).await;
        drop(known(&stage).await);
        until(|| async {
            let open = strangers.iter().filter(|stranger| !is_closed(stranger)).count();
            (open <= 256).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_crowd_that_speaks_at_once_is_heard() {
    let stage = Stage::open().await;
    let calls = (0..1000).map(|_| async { drop(known(&stage).await) });
    futures::future::join_all(calls).await;
}

#[tokio::test]
async fn a_call_that_says_two_hosts_is_refused() {
    let stage = Stage::open().await;
    for hosts in ["host: localhost\r\nhost: localhost", "host: localhost\r\nHost: evil.test"] {
        let mut connection = TcpStream::connect(stage.address).await.unwrap();
        let request = format!(
            "GET /v1/runs HTTP/1.1\r\n{hosts}\r\nauthorization: Bearer {TOKEN}\r\nconnection: close\r\n\r\n"
        );
        soon(connection.write_all(request.as_bytes())).await.unwrap();
        let mut reply = String::new();
        soon(connection.read_to_string(&mut reply)).await.unwrap();
        assert!(reply.starts_with("HTTP/1.1 400") && reply.contains("two_hosts"), "{reply}");
    }
}

/// A server in this test's own time.
async fn in_own_time(folder: &tempfile::TempDir) -> std::net::SocketAddr {
    let store = rehearsal_store::open(&folder.path().join("s.db").display().to_string()).await.unwrap();
    let config = rehearsal_server::ServerConfig {
        host: [127, 0, 0, 1].into(),
        port: 0,
        grpc_port: None,
        token: TOKEN.to_owned(),
        ended_visits: None,
        names: Vec::new(),
        grace: Duration::from_hours(1),
    };
    let clock = std::sync::Arc::new(rehearsal_core::FixedClock::default());
    let server = rehearsal_server::Server::bind(config, store, clock).await.unwrap();
    let address = server.address().unwrap();
    tokio::spawn(server.serve(std::future::pending()));
    address
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_says_nothing_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let address = in_own_time(&folder).await;
    // The second one begins to speak HTTP/2 and falls silent.
    for said in ["", "PRI * HT"] {
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(said.as_bytes()).await.unwrap();
        let mut heard = [0; 100];
        let closed = connection.read(&mut heard);
        let closed = tokio::time::timeout(Duration::from_mins(2), closed).await;
        assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{said:?}: {closed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_for_ever_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let address = in_own_time(&folder).await;
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: 1000000\r\nconnection: close\r\n\r\n{{"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = connection.into_split();
    let dripping = async {
        for _ in 0..10_000 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if writing.write_all(b" ").await.is_err() {
                break;
            }
        }
    };
    let mut reply = Vec::new();
    let reading = tokio::time::timeout(Duration::from_mins(2), reading.read_to_end(&mut reply));
    let cut = tokio::select! {
        cut = reading => cut,
        () = dripping => panic!("it may drip for ever"),
    };
    let reply = String::from_utf8_lossy(&reply);
    assert!(
        cut.is_ok() && reply.starts_with("HTTP/1.1 408") && reply.contains("too_slow"),
        "{cut:?} {reply}"
    );
}
