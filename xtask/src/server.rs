//! A server of ours, for checks of what it answers.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::Failure;
use crate::kept::{FOLDER, Kept, UNTIL_THE_END};

/// Keeps a run of the scenario `$2` in the new folder, starts the server `$1` there, and says which folder it is.
const SERVER: &str = r#"
cd "$dir"
echo "$dir"
"$1" run "$2" </dev/null >"$dir/log" 2>&1 || exit 1
"$1" serve --port 0 </dev/null 2>>"$dir/log" &
pid=$!
# The pipe is the server's alone: it closes when the server ends.
exec >/dev/null
"#;

/// A server in a folder of its own, which stops when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) token: String,
    pub(crate) folder: PathBuf,
    _kept: Kept,
}

impl Server {
    /// Runs a scenario with the program, and serves what came of it. `path` is where the program finds others.
    pub(crate) fn start(program: &Path, scenario: &Path, path: Option<&Path>) -> Result<Self, Failure> {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{FOLDER}{SERVER}{UNTIL_THE_END}"), "sh"]).arg(program).arg(scenario);
        if let Some(path) = path {
            shell.env("PATH", path);
        }
        let mut kept = Kept::start(shell)?;
        let folder = PathBuf::from(kept.line().unwrap_or_default());
        let mut said = String::new();
        let url = loop {
            let Some(line) = kept.line() else {
                said += &fs::read_to_string(folder.join("log")).unwrap_or_default();
                return Err(Failure::new(format!(
                    "the server ended before it had an address\n{}",
                    said.trim()
                )));
            };
            match address(&line) {
                Some(url) => break url,
                None => said = said + &line + "\n",
            }
        };
        let token = folder.join(".rehearsal/token");
        let token = fs::read_to_string(&token)
            .map_err(|error| Failure::new(format!("cannot read `{}`: {error}", token.display())))?;
        Ok(Self { url, token: token.trim().to_owned(), folder, _kept: kept })
    }

    /// What the server answers to whoever shows this token, if any: the status and all that follows.
    pub(crate) fn get(&self, path: &str, token: Option<&str>) -> Result<(u16, String), Failure> {
        let host = self.url.trim_start_matches("http://");
        let lost = |error: std::io::Error| Failure::new(format!("GET {}{path}: {error}", self.url));
        let mut stream = TcpStream::connect(host).map_err(lost)?;
        stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(lost)?;
        let shown = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n{shown}Connection: close\r\n\r\n")
            .map_err(lost)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(lost)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        status
            .map(|status| (status, answer))
            .ok_or_else(|| Failure::new(format!("GET {}{path}: that is not HTTP", self.url)))
    }

    /// The last of what the server logged.
    pub(crate) fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(50)..].join("\n")
    }
}

/// The address in `Rehearsal listens on http://127.0.0.1:4200/?token=…`.
fn address(line: &str) -> Option<String> {
    let (_, address) = line.split_once("http://")?;
    let end = address.find(|each: char| !(each.is_ascii_alphanumeric() || ".:-[]".contains(each)));
    let address = &address[..end.unwrap_or(address.len())];
    Some(format!("http://{}", address.trim_end_matches(['.', ':'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_what_the_server_says() {
        let url = |line| address(line).unwrap_or_default();
        assert_eq!(url("Rehearsal listens on http://127.0.0.1:4200/?token=abc"), "http://127.0.0.1:4200");
        assert_eq!(url("Rehearsal listens on http://127.0.0.1:4200."), "http://127.0.0.1:4200");
        assert_eq!(address("gRPC without a token on 127.0.0.1:4201"), None);
    }
}
