//! `rehearse check`.

use clap::Args;

use crate::error::CommandError;
use crate::load::{Completeness, Selection};
use crate::output;

/// Check scenario files without running them.
///
/// Shows every problem of every file: the place, the line with the place marked, and what would be right. Keys that
/// have no effect are errors, because a setting that is accepted but not acted on would be a silent pass.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    selection: Selection,
}

pub(crate) fn run(args: &CheckArgs) -> Result<(), CommandError> {
    let outcome = args.selection.load(Completeness::AsWritten)?;
    outcome.refuse_nothing_chosen()?;
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
    if unusable == 0 { Ok(()) } else { Err(CommandError::shown()) }
}
