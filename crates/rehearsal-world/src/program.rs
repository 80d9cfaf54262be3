//! Programs that are talked with: how one is started and held, and the lines between it and us.

use std::fmt;

use async_trait::async_trait;
use tokio::io::{AsyncBufRead, AsyncWrite};

mod wire;

pub(crate) use wire::{Moment, Spoken, Wire};

/// Starts the process of an agent, or of a world.
#[async_trait]
pub trait Launcher: Send + Sync + fmt::Debug {
    /// Starts it.
    ///
    /// # Errors
    /// Why it could not be started.
    async fn start(&self) -> Result<Connection, String>;
}

/// A process that was started. It is ended by dropping its guard.
pub struct Connection {
    /// Its standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Its standard output.
    pub output: Box<dyn AsyncBufRead + Send + Unpin>,
    /// The process itself.
    pub guard: Box<dyn Guard>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Holds a process: it ends when this is dropped.
#[async_trait]
pub trait Guard: Send {
    /// Waits until the process has ended and all it wrote to its standard error is known.
    async fn ended(&mut self);

    /// The end of what it wrote to its standard error so far.
    fn stderr_tail(&self) -> String;

    /// How the process ended, if it has, such as `exit status: 1`.
    fn exit(&self) -> Option<String>;
}

/// The beginning of a text.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    rehearsal_core::shorten(text.trim(), most)
}
