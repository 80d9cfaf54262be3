//! What is printed when scenarios have run.

use std::fmt::Write as _;

use rehearsal_core::{
    CaseResult, CaseTable, EvaluationResult, EvaluationScope, Evidence, Failure, Ledger, LineKind,
    MetricResult, MetricStatus, Phase, StepResult, StepStatus, SuiteResult, Summary, TableCell, TableRow,
    Verdict, transcript,
};

use super::progress::{seconds, word};
use super::show::Told;
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

    /// Whether the transcript of a case that came to this is printed.
    pub(crate) fn shows_transcript(self, verdict: Verdict) -> bool {
        verdict != Verdict::Passed || self.detail == Detail::Verbose
    }

    /// A case and what it came to.
    pub(crate) fn case(self, result: &CaseResult, main: &Ledger, told: &Told) -> String {
        let passed = result.status == Verdict::Passed;
        if passed && self.detail == Detail::Quiet {
            return String::new();
        }
        let whole = !passed || self.detail == Detail::Verbose;
        let mut text = String::new();
        let repeat = if result.repeat == 0 { String::new() } else { format!(" #{}", result.repeat + 1) };
        let _ = writeln!(
            text,
            "{} {}{repeat}  {}",
            self.verdict(result.status),
            self.paint("1", &one_line(&result.name)),
            self.paint("2", &format!("{}{}", seconds(result.duration_ms), not_counted(result)))
        );
        if let Some(from) = &told.from {
            let _ = writeln!(text, "{MARGIN}{}", one_line(from));
        }
        if let Some(file) = result.file.as_ref().filter(|_| whole) {
            let _ = writeln!(text, "{MARGIN}{}", one_line(file));
        }
        for step in &result.steps {
            self.step(&mut text, step, whole);
        }
        for (name, metric) in result.metrics.iter().filter(|_| whole) {
            let _ = writeln!(text, "{MARGIN}{}", self.outcome(name, metric));
            self.evidence(&mut text, MARGIN.len() + 2, &metric.evidence);
        }
        self.reasons(&mut text, result);
        if whole {
            self.mocks(&mut text, result);
            self.transcript(&mut text, result, main);
        }
        if let Some(folder) = &result.folder {
            let _ = writeln!(text, "{MARGIN}its folder was kept: {folder}");
        }
        if let Some(again) = told.again.as_ref().filter(|_| !passed) {
            let _ = writeln!(text, "{MARGIN}{} {again}", self.paint("2", "again:"));
        }
        if whole {
            text.push('\n');
        }
        text
    }

    /// Why a case came to what it came to, beside what was asked of it.
    fn reasons(self, text: &mut String, result: &CaseResult) {
        // What could not be decided stands with its evaluation or metric already.
        let told = |error: &Failure| {
            let evaluations = result.evaluations().map(|one| &one.metric);
            let mut undecided =
                evaluations.chain(result.metrics.values()).filter(|one| one.status == MetricStatus::Error);
            let says = |one: &MetricResult| {
                one.evidence.first().is_some_and(|why| error.message.contains(&why.text))
            };
            error.phase == Phase::Metric && undecided.any(says)
        };
        if let Some(error) = result.error.as_ref().filter(|error| !told(error)) {
            let message = indented(&error.message, MARGIN.len() + 2);
            let _ = writeln!(text, "{MARGIN}{} ({}): {message}", self.paint("31", "error"), error.phase);
        }
        if let Some(limit) = result.terminated_by().filter(|_| result.status == Verdict::Terminated) {
            let _ = writeln!(text, "{MARGIN}{}: {limit}", self.paint("33", "stopped"));
        }
        if result.status == Verdict::Unjudged && !result.steps.is_empty() {
            let _ = writeln!(text, "{MARGIN}nothing was asked of it: add `evaluations` to a step");
        }
    }

    fn mocks(self, text: &mut String, result: &CaseResult) {
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
        if whole {
            let state = match step.status {
                StepStatus::Passed => self.paint("32", "passed"),
                StepStatus::Failed => self.paint("31", "failed"),
                StepStatus::Errored => self.paint("31", "did not come to its end"),
                StepStatus::Skipped => self.paint("33", step.note.as_deref().unwrap_or("skipped")),
                StepStatus::Unjudged => self.paint("33", "has no evaluations"),
            };
            let _ = writeln!(text, "{MARGIN}{name}: {state}");
            for evaluation in step.evaluations() {
                // What a step asks for that did not come to its end is not worth a line each.
                let asked = step.status != StepStatus::Errored || !evaluation.metric.evidence.is_empty();
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
        let outcome = self.outcome(&label(evaluation), &evaluation.metric);
        let _ = writeln!(text, "{MARGIN}  {outcome}, line {}", evaluation.line);
        let indent = MARGIN.len() + 4;
        if let Some(why) = &evaluation.description {
            let _ = writeln!(text, "{:indent$}asked because: {}", "", indented(why, indent));
        }
        if evaluation.metric.evidence.is_empty() {
            let _ = writeln!(text, "{:indent$}{}", "", indented(&evaluation.message, indent));
        }
        self.evidence(text, indent, &evaluation.metric.evidence);
    }

    /// What was asked, and how it turned out.
    fn outcome(self, name: &str, metric: &MetricResult) -> String {
        let (mark, code) = match metric.status {
            MetricStatus::Passed => ("passed", "32"),
            MetricStatus::Failed => ("failed", "31"),
            MetricStatus::Error | MetricStatus::Unscored => ("undecided", "33"),
        };
        let score = metric.score.map(|score| format!(" (score {score:.2})")).unwrap_or_default();
        format!("{} {}{score}", self.paint(code, mark), one_line(name))
    }

    fn evidence(self, text: &mut String, indent: usize, evidence: &[Evidence]) {
        for one in evidence {
            let events: Vec<String> = one.events.iter().map(|event| format!("#{event}")).collect();
            let events = if events.is_empty() { String::new() } else { format!(" [{}]", events.join(" ")) };
            let (why, events) = (indented(&one.text, indent), self.paint("2", &events));
            let _ = writeln!(text, "{:indent$}{why}{events}", "");
        }
    }

    fn transcript(self, text: &mut String, result: &CaseResult, main: &Ledger) {
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

    /// What cases came to by their variants: how many runs of how many passed.
    fn table(self, text: &mut String, table: &CaseTable) {
        let shown = |cell: Option<TableCell>| match cell {
            None => "-".to_owned(),
            Some(TableCell { runs, passed }) => format!("{passed}/{runs}"),
        };
        let rate = |cell: TableCell| match cell.runs {
            0 => "-".to_owned(),
            runs => {
                format!("{}/{runs} ({:.0} %)", cell.passed, 100.0 * f64::from(cell.passed) / f64::from(runs))
            }
        };
        for (at, variant) in table.variants.iter().enumerate() {
            let _ = writeln!(text, "{:>4}  {}  {}", letter(at), one_line(&variant.name), rate(variant.all));
        }
        let most = if self.detail == Detail::Verbose { usize::MAX } else { MOST_ROWS };
        let rows: Vec<&TableRow> = table.rows.iter().take(most).collect();
        let names: Vec<String> = rows.iter().map(|row| one_line(&row.name)).collect();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let _ = write!(text, "{:widest$}", "");
        for at in 0..table.variants.len() {
            let _ = write!(text, "{:>7}", letter(at));
        }
        text.push('\n');
        for (row, name) in rows.iter().zip(&names) {
            let _ = write!(text, "{name:<widest$}");
            for cell in &row.cells {
                let code = match cell {
                    Some(cell) if cell.passed == cell.runs => "32",
                    Some(_) => "31",
                    None => "2",
                };
                let _ = write!(text, "{}", self.paint(code, &format!("{:>7}", shown(*cell))));
            }
            text.push('\n');
        }
        match table.rows.len().saturating_sub(most) {
            0 => {}
            more => {
                let _ = writeln!(text, "… and {more} more cases; `--verbose` shows all");
            }
        }
        text.push('\n');
    }

    /// The counts of a run of cases, each called a `noun`, and what repeats say together.
    pub(crate) fn summary(self, noun: &str, suite: &SuiteResult, took: u64) -> String {
        let SuiteResult { summary, repeats, table, .. } = suite;
        let mut text = String::new();
        if let Some(table) = table {
            self.table(&mut text, table);
        }
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
            if let Some(wanted) = repeat.wanted {
                let short =
                    format!("only {} of {wanted} runs were valid when all tries were taken", repeat.runs);
                let _ = writeln!(text, "{}: {}", one_line(&repeat.name), self.paint("31", &short));
            }
        }
        let runs = if repeats.is_empty() { noun } else { "run" };
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
        if summary.invalid > 0 {
            let _ = write!(text, "\n{}", self.paint("33", &left_out(summary)));
        }
        text
    }
}

/// Whose doing it was, where that is not the agent's.
fn not_counted(result: &CaseResult) -> String {
    match result.fault.filter(|fault| !fault.is_of_agent()) {
        Some(fault) => format!("  not counted: {fault}"),
        None => String::new(),
    }
}

/// What is left out of the rate, and the rate without it.
fn left_out(summary: &Summary) -> String {
    let faults = summary.faults.iter().map(|(fault, count)| format!("{count} {fault}"));
    let faults = faults.collect::<Vec<_>>().join(", ");
    let rest = (summary.total - summary.not_run).saturating_sub(summary.invalid);
    let rate = match rest {
        0 => "nothing is left to judge the agent by".to_owned(),
        rest => {
            let share = 100.0 * f64::from(summary.passed) / f64::from(rest);
            format!("{} of the other {rest} passed ({share:.0} %)", summary.passed)
        }
    };
    format!("{} not counted: {faults}; {rate}", summary.invalid)
}

/// The most cases of a table that are shown unless all are asked for.
const MOST_ROWS: usize = 30;

/// What a column is called: A to Z, then AA and so on.
fn letter(at: usize) -> String {
    let last = char::from(b'A' + u8::try_from(at % 26).unwrap_or_default());
    match at / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}

/// The events that evidence against a case points at.
fn pointed_at(result: &CaseResult) -> Vec<u64> {
    let metrics = result.evaluations().map(|one| &one.metric).chain(result.metrics.values());
    let against = metrics.filter(|metric| !metric.passed());
    against.flat_map(|metric| &metric.evidence).flat_map(|evidence| evidence.events.clone()).collect()
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
