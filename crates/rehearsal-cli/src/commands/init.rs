//! `rehearse init`.

use std::fs;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::commands::run::show::quoted;
use crate::error::CommandError;
use crate::output;

/// Write a first scenario.
///
/// Writes `hello.scenario.yaml`: small, with a remark on every part, and passing as it is, without a key and without a
/// network. A file that is there already is never overwritten unless you say so.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Example:
  rehearse init scenarios
  rehearse run scenarios")]
pub(crate) struct InitArgs {
    /// The folder, which is made where it is missing
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Replace a file that is there already
    #[arg(long)]
    force: bool,
}

const NAME: &str = "hello.scenario.yaml";

const HELLO: &str = include_str!("init/hello.scenario.yaml");

pub(crate) fn run(args: &InitArgs) -> Result<(), CommandError> {
    let path = write(args)?;
    output::data(&next(&path, &args.folder));
    Ok(())
}

fn write(args: &InitArgs) -> Result<PathBuf, CommandError> {
    let folder = &args.folder;
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make the folder `{}`: {error}", folder.display()))
        .map_err(CommandError::setup)?;
    let path = if folder == Path::new(".") { PathBuf::from(NAME) } else { folder.join(NAME) };
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let written = options.open(&path).and_then(|mut file| file.write_all(HELLO.as_bytes()));
    match written {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let what = format!("`{}` is there already, so nothing was written", path.display());
            let instead = "`--force` replaces it, and `rehearse init DIR` writes elsewhere";
            Err(CommandError::user(what).hint(instead))
        }
        Err(error) => Err(CommandError::setup(format_args!("cannot write `{}`: {error}", path.display()))),
    }
}

fn next(path: &Path, folder: &Path) -> String {
    let folder = quoted(&folder.display().to_string());
    format!(
        "wrote {}

What to do next:
  1. Run it; it passes as it is, offline:
       rehearse run {folder}
  2. In the file, give `models.agent` a real model, such as `openai:gpt-4o-mini`, and run it again.
     Or try one without changing the file:
       rehearse run {folder} --model agent=openai:gpt-4o-mini
  3. Change what is said and what is asked. `rehearse check {folder}` shows what is wrong with a file.

Runs are kept in `.rehearsal/`, which version control ignores: `rehearse runs` lists them.",
        path.display()
    )
}
