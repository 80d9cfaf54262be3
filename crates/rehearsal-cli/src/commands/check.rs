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
    if let Some(message) = outcome.nothing_chosen() {
        output::message(&format!("error: {message}"));
        return exit::bad_input();
    }
    let (usable, unusable) = (outcome.usable.len(), outcome.unusable);
    let mut parts = vec![format!("{usable} can be used")];
    if unusable > 0 {
        parts.push(format!("{unusable} cannot"));
    }
    match outcome.warnings {
        0 => {}
        1 => parts.push("1 warning".to_owned()),
        many => parts.push(format!("{many} warnings")),
    }
    let plural = if usable + unusable == 1 { "" } else { "s" };
    output::data(&format!("{} file{plural}: {}", usable + unusable, parts.join(", ")));
    if unusable == 0 { exit::PASSED } else { exit::bad_input() }
}
