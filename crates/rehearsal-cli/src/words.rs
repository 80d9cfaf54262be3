//! The words of a command line, and which option each belongs to.

use std::ops::Range;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::Cli;

/// An option with its value, or something that is no option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The long name of the option, as `json`; nothing for what stands by its place, and for what no option is.
    pub(crate) option: Option<String>,
    /// The words themselves.
    pub(crate) words: Vec<String>,
}

impl Word {
    /// The option as somebody writes it.
    pub(crate) fn shown(&self) -> String {
        match &self.option {
            Some(option) => format!("--{option}"),
            None => self.words.join(" "),
        }
    }
}

/// The words with which this program was started, without its own name. What is no text is as close to it as a text can be.
pub(crate) fn here() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The words after the name of a command, by the options of that command.
pub(crate) fn of(words: &[String]) -> Vec<Word> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    let program = Cli::command();
    let Some(command) = program.find_subcommand(name) else { return Vec::new() };
    let mut found = Vec::new();
    let mut at = 0;
    while at < rest.len() {
        if rest[at] == "--" {
            // What stands behind is no option, so it goes on standing behind.
            found.push(Word { option: None, words: rest[at..].to_vec() });
            break;
        }
        let (option, length) = option(command, rest, at);
        let end = (at + length).min(rest.len());
        found.push(Word { option, words: words_of(rest, at..end) });
        at = end;
    }
    found
}

fn words_of(rest: &[String], range: Range<usize>) -> Vec<String> {
    rest[range].to_vec()
}

/// The option that begins here, and of how many words it is.
fn option(command: &Command, rest: &[String], at: usize) -> (Option<String>, usize) {
    let word = &rest[at];
    let takes = |arg: &Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let long = |arg: &Arg| arg.get_long().map(str::to_owned);
    if let Some(name) = word.strip_prefix("--") {
        let (name, has_value) = name.split_once('=').map_or((name, false), |(name, _)| (name, true));
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name));
        return (Some(name.to_owned()), if arg.is_some_and(takes) && !has_value { 2 } else { 1 });
    }
    let mut letters = word.strip_prefix('-').unwrap_or_default().chars();
    let Some(letter) = letters.next() else { return (None, 1) };
    let arg = command.get_arguments().find(|arg| arg.get_short() == Some(letter));
    let takes = arg.is_some_and(takes) && letters.next().is_none();
    (arg.and_then(long), if takes { 2 } else { 1 })
}

/// The words of a command with these options.
pub(crate) fn join(command: &str, words: impl IntoIterator<Item = Word>) -> Vec<String> {
    let words = words.into_iter().flat_map(|word| word.words);
    std::iter::once(command.to_owned()).chain(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[(Option<&str>, &str)]) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let found = of(&words);
        let found: Vec<(Option<&str>, String)> =
            found.iter().map(|word| (word.option.as_deref(), word.words.join(" "))).collect();
        let found: Vec<(Option<&str>, &str)> =
            found.iter().map(|(option, words)| (*option, words.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn words_are_told_apart_by_their_options() {
        check(
            "run a.yaml --json - -q --seed=7 --model agent=x b --keep -- --c",
            &[
                (None, "a.yaml"),
                (Some("json"), "--json -"),
                (Some("quiet"), "-q"),
                (Some("seed"), "--seed=7"),
                (Some("model"), "--model agent=x"),
                (None, "b"),
                (Some("keep"), "--keep"),
                (None, "-- --c"),
            ],
        );
        check("run - --json", &[(None, "-"), (Some("json"), "--json")]);
        check("nothing a", &[]);
    }
}
