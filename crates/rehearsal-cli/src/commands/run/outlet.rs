//! What is left of cases as they end: text for people, JSON and JUnit XML for programs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rehearsal_core::{CaseResult, RunResult};
use rehearsal_run::{OutFolder, Outlet};
use rehearsal_sim::CaseRun;

use super::junit::Junit;
use super::parts::Parts;
use super::print::Printer;
use super::progress::Progress;
use super::show::{More, Show, Told};
use crate::error::CommandError;
use crate::output;

/// How deep in the JSON of a run the results of its cases stand.
const DEPTH: usize = 2;

/// What is left of a run.
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub(super) struct Wanted {
    pub(super) printer: Printer,
    /// Standard output belongs to the JSON: what is for people goes to standard error, when the run has ended.
    pub(super) json_to_stdout: bool,
    /// Whether results are wanted as JSON.
    pub(super) json: bool,
    /// What they are to have beside what cases came to.
    pub(super) more: More,
    /// Whether results are wanted as JSON without more.
    pub(super) plain_json: bool,
    pub(super) junit: bool,
}

impl Wanted {
    /// What these options ask for.
    pub(super) fn new(printer: Printer, show: &Show, out: bool, junit: bool) -> Self {
        Self {
            printer,
            json_to_stdout: show.json_to_stdout(),
            json: show.wants_json(),
            more: show.more(),
            plain_json: out,
            junit,
        }
    }
}

/// The files for what is left.
#[derive(Clone, Copy)]
pub(super) struct Left<'a> {
    pub(super) out: Option<&'a OutFolder>,
    pub(super) json: Option<&'a Path>,
    pub(super) junit: Option<&'a Path>,
}

/// The command that repeats just one case.
pub(super) type Again = Box<dyn Fn(&CaseResult) -> Option<String> + Send + Sync>;

/// Takes what cases come to.
pub(super) struct Writer {
    wanted: Wanted,
    again: Again,
    texts: Arc<Parts>,
    json: Parts,
    plain: Parts,
    junit: Option<Junit>,
    /// Whether a case was made from a row or a variant of a scenario.
    made: AtomicBool,
    /// Tells whoever prints that there is something new.
    news: Mutex<Option<Sender<()>>>,
    printing: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Where only some of all runs are run, these are their places.
    pub(super) fn new(wanted: Wanted, again: Again, progress: Progress, turns: Option<Arc<[usize]>>) -> Self {
        let texts = Arc::<Parts>::default();
        let (mut news, mut printing) = (None, None);
        if !wanted.json_to_stdout {
            let (sender, receiver) = channel();
            let texts = texts.clone();
            // A reader that is slow, or stops to look, must not hold up the run.
            let thread = thread::Builder::new().name("printer".to_owned());
            printing = thread.spawn(move || print(&texts, &receiver, &progress, turns.as_deref())).ok();
            news = printing.is_some().then_some(sender);
        }
        let junit = wanted.junit.then(Junit::default);
        let (news, printing) = (Mutex::new(news), Mutex::new(printing));
        let (json, plain) = (Parts::default(), Parts::default());
        Self { wanted, again, texts, json, plain, junit, made: AtomicBool::new(false), news, printing }
    }

    /// Whether a case was made from a row or a variant of a scenario.
    pub(super) fn saw_made(&self) -> bool {
        self.made.load(Ordering::Relaxed)
    }

    /// Writes the JSON with all that was asked for.
    pub(super) fn json(&self, result: &RunResult, to: impl Write) -> io::Result<()> {
        write_json(result, &self.json, to)
    }

    /// Writes the files for what is left of a run.
    pub(super) fn write(&self, result: &RunResult, left: Left<'_>) -> Result<(), CommandError> {
        if let Some(out) = left.out {
            self.plain_json_file(result, &out.folder().join("result.json"))?;
        }
        if let Some(path) = left.json {
            self.json_file(result, path)?;
        }
        if let Some(path) = left.junit {
            self.junit_file(result, path)?;
        }
        Ok(())
    }

    /// Writes the JSON of the results to a file.
    fn json_file(&self, result: &RunResult, path: &Path) -> Result<(), CommandError> {
        in_file(path, |file| write_json(result, &self.json, file))
    }

