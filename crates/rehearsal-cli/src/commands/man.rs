//! `rehearse man`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;

use crate::error::CommandError;
use crate::{Cli, output};

/// Print the manual page.
///
/// Prints the page of `rehearse` itself, or writes it and one for each command into a folder.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  rehearse man | man -l -
  rehearse man --out ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder to write all pages into, which is made where it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs) -> Result<(), CommandError> {
    let pages = pages()
        .map_err(|error| CommandError::internal(format_args!("the manual pages cannot be made: {error}")))?;
    let Some(folder) = &args.out else {
        if let Some((_, page)) = pages.first() {
            output::data(page.trim_end());
        }
        return Ok(());
    };
    for (name, page) in pages {
        let path = folder.join(name);
        write(&path, &page).map_err(|error| {
            CommandError::setup(format_args!("cannot write `{}`: {error}", path.display()))
        })?;
        output::data(&path.display().to_string());
    }
    Ok(())
}

fn write(path: &Path, page: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, page)
}

/// The pages by their file names, that of `rehearse` first.
fn pages() -> io::Result<Vec<(String, String)>> {
    let mut all = Cli::command();
    all.build();
    let commands: Vec<Command> =
        all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let own = all.get_name().to_owned();
    let mut pages = vec![page(&own, all)?];
    for command in commands {
        let name = format!("{own}-{}", command.get_name());
        pages.push(page(&name, command)?);
    }
    Ok(pages)
}

fn page(name: &str, command: Command) -> io::Result<(String, String)> {
    let mut text = Vec::new();
    Man::new(command).title(name).render(&mut text)?;
    Ok((format!("{name}.1"), String::from_utf8(text).map_err(io::Error::other)?))
}
