//! A throw-away `PostgreSQL` server, which is there as long as one chore.

use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::kept::{FOLDER, Kept, UNTIL_THE_END};
use crate::setup::{Programs, is_root};

/// Tests find the server's address here. Set by a person, it names a server to use instead.
pub(crate) const ADDRESS: &str = "REHEARSAL_TEST_POSTGRES";

/// Starts a server whose programs are in `$1`, and says in which folder its socket is. Nothing needs to survive, so
/// nothing is flushed to the disk; nobody but us needs to reach it, so it listens on no port.
const SERVER: &str = r#"
fail() { echo failed; cat "$dir/log"; exit 1; }
"$1/initdb" --pgdata="$dir/data" --username=postgres --auth=trust --encoding=UTF8 --no-locale --no-sync \
    >"$dir/log" 2>&1 || fail
"$1/postgres" -D "$dir/data" -c listen_addresses= -c unix_socket_directories="$dir" -c max_connections=300 \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off </dev/null >>"$dir/log" 2>&1 &
pid=$!
until "$1/pg_isready" --quiet --host="$dir"; do
    kill -0 "$pid" 2>/dev/null || fail
    sleep 0.05
done
echo "ready $dir"
"#;

/// A server that runs, and stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Postgres {
    address: String,
    _kept: Kept,
}

impl Postgres {
    pub(crate) fn start() -> Result<Self, Failure> {
        let programs = Programs::find()?;
        let mut shell = unprivileged()?;
        let script = format!("{FOLDER}{SERVER}{UNTIL_THE_END}");
        // The folder we are in may be closed to the other user.
        shell.args(["sh", "-c", &script, "sh"]).arg(programs.folder()).current_dir("/");
        let mut kept = Kept::start(shell)?;
        let first = kept.line().unwrap_or_default();
        let Some(folder) = first.strip_prefix("ready ") else {
            return Err(Failure::new(format!("PostgreSQL does not start\n{}", kept.rest().trim_end())));
        };
        Ok(Self { address: format!("postgres:///postgres?host={folder}&user=postgres"), _kept: kept })
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

/// `PostgreSQL` refuses to run as root: there it runs as the user of its package, or as nobody.
fn unprivileged() -> Result<Command, Failure> {
    if !is_root()? {
        return Ok(Command::new("env"));
    }
    let has_user = child::read(Command::new("id").args(["-u", "postgres"])).is_ok();
    let mut runuser = Command::new("runuser");
    runuser.args(["-u", if has_user { "postgres" } else { "nobody" }, "--"]);
    Ok(runuser)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_answers_until_it_is_dropped() {
        let postgres = Postgres::start().unwrap();
        let address = postgres.address().to_owned();
        let psql = Programs::find().unwrap().folder().join("psql");
        let ask = || {
            child::read(Command::new(&psql).args(["--no-psqlrc", "-At", "-c", "SELECT 6 * 7"]).arg(&address))
        };
        assert_eq!(ask().unwrap().trim(), "42");
        drop(postgres);
        assert!(ask().is_err());
    }
}
