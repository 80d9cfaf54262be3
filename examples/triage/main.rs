//! A clinician triages three patients, and is judged.
//!
//! `cargo run --release --example triage` runs offline, with models that follow a script.
//! `cargo run --release --example triage -- --model openai:gpt-4o-mini` runs the same cases with a real provider,
//! `… --model openai:gpt-4o-mini headache` only those whose name contains `headache`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use std::process::ExitCode;

use rehearsal::models::{ModelSpec, connect};
use rehearsal::prelude::*;
use rehearsal::sim::SuiteEvent;

mod cases;

#[tokio::main]
async fn main() -> ExitCode {
    let suite = match suite() {
        Ok(suite) => suite,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    // What happens goes to standard error as it happens; what came of it goes to standard output at the end.
    let suite = suite.observe(|event| match event {
        SuiteEvent::Started { name, .. } => eprintln!("{name} …"),
        SuiteEvent::Finished { run, .. } => eprintln!("{} {}", run.result.name, run.result.status),
        _ => {}
    });
    let run = suite.run().await;
    for case in &run.runs {
        show(case);
    }
    let summary = &run.result.summary;
    println!(
        "{} cases: {} passed, {} failed, {} errors, {} terminated",
        summary.total, summary.passed, summary.failed, summary.errors, summary.terminated
    );
    if run.result.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The cases, with the models that the command line asks for.
fn suite() -> Result<Suite, String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(cases::scripted()),
        ["--model", spec, ref names @ ..] => {
            let spec: ModelSpec = spec.parse().map_err(|error| format!("{error}"))?;
            let model =
                connect(&spec, &|name: &str| std::env::var(name).ok()).map_err(|error| format!("{error}"))?;
            let model: std::sync::Arc<dyn Model> = std::sync::Arc::new(model);
            let names: Vec<&str> = names.to_vec();
            let cases = cases::played_by(&model);
            Ok(Suite::new(
                cases
                    .into_iter()
                    .filter(|case| names.is_empty() || names.iter().any(|name| case.name().contains(name))),
            ))
        }
        _ => {
            Err("usage: triage [--model openai:MODEL | anthropic:MODEL | gemini:MODEL | … [CASE…]]"
                .to_owned())
        }
    }
}

fn show(run: &CaseRun) {
    let (result, rule) = (&run.result, "─".repeat(80));
    println!("{rule}\n{run}");
    println!("\nstate:\n{:#}", run.state().to_value());
    let usage = &result.token_usage;
    let tokens = |usage: Option<rehearsal::core::Usage>| {
        usage
            .map_or_else(|| "unknown".to_owned(), |usage| format!("{} in, {} out", usage.input, usage.output))
    };
    println!(
        "\ntokens: agent {}; user {}; judge {}",
        tokens(usage.agent),
        tokens(usage.user),
        tokens(usage.judge)
    );
    println!("{} turns, {} ms: {}", result.turns, result.duration_ms, result.status);
}
