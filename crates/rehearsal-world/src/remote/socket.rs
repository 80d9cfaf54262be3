//! An agent whose program runs already and listens on a Unix socket: one connection is one session.

use std::path::PathBuf;

use async_trait::async_trait;
use tokio::io::BufReader;
use tokio::net::UnixStream;

use super::{Connection, Guard, Launcher};

/// A program that listens on a Unix socket and speaks there what a command agent speaks.
///
/// Who may connect is what the file system says of the socket's folder.
#[derive(Clone, Debug)]
pub struct Listening {
    /// Where it listens.
    pub socket: PathBuf,
}

#[async_trait]
impl Launcher for Listening {
    async fn start(&self) -> Result<Connection, String> {
        let stream = UnixStream::connect(&self.socket).await.map_err(|error| {
            format!("nobody can be reached at the socket `{}`: {error}", self.socket.display())
        })?;
        let (output, input) = stream.into_split();
        let output = Box::new(BufReader::new(output));
        Ok(Connection { input: Box::new(input), output, guard: Box::new(Elsewhere) })
    }
}

/// A process that is not ours: it stays when its connection goes.
struct Elsewhere;

#[async_trait]
impl Guard for Elsewhere {
    async fn ended(&mut self) {}

    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn exit(&self) -> Option<String> {
        Some("its connection was closed".to_owned())
    }
}
