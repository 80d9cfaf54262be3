//! The step that holds the server to its own description.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::counts::Counts;
use super::stage::Stage;
use crate::child;
use crate::failure::Failure;
use crate::kept::{FOLDER, Kept, UNTIL_THE_END};
use crate::setup::ADK;

/// What is asked, what is checked, and what there is to ask about.
const QUESTIONS: &str = "tests/api";

/// A scenario whose run is there to ask about.
const SCENARIO: &str = "examples/scenarios/01-hello.scenario.yaml";

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

/// Asks for everything the description allows and much that it does not.
pub(super) fn check(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let questions = stage.folder(QUESTIONS, "schemathesis.toml")?;
    let server = Server::start(stage)?;
    let mut schemathesis = stage.program(&ADK, "schemathesis");
    schemathesis.current_dir(&server.folder).arg("--config-file").arg(questions.join("schemathesis.toml"));
    schemathesis.args(["run", "--no-color"]).arg(format!("{}/openapi.json", server.url));
    schemathesis.env("SCHEMATHESIS_HOOKS", questions.join("hooks.py"));
    schemathesis.env("REHEARSAL_URL", &server.url).env("REHEARSAL_TOKEN", &server.token);
    let passed = child::run(&mut schemathesis)?.success();
    if !passed {
        println!("{}", server.log());
    }
    Ok(Counts::of_check(passed))
}

/// A server in a folder of its own, which stops when this is dropped.
#[derive(Debug)]
struct Server {
    url: String,
    token: String,
    folder: PathBuf,
    _kept: Kept,
}

impl Server {
    fn start(stage: &Stage<'_>) -> Result<Self, Failure> {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{FOLDER}{SERVER}{UNTIL_THE_END}"), "sh"]).arg(stage.binary()?);
        shell.arg(stage.workspace.root.join(SCENARIO));
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

    /// The last of what the server logged.
    fn log(&self) -> String {
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
