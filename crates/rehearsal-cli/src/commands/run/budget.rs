//! What a run may use: calls at once.

use clap::Args;
use rehearsal::scenario_models::ModelBuilder;

use crate::project;

/// What a run may use.
#[derive(Debug, Args)]
pub(crate) struct BudgetOptions {
    /// How many calls each model is asked at once, at most; what its provider takes is found out [default: 1024]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Limits")]
    max_calls: Option<u32>,
}

impl BudgetOptions {
    /// Builds the models of the run.
    pub(super) fn models(&self) -> ModelBuilder {
        let most = self.max_calls.map(|most| most as usize).or_else(project::max_calls);
        most.map_or_else(ModelBuilder::default, ModelBuilder::with_calls)
    }
}
