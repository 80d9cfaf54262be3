//! Agents of files, by themselves.

use std::sync::Arc;

use rehearsal_agent::AgentRef;

use super::{Backstage, Compiled};
use crate::{AgentFile, Dialect, Reached, check};

/// A scenario around an agent that is wanted by itself: it only has to talk.
const STAGE: &str = "name: agent\ndescription: An agent by itself\nenvironment: {type: local}\nagent: {instructions: x}\n\
    run: [{input: hi, evaluations: []}]\njudgment: {strategy: all_pass}\n";

/// Makes the agent of a file, without any scenario.
///
/// # Errors
/// Why it cannot be made: a model that is not named or cannot be built, an agent that is a command or whose server has
/// to be started, which only scenarios do.
pub fn compile_agent(file: &AgentFile, backstage: Backstage) -> Result<AgentRef, String> {
    if matches!(file.agent.reached, Reached::Command(_)) {
        let instead = "write the agent inline, or reach it by `chat` or `http`";
        return Err(format!("an agent that is a `command` runs only in scenarios\n\nhint: {instead}"));
    }
    let stage = check(STAGE, Dialect::Rehearsal).scenario;
    let stage = stage.ok_or_else(|| "an agent needs a scenario around it".to_owned())?.with_agent(file);
    if stage.server().is_some() {
        let instead = "start it yourself and name its address";
        return Err(format!("a server is started only for scenarios\n\nhint: {instead}"));
    }
    let compiled = Compiled::new(Arc::new(stage), backstage)?;
    compiled.agent(0)
}
