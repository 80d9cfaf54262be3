//! `rehearse config`.

use std::path::PathBuf;

use clap::Args;
use rehearsal_scenario::Style;
use serde::Serialize;

use crate::error::CommandError;
use crate::project::Projects;
use crate::{output, project};

/// Show what holds for scenarios, and from where.
///
/// Looks for `rehearsal.yaml` in the folder of a scenario, or in a folder, and in those above it: the nearest wins. Flags
/// and variables of the environment go before it, and what a scenario says itself goes before the models, prices,
/// variables and defaults that it gives.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse config
  rehearse config tests/refund.scenario.yaml --json

Exit codes: 0 it was shown; 2 the file is wrong.")]
pub(crate) struct ConfigArgs {
    /// A scenario file or a folder; the current folder unless given
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,
    /// Write it as JSON
    #[arg(long)]
    json: bool,
}

/// Something that holds.
#[derive(Debug, Serialize)]
struct Held {
    key: String,
    value: String,
    /// Where it comes from: a file and its line, a variable, or that it is the default.
    from: String,
}

/// What holds, as programs read it.
#[derive(Debug, Serialize)]
struct Holds {
    version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    settings: Vec<Held>,
}

pub(crate) fn run(args: &ConfigArgs) -> Result<(), CommandError> {
    if !args.path.exists() {
        return Err(CommandError::user(format_args!("there is no `{}`", args.path.display())));
    }
    let mut projects = Projects::new(Style::Plain);
    let found = if args.path.is_dir() { projects.above(&args.path)? } else { projects.around(&args.path)? };
    let mut settings = Vec::new();
    let default = || "default".to_owned();
    let file = found.as_ref().map(|found| found.project.path().display().to_string());
    let at = |line: usize| format!("{}:{line}", file.as_deref().unwrap_or_default());
    let project = found.as_ref().map(|found| &found.project);
    let mut held = |key: &str, said: Option<(String, usize)>, otherwise: &str| {
        let (value, from) = match said {
            Some((value, line)) => (value, at(line)),
            None => (otherwise.to_owned(), default()),
        };
        settings.push(Held { key: key.to_owned(), value, from });
    };
    let scenarios = project.and_then(|project| project.scenarios.as_ref());
    held("scenarios", scenarios.map(|setting| (setting.value.join(", "), setting.line)), "none");
    let jobs = project.and_then(|project| project.jobs.as_ref());
    held("jobs", jobs.map(|setting| (setting.value.to_string(), setting.line)), "16");
    let max_calls = project.and_then(|project| project.max_calls.as_ref());
    held("max_calls", max_calls.map(|setting| (setting.value.to_string(), setting.line)), "1024");
    let budget = project.and_then(|project| project.budget.as_ref());
    if let Some(budget) = budget {
        let line = budget.line;
        let time = budget.max_time.as_ref().map(|time| (time.value.clone(), line));
        for (key, said) in [
            ("budget.max_tokens", budget.limits.tokens.map(|tokens| (tokens.to_string(), line))),
            ("budget.max_cost", budget.limits.cost.map(|cost| (format!("${cost}"), line))),
            ("budget.max_time", time),
        ] {
            if said.is_some() {
                held(key, said, "none");
            }
        }
    }
    let timeout = project.and_then(|project| project.timeout.as_ref());
    held("timeout", timeout.map(|setting| (setting.value.clone(), setting.line)), "none");
    let store = project.and_then(|project| project.store.as_ref());
    match std::env::var("REHEARSAL_STORE").ok().filter(|value| !value.is_empty()) {
        // It may hold a password.
        Some(_) => settings.push(Held {
            key: "store".to_owned(),
            value: "…".to_owned(),
            from: "environment variable REHEARSAL_STORE".to_owned(),
        }),
        None => {
            let said = store.map(|setting| (public(&setting.value), setting.line));
            held("store", said, ".rehearsal/rehearsal.db");
        }
    }
    for gift in project.map(rehearsal_scenario::Project::gifts).unwrap_or_default() {
        settings.push(Held { key: gift.key, value: gift.value, from: at(gift.line) });
    }
    if args.json {
        let holds = Holds { version: 1, file, settings };
        output::json(&rehearsal_core::json::to_string_pretty(&holds).map_err(CommandError::internal)?);
        return Ok(());
    }
    match &file {
        Some(file) => output::data(&format!("{file}\n")),
        None => output::data(&format!(
            "there is no `{}` here or above; these are the defaults\n",
            rehearsal_scenario::PROJECT_FILE
        )),
    }
    let widest = settings.iter().map(|held| held.key.chars().count()).max().unwrap_or(0);
    for Held { key, value, from } in &settings {
        let value: String = output::one_line(value).chars().take(100).collect();
        output::data(&format!("{key:<widest$}  {value}  ({from})"));
    }
    Ok(())
}

/// A store without what an address may hold in secret.
fn public(store: &str) -> String {
    match rehearsal_store::file_of(store) {
        Some(_) => project::store().unwrap_or_else(|| store.to_owned()),
        None => format!("{}://…", store.split("://").next().unwrap_or_default()),
    }
}
