//! `rehearse gc`.

use std::time::Duration;

use clap::Args;
use rehearsal_core::{Clock as _, SystemClock};
use rehearsal_store::{GcPolicy, RUN_GONE_AFTER};

use crate::error::CommandError;
use crate::place::Place;
use crate::times::age;
use crate::{output, shelf};

/// Remove old runs and sessions from the store.
///
/// Removes runs with their sessions, and sessions that belong to no run, by age or by count. What still goes on stays, and
/// so does what waits for a person. The disk space of a `SQLite` file is given back; servers may use it meanwhile.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse gc --older-than 30d --dry-run
  rehearse gc --older-than 30d
  rehearse gc --older-than 30d --unfinished
  rehearse gc --keep 100

Exit codes: 0 it was done; 2 the input is wrong, or the store cannot be used.")]
#[group(id = "which", required = true, multiple = true, args = ["older_than", "keep"])]
pub(crate) struct GcArgs {
    /// Remove what ended longer ago, such as `30d`, `12h` or `2w`
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Keep only so many of the newest runs, and so many of the newest sessions that belong to no run
    #[arg(long, value_name = "N")]
    keep: Option<u32>,
    /// Also remove what never ended: sessions still active in which nothing has happened for that long
    ///
    /// Sessions of programs that went away stay active until somebody completes or cancels them. What waits for an
    /// answer stays, if whoever asked is there.
    #[arg(long, requires = "older_than")]
    unfinished: bool,
    /// Remove nothing; only say how much would go
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &GcArgs) -> Result<(), CommandError> {
    output::data(&shelf::block_on(collect(args))?);
    Ok(())
}

async fn collect(args: &GcArgs) -> Result<String, CommandError> {
    let store = args.place.open_kept().await?;
    let now = SystemClock.now().as_millisecond();
    let ago = |age: Duration| now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    let before = args.older_than.map(ago);
    if !args.dry_run {
        // A run that was killed did not say so.
        store.interrupt_runs(ago(RUN_GONE_AFTER), now).await.map_err(CommandError::setup)?;
    }
    let policy = GcPolicy { before, keep: args.keep, unfinished: args.unfinished, dry_run: args.dry_run };
    let (runs, sessions) = store.gc(policy).await.map_err(CommandError::setup)?;
    let counted = |count: u64, what: &str| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{count} {what}{plural}")
    };
    let what = format!("{} and {}", counted(runs, "run"), counted(sessions, "session"));
    if args.dry_run {
        return Ok(format!("would remove {what}"));
    }
    let freed = match rehearsal_store::give_back(&args.place.text()).await {
        Ok(bytes) => size(bytes).map(|size| format!(", {size} freed")).unwrap_or_default(),
        Err(why) => {
            output::warning(
                format_args!("the disk space of what was removed could not be given back: {why}"),
                "call it again when nobody else writes; it takes as much space for a while as what is kept",
            );
            String::new()
        }
    };
    Ok(format!("removed {what}{freed}"))
}

/// A size as people say it; nothing where it is not worth a word.
fn size(bytes: u64) -> Option<String> {
    let tenths = (bytes * 10) >> 20;
    (tenths >= 10).then(|| format!("{}.{} MiB", tenths / 10, tenths % 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_from_a_mebibyte_on() {
        let told = [0, (1 << 20) - 1, 1 << 20, (5 << 20) / 2, 3 << 30].map(size);
        let text = |size: &str| Some(size.to_owned());
        assert_eq!(told, [None, None, text("1.0 MiB"), text("2.5 MiB"), text("3072.0 MiB")]);
    }
}
