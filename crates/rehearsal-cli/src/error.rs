//! Why a command did not do what it was asked: the one error of this program, which [`crate::main`] prints.
//!
//! What is wrong and what would help are kept apart, so that a caller can put the one into a larger sentence and add to
//! the other; only [`fmt::Display`] makes a text of them.

use std::fmt;
use std::process::ExitCode;

use rehearsal_scenario::CompileError;

use crate::exit;

/// Whose move it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The caller's: the words of the command line, or a file that they name, are wrong.
    User,
    /// That of whoever keeps the machine: a file, a store or a server cannot be used.
    Setup,
    /// Ours: what always works did not.
    Internal,
    /// Nobody's: somebody pressed Ctrl-C, and not all was done.
    Interrupted,
}

impl Kind {
    /// The exit code that says so; `exit.rs` says what they mean.
    fn exit_code(self) -> ExitCode {
        match self {
            Self::User | Self::Setup | Self::Internal => exit::bad_input(),
            Self::Interrupted => exit::interrupted(),
        }
    }
}

/// Why a command did not do what it was asked, and what would help.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandError {
    kind: Kind,
    /// What is wrong; nothing where all of it was shown already, beside the lines of files that it is about.
    messages: Vec<String>,
    hints: Vec<String>,
}

impl CommandError {
    /// What somebody wrote is wrong.
    pub(crate) fn user(message: impl fmt::Display) -> Self {
        Self::new(Kind::User, message)
    }

    /// Something that the command needs cannot be used.
    pub(crate) fn setup(message: impl fmt::Display) -> Self {
        Self::new(Kind::Setup, message)
    }

    /// What always works did not.
    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(Kind::Internal, message)
    }

    /// What somebody wrote is wrong, and all there is to say about it was shown.
    pub(crate) fn shown() -> Self {
        Self { kind: Kind::User, messages: Vec::new(), hints: Vec::new() }
    }

    /// Several things that somebody wrote are wrong; nothing where there are none.
    pub(crate) fn several(messages: Vec<String>) -> Option<Self> {
        (!messages.is_empty()).then_some(Self { kind: Kind::User, messages, hints: Vec::new() })
    }

    fn new(kind: Kind, message: impl fmt::Display) -> Self {
        Self { kind, messages: vec![message.to_string()], hints: Vec::new() }
    }

    /// The same with what would help, after what was said to help before.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// The same where something more may help.
    #[must_use]
    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = impl fmt::Display>) -> Self {
        self.hints.extend(hints.into_iter().map(|hint| hint.to_string()));
        self
    }

    /// The same, said of what it happened to: `what: message`.
    #[must_use]
    pub(crate) fn about(mut self, what: impl fmt::Display) -> Self {
        for message in &mut self.messages {
            *message = format!("{what}: {message}");
        }
        self
    }

    /// The same as another kind.
    #[must_use]
    pub(crate) fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Whether there is nothing left to be printed.
    pub(crate) fn is_shown(&self) -> bool {
        self.messages.is_empty()
    }

    /// What the program ends with.
    pub(crate) fn exit_code(&self) -> ExitCode {
        self.kind.exit_code()
    }

    /// What is wrong and what would help, to stand in another message.
    pub(crate) fn text(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\n\nhint: {hint}"));
        std::iter::once(self.messages.join("\n")).chain(hints).collect()
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, message) in self.messages.iter().enumerate() {
            let line = if index == 0 { "" } else { "\n" };
            write!(f, "{line}error: {message}")?;
        }
        self.hints.iter().try_for_each(|hint| write!(f, "\n\nhint: {hint}"))
    }
}

impl std::error::Error for CommandError {}

impl From<CompileError> for CommandError {
    fn from(error: CompileError) -> Self {
        Self::user(&error).hints(error.hint())
    }
}

/// An error with its causes, on one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect::<Vec<_>>().join(": ")
}

/// The runtime that commands run on cannot be had.
pub(crate) fn cannot_start(error: &std::io::Error) -> CommandError {
    CommandError::setup(format_args!("the runtime cannot be started: {error}"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn it_is_told_with_all_that_would_help() {
        let error = CommandError::setup("the disk is full").about("this run cannot be kept");
        let error = error.hint("`--store FILE` keeps it elsewhere").hint("`--no-store` nowhere");
        expect![[r"
            error: this run cannot be kept: the disk is full

            hint: `--store FILE` keeps it elsewhere

            hint: `--no-store` nowhere"]]
        .assert_eq(&error.to_string());
        assert_eq!(format!("error: {}", error.text()), error.to_string());
    }

    #[test]
    fn several_messages_have_a_line_each_and_what_was_shown_has_none() {
        let several = CommandError::several(vec!["one".to_owned(), "two".to_owned()]).unwrap();
        assert_eq!(several.to_string(), "error: one\nerror: two");
        assert_eq!(CommandError::several(Vec::new()), None);
        assert!(CommandError::shown().is_shown() && CommandError::shown().to_string().is_empty());
    }

    #[test]
    fn a_kind_has_its_exit_code() {
        let code = |kind| format!("{:?}", CommandError::user("x").kind(kind).exit_code());
        for kind in [Kind::User, Kind::Setup, Kind::Internal] {
            assert_eq!(code(kind), format!("{:?}", ExitCode::from(2)));
        }
        assert_eq!(code(Kind::Interrupted), format!("{:?}", ExitCode::from(130)));
    }

    #[test]
    fn causes_stand_behind_what_they_caused() {
        let cause = std::io::Error::other("no space");
        let error = std::io::Error::other(CommandError::user("a").about("b"));
        assert_eq!(with_causes(&cause), "no space");
        assert_eq!(with_causes(&error), "error: b: a");
    }
}
