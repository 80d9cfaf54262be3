//! Processes of this machine: whether the one that ran something is still there.

use std::fs;

use rehearsal_store::RunProcess;

/// What has become of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It runs.
    Runs,
    /// It has gone.
    Gone,
    /// Nobody here can know: it is of another machine, or nothing is known of it.
    Unknown,
}

/// This process.
pub(crate) fn this() -> RunProcess {
    let id = std::process::id();
    RunProcess { machine: machine().unwrap_or_default(), id, started: started(id).unwrap_or_default() }
}

/// What has become of a process.
pub(crate) fn fate(process: Option<&RunProcess>) -> Fate {
    let (Some(process), Some(machine)) = (process, machine()) else { return Fate::Unknown };
    if process.machine != machine {
        return Fate::Unknown;
    }
    if started(process.id) == Some(process.started) { Fate::Runs } else { Fate::Gone }
}

/// What tells this machine, since it was started, from others, and the processes that are seen here from those that are
/// not, as in containers. Only Linux says so.
fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), space.display()))
}

/// When a process was started, in ticks since the machine was; nothing where there is none, or only what is left of it.
fn started(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program stands in parentheses, and may hold anything.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_runs_until_it_has_gone() {
        assert_eq!(fate(Some(&this())), Fate::Runs);
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let of_child = RunProcess { id: child.id(), started: started(child.id()).unwrap(), ..this() };
        assert_eq!(fate(Some(&of_child)), Fate::Runs);
        let another = RunProcess { started: of_child.started + 1, ..of_child.clone() };
        assert_eq!(fate(Some(&another)), Fate::Gone);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(fate(Some(&of_child)), Fate::Gone);
        assert_eq!(fate(Some(&RunProcess { machine: "elsewhere".to_owned(), ..this() })), Fate::Unknown);
        assert_eq!(fate(None), Fate::Unknown);
    }
}
