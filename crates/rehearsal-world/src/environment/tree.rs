//! A process and all that it started, which end together.

use std::io;
use std::process::ExitStatus;
#[cfg(target_os = "linux")]
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

#[cfg(target_os = "linux")]
use super::supervise;

/// How long a process that was ended is waited for; only one that hangs in the kernel takes longer.
const REAP: Duration = Duration::from_secs(5);

/// A process and all that it started, none of which outlives this value.
#[derive(Debug)]
pub(super) enum Tree {
    /// Those that stay in the process's group; others get away.
    Group { group: Group, child: Child },
    /// All of them, by a process between us and them.
    #[cfg(target_os = "linux")]
    Supervised(Supervised),
}

impl Tree {
    /// Starts a process that leads a group of its own.
    pub(super) fn start(mut command: Command) -> io::Result<(Self, Option<ChildStdin>, Pipes)> {
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        let pipes = Pipes { stdout: child.stdout.take(), stderr: child.stderr.take() };
        Ok((Self::Group { group: Group::led_by(&child), child }, stdin, pipes))
    }

    /// Waits until the process has ended.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Self::Group { child, .. } => child.wait().await,
            #[cfg(target_os = "linux")]
            Self::Supervised(supervised) => supervised.wait().await,
        }
    }

    /// Asks all processes to end.
    pub(super) fn ask(&mut self) {
        match self {
            Self::Group { group, .. } => group.signal(Signal::TERM),
            #[cfg(target_os = "linux")]
            Self::Supervised(supervised) => supervised.say(supervise::ASK),
        }
    }

    /// Ends all processes and gives how the first one ended, as far as that can be known.
    pub(super) async fn kill(&mut self) -> Option<io::Result<ExitStatus>> {
        match self {
            Self::Group { group, child } => {
                group.signal(Signal::KILL);
                timeout(REAP, child.wait()).await.ok()
            }
            #[cfg(target_os = "linux")]
            Self::Supervised(supervised) => {
                supervised.say(supervise::END);
                let status = timeout(REAP, supervised.wait()).await.ok();
                supervised.end().await;
                status
            }
        }
    }

    /// Ends what is left.
    pub(super) async fn end(&mut self) {
        match self {
            Self::Group { group, .. } => group.end(),
            #[cfg(target_os = "linux")]
            Self::Supervised(supervised) => supervised.end().await,
        }
    }
}

/// What a process writes to.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdout: Option<tokio::process::ChildStdout>,
    pub(super) stderr: Option<tokio::process::ChildStderr>,
}

/// A process group, ended when dropped.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    fn led_by(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    /// Sends a signal to every process in the group.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // The only failure is that nobody is left.
            let _ = kill_process_group(group, signal);
        }
    }

    /// Ends every process in the group; from then on its number may belong to another.
    fn end(&mut self) {
        self.signal(Signal::KILL);
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// A process that a supervising process started.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Supervised {
    control: tokio::net::UnixStream,
    supervisor: Child,
    /// What it said and nobody has read yet.
    said: Vec<u8>,
    status: Option<ExitStatus>,
    is_over: bool,
}

#[cfg(target_os = "linux")]
impl Tree {
    /// Starts a process through one that supervises it. The command is the supervisor's, with the program's words last.
    pub(super) async fn supervise(
        mut command: Command,
        reads: bool,
    ) -> io::Result<(Self, Option<ChildStdin>, Pipes)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let stdin = if reads {
            let (input, output) = io::pipe()?;
            supervise::send_input(&ours, Some(&input.into()))?;
            Some(ChildStdin::from_std(std::os::fd::OwnedFd::from(output).into())?)
        } else {
            supervise::send_input(&ours, None)?;
            None
        };
        command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        let mut supervisor = command.spawn()?;
        // The command keeps the other end of the socket open.
        drop(command);
        let pipes = Pipes { stdout: supervisor.stdout.take(), stderr: supervisor.stderr.take() };
        ours.set_nonblocking(true)?;
        let control = tokio::net::UnixStream::from_std(ours)?;
        let mut supervised =
            Supervised { control, supervisor, said: Vec::new(), status: None, is_over: false };
        supervised.started().await?;
        Ok((Self::Supervised(supervised), stdin, pipes))
    }
}

#[cfg(target_os = "linux")]
impl Supervised {
    async fn started(&mut self) -> io::Result<()> {
        match self.hear(1).await? {
            [supervise::STARTED, ..] => {
                self.said.remove(0);
                Ok(())
            }
            [supervise::FAILED, ..] => {
                let number = self.hear(5).await?.get(1..5).and_then(|four| four.try_into().ok());
                self.is_over = true;
                Err(io::Error::from_raw_os_error(i32::from_le_bytes(number.unwrap_or_default())))
            }
            _ => Err(io::Error::other("what supervises it does not answer as it should")),
        }
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        use std::os::unix::process::ExitStatusExt as _;
        if self.status.is_none() {
            let word = self.hear(5).await?.get(1..5).and_then(|four| four.try_into().ok());
            self.status = Some(ExitStatus::from_raw(i32::from_le_bytes(word.unwrap_or_default())));
        }
        Ok(self.status.unwrap_or_default())
    }

    /// What it said, once that is so many bytes. Dropping the future loses nothing.
    async fn hear(&mut self, count: usize) -> io::Result<&[u8]> {
        while self.said.len() < count {
            self.control.readable().await?;
            let mut bytes = [0; 16];
            match self.control.try_read(&mut bytes) {
                Ok(0) => return Err(io::Error::other("what supervises it was ended")),
                Ok(read) => self.said.extend(&bytes[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.said)
    }

    fn say(&self, word: u8) {
        // Who is gone need not be told, and so few bytes always have room.
        drop(self.control.try_write(&[word]));
    }

    /// Ends all processes and waits until they are gone.
    async fn end(&mut self) {
        if !self.is_over {
            self.say(supervise::END);
            self.is_over = timeout(REAP, self.supervisor.wait()).await.is_ok();
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Supervised {
    /// Nothing may run any more when this value is gone, since its folder goes next; that is a matter of milliseconds.
    fn drop(&mut self) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        if !self.is_over {
            self.say(supervise::END);
            let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
            let _ = poll(&mut [PollFd::new(&self.control, PollFlags::RDHUP)], Some(&patience));
        }
    }
}
