//! A PostgreSQL server for tests, which is there as long as the test program and leaves nothing behind.
//!
//! The server belongs to a shell that reads the test program's end of a pipe: however the program ends, even killed,
//! the pipe closes, and the shell stops the server and removes its folder.

use std::env;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names the address of a server to use instead of one that is started for the tests. Its user may make databases.
pub const ADDRESS_VARIABLE: &str = "REHEARSAL_TEST_POSTGRES";

const HOW_TO_INSTALL: &str = "these tests need PostgreSQL 14 or newer: run `cargo xtask setup`, install it yourself \
    (Debian, Ubuntu: `apt install postgresql`; macOS: `brew install postgresql`), or name a server that runs, whose \
    user may make databases, with REHEARSAL_TEST_POSTGRES=postgres://…";

/// A database of its own for one test.
#[derive(Debug)]
pub struct Database {
    address: String,
    name: String,
    server: &'static Server,
}

impl Database {
    /// Makes an empty database, on a server that is started with the first one.
    ///
    /// # Panics
    /// There is no PostgreSQL: a test that cannot run has not passed.
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let server = Server::shared();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("rehearsal_{}_{number}", std::process::id());
        server.psql(&server.address, &format!("DROP DATABASE IF EXISTS {name}"));
        server.psql(&server.address, &format!("CREATE DATABASE {name}"));
        Self { address: with_database(&server.address, &name), name, server }
    }

    /// The address to connect to.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Runs SQL in it, from a connection of its own, and gives the rows as lines.
    ///
    /// # Panics
    /// The SQL fails.
    pub fn sql(&self, sql: &str) -> String {
        self.server.psql(&self.address, sql)
    }

    /// The same for SQL that may fail.
    ///
    /// # Errors
    /// What the server says of it.
    pub fn try_sql(&self, sql: &str) -> Result<String, String> {
        self.server.try_psql(&self.address, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A server of our own goes with all its databases.
        if self.server.shell.is_none() {
            self.server.psql(&self.server.address, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

#[derive(Debug)]
struct Server {
    address: String,
    psql: PathBuf,
    /// The shell that stops the server when its input ends. A server that somebody else started has none.
    shell: Option<Child>,
}

impl Server {
    fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(|| match env::var(ADDRESS_VARIABLE) {
            Ok(address) if !address.is_empty() => Self { address, psql: program("psql"), shell: None },
            _ => Self::start(),
        })
    }

    fn start() -> Self {
        Self::start_and_listen().0
    }

    fn start_and_listen() -> (Self, std::io::Lines<BufReader<ChildStdout>>) {
        let initdb = program("initdb");
        // The programs look for each other beside themselves, so a link on the path is followed.
        let initdb = initdb.canonicalize().unwrap_or(initdb);
        let folder = initdb.parent().unwrap_or(Path::new(""));
        let mut command = as_ordinary_user();
        command.args(["sh", "-c", SCRIPT, "sh"]).arg(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
        let mut shell = command.spawn().unwrap_or_else(|error| panic!("cannot start PostgreSQL: {error}"));
        let said = shell.stdout.take().expect("it is piped");
        let mut said = BufReader::new(said).lines();
        let first = said.next().and_then(Result::ok).unwrap_or_default();
        let Some(socket) = first.strip_prefix("ready ") else {
            let mut words = first;
            said.map_while(Result::ok)
                .for_each(|line| write!(words, "\n{line}").expect("memory takes everything"));
            panic!("PostgreSQL does not start: {words}\n\n{HOW_TO_INSTALL}");
        };
        let server = Self {
            address: format!("postgres:///postgres?host={socket}&user=postgres"),
            psql: program("psql"),
            shell: Some(shell),
        };
        (server, said)
    }

    fn psql(&self, address: &str, sql: &str) -> String {
        self.try_psql(address, sql).unwrap_or_else(|error| panic!("psql failed with `{sql}`: {error}"))
    }

    fn try_psql(&self, address: &str, sql: &str) -> Result<String, String> {
        let mut command = Command::new(&self.psql);
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command", sql, address]);
        let output = command.stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("cannot run psql: {error}\n\n{HOW_TO_INSTALL}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

/// A server of a test's own, which it can stop and start again.
#[derive(Debug)]
pub struct Unsteady {
    server: Server,
    said: std::io::Lines<BufReader<ChildStdout>>,
}

impl Unsteady {
    /// Starts a server.
    ///
    /// # Panics
    /// There is no PostgreSQL.
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Self {
        let (server, said) = Server::start_and_listen();
        Self { server, said }
    }

    /// The address to connect to.
    pub fn address(&self) -> &str {
        &self.server.address
    }

    /// Stops the server, as a restart of the machine would: connections are cut.
    ///
    /// # Panics
    /// It does not stop.
    pub fn stop(&mut self) {
        self.tell("stop", "stopped");
    }

    /// Starts it again, with what was in it.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(&mut self) {
        self.tell("start", "started");
    }

    fn tell(&mut self, word: &str, answer: &str) {
        let shell = self.server.shell.as_mut().expect("it is a server of our own");
        let input = shell.stdin.as_mut().expect("it is piped");
        writeln!(input, "{word}").expect("the shell reads");
        let said = self.said.next().and_then(Result::ok).unwrap_or_default();
        assert_eq!(said, answer, "PostgreSQL did not do as told");
    }
}

impl Drop for Unsteady {
    fn drop(&mut self) {
        if let Some(shell) = &mut self.server.shell {
            drop(shell.stdin.take());
            drop(shell.wait());
        }
    }
}

/// Starts a server in a new folder, says where, and stops it when its input ends. Nothing needs to survive, so
/// nothing is flushed to the disk. It is stopped and started again when it is told so.
const SCRIPT: &str = r#"
bin="$1"
dir=$(mktemp -d /tmp/rehearsal-pg.XXXXXX) || exit 1
trap 'rm -rf "$dir"' EXIT
trap '' INT
fail() { echo "failed"; cat "$dir/log"; exit 1; }
"$bin/initdb" -D "$dir/data" -U postgres --auth=trust --no-sync --encoding=UTF8 --no-locale >"$dir/log" 2>&1 || fail
run() {
    "$bin/postgres" -D "$dir/data" -c listen_addresses= -c unix_socket_directories="$dir" -c fsync=off \
        -c synchronous_commit=off -c full_page_writes=off -c max_connections=300 -c shared_buffers=32MB \
        </dev/null >>"$dir/log" 2>&1 &
    pid=$!
    until "$bin/pg_isready" -q -h "$dir"; do
        kill -0 "$pid" 2>/dev/null || fail
        sleep 0.05
    done
}
end() {
    kill -INT "$pid"
    wait "$pid"
}
run
echo "ready $dir"
while read -r word; do
    case "$word" in
        stop) end; echo stopped ;;
        start) run; echo started ;;
    esac
done
end
"#;

/// PostgreSQL does not run as root: there it runs as the user its package made.
fn as_ordinary_user() -> Command {
    let is_root = said("id", &["-u"]).as_deref() == Some("0");
    if !is_root {
        return Command::new("env");
    }
    let user = if said("id", &["-u", "postgres"]).is_some() { "postgres" } else { "nobody" };
    let mut command = Command::new("runuser");
    command.args(["-u", user, "--"]);
    command
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A program of PostgreSQL: on the path, or where Debian and Homebrew put those that are not.
fn program(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = env::split_paths(&path).collect();
    for (versions, below) in
        [("/usr/lib/postgresql", "bin"), ("/opt/homebrew/opt", "bin"), ("/usr/local/opt", "bin")]
    {
        let found = std::fs::read_dir(versions).into_iter().flatten().flatten();
        let mut found: Vec<PathBuf> = found.map(|version| version.path().join(below)).collect();
        found.sort();
        folders.extend(found.into_iter().rev());
    }
    let found = folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| panic!("`{name}` was not found; {HOW_TO_INSTALL}"))
}

/// The same server, another database.
fn with_database(address: &str, name: &str) -> String {
    let (start, query) =
        address.split_once('?').map_or((address, None), |(start, query)| (start, Some(query)));
    let host = start.find("://").map_or(0, |at| at + 3);
    let end = start[host..].find('/').map_or(start.len(), |at| host + at);
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}/{name}{query}", &start[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_another_database() {
        assert_eq!(
            with_database("postgres://a:b@h:1/x?sslmode=disable", "y"),
            "postgres://a:b@h:1/y?sslmode=disable"
        );
        assert_eq!(with_database("postgres://h", "y"), "postgres://h/y");
        assert_eq!(with_database("postgres:///x?host=/tmp/a", "y"), "postgres:///y?host=/tmp/a");
    }

    #[test]
    fn each_test_has_a_database_of_its_own() {
        let (one, other) = (Database::new(), Database::new());
        one.sql("CREATE TABLE here (x INT)");
        assert_eq!(one.sql("SELECT count(*) FROM here"), "0");
        assert_eq!(other.sql("SELECT count(*) FROM pg_tables WHERE tablename = 'here'"), "0");
    }
}
