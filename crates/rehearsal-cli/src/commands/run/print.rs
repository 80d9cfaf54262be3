//! What is printed when scenarios have run.

use std::fmt::Write as _;

use rehearsal_core::{Ledger, MetricStatus, RepeatStatistics, Summary, Verdict, transcript};
use rehearsal_scenario::{EvaluationResult, ScenarioResult, StepResult, StepStatus};

use super::progress::{seconds, word};

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Detail {
    /// Only what did not pass, and the counts.
    Quiet,
    /// A line for what passed, everything for what did not.
    Normal,
    /// Everything.
    Verbose,
}

/// How results are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printer {
    pub(crate) detail: Detail,
    pub(crate) colour: bool,
}

/// How much of a message of the transcript is shown unless everything is.
const LINE_LENGTH: usize = 300;

impl Printer {
    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn verdict(self, verdict: Verdict) -> String {
        let code = match verdict {
            Verdict::Passed => "32",
            Verdict::Unjudged | Verdict::Terminated => "33",
            Verdict::Failed | Verdict::Error => "31",
        };
        self.paint(code, &format!("{:<8}", word(verdict)))
    }

    /// A scenario and what it came to.
    pub(crate) fn scenario(self, result: &ScenarioResult, main: &Ledger, again: &str) -> String {
        let passed = result.verdict == Verdict::Passed;
        if passed && self.detail == Detail::Quiet {
            return String::new();
        }
        let mut text = String::new();
        let repeat = if result.repeat == 0 { String::new() } else { format!(" #{}", result.repeat + 1) };
        let took = seconds(result.duration_ms);
        let _ = writeln!(
            text,
            "{} {}{repeat}  {}",
            self.verdict(result.verdict),
            self.paint("1", &result.name),
            self.paint("2", &took)
        );
        let whole = !passed || self.detail == Detail::Verbose;
        if whole {
            let _ = writeln!(text, "         {}", result.file);
        }
        for step in &result.steps {
            self.step(&mut text, step, whole);
        }
        if let Some(error) = &result.error {
            let _ = writeln!(
                text,
                "         {} ({}): {}",
                self.paint("31", "error"),
                error.phase,
                indented(&error.message, 11)
            );
        }
        if let Some(limit) = &result.terminated_by
            && result.verdict == Verdict::Terminated
        {
            let _ = writeln!(text, "         stopped: {limit}");
        }
        if result.verdict == Verdict::Unjudged {
            let _ = writeln!(text, "         nothing was asked of it: add `evaluations` to a step");
        }
        if whole && !result.mocks.unused.is_empty() {
            let _ =
                writeln!(text, "         mocks that answered nothing: {}", result.mocks.unused.join(", "));
        }
        if self.detail == Detail::Verbose {
            for answer in &result.mocks.answered {
                let failed = if answer.failed { ", with an error" } else { "" };
                let _ = writeln!(
                    text,
                    "         #{} {} was answered by {}{failed}",
                    answer.event, answer.tool, answer.by
                );
            }
        }
        if whole {
            self.transcript(&mut text, main, &pointed_at(result));
        }
        if !passed {
            let _ = writeln!(text, "         {} {again}", self.paint("2", "again:"));
        }
        text
    }

    fn step(self, text: &mut String, step: &StepResult, whole: bool) {
        let name = step
            .name
            .as_ref()
            .map_or_else(|| format!("step {}", step.step), |name| format!("step {}: {name}", step.step));
        let evaluations = || {
            let conversation = step.conversation.iter();
            let turns =
                conversation.clone().flat_map(|talk| &talk.turns).flat_map(|turn| &turn.turn_evaluations);
            turns.chain(conversation.flat_map(|talk| &talk.final_evaluations)).chain(&step.evaluations)
        };
        if whole {
            let state = match step.status {
                StepStatus::Passed => self.paint("32", "passed"),
                StepStatus::Failed => self.paint("31", "failed"),
                StepStatus::Errored => self.paint("31", "did not come to its end"),
                StepStatus::Skipped => self.paint("33", step.note.as_deref().unwrap_or("skipped")),
                StepStatus::Unjudged => self.paint("33", "has no evaluations"),
            };
            let _ = writeln!(text, "         {name}: {state}");
            for evaluation in evaluations() {
                if !evaluation.success || self.detail == Detail::Verbose {
                    self.evaluation(text, evaluation);
                }
            }
        } else if step.status == StepStatus::Unjudged {
            let _ = writeln!(text, "         {name} has no evaluations");
        }
        if let Some(talk) = &step.conversation {
            let turns = talk.turns.len();
            let why = match (&talk.termination_reason, &talk.termination_detail) {
                (Some(reason), Some(detail)) => format!("ended by {reason}: {detail}"),
                _ => "did not come to its end".to_owned(),
            };
            let plural = if turns == 1 { "" } else { "s" };
            let _ = writeln!(
                text,
                "         {}",
                self.paint("2", &format!("conversation of {turns} turn{plural}, {why}"))
            );
        }
    }

