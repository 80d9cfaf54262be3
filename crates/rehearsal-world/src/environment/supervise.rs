//! The process between us and a program, which ends all that the program started once it is told to or we are gone.
//!
//! On Linux it adopts what a program leaves behind (it is a *subreaper*), also what went into a session of its own, so
//! that it finds all of it. It speaks with us through a socket, its standard input, and takes the end of the socket for
//! the word to end everything: whatever ends us, even a signal that cannot be caught, closes it.

use std::fs::{self, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, Signal, WaitOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::signal::unix::{SignalKind, signal};

/// Asks all processes to end.
pub(super) const ASK: u8 = b'T';
/// Ends all processes.
pub(super) const END: u8 = b'K';
/// The program was started.
pub(super) const STARTED: u8 = b's';
/// The program was not started; the system's number for the reason follows.
pub(super) const FAILED: u8 = b'e';
/// The program has ended; the system's word for how follows.
pub(super) const EXITED: u8 = b'x';

/// Hands over what the program reads, or that it reads nothing.
pub(super) fn send_input(control: &UnixStream, input: Option<&OwnedFd>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let borrowed = input.map(|input| [input.as_fd()]);
    if let Some(input) = &borrowed {
        message.push(SendAncillaryMessage::ScmRights(input));
    }
    sendmsg(control, &[IoSlice::new(b"i")], &mut message, SendFlags::empty())?;
    Ok(())
}

fn receive_input(control: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(control, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let mut input = None;
    for part in message.drain() {
        if let RecvAncillaryMessage::ScmRights(mut files) = part {
            input = files.next();
        }
    }
    Ok(input)
}

/// What a supervising process does: runs `program` and ends all that came of it when it is told to.
///
/// Its standard input is the socket to who started it.
///
/// # Errors
/// The system refused something that it needs.
pub fn supervise_main(mut program: impl Iterator<Item = std::ffi::OsString>) -> io::Result<()> {
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let input = receive_input(&control)?;
    // What is sent to the group or the terminal of who started it is not meant for it.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut ended = signal(SignalKind::child())?;
        // Only who started it decides when it ends.
        let _heard = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
        control.set_nonblocking(true)?;
        let mut control = tokio::net::UnixStream::from_std(control)?;
        let mut command = Command::new(program.next().unwrap_or_default());
        command.args(program).process_group(0);
        command.stdin(input.map_or_else(Stdio::null, Stdio::from));
        let started = command.spawn();
        drop(command);
        // Whoever reads or writes the program's pipes must notice when the program closes them.
        let nothing = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        rustix::stdio::dup2_stderr(&nothing)?;
        let main = match started {
            Ok(child) => Pid::from_child(&child),
            Err(error) => {
                let number = error.raw_os_error().unwrap_or(0);
                return control.write_all(&[&[FAILED][..], &number.to_le_bytes()].concat()).await;
            }
        };
        control.write_all(&[STARTED]).await?;
        let mut word = [0];
        loop {
            tokio::select! {
                read = control.read(&mut word) => match (read, word) {
                    (Ok(1), [ASK]) => signal_all(main, Signal::TERM),
                    _ => break,
                },
                _ = ended.recv() => tell(&mut control, reap(main)).await,
            }
        }
        tell(&mut control, end_all(main)).await;
        Ok(())
    })
}

/// Tells how the program ended. Who is gone need not be told; the next read says so.
async fn tell(control: &mut tokio::net::UnixStream, status: Option<i32>) {
    if let Some(status) = status {
        drop(control.write_all(&[&[EXITED][..], &status.to_le_bytes()].concat()).await);
    }
}

/// Collects what has ended; says how the program did if it is among them.
fn reap(main: Pid) -> Option<i32> {
    let mut status = None;
    while let Ok(Some((process, how))) = rustix::process::wait(WaitOptions::NOHANG) {
        if process == main {
            status = Some(how.as_raw());
        }
    }
    status
}

/// Sends a signal to all that came of the program.
fn signal_all(main: Pid, signal: Signal) {
    let Ok(processes) = descendants(rustix::process::getpid()) else {
        // Without `/proc` only the group can be reached.
        let _ = rustix::process::kill_process_group(main, signal);
        return;
    };
    for process in processes {
        let _ = rustix::process::kill_process(process, signal);
    }
}

/// Ends all that came of the program and says how the program ended, if it had not yet. What is started meanwhile is
/// found in the next round.
fn end_all(main: Pid) -> Option<i32> {
    // What stands still starts nothing.
    signal_all(main, Signal::STOP);
    let mut status = None;
    loop {
        signal_all(main, Signal::KILL);
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((process, how))) if process == main => status = Some(how.as_raw()),
            Ok(_) | Err(Errno::INTR) => status = status.or(reap(main)),
            Err(_) => return status,
        }
    }
}

/// The processes below this one, those that have ended left out.
fn descendants(root: Pid) -> io::Result<Vec<Pid>> {
    let mut living = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        // The name of the program, in parentheses, may hold anything.
        let stat = fs::read(entry.path().join("stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, parent) = (fields.next(), fields.next().and_then(|parent| parent.parse::<i32>().ok()));
        if let (Some(_), Some(parent)) = (state, parent) {
            living.push((process, parent, state == Some("Z")));
        }
    }
    let mut found: Vec<(i32, bool)> = vec![(root.as_raw_pid(), true)];
    let mut next = 0;
    while let Some((process, _)) = found.get(next).copied() {
        next += 1;
        let children = living.iter().filter(|(_, parent, _)| *parent == process);
        found.extend(children.map(|(child, _, is_dead)| (*child, *is_dead)));
    }
    let living = found.into_iter().filter(|(_, is_dead)| !is_dead);
    Ok(living.filter_map(|(process, _)| Pid::from_raw(process)).collect())
}
