//! `rehearse check`.

use std::process::ExitCode;

use clap::Args;

use crate::load::{Completeness, Selection};
use crate::{exit, output};

/// Check scenario files without running them.
///
/// Shows every problem of every file: the place, the line with the place marked, and what would be right. Keys that
/// have no effect are errors, because a setting that is accepted but not acted on would be a silent pass.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    let Some(outcome) = args.selection.load(Completeness::AsWritten) else { return exit::bad_input() };
    let (usable, unusable, warnings) = (outcome.usable.len(), outcome.unusable, outcome.warnings);
    output::data(&format!("{usable} usable, {unusable} not, {warnings} warnings"));
    if unusable == 0 { exit::PASSED } else { exit::bad_input() }
}