    fn evaluation(self, text: &mut String, evaluation: &EvaluationResult) {
        let (mark, code) = match evaluation.status {
            MetricStatus::Passed => ("passed", "32"),
            MetricStatus::Failed => ("failed", "31"),
            MetricStatus::Error | MetricStatus::Unscored => ("could not be decided", "33"),
        };
        let score = evaluation.score.map(|score| format!(" (score {score:.2})")).unwrap_or_default();
        let _ = writeln!(
            text,
            "           {} {}{score}, line {}",
            self.paint(code, mark),
            evaluation.name,
            evaluation.line
        );
        if let Some(why) = &evaluation.description {
            let _ = writeln!(text, "             asked because: {}", indented(why, 13));
        }
        for evidence in &evaluation.evidence {
            let events: Vec<String> = evidence.events.iter().map(|event| format!("#{event}")).collect();
            let events = if events.is_empty() { String::new() } else { format!(" [{}]", events.join(" ")) };
            let _ =
                writeln!(text, "             {}{}", indented(&evidence.text, 13), self.paint("2", &events));
        }
    }

    fn transcript(self, text: &mut String, main: &Ledger, marked: &[u64]) {
        let lines = transcript(main.events());
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(text, "         transcript:");
        for line in lines {
            let mark = if marked.contains(&line.seq) { self.paint("31", ">") } else { " ".to_owned() };
            let said = line.to_string();
            let said = if self.detail == Detail::Verbose { said } else { shortened(&said) };
            let _ = writeln!(text, "         {mark}{:>4}  {}", line.seq, indented(&said, 16));
        }
    }

    /// The counts of a run, and what repeats say together.
    pub(crate) fn summary(self, summary: &Summary, repeats: &[RepeatStatistics], took: u64) -> String {
        let mut text = String::new();
        for repeat in repeats {
            let (low, high) = repeat.wilson;
            let _ = writeln!(
                text,
                "{}: {} of {} passed (95 % interval {:.0} to {:.0} %)",
                repeat.name,
                repeat.passed,
                repeat.runs,
                low * 100.0,
                high * 100.0
            );
        }
        let runs = if repeats.is_empty() { "scenario" } else { "run" };
        let plural = if summary.total == 1 { "" } else { "s" };
        let mut parts = vec![
            self.paint(if summary.passed > 0 { "32" } else { "0" }, &format!("{} passed", summary.passed)),
        ];
        let others = [
            (summary.failed, "failed", "31"),
            (summary.errors, "with an error", "31"),
            (summary.terminated, "stopped", "33"),
            (summary.unjudged, "unjudged", "33"),
            (summary.not_run, "not run", "33"),
        ];
        parts.extend(
            others
                .into_iter()
                .filter(|(count, _, _)| *count > 0)
                .map(|(count, what, code)| self.paint(code, &format!("{count} {what}"))),
        );
        let _ = write!(text, "{} {runs}{plural}: {} in {}", summary.total, parts.join(", "), seconds(took));
        text
    }
}

/// The events that evidence against a scenario points at.
fn pointed_at(result: &ScenarioResult) -> Vec<u64> {
    let against = result.evaluations().filter(|(_, evaluation)| !evaluation.success);
    against
        .flat_map(|(_, evaluation)| &evaluation.evidence)
        .flat_map(|evidence| evidence.events.clone())
        .collect()
}

fn indented(text: &str, width: usize) -> String {
    let mut lines = text.trim_end().lines();
    let mut text = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        text.push('\n');
        if !line.is_empty() {
            text.push_str(&" ".repeat(width));
            text.push_str(line);
        }
    }
    text
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LINE_LENGTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
