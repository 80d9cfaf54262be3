//! Sharding: which part of a run this is, where others run the rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use rehearsal_core::Shard;
use rehearsal_run::{Split, title_of_part};
use rehearsal_sim::turns_of;
use rehearsal_store::Recipe;

use crate::error::CommandError;
use crate::{files, output, words};

/// What the machine is called on which a part runs.
const MACHINE: &str = "REHEARSE_NODE";
/// Which try of its part it is.
const ATTEMPT: &str = "REHEARSE_ATTEMPT";

/// Which part of a run is run.
#[derive(Debug, Args)]
pub(crate) struct Sharding {
    /// Run one part of a run, such as `2/5` for the second of five; `rehearse merge` joins all parts into one run
    #[arg(long, value_name = "I/N", env = "REHEARSE_SHARD", help_heading = "Running")]
    shard: Option<Shard>,
    /// Take the parts from a plan that `rehearse plan` wrote, so that they take about as long
    #[arg(long, value_name = "FILE", requires = "shard", help_heading = "Running")]
    plan: Option<PathBuf>,
}

/// A part of a run.
#[derive(Clone, Debug)]
pub(super) struct Share {
    pub(super) shard: Shard,
    /// Its runs of cases, by their places among all runs.
    pub(super) turns: Arc<[usize]>,
    /// Stands for the plan that says so.
    plan: Option<String>,
    machine: Option<String>,
    attempt: Option<u32>,
}

impl Sharding {
    /// The run is this part of one, whatever was said here, or none.
    pub(super) fn set(&mut self, shard: Option<Shard>) {
        self.shard = shard;
    }

    /// Which part of a run this is, where it is one.
    pub(super) fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// What this part has of cases with these names, each run so often; nothing where all of them are run here.
    pub(super) fn share(&self, names: &[Arc<str>], repeat: u32) -> Result<Option<Share>, CommandError> {
        let Some(shard) = self.shard else { return Ok(None) };
        let (turns, plan) = match &self.plan {
            None => (turns_of(shard, names.iter().map(|name| &**name), repeat), None),
            Some(path) => {
                let (turns, digest) = planned(path, shard, names, repeat)?;
                (turns, Some(digest))
            }
        };
        let (machine, attempt) = (machine(), attempt()?);
        Ok(Some(Share { shard, turns: turns.into(), plan, machine, attempt }))
    }
}

impl Share {
    /// Notes in what a run is made from that it is this part of it.
    pub(super) fn note(&self, recipe: &mut Recipe) {
        recipe.shard = Some(self.shard);
        recipe.plan.clone_from(&self.plan);
        recipe.machine.clone_from(&self.machine);
        recipe.attempt = self.attempt;
        // Whoever goes on with it may have another variable, or none.
        let is_said = |word: &words::Word| word.option.as_deref() == Some("shard");
        if !recipe.arguments.is_empty() && !words::of(&recipe.arguments).iter().any(is_said) {
            let words = ["--shard".to_owned(), self.shard.to_string()];
            recipe.arguments.splice(1..1, words);
        }
    }

    /// What the run is called in lists that is this part of one with this title.
    pub(super) fn title(&self, title: &str) -> String {
        title_of_part(title, self.shard)
    }

    /// What to say where the part has nothing to do.
    pub(super) fn nothing(&self) -> Option<String> {
        let shard = self.shard;
        self.turns.is_empty().then(|| format!("part {shard} has no case: there is nothing to run"))
    }
}

/// What a part has by a plan, and what stands for that plan.
fn planned(
    path: &Path,
    shard: Shard,
    names: &[Arc<str>],
    repeat: u32,
) -> Result<(Vec<usize>, String), CommandError> {
    let again = format!(
        "`rehearse plan RUN --shards {} -o {}` writes it from an earlier run",
        shard.of,
        path.display()
    );
    let refused = |why: &dyn std::fmt::Display| {
        CommandError::user(why).about(format_args!("the plan `{}`", path.display())).hint(&again)
    };
    if !path.exists() {
        return Err(refused(&"there is no such file"));
    }
    let split = Split::read(&files::read(path)?).map_err(|error| refused(&error))?;
    let turns = split.turns(shard, names, repeat).map_err(|error| refused(&error))?;
    if turns.new > 0 || turns.gone > 0 {
        output::warning(
            format_args!(
                "the plan `{}` is older than the cases: {} are not in it and go by their hash, {} are no longer there",
                path.display(),
                turns.new,
                turns.gone
            ),
            format_args!("{again}\n"),
        );
    }
    Ok((turns.orders, split.digest()))
}

/// What this machine is called.
fn machine() -> Option<String> {
    let said = std::env::var(MACHINE).ok();
    let named = || fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = said.or_else(named)?.trim().chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    (!name.is_empty()).then_some(name)
}

/// Which try of its part this is.
fn attempt() -> Result<Option<u32>, CommandError> {
    let Some(said) = std::env::var_os(ATTEMPT) else { return Ok(None) };
    let number = said.to_str().and_then(|said| said.parse::<u32>().ok()).filter(|number| *number > 0);
    let wrong = || {
        let said = said.to_string_lossy();
        CommandError::user(format_args!("`{ATTEMPT}` is `{said}`, which is no number from 1")).hint(
            format_args!("it says which try of a part this is; `unset {ATTEMPT}` where nobody counts them"),
        )
    };
    number.map(Some).ok_or_else(wrong)
}
