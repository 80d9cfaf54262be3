//! The process that evaluates: requests come in and answers go out, one line of JSON each.

use std::io::{self, BufRead, Write};
use std::sync::mpsc;
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Scope;
use super::engine;
use super::program::{Failure, Limits, Program};

/// The first line of a worker.
pub(super) const READY: &str = "ready";

/// The stack of the thread that evaluates; the engine may use half of it.
const STACK: usize = 4 * 1024 * 1024;
pub(super) const ENGINE_STACK: usize = STACK / 2;

/// The address space of a worker, beyond which it cannot grow whatever the engine does.
#[cfg(unix)]
const ADDRESS_SPACE: u64 = 4 * 1024 * 1024 * 1024;

/// How many deadlines a worker waits before it ends itself; the one who asked has killed it long before, if alive.
const PATIENCE: u32 = 4;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) id: u64,
    pub(super) program: Program,
    pub(super) place: String,
    pub(super) scope: Scope,
    pub(super) limits: Limits,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Response {
    pub(super) id: u64,
    pub(super) outcome: Result<Box<RawValue>, Failure>,
}

/// Evaluates what standard input asks for until it ends: what a process that [`super::Workers`] starts has to call.
///
/// # Errors
/// The pipes fail, a request cannot be read, or an evaluation does not come to an end; the process should end then.
pub fn worker_main() -> io::Result<()> {
    limit_process();
    let (requests, work) = mpsc::channel::<Request>();
    let (answer, responses) = mpsc::channel();
    thread::Builder::new().stack_size(STACK).spawn(move || {
        for request in work {
            if answer.send(respond(&request)).is_err() {
                return;
            }
        }
    })?;
    let mut output = io::stdout().lock();
    writeln!(output, "{READY}")?;
    output.flush()?;
    for line in io::stdin().lock().lines() {
        let request: Request = received(&line?)?;
        let patience = request.limits.deadline * PATIENCE;
        requests.send(request).map_err(io::Error::other)?;
        let response = responses.recv_timeout(patience).map_err(io::Error::other)?;
        output.write_all(&sent(&response)?)?;
        writeln!(output)?;
        output.flush()?;
    }
    Ok(())
}

/// What goes over the pipes. Both ends are this program, so a tree goes over as it is held.
#[expect(clippy::disallowed_methods, reason = "marked numbers arrive as they were sent")]
pub(super) fn sent(what: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(what)
}

/// The other end of [`sent`].
#[expect(clippy::disallowed_methods, reason = "marked numbers arrive as they were sent")]
pub(super) fn received<'a, T: Deserialize<'a>>(line: &'a str) -> serde_json::Result<T> {
    serde_json::from_str(line)
}

fn respond(request: &Request) -> Response {
    let outcome = engine::run(&request.program, &request.place, &request.scope, &request.limits);
    let outcome = outcome.and_then(|text| {
        RawValue::from_string(text)
            .map_err(|error| Failure::NotJson(format!("what cannot be read again ({error})")))
    });
    Response { id: request.id, outcome }
}

/// Takes from the process what no evaluation needs.
#[cfg(unix)]
fn limit_process() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, limit) in [(Resource::As, ADDRESS_SPACE), (Resource::Core, 0)] {
        // A limit that cannot be set leaves the engine's own.
        setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) }).ok();
    }
}

#[cfg(not(unix))]
fn limit_process() {}
