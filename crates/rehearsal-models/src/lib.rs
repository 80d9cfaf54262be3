//! Who can play the model: providers, script, recording
mod script;
pub use script::{Reply, Rule, ScriptedModel};
