//! `rehearse completions`.

use std::env;
use std::io;
use std::path::Path;

use clap::{Args, ValueEnum};
use clap_complete::env::Shells;

use crate::error::CommandError;
use crate::output;

/// Print what makes a shell complete `rehearse`.
///
/// The script asks `rehearse` itself whenever you press the tab key, so it also knows the names and tags of the scenarios
/// below the current folder, for `--filter`. Let your shell read it anew whenever it starts.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  bash         echo 'source <(rehearse completions bash)' >> ~/.bashrc
  zsh          echo 'source <(rehearse completions zsh)' >> ~/.zshrc
  fish         echo 'rehearse completions fish | source' > ~/.config/fish/completions/rehearse.fish
  elvish       echo 'eval (rehearse completions elvish | slurp)' >> ~/.config/elvish/rc.elv
  powershell   echo 'rehearse completions powershell | Out-String | Invoke-Expression' >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Elvish => "elvish",
            Self::Powershell => "powershell",
        }
    }
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<(), CommandError> {
    let script = script(args.shell)
        .map_err(|error| CommandError::setup(format_args!("the script cannot be made: {error}")))?;
    output::data(script.trim());
    Ok(())
}

fn script(shell: Shell) -> io::Result<String> {
    let shells = Shells::builtins();
    let known = shells.completer(shell.name()).ok_or_else(|| io::Error::other("the shell is not known"))?;
    let mut script = Vec::new();
    known.write_registration("COMPLETE", "rehearse", "rehearse", &program()?, &mut script)?;
    String::from_utf8(script).map_err(io::Error::other)
}

/// The program that the script asks: as it was called now, found from everywhere.
fn program() -> io::Result<String> {
    let called = env::args_os().next().unwrap_or_else(|| "rehearse".into());
    let called = Path::new(&called);
    let program =
        if called.components().count() > 1 { env::current_dir()?.join(called) } else { called.into() };
    Ok(program.to_string_lossy().into_owned())
}
