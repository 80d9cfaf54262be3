//! What is shown while scenarios run.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rehearsal_core::{CaseResult, Verdict};

use super::journal::Counts;
use crate::output;

/// How many runs are shown by themselves; a screen has only so many lines.
const MAX_SHOWN: usize = 12;

/// Shows how far a run of scenarios is: lines that change on a terminal, plain lines elsewhere, or nothing.
#[derive(Clone)]
pub(super) enum Progress {
    Quiet,
    Plain,
    Live(Arc<Live>),
}

pub(super) struct Live {
    all: MultiProgress,
    total: ProgressBar,
    running: Mutex<BTreeMap<(usize, u32), ProgressBar>>,
}

impl Progress {
    pub(super) fn new(quiet: bool, total: u64) -> Self {
        if quiet {
            return Self::Quiet;
        }
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        if in_ci || !std::io::stderr().is_terminal() {
            return Self::Plain;
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        let bar = all.add(ProgressBar::new(total));
        bar.set_style(style("{pos}/{len} {wide_bar} {elapsed}"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Live(Arc::new(Live { all, total: bar, running: Mutex::default() }))
    }

    pub(super) fn started(&self, key: (usize, u32), name: &str) {
        match self {
            Self::Quiet => {}
            Self::Plain => output::message(&format!("start   {name}{}", nth(key.1))),
            Self::Live(live) => {
                let mut running = live.running.lock().unwrap_or_else(PoisonError::into_inner);
                if running.len() < MAX_SHOWN {
                    let bar = live.all.insert_before(&live.total, ProgressBar::new_spinner());
                    bar.set_style(style("{spinner} {prefix}  {elapsed}  {msg}"));
                    bar.set_prefix(format!("{name}{}", nth(key.1)));
                    bar.enable_steady_tick(Duration::from_millis(200));
                    running.insert(key, bar);
                }
            }
        }
    }

    pub(super) fn counted(&self, key: (usize, u32), counts: Counts) {
        if let Self::Live(live) = self
            && let Some(bar) = live.running.lock().unwrap_or_else(PoisonError::into_inner).get(&key)
        {
            bar.set_message(described(counts.turns, counts.tokens));
        }
    }

    pub(super) fn finished(&self, key: (usize, u32), result: &CaseResult) {
        match self {
            Self::Quiet => {}
            Self::Plain => {
                let tokens = tokens(result);
                let (name, nth, verdict) = (&result.name, nth(key.1), word(result.status));
                let took = seconds(result.duration_ms);
                output::message(&format!(
                    "{verdict:<7} {name}{nth}  {took}  {}",
                    described(result.turns + 1, tokens)
                ));
            }
            Self::Live(live) => {
                let bar = live.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
                if let Some(bar) = bar {
                    bar.finish_and_clear();
                }
                live.total.inc(1);
            }
        }
    }

    /// Takes away what changes, so that what is printed next stands by itself.
    pub(super) fn close(&self) {
        if let Self::Live(live) = self {
            live.total.finish_and_clear();
            drop(live.all.clear());
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn nth(repeat: u32) -> String {
    if repeat == 0 { String::new() } else { format!(" #{}", repeat + 1) }
}

fn described(turns: u64, tokens: u64) -> String {
    let turns = if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
    if tokens == 0 { turns } else { format!("{turns}  {tokens} tokens") }
}

/// All tokens of a run, read and written, as far as providers said.
pub(super) fn tokens(result: &CaseResult) -> u64 {
    let usage = result.token_usage;
    let parts = [usage.agent, usage.user, usage.judge];
    parts
        .into_iter()
        .flatten()
        .fold(0, |sum: u64, usage| sum.saturating_add(usage.input).saturating_add(usage.output))
}

pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "passed",
        Verdict::Failed => "FAILED",
        Verdict::Error => "ERROR",
        Verdict::Terminated => "STOPPED",
        Verdict::Unjudged => "UNJUDGED",
    }
}

pub(super) fn seconds(millis: u64) -> String {
    if millis < 1000 {
        format!("{millis} ms")
    } else {
        format!("{}.{} s", millis / 1000, millis % 1000 / 100)
    }
}
