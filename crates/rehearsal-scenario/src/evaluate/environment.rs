//! Files, commands and time.

use rehearsal_core::MetricResult;
use serde_json::Value;

use super::scene::Scene;
use super::text::{has, quoted};
use crate::StepEnded;

/// How many files a message names.
const NAMED: usize = 10;

pub(super) fn file_exists(scene: &Scene<'_>, path: &str) -> MetricResult {
    match find_file(scene, path) {
        Ok(Value::Object(kind)) if kind.contains_key("link") || kind.contains_key("special") => {
            let kind = Value::Object(kind.clone());
            MetricResult::unscored(format!("{path} is there, but it is no file of its own: {kind}"))
        }
        Ok(_) => MetricResult::from_pass(true).because_of(format!("{path} is there"), scene.end_seq()),
        Err(result) => result,
    }
}

pub(super) fn file_contains(
    scene: &Scene<'_>,
    path: &str,
    value: &str,
    case_sensitive: bool,
) -> MetricResult {
    let content = match find_file(scene, path) {
        Ok(content) => content,
        Err(result) => return result,
    };
    let Value::String(text) = content else {
        return MetricResult::unscored(format!("the ledger does not hold the text of {path}: {content}"));
    };
    let message = if has(text, value, case_sensitive) {
        format!("{path} contains {value:?}")
    } else {
        format!("{path} does not contain {value:?}: {}", quoted(text))
    };
    MetricResult::from_pass(has(text, value, case_sensitive)).because_of(message, scene.end_seq())
}

/// The content of a file, or the result where it is not there.
fn find_file<'s>(scene: &'s Scene<'_>, path: &str) -> Result<&'s Value, MetricResult> {
    let ended = scene.ended().map_err(MetricResult::unscored)?;
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
    Err(MetricResult::from_pass(false).because_of(message, scene.end_seq()))
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

pub(super) fn command_exit_code_is(scene: &Scene<'_>, command: &str, expected: u64) -> MetricResult {
    let ended = match scene.ended() {
        Ok(ended) => ended,
        Err(why) => return MetricResult::unscored(why),
    };
    let Some(run) = ended.commands.iter().find(|run| run.command == command) else {
        return MetricResult::unscored(format!("`{command}` was not run when the step ended"));
    };
    let Some(code) = run.exit_code else {
        let why = run.problem.as_deref().unwrap_or("it was ended by a signal");
        return MetricResult::unscored(format!("`{command}` has no exit code: {why}"))
            .because_of(format!("it complained: {}", quoted(&run.stderr)), scene.end_seq());
    };
    let passed = u64::try_from(code) == Ok(expected);
    let message = format!("`{command}` ended with {code}, {expected} was asked for");
    let result = MetricResult::from_pass(passed).value(code).because_of(message, scene.end_seq());
    let told = [("wrote", &run.stdout), ("complained", &run.stderr)];
    told.into_iter()
        .filter(|(_, text)| !passed && !text.trim().is_empty())
        .fold(result, |result, (verb, text)| result.because(format!("it {verb}: {}", quoted(text))))
}

pub(super) fn execution_time(
    scene: &Scene<'_>,
    most: f64,
    least: Option<f64>,
    target: Option<f64>,
) -> MetricResult {
    let (from, to) = match (scene.turn(), scene.turn().map(|turn| turn.events)) {
        (Some(_), Some([said, .., done])) => (said.at, done.at),
        (Some(_), _) => return MetricResult::unscored(format!("nothing happened in {}", scene.name())),
        (None, _) => (scene.step.started_at, scene.step.ended_at),
    };
    #[expect(clippy::cast_precision_loss, reason = "no step takes 2^53 microseconds")]
    let took = to.duration_since(from).as_micros() as f64 / 1000.0;
    let asked = match least {
        Some(least) => format!("from {least} to {most} ms were asked for"),
        None => format!("at most {most} ms were asked for"),
    };
    let passed = took <= most && least.is_none_or(|least| took >= least);
    let events = [scene.events().first(), scene.events().last()].into_iter().flatten().map(|event| event.seq);
    let message = format!("{} took {took} ms, {asked}", scene.name());
    let result = MetricResult::from_pass(passed).value(took).because_of(message, events);
    match target {
        Some(target) => result.because(format!("{:+} ms from the target of {target} ms", took - target)),
        None => result,
    }
}