    /// Writes the JSON without more to a file.
    fn plain_json_file(&self, result: &RunResult, path: &Path) -> Result<(), CommandError> {
        in_file(path, |file| write_json(result, &self.plain, file))
    }

    /// Writes the JUnit XML to a file.
    fn junit_file(&self, result: &RunResult, path: &Path) -> Result<(), CommandError> {
        let Some(junit) = &self.junit else { return Ok(()) };
        in_file(path, |file| junit.write(result, file))
    }

    /// Prints what is not printed yet: all that is left, in order.
    pub(super) fn finish(&self, write: fn(&str)) {
        drop(self.news.lock().unwrap_or_else(PoisonError::into_inner).take());
        let printing = self.printing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(printing) = printing {
            let _it_printed_what_it_could = printing.join();
        }
        for order in self.texts.orders() {
            print_part(&self.texts, order, write);
        }
    }
}

impl Outlet for Writer {
    fn reads_ledgers(&self, result: &CaseResult) -> bool {
        let Wanted { printer, json, more, .. } = &self.wanted;
        printer.shows_transcript(result.status) || (*json && more.reads_ledgers())
    }

    fn ended(&self, order: usize, mut result: CaseResult, run: &CaseRun) {
        if result.scenario.is_some() {
            self.made.store(true, Ordering::Relaxed);
        }
        let told = Told { from: None, again: (self.again)(&result) };
        let text = self.wanted.printer.case(&result, &run.main, &told);
        self.texts.put(order, text.as_bytes());
        if let Some(news) = &*self.news.lock().unwrap_or_else(PoisonError::into_inner) {
            let _nobody_prints = news.send(());
        }
        if let Some(junit) = &self.junit {
            junit.take(order, &result);
        }
        let json = |result: &CaseResult| result.to_json_within(DEPTH).unwrap_or_default();
        if self.wanted.plain_json {
            self.plain.put(order, json(&result).as_bytes());
        }
        if self.wanted.json {
            self.wanted.more.add_to(&mut result, run, &told);
            self.json.put(order, json(&result).as_bytes());
        }
    }
}

/// Prints what has come, in order, until nobody brings anything more. What comes after a gap is left.
fn print(texts: &Parts, news: &Receiver<()>, progress: &Progress, turns: Option<&[usize]>) {
    let (mut count, order) = (0, |count: usize| match turns {
        Some(turns) => turns.get(count).copied(),
        None => Some(count),
    });
    while news.recv().is_ok() {
        while let Some(text) = order(count).and_then(|order| texts.take(order)) {
            count += 1;
            if let Ok(text) = text {
                progress.beside(|| write_text(&text, output::data));
            }
        }
    }
}

fn print_part(texts: &Parts, order: usize, write: fn(&str)) {
    if let Some(Ok(text)) = texts.take(order) {
        write_text(&text, write);
    }
}

fn write_text(text: &[u8], write: fn(&str)) {
    if let Some(text) = String::from_utf8_lossy(text).strip_suffix('\n') {
        write(text);
    }
}

/// Writes a result with those of its cases in their place.
fn write_json(result: &RunResult, cases: &Parts, mut to: impl Write) -> io::Result<()> {
    const NONE: &str = "\"results\": []";
    let frame = rehearsal_core::json::to_string_pretty(result).map_err(io::Error::other)?;
    let orders = cases.orders();
    // Nothing before it holds a text that somebody else wrote, but the name of an EvalSet, in which quotes are escaped.
    let Some(at) = frame.find(NONE).filter(|_| !orders.is_empty()) else {
        return writeln!(to, "{frame}");
    };
    to.write_all(&frame.as_bytes()[..at])?;
    to.write_all(b"\"results\": [")?;
    for (number, order) in orders.into_iter().enumerate() {
        let Some(part) = cases.get(order) else { continue };
        to.write_all(if number == 0 { b"\n    " } else { b",\n    " })?;
        to.write_all(&part?)?;
    }
    to.write_all(b"\n  ]")?;
    writeln!(to, "{}", &frame[at + NONE.len()..])
}

fn in_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), CommandError> {
    let written = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        write(&mut file)?;
        file.flush()
    });
    written.map_err(|error| super::show::cannot_write(path, &error))
}
