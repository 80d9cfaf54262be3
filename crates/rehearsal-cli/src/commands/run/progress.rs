//! What is shown while scenarios run.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{IsTerminal, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use rehearsal_core::Verdict;
use rehearsal_run::{CallsNow, CaseKey, Counts};
use rehearsal_sim::CaseRun;
use rehearsal_store::RunWish;

use super::calls;
use crate::output;
use crate::signals::Signal;

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
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: BTreeMap<CaseKey, (String, ProgressBar)>,
    not_passed: u64,
    waiting: u64,
}

/// A person is waited for as long as there is this.
pub(super) struct Waiting(Progress);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Progress::Live(live) = &self.0 {
            let mut state = live.state();
            state.waiting -= 1;
            live.describe(&state);
        }
    }
}

impl Live {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self, state: &State) {
        let not_passed = match state.not_passed {
            0 => String::new(),
            count => format!(", {count} did not pass"),
        };
        let waiting = match state.waiting {
            0 => String::new(),
            1 => ", 1 waits for a person".to_owned(),
            many => format!(", {many} wait for a person"),
        };
        self.total.set_message(not_passed + &waiting);
    }
}

impl Progress {
    pub(super) fn new(quiet: bool, total: u64, calls: CallsNow) -> Self {
        if quiet {
            return Self::Quiet;
        }
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if in_ci || dumb || !std::io::stderr().is_terminal() {
            return Self::Plain;
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        let bar = all.add(ProgressBar::new(total));
        let calls_now = move |_: &ProgressState, to: &mut dyn fmt::Write| {
            let _ = write!(to, "{}", calls::now(&calls()));
        };
        bar.set_style(style("  {elapsed:>4}  {pos} of {len} done{msg}{calls}").with_key("calls", calls_now));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self::Live(Arc::new(Live { all, total: bar, state: Mutex::default() }))
    }

    pub(super) fn started(&self, key: CaseKey, name: &str) {
        let name = format!("{}{}", output::one_line(name), nth(key.1));
        match self {
            Self::Quiet => {}
            Self::Plain => output::message(&format!("{:<8} {name}", "start")),
            Self::Live(live) => {
                let mut state = live.state();
                if state.running.len() < MAX_SHOWN {
                    let bar = live.all.insert_before(&live.total, ProgressBar::new_spinner());
                    bar.set_style(style("{spinner} {elapsed:>4}  {wide_msg}"));
                    bar.set_message(name.clone());
                    bar.enable_steady_tick(Duration::from_millis(200));
                    state.running.insert(key, (name, bar));
                }
            }
        }
    }

    pub(super) fn counted(&self, key: CaseKey, counts: Counts) {
        if let Self::Live(live) = self
            && let Some((name, bar)) = live.state().running.get(&key)
        {
            bar.set_message(format!("{name}{}", described(counts)));
        }
    }

    pub(super) fn finished(&self, key: CaseKey, run: &CaseRun) {
        let result = &run.result;
        match self {
            Self::Quiet => {}
            Self::Plain => {
                let (name, nth, verdict) = (output::one_line(&result.name), nth(key.1), word(result.status));
                let (took, counts) = (seconds(result.duration_ms), described(Counts::of(run)));
                output::message(&format!("{verdict:<8} {name}{nth}  {took}{counts}"));
            }
            Self::Live(live) => {
                let mut state = live.state();
                if let Some((_, bar)) = state.running.remove(&key) {
                    bar.finish_and_clear();
                }
                if result.status != Verdict::Passed {
                    state.not_passed += 1;
                    live.describe(&state);
                }
                live.total.inc(1);
            }
        }
    }

    /// Counts a case that ended before the run went on.
    pub(super) fn known(&self, verdict: Verdict) {
        if let Self::Live(live) = self {
            let mut state = live.state();
            if verdict != Verdict::Passed {
                state.not_passed += 1;
                live.describe(&state);
            }
            live.total.inc(1);
        }
    }

    /// Writes something while what changes is taken away.
    pub(super) fn beside(&self, write: impl FnOnce()) {
        match self {
            Self::Live(live) => live.all.suspend(write),
            Self::Quiet | Self::Plain => write(),
        }
    }

    /// Says something that people have to know now.
    pub(super) fn say(&self, text: &str) {
        match self {
            Self::Live(live) => drop(live.all.println(output::visible(text))),
            Self::Quiet | Self::Plain => output::message(text),
        }
    }

    /// Shows that a person is waited for.
    pub(super) fn waiting(&self, name: &str, what: &str) -> Waiting {
        match self {
            Self::Quiet => {}
            Self::Plain => {
                let (name, what) = (output::one_line(name), output::one_line(what));
                output::message(&format!("{:<8} {name}  for a person who plays {what}", "waits"));
            }
            Self::Live(live) => {
                let mut state = live.state();
                state.waiting += 1;
                live.describe(&state);
            }
        }
        Waiting(self.clone())
    }

    /// Says that somebody wants it to end.
    pub(super) fn interrupted(&self, signal: Signal) {
        const WORDS: &str = "interrupted: ending what runs; once more ends at once";
        match self {
            Self::Live(live) => {
                if signal == Signal::Interrupt {
                    // The cursor waits at the right edge, so the terminal's `^C` has gone to a line of its own, which
                    // those that change do not know of.
                    drop(write!(std::io::stderr(), "\r\x1b[2K\x1b[1A"));
                }
                live.total.set_message(format!("  {WORDS}"));
            }
            Self::Quiet | Self::Plain => output::message(WORDS),
        }
    }

    /// Says what somebody elsewhere wants.
    pub(super) fn wished(&self, wish: Option<RunWish>) {
        self.say(match wish {
            Some(RunWish::Hold) => "held: no further case starts until somebody lets it go on",
            Some(RunWish::Stop) => "stopped from elsewhere: ending what runs",
            None => "goes on",
        });
    }

    /// Takes away what changes, so that what is printed next stands by itself.
    pub(super) fn close(&self) {
        if let Self::Live(live) = self {
            for (_, bar) in std::mem::take(&mut live.state().running).into_values() {
                bar.finish_and_clear();
            }
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

/// What a run did, behind its name; nothing for what there was none of.
fn described(counts: Counts) -> String {
    let part = |count: u64, what: &str| match count {
        0 => String::new(),
        1 => format!("  1 {what}"),
        many => format!("  {many} {what}s"),
    };
    part(counts.turns, "turn") + &part(counts.tokens, "token")
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
