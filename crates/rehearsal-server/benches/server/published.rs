//! The published Python server beside ours: the same calls of the same client.

use std::fs::File;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use crate::asked::id;
use crate::machine;
use crate::process::Process;
use crate::waiting::{CLIENTS, answer_all};
use crate::wire::{self, ASKERS, connect, decide, submit, wait, warm_up};

/// The Python that has the published server installed.
const PYTHON: &str = "REHEARSAL_PUBLISHED_PYTHON";
/// How many of those who wait ask and are answered. It takes a few dozen requests a second, so not all of them.
const ASKING: usize = 100;
/// Whatever it does not do in this time it does not do.
const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) async fn measure() {
    let Some(python) = std::env::var_os(PYTHON) else {
        println!("published server: left out; {PYTHON} has to name a Python with adk-sim-server 0.1.22");
        return;
    };
    // With many requests at once its database is locked for too long, and it refuses some.
    for (clients, askers) in [(CLIENTS, ASKERS), (CLIENTS, 8), (CLIENTS / 4, 1)] {
        let series = tokio::time::timeout(PATIENCE, series(&python, clients, askers));
        match series.await.unwrap_or_else(|_| Err("it took too long".to_owned())) {
            Ok(()) => return,
            Err(why) => {
                println!("published server: not with {clients} agents and {askers} that ask at once: {why}");
            }
        }
    }
}

async fn series(python: &std::ffi::OsStr, clients: usize, askers: usize) -> Result<(), String> {
    let folder = machine::folder();
    let (port, page) = (free_port()?, free_port()?);
    let log = File::create(folder.path().join("log")).map_err(|error| error.to_string())?;
    let again = log.try_clone().map_err(|error| error.to_string())?;
    let mut command = Command::new(python);
    command
        .current_dir(folder.path())
        .args(["-m", "adk_sim_server.cli", "--port", &port.to_string(), "--web-port", &page.to_string()])
        .arg("--db-url")
        .arg(format!("sqlite+aiosqlite:///{}/store.db", folder.path().display()))
        .stdout(log)
        .stderr(again);
    let process = Process::start(&mut command);
    let address = format!("127.0.0.1:{port}");
    listens(&address).await?;
    let (mut turns, rate) = submit(&address, ASKING, askers).await?;
    turns.extend((ASKING..clients).map(|number| (id("waits", number), id("turn", number))));
    warm_up(&address, &turns).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let before = process.memory();
    let mut agents = wait(&address, &turns).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let each = (process.memory() - before) / f64::from(u32::try_from(clients).unwrap_or(1));
    let person = connect(&address).await?;
    let delays =
        answer_all(&mut agents.arrivals, ASKING, async |number| decide(&person, &turns[number]).await)
            .await?;
    drop(agents);
    println!(
        "published server: {clients} agents wait over gRPC, each on its own connection; answers by SubmitDecision"
    );
    wire::print(&delays, each, before, false);
    println!("  SubmitRequest, {askers} connections  {rate:9.0} /s");
    Ok(())
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| error.to_string())
}

async fn listens(address: &str) -> Result<(), String> {
    for _ in 0..100 {
        if connect(address).await.is_ok() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("it does not start".to_owned())
}
