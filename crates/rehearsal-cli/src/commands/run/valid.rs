//! Runs that count: each case is run until so many of its runs say something about the agent.

use clap::Args;

/// So many times the runs that are wanted may be tried, where nothing else is said.
const TRIES: u32 = 3;

/// How many runs are to count.
#[derive(Debug, Default, Args)]
pub(crate) struct ValidArgs {
    /// Run each case until so many of its runs are valid: one that did not pass by the doing of the simulated user, a
    /// mock, the judge, the machine or a budget is followed by another
    #[arg(
        long,
        value_name = "K",
        value_parser = clap::value_parser!(u32).range(1..=100_000),
        conflicts_with_all = ["repeat", "case_seed"],
        help_heading = "Running"
    )]
    valid: Option<u32>,
    /// With `--valid`, run a case no more often than this [default: 3 times K]
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
        requires = "valid",
        help_heading = "Running"
    )]
    valid_tries: Option<u32>,
}

impl ValidArgs {
    /// How many valid runs of each case are wanted.
    pub(super) fn runs(&self) -> Option<u32> {
        self.valid
    }

    /// How often a case is run at most.
    pub(super) fn tries(&self) -> Option<u32> {
        let valid = self.valid?;
        Some(self.valid_tries.unwrap_or_else(|| valid.saturating_mul(TRIES)).max(valid))
    }
}
