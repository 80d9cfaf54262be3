//! Environment variables: the process's own, and those of an `--env-file`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::CommandError;
use crate::files;

/// Reads variables; those of the file come first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    from_file: BTreeMap<String, String>,
}

impl Variables {
    /// The process's own variables, and those of a file.
    pub(crate) fn with_file(path: Option<&Path>) -> Result<Self, CommandError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = files::read(path).map_err(|error| CommandError::from(error).about("the env file"))?;
        let from_file = parse(&text).map_err(|(line, why)| {
            let place = format!("{}:{line}", path.display());
            CommandError::user(why).about(place).hint("write one NAME=value a line")
        })?;
        Ok(Self { from_file })
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<String> {
        self.from_file.get(name).cloned().or_else(|| std::env::var(name).ok())
    }
}

/// What is wrong with a line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum BadLine {
    #[error("this line gives no variable a value")]
    NoValue,
    #[error("`{0}` cannot be the name of a variable")]
    Name(String),
    #[error("a quote is not closed")]
    Unclosed,
    #[error("`{0}` stands after the value")]
    After(String),
}

/// Reads lines such as `NAME=value`, `export NAME="a value"` and `# a remark`.
fn parse(text: &str) -> Result<BTreeMap<String, String>, (usize, BadLine)> {
    let mut variables = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: BadLine| (index + 1, why);
        let assignment = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = assignment.split_once('=').ok_or_else(|| wrong(BadLine::NoValue))?;
        let name = name.trim();
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(fits) {
            return Err(wrong(BadLine::Name(name.to_owned())));
        }
        variables.insert(name.to_owned(), value_of(value.trim()).map_err(wrong)?);
    }
    Ok(variables)
}

fn value_of(text: &str) -> Result<String, BadLine> {
    if let Some(rest) = text.strip_prefix('\'') {
        let (value, after) = rest.split_once('\'').ok_or(BadLine::Unclosed)?;
        return nothing_after(after).map(|()| value.to_owned());
    }
    let Some(rest) = text.strip_prefix('"') else {
        let value = text.split_once(" #").map_or(text, |(value, _)| value);
        return Ok(value.trim_end().to_owned());
    };
    let mut value = String::new();
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return nothing_after(chars.as_str()).map(|()| value),
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(other) => value.push(other),
                None => break,
            },
            other => value.push(other),
        }
    }
    Err(BadLine::Unclosed)
}

fn nothing_after(rest: &str) -> Result<(), BadLine> {
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('#') { Ok(()) } else { Err(BadLine::After(rest.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_shells_write_them() {
        let text = "# a remark\nA=1\nexport B = two words # why\nC=\"x # y\\n\" # z\nD='$A'\nE=\n";
        let variables = parse(text).unwrap();
        let expected = [("A", "1"), ("B", "two words"), ("C", "x # y\n"), ("D", "$A"), ("E", "")];
        assert_eq!(variables.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        assert_eq!(parse("A=1\nnonsense").unwrap_err().0, 2);
        assert_eq!(parse("A=\"open").unwrap_err(), (1, BadLine::Unclosed));
        assert_eq!(parse("A='x' y").unwrap_err(), (1, BadLine::After("y".to_owned())));
        assert_eq!(parse("A B=1").unwrap_err(), (1, BadLine::Name("A B".to_owned())));
    }
}
