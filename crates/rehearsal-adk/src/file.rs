//! Putting a golden trace into an `EvalSet` file.

mod disk;
mod splice;

use std::path::{Path, PathBuf};

use rehearsal_core::Timestamp;
use serde_json::Value;

use crate::eval_set::{EvalCase, EvalSet};
use crate::import::{ImportError, Outline, items};
use crate::name::{eval_set_id, sanitised, unique};
use crate::trace::{GoldenTrace, seconds};

const CASES: &str = "eval_cases";

/// What a new `EvalSet` file is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalSetDefaults {
    /// The id; what ADK does not take in one is replaced.
    pub eval_set_id: String,
    /// The name.
    pub name: Option<String>,
    /// The present moment: when the file is made, and when the trace is exported.
    pub now: Timestamp,
}

impl EvalSetDefaults {
    /// The eval set of an agent in this file: the id that [`eval_set_id`] gives, and the agent's name.
    pub fn for_agent(agent: &str, file: &Path, now: Timestamp) -> Self {
        Self { eval_set_id: eval_set_id(agent, file), name: Some(agent.to_owned()), now }
    }
}

/// A golden trace that is in a file now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub path: PathBuf,
    /// The id of the case in it. It has a number at its end where the id was taken.
    pub eval_id: String,
    /// How many cases the file has.
    pub cases: usize,
    /// Whether the file is new.
    pub is_new: bool,
    /// Whether it was there before, so that nothing was written.
    pub repeated: bool,
    /// What its user may want to know.
    pub hints: Vec<String>,
}

/// Why a golden trace could not be put into a file. The file is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// A link leads to a link and so on.
    #[error("`{}` is a link that leads nowhere", path.display())]
    Links {
        /// The path.
        path: PathBuf,
    },
    /// The folder cannot be made.
    #[error("cannot make the folder `{}`", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The lock cannot be taken.
    #[error("cannot lock the folder `{}`, which keeps two exports from writing at once", path.display())]
    Lock {
        /// The folder.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file must not be written.
    #[error("`{}` is write-protected\n\nhint: allow writing to it, or export to another file", path.display())]
    Protected {
        /// The file.
        path: PathBuf,
    },
    /// The file is no `EvalSet`.
    #[error("`{}` is not an EvalSet; it is left as it is", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: ImportError,
    },
    /// The file is one of the older lists.
    #[error(
        "`{}` is in the older list format, to which nothing can be added\n\nhint: export to another file, or convert this one: rehearse import OLD --evalset NEW",
        path.display()
    )]
    Legacy {
        /// The file.
        path: PathBuf,
    },
    /// The file has its cases twice.
    #[error("`{}` has `eval_cases` twice, so it is not clear where the case belongs\n\nhint: keep one of them", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot write `{}`", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Appends a golden trace to an `EvalSet` file, or makes the file.
///
/// What is in the file stays byte for byte: the case is put in before the end of `eval_cases`. The file is replaced as a
/// whole or not at all, keeps its permissions, and stays where a link to it leads. Exports at the same time, also of
/// several processes, wait for each other: the folder is locked (`flock`) meanwhile. Nothing else stays beside the file.
///
/// # Errors
/// The file cannot be read or written, or is no `EvalSet`. It is as it was then.
pub fn append_to_file(
    path: &Path,
    defaults: &EvalSetDefaults,
    trace: &GoldenTrace,
) -> Result<Written, AppendError> {
    put(path, defaults, trace, Repeats::Written)
}

/// The same, unless the file has this session's trace already: then nothing is written, and
/// [`repeated`](Written::repeated) says so.
///
/// # Errors
/// As [`append_to_file`].
pub fn append_once_to_file(
    path: &Path,
    defaults: &EvalSetDefaults,
    trace: &GoldenTrace,
) -> Result<Written, AppendError> {
    put(path, defaults, trace, Repeats::Recognised)
}

/// What becomes of a trace that is in the file already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeats {
    Written,
    Recognised,
}

