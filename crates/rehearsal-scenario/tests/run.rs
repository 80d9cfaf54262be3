//! What happens when a scenario is run: from the text of its file to its result and its ledgers.
//!
//! Scenarios with JavaScript are run through the command, in its own tests: it is the process that evaluates.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "run/agents.rs"]
mod agents;
#[path = "run/chances.rs"]
mod chances;
#[path = "run/conversations.rs"]
mod conversations;
#[path = "run/endings.rs"]
mod endings;
#[path = "run/fits.rs"]
mod fits;
#[path = "run/folders.rs"]
mod folders;
#[path = "run/mocks.rs"]
mod mocks;
#[path = "run/people.rs"]
mod people;
#[path = "run/prop.rs"]
mod prop;
#[path = "run/real_tools.rs"]
mod real_tools;
#[path = "run/references.rs"]
mod references;
#[path = "run/rules.rs"]
mod rules;
#[path = "run/simulators.rs"]
mod simulators;
#[path = "run/speakers.rs"]
mod speakers;
#[path = "run/stage.rs"]
mod stage;
#[path = "run/steps.rs"]
mod steps;
#[path = "run/users.rs"]
mod users;
