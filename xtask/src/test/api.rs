//! The step that holds the server to its own description.

use super::counts::Counts;
use super::stage::Stage;
use crate::child;
use crate::failure::Failure;
use crate::server::Server;
use crate::setup::ADK;

/// What is asked, what is checked, and what there is to ask about.
const QUESTIONS: &str = "tests/api";

/// A scenario whose run is there to ask about.
const SCENARIO: &str = "examples/scenarios/01-hello.scenario.yaml";

/// Asks for everything the description allows and much that it does not.
pub(super) fn check(stage: &Stage<'_>) -> Result<Counts, Failure> {
    let questions = stage.folder(QUESTIONS, "schemathesis.toml")?;
    let server = Server::start(stage.binary()?, &stage.workspace.root.join(SCENARIO), None)?;
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
