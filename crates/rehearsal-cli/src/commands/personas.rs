//! `rehearse personas`.

use clap::Args;
use rehearsal_core::json;
use rehearsal_scenario::personas;
use serde_json::json;

use crate::output;

/// List the personas for simulated users.
///
/// A persona says who a simulated user is and how they speak and feel, so that an agent meets more people than its author.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  rehearse personas

  Then, in a conversation of a scenario file:
    user_simulator: {persona: {named: impatient}, objective: get a refund for order 7}")]
pub(crate) struct PersonasArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &PersonasArgs) {
    if args.json {
        let all = personas().iter().map(|persona| {
            json!({
                "name": persona.name,
                "persona": persona.persona,
                "style": persona.style,
                "emotional_state": persona.emotional_state,
                "knowledge_level": persona.knowledge_level.word(),
                "constraints": persona.constraints,
            })
        });
        output::json(&json::text(&all.collect()));
        return;
    }
    let width = personas().iter().map(|persona| persona.name.len()).max().unwrap_or_default();
    let lines = personas().iter().map(|persona| format!("{:width$}  {}", persona.name, persona.persona));
    output::data(&lines.collect::<Vec<_>>().join("\n"));
}
