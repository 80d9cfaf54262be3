//! What is printed when scenarios have run.

use std::fmt::Write as _;

use rehearsal_core::{
    CaseResult, Failure, Ledger, LineKind, MetricStatus, Phase, RepeatStatistics, Summary, Verdict,
    transcript,
};
use rehearsal_scenario::{EvaluationResult, EvaluationScope, ScenarioResult, StepResult, StepStatus};

use super::progress::{seconds, word};
use crate::output::{one_line, visible};

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

/// The most lines of a transcript that are printed unless all are asked for: its beginning and its end.
const MOST_LINES: usize = 200;

/// What stands before all but the first line of a scenario.
const MARGIN: &str = "         ";

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
        let whole = !passed || self.detail == Detail::Verbose;
        let mut text = String::new();
        let repeat = if result.repeat == 0 { String::new() } else { format!(" #{}", result.repeat + 1) };
        let _ = writeln!(
            text,
            "{} {}{repeat}  {}",
            self.verdict(result.verdict),
            self.paint("1", &one_line(&result.name)),
            self.paint("2", &seconds(result.duration_ms))
        );
        if whole {
            let _ = writeln!(text, "{MARGIN}{}", one_line(&result.file));
        }
        for step in &result.steps {
            self.step(&mut text, step, whole);
        }
        self.reasons(&mut text, result);
        if whole {
            self.mocks(&mut text, result);
            self.transcript(&mut text, result, main);
        }
        if let Some(folder) = &result.folder {
            let _ = writeln!(text, "{MARGIN}its folder was kept: {folder}");
        }
        if !passed {
            let _ = writeln!(text, "{MARGIN}{} {again}", self.paint("2", "again:"));
        }
        if whole {
            text.push('\n');
        }
        text
    }

    /// Why a scenario came to what it came to, beside its evaluations.
    fn reasons(self, text: &mut String, result: &ScenarioResult) {
        // What could not be decided stands with its evaluation already.
        let told = |error: &Failure| {
            let mut undecided = result.evaluations().filter(|(_, one)| one.status == MetricStatus::Error);
            error.phase == Phase::Metric && undecided.any(|(_, one)| error.message.contains(&one.message))
        };
        if let Some(error) = result.error.as_ref().filter(|error| !told(error)) {
            let message = indented(&error.message, MARGIN.len() + 2);
            let _ = writeln!(text, "{MARGIN}{} ({}): {message}", self.paint("31", "error"), error.phase);
        }
        if let Some(limit) = &result.terminated_by
            && result.verdict == Verdict::Terminated
        {
            let _ = writeln!(text, "{MARGIN}{}: {limit}", self.paint("33", "stopped"));
        }
        if result.verdict == Verdict::Unjudged {
            let _ = writeln!(text, "{MARGIN}nothing was asked of it: add `evaluations` to a step");
        }
    }

    fn mocks(self, text: &mut String, result: &ScenarioResult) {
        if !result.mocks.unused.is_empty() {
            let unused = one_line(&result.mocks.unused.join(", "));
            let _ = writeln!(text, "{MARGIN}mocks that answered nothing: {unused}");
        }
        if self.detail == Detail::Verbose {
            for answer in &result.mocks.answered {
                let failed = if answer.failed { ", with an error" } else { "" };
                let (tool, by) = (one_line(&answer.tool), one_line(&answer.by));
                let _ = writeln!(text, "{MARGIN}{tool} was answered by {by}{failed} [#{}]", answer.event);
            }
        }
    }

    fn step(self, text: &mut String, step: &StepResult, whole: bool) {
        let name = step.name.as_ref().map_or_else(
            || format!("step {}", step.step),
            |name| format!("step {} ({})", step.step, one_line(name)),
        );
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
            let _ = writeln!(text, "{MARGIN}{name}: {state}");
            for evaluation in evaluations() {
                // What a step asks for that did not come to its end is not worth a line each.
                let asked = step.status != StepStatus::Errored || !evaluation.evidence.is_empty();
                if self.detail == Detail::Verbose || (asked && !evaluation.success) {
                    self.evaluation(text, evaluation);
                }
            }
        } else if step.status == StepStatus::Unjudged {
            let _ = writeln!(text, "{MARGIN}{}", self.paint("33", &format!("{name} has no evaluations")));
        }
        if let Some(talk) = &step.conversation {
            let turns = talk.turns.len();
            let why = match (&talk.termination_reason, &talk.termination_detail) {
                (Some(reason), Some(detail)) => format!("ended by {reason}: {}", one_line(detail)),
                _ => "did not come to its end".to_owned(),
            };
            let plural = if turns == 1 { "" } else { "s" };
            let line = format!("conversation of {turns} turn{plural}, {why}");
            let _ = writeln!(text, "{MARGIN}{}", self.paint("2", &line));
        }
    }

    fn evaluation(self, text: &mut String, evaluation: &EvaluationResult) {
        let (mark, code) = match evaluation.status {
            MetricStatus::Passed => ("passed", "32"),
            MetricStatus::Failed => ("failed", "31"),
            MetricStatus::Error | MetricStatus::Unscored => ("undecided", "33"),
        };
        let score = evaluation.score.map(|score| format!(" (score {score:.2})")).unwrap_or_default();
        let (mark, name) = (self.paint(code, mark), one_line(&label(evaluation)));
        let _ = writeln!(text, "{MARGIN}  {mark} {name}{score}, line {}", evaluation.line);
        let indent = MARGIN.len() + 4;
        let margin = " ".repeat(indent);
        if let Some(why) = &evaluation.description {
            let _ = writeln!(text, "{margin}asked because: {}", indented(why, indent));
        }
        if evaluation.evidence.is_empty() {
            let _ = writeln!(text, "{margin}{}", indented(&evaluation.message, indent));
        }
        for evidence in &evaluation.evidence {
            let events: Vec<String> = evidence.events.iter().map(|event| format!("#{event}")).collect();
            let events = if events.is_empty() { String::new() } else { format!(" [{}]", events.join(" ")) };
            let (why, events) = (indented(&evidence.text, indent), self.paint("2", &events));
            let _ = writeln!(text, "{margin}{why}{events}");
        }
    }

    /// A case of an eval set and what it came to.
    pub(crate) fn case(self, result: &CaseResult, main: &Ledger) -> String {
        let passed = result.status == Verdict::Passed;
        if passed && self.detail == Detail::Quiet {
            return String::new();
        }
        let whole = !passed || self.detail == Detail::Verbose;
        let repeat = if result.repeat == 0 { String::new() } else { format!(" #{}", result.repeat + 1) };
        let mut text = format!(
            "{} {}{repeat}  {}\n",
            self.verdict(result.status),
            self.paint("1", &one_line(&result.name)),
            self.paint("2", &seconds(result.duration_ms))
        );
        if !whole {
            return text;
        }
        if let Some(error) = &result.error {
            let message = indented(&error.message, MARGIN.len() + 2);
            let _ = writeln!(text, "{MARGIN}{} ({}): {message}", self.paint("31", "error"), error.phase);
        }
        for (name, metric) in &result.metrics {
            let (mark, code) = match metric.status {
                MetricStatus::Passed => ("passed", "32"),
                MetricStatus::Failed => ("failed", "31"),
                MetricStatus::Error | MetricStatus::Unscored => ("undecided", "33"),
            };
            let score = metric.score.map(|score| format!(" (score {score:.2})")).unwrap_or_default();
            let _ = writeln!(text, "{MARGIN}{} {}{score}", self.paint(code, mark), one_line(name));
            for evidence in &metric.evidence {
                let _ = writeln!(text, "{MARGIN}  {}", indented(&evidence.text, MARGIN.len() + 2));
            }
        }
        let lines = transcript(main.events());
        if !lines.is_empty() {
            let _ = writeln!(text, "{MARGIN}transcript:");
        }
        for line in lines {
            let said = line.to_string();
            let said = if self.detail == Detail::Verbose { said } else { shortened(&said) };
            let _ = writeln!(text, "{MARGIN} {:>4}  {}", line.seq, indented(&said, MARGIN.len() + 7));
        }
        text.push('\n');
        text
    }

    fn transcript(self, text: &mut String, result: &ScenarioResult, main: &Ledger) {
        let lines = transcript(main.events());
        if lines.is_empty() {
            return;
        }
        let marked = pointed_at(result);
        let _ = writeln!(text, "{MARGIN}transcript:");
        let most = if self.detail == Detail::Verbose { usize::MAX } else { MOST_LINES };
        let left_out = lines.len().saturating_sub(most);
        for (index, line) in lines.into_iter().enumerate() {
            if left_out > 0 && index == most / 2 {
                let _ = writeln!(text, "{MARGIN}        … {left_out} more; `--verbose` shows all");
            }
            if left_out > 0 && (most / 2..most / 2 + left_out).contains(&index) {
                continue;
            }
            // The error stands above already, with all that there is to say about it.
            let told = match (&line.kind, &result.error) {
                (LineKind::Error(message), Some(error)) => *message == error.message,
                _ => false,
            };
            let said = line.to_string();
            let said = match said.lines().next() {
                Some(first) if told => first.to_owned(),
                _ if self.detail == Detail::Verbose => said,
                _ => shortened(&said),
            };
            let mark =
                if told || marked.contains(&line.seq) { self.paint("31", ">") } else { " ".to_owned() };
            let _ = writeln!(text, "{MARGIN}{mark}{:>4}  {}", line.seq, indented(&said, MARGIN.len() + 7));
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
                one_line(&repeat.name),
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

/// What an evaluation asks, with its turn in words; it stands under its step.
fn label(evaluation: &EvaluationResult) -> String {
    let what = &evaluation.label;
    match evaluation.scope {
        EvaluationScope::Session | EvaluationScope::Step { .. } => what.clone(),
        EvaluationScope::Turn { turn, .. } => format!("turn {turn}: {what}"),
        EvaluationScope::Final { .. } => format!("at the end: {what}"),
    }
}

/// A text whose further lines begin as far in as the first.
fn indented(text: &str, width: usize) -> String {
    let mut indented = String::new();
    for (number, line) in visible(text.trim_end()).lines().enumerate() {
        if number > 0 {
            indented.push('\n');
        }
        if number > 0 && !line.is_empty() {
            indented.push_str(&" ".repeat(width));
        }
        indented.push_str(line);
    }
    indented
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LINE_LENGTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_but_not_empty_ones() {
        assert_eq!(indented("a\n\n\nb\n", 2), "a\n\n\n  b");
    }
}
