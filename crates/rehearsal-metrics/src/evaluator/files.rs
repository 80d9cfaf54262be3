//! Files that a step left.

use rehearsal_core::{MetricResult, StepEnded};
use serde_json::Value;

use crate::view::View;

/// How many files a message names.
const NAMED: usize = 10;

/// The content of a file, or the result where it is not there.
pub(super) fn find_file<'s>(view: &'s View<'_>, path: &str) -> Result<&'s Value, MetricResult> {
    let ended = view.ended().map_err(|why| MetricResult::unscored(why.to_string()))?;
    let wanted = plain(path);
    let found = ended.files.iter().find(|(path, _)| plain(path) == wanted);
    if let Some((_, content)) = found {
        return Ok(content);
    }
    if ended.files_left_out > 0 {
        let message = format!(
            "{path} is not among the files that were kept, but {} others were not kept",
            ended.files_left_out
        );
        return Err(MetricResult::unscored(message));
    }
    let message = format!("there is no file {path}; {}", named_files(ended));
    Err(MetricResult::from_pass(false).because_of(message, view.end_seq()))
}

fn named_files(ended: &StepEnded) -> String {
    if ended.files.is_empty() {
        return "there are no files at all".to_owned();
    }
    let mut names: Vec<&str> = ended.files.keys().take(NAMED).map(String::as_str).collect();
    if ended.files.len() > NAMED {
        names.push("…");
    }
    format!("there are: {}", names.join(", "))
}

/// A path without a leading `./`.
fn plain(path: &str) -> &str {
    path.strip_prefix("./").map_or(path, plain)
}
