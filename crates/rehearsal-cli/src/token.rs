//! The token that callers of a server show.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use rehearsal_core::Ids;

use crate::error::CommandError;
use crate::output;
use crate::place::make_folder;

/// The variable that has the token, where no file is named.
pub(crate) const VARIABLE: &str = "REHEARSAL_TOKEN";
/// The shortest token that is taken: shorter ones can be guessed.
const SHORTEST: usize = 16;

/// A token and where it came from.
#[derive(Clone)]
pub(crate) struct Token {
    /// The token.
    pub(crate) text: String,
    /// The file it is in.
    pub(crate) file: Option<PathBuf>,
    /// Whether it was made just now, so that nobody has seen it yet.
    pub(crate) is_new: bool,
}

/// The token that somebody gave: in a file, or in the environment.
pub(crate) fn given(file: Option<&Path>) -> Result<Option<Token>, CommandError> {
    let (text, file, place) = match (file, std::env::var(VARIABLE)) {
        (Some(file), _) => {
            let text = fs::read_to_string(file).map_err(|error| {
                CommandError::user(format_args!("cannot read {}: {error}", file.display()))
            })?;
            warn_of_readers(file);
            (text, Some(file.to_owned()), file.display().to_string())
        }
        (None, Ok(text)) => (text, None, VARIABLE.to_owned()),
        (None, Err(_)) => return Ok(None),
    };
    let text = checked(&text, &place).map_err(CommandError::user)?;
    Ok(Some(Token { text, file, is_new: false }))
}

/// The token of an earlier start, or a new one that is nowhere yet.
pub(crate) fn kept_or_new(file: &Path) -> Result<Token, CommandError> {
    let place = file.display().to_string();
    match fs::read_to_string(file) {
        Ok(text) => {
            let text = checked(&text, &place).map_err(|why| {
                CommandError::user(format_args!(
                    "{why}; remove the file and start again: a new token is made then"
                ))
            })?;
            warn_of_readers(file);
            Ok(Token { text, file: Some(file.to_owned()), is_new: false })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok(Token { text: made(), file: Some(file.to_owned()), is_new: true })
        }
        Err(error) => Err(CommandError::setup(format_args!("cannot read {place}: {error}"))),
    }
}

impl Token {
    /// Keeps a new token in its file. False when there is another by now: a server was started here at the same
    /// moment, and its token counts.
    pub(crate) fn keep(&self) -> Result<bool, CommandError> {
        let Some(file) = self.file.as_deref().filter(|_| self.is_new) else { return Ok(true) };
        if let Some(folder) = file.parent() {
            make_folder(folder)?;
        }
        match write_whole(file, &self.text) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => {
                Err(CommandError::setup(format_args!("cannot keep the token in {}: {error}", file.display())))
            }
        }
    }
}

/// A token that others on this machine can read is none.
fn warn_of_readers(file: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(file).map(|about| about.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            let place = file.display();
            output::warning(
                format_args!("others on this machine can read the token in {place}"),
                format_args!("chmod 600 {place}"),
            );
        }
    }
}

/// Writes a file that is not there, whole or not at all: whoever finds it can read it.
fn write_whole(file: &Path, text: &str) -> std::io::Result<()> {
    let unfinished = file.with_extension(std::process::id().to_string());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One of an earlier process that had this id and was killed.
    drop(fs::remove_file(&unfinished));
    let mut opened = options.open(&unfinished)?;
    let written = opened.write_all(text.as_bytes()).and_then(|()| opened.write_all(b"\n"));
    let written = written.and_then(|()| opened.sync_all());
    // Unlike a new name, a second one never takes another file's place.
    let named = written.and_then(|()| match fs::hard_link(&unfinished, file) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !file.exists() => {
            // Some file systems know no second names.
            fs::rename(&unfinished, file)
        }
        named => named,
    });
    drop(fs::remove_file(&unfinished));
    named
}

/// The token of a server that was started in this folder.
pub(crate) fn of_folder() -> Option<String> {
    fs::read_to_string(crate::place::token_file()).ok().map(|text| text.trim().to_owned())
}

/// A text that can be no token.
#[derive(Debug, thiserror::Error)]
#[error("{place} holds no usable token: it needs at least {SHORTEST} letters and digits (also - _ . ~)")]
struct Unusable {
    place: String,
}

fn checked(text: &str, place: &str) -> Result<String, Unusable> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte));
    if text.len() < SHORTEST || !plain {
        return Err(Unusable { place: place.to_owned() });
    }
    Ok(text.to_owned())
}

/// 128 random bits, as text that can stand in an address.
fn made() -> String {
    let ids = [Ids::random(), Ids::random()];
    let parts = ids.map(|ids| ids.session("token", 0).as_str().replace('-', ""));
    parts.concat()
}
