//! Agents of files, by themselves.

use std::sync::Arc;

use rehearsal_agent::AgentRef;
use rehearsal_sim::StandIn;
use rehearsal_world::environment::LocalProvider;

use super::{Backstage, CompileError, Compiled};
use crate::{AgentFile, Dialect, Reached, Scenario, check};

/// A scenario around an agent that is wanted by itself: it only has to talk.
const STAGE: &str = "name: agent\ndescription: An agent by itself\nenvironment: {type: local}\nagent: {instructions: x}\n\
    run: [{input: hi, evaluations: []}]\njudgment: {strategy: all_pass}\n";

/// The scenario around an agent that is wanted by itself.
pub(crate) fn stage() -> Option<Scenario> {
    check(STAGE, Dialect::Rehearsal).scenario
}

/// Makes the agent of a file, without any scenario, and who plays its tools: the mocks of the file, and nobody else.
///
/// # Errors
/// Why it cannot be made: a model that is not named or cannot be built, an agent that is a command or whose server has
/// to be started, which only scenarios do.
pub fn compile_agent(
    file: &AgentFile,
    backstage: Backstage,
) -> Result<(AgentRef, Arc<dyn StandIn>), CompileError> {
    if matches!(file.agent.reached, Reached::Command(_)) {
        return Err(CompileError::CommandByItself);
    }
    if file.world.is_some() {
        return Err(CompileError::WorldByItself);
    }
    let stage = stage().ok_or(CompileError::NoStage)?.with_agent(file);
    if stage.server().is_some() {
        return Err(CompileError::ServerByItself);
    }
    let compiled = Compiled::new(Arc::new(stage), backstage, Arc::new(LocalProvider))?;
    Ok((compiled.agent(0, None)?, Arc::new(compiled.mocks(None, None)?.by_themselves())))
}
