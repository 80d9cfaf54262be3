//! `rehearse check`.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use rehearsal_scenario::{Dialect, Severity, Style};

use crate::{exit, files, output};

/// Check scenario files without running them.
///
/// Shows every problem of every file: the place, the line with the place marked, and what would be right. Keys that
/// have no effect are errors, because a setting that is accepted but not acted on would be a silent pass.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Scenario files, or folders in which every `*.scenario.yaml` and `*.scenario.yml` is checked
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Accept the files of another runner; what that one drops silently becomes a warning
    #[arg(long, value_name = "RUNNER")]
    compat: Option<Compat>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: Colour,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Compat {
    /// The scenario runner of `ElizaOS`, 1.5.7 to 1.7.2
    #[value(name = "elizaos")]
    ElizaOs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Colour {
    Auto,
    Always,
    Never,
}

/// The most problems of a file that are shown; who has more is not helped by all of them.
const MAX_SHOWN: usize = 100;

pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    let dialect = match args.compat {
        None => Dialect::Rehearsal,
        Some(Compat::ElizaOs) => Dialect::ElizaOs,
    };
    let style = match args.color {
        Colour::Always => Style::Coloured,
        Colour::Auto if std::io::stderr().is_terminal() => Style::Coloured,
        Colour::Auto | Colour::Never => Style::Plain,
    };
    let paths = match files::find(&args.paths) {
        Ok(paths) => paths,
        Err(error) => {
            output::message(&format!("error: {error}"));
            return exit::bad_input();
        }
    };
    let (mut usable, mut unusable, mut warnings) = (0, 0, 0);
    for path in &paths {
        let name = path.display().to_string();
        let text = match files::read(path) {
            Ok(text) => text,
            Err(error) => {
                output::message(&format!("error: {error}\n"));
                unusable += 1;
                continue;
            }
        };
        let checked = rehearsal_scenario::check(&text, dialect);
        for problem in checked.problems.iter().take(MAX_SHOWN) {
            output::message(&format!("{}\n", problem.render(&name, &text, style)));
        }
        match checked.problems.len().saturating_sub(MAX_SHOWN) {
            0 => {}
            1 => output::message("… and 1 more problem\n"),
            more => output::message(&format!("… and {more} more problems\n")),
        }
        warnings += checked.problems.iter().filter(|problem| problem.severity == Severity::Warning).count();
        if checked.is_usable() { usable += 1 } else { unusable += 1 }
    }
    output::data(&format!("{usable} usable, {unusable} not, {warnings} warnings"));
    if unusable == 0 { exit::PASSED } else { exit::bad_input() }
}