fn put(
    path: &Path,
    defaults: &EvalSetDefaults,
    trace: &GoldenTrace,
    repeats: Repeats,
) -> Result<Written, AppendError> {
    let target = disk::resolve(path)?;
    let _lock = disk::lock(&target)?;
    let existing = disk::read(&target)?;
    let is_new = existing.is_none();
    if repeats == Repeats::Recognised
        && let Some((eval_id, cases)) = existing.as_deref().and_then(|text| find(text, &trace.case))
    {
        let hints = hints(path, &eval_id);
        return Ok(Written { path: path.to_owned(), eval_id, cases, is_new, repeated: true, hints });
    }
    let (text, case, cases) = match &existing {
        None => create(defaults, &trace.case),
        Some(existing) => extend(&target, existing, &trace.case)?,
    };
    disk::replace(&target, &text).map_err(|source| AppendError::Write { path: target.clone(), source })?;
    let mut hints = hints(path, &case.eval_id);
    let numbers = || trace.left_out.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    match trace.left_out.len() {
        0 => {}
        1 => hints.push(format!("1 message whose run failed is left out: event {}", numbers())),
        count => hints.push(format!("{count} messages whose runs failed are left out: events {}", numbers())),
    }
    Ok(Written { path: path.to_owned(), eval_id: case.eval_id, cases, is_new, repeated: false, hints })
}

/// The id of the case in an `EvalSet` with the same conversation, and how many cases there are. Invocations carry the
/// id of their session, so two sessions with the same words are two conversations.
fn find(text: &str, case: &EvalCase) -> Option<(String, usize)> {
    let sought = case.to_value();
    let outline = Outline::read(text).ok()?;
    let all = items(outline.only(CASES)?)?;
    let id = all.iter().find_map(|item| {
        let own: Value = rehearsal_core::json::from_str(item).ok()?;
        let is_same = own.get("conversation") == sought.get("conversation");
        own.get("eval_id").filter(|_| is_same)?.as_str().map(str::to_owned)
    })?;
    Some((id, all.len()))
}

fn create(defaults: &EvalSetDefaults, case: &EvalCase) -> (String, EvalCase, usize) {
    let set = EvalSet {
        eval_set_id: sanitised(&defaults.eval_set_id),
        name: defaults.name.clone(),
        description: None,
        eval_cases: vec![case.clone()],
        creation_timestamp: seconds(defaults.now),
    };
    (set.to_json(), case.clone(), 1)
}

fn extend(path: &Path, existing: &str, case: &EvalCase) -> Result<(String, EvalCase, usize), AppendError> {
    let path = || path.to_owned();
    let invalid = |source| AppendError::Invalid { path: path(), source };
    if !existing.trim_start().starts_with('{') {
        EvalSet::read(existing).map_err(invalid)?;
        return Err(AppendError::Legacy { path: path() });
    }
    let outline = Outline::read(existing).map_err(invalid)?;
    let ids = outline.case_ids().map_err(invalid)?;
    let case =
        EvalCase { eval_id: unique(&case.eval_id, |id| ids.iter().any(|own| own == id)), ..case.clone() };
    let value = case.to_value();
    let longer = || {
        let list = outline.only(CASES)?;
        let text = splice::append_item(existing, list, &value)?;
        // Whatever the file looks like: what is about to be written is what was there and one case more.
        let again = items(Outline::read(&text).ok()?.only(CASES)?)?;
        let (added, before) = again.split_last()?;
        let is_same = *before == items(list)?
            && rehearsal_core::json::from_str(added).is_ok_and(|added: Value| added == value);
        let cases = again.len();
        is_same.then_some((text, cases))
    };
    let (text, cases) = longer().ok_or_else(|| AppendError::Twice { path: path() })?;
    Ok((text, case, cases))
}

fn hints(path: &Path, eval_id: &str) -> Vec<String> {
    let mut hints = Vec::new();
    if eval_id.contains(':') {
        let why = "`adk eval FILE:ID` cannot select it; export with --no-colons to be able to";
        hints.push(format!("the id `{eval_id}` has colons: {why}"));
    }
    if cfg!(unix) && path.to_string_lossy().contains(':') {
        hints.push(format!("`adk eval` reads a path only up to its first colon: `{}`", path.display()));
    }
    hints
}
