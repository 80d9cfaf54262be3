//! Choosing scenarios by name and tag.

use std::fmt;
use std::str::FromStr;

/// Which scenarios are run: words that must fit the name or a tag, joined by `and`, `or`, `not` and parentheses.
///
/// A word fits when the name contains it or a tag is it, in whatever case; `name:WORD` looks only at the name,
/// `tag:WORD` only at the tags. `*` in a word stands for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    Name(String),
    Tag(String),
    Either(String),
    Not(Box<Filter>),
    And(Box<Filter>, Box<Filter>),
    Or(Box<Filter>, Box<Filter>),
}

impl Filter {
    /// Whether a scenario is chosen.
    pub(crate) fn chooses(&self, name: &str, tags: &[String]) -> bool {
        let in_name = |word: &str| fits(&format!("*{word}*"), name);
        let is_tag = |word: &str| tags.iter().any(|tag| fits(word, tag));
        match self {
            Self::Name(word) => in_name(word),
            Self::Tag(word) => is_tag(word),
            Self::Either(word) => in_name(word) || is_tag(word),
            Self::Not(filter) => !filter.chooses(name, tags),
            Self::And(a, b) => a.chooses(name, tags) && b.chooses(name, tags),
            Self::Or(a, b) => a.chooses(name, tags) || b.chooses(name, tags),
        }
    }
}

/// Whether a pattern with `*` fits a text, in whatever case.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.to_lowercase(), text.to_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last: Option<&str> = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
    }
    match last {
        Some(part) => rest.ends_with(part),
        None => rest.is_empty(),
    }
}

/// A filter that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadFilter(String);

impl fmt::Display for BadFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; write words joined by `and`, `or` and `not`, such as `billing and not tag:slow`",
            self.0
        )
    }
}

impl std::error::Error for BadFilter {}

impl FromStr for Filter {
    type Err = BadFilter;

    fn from_str(text: &str) -> Result<Self, BadFilter> {
        let mut words = Words { all: split(text)?, at: 0, depth: 0 };
        let filter = words.any()?;
        match words.next() {
            None => Ok(filter),
            Some(word) => Err(BadFilter(format!("`{word}` has nothing before it that it could belong to"))),
        }
    }
}

fn split(text: &str) -> Result<Vec<String>, BadFilter> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut was_quoted = false;
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                was_quoted = true;
            }
            c if quoted => word.push(c),
            '&' | '|' if word.ends_with(c) => {
                let joint = if c == '&' { "and" } else { "or" };
                return Err(BadFilter(format!("`{c}{c}` joins nothing here: write `{joint}`")));
            }
            '!' if word.is_empty() => {
                return Err(BadFilter("`!` denies nothing here: write `not`".to_owned()));
            }
            '(' | ')' => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                words.push(c.to_string());
            }
            c if c.is_whitespace() => {
                if !word.is_empty() || was_quoted {
                    words.push(std::mem::take(&mut word));
                }
                was_quoted = false;
            }
            c => word.push(c),
        }
    }
    if quoted {
        return Err(BadFilter("a quote is not closed".to_owned()));
    }
    words.extend((!word.is_empty()).then_some(word));
    Ok(words)
}

fn is_joint(word: &str) -> bool {
    ["and", "or", "not", "(", ")"].contains(&word.to_lowercase().as_str())
}

struct Words {
    all: Vec<String>,
    at: usize,
    depth: usize,
}

impl Words {
    fn peek(&self) -> Option<&str> {
        self.all.get(self.at).map(String::as_str)
    }

    fn next(&mut self) -> Option<String> {
        let word = self.all.get(self.at).cloned();
        self.at += 1;
        word
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.at += usize::from(there);
        there
    }

    fn any(&mut self) -> Result<Filter, BadFilter> {
        let mut filter = self.all()?;
        while self.take("or") {
            filter = Filter::Or(Box::new(filter), Box::new(self.all()?));
        }
        Ok(filter)
    }

    fn all(&mut self) -> Result<Filter, BadFilter> {
        let mut filter = self.one()?;
        while self.take("and") {
            filter = Filter::And(Box::new(filter), Box::new(self.one()?));
        }
        Ok(filter)
    }

    fn one(&mut self) -> Result<Filter, BadFilter> {
        self.depth += 1;
        if self.depth > 100 {
            return Err(BadFilter("the filter is nested too deeply".to_owned()));
        }
        let filter = self.one_here();
        self.depth -= 1;
        filter
    }

    fn one_here(&mut self) -> Result<Filter, BadFilter> {
        if self.take("not") {
            return Ok(Filter::Not(Box::new(self.one()?)));
        }
        if self.take("(") {
            let filter = self.any()?;
            return if self.take(")") { Ok(filter) } else { Err(BadFilter("`(` is not closed".to_owned())) };
        }
        match self.next() {
            None => Err(BadFilter("a word is missing".to_owned())),
            Some(word) if [")", "and", "or"].contains(&word.to_lowercase().as_str()) => {
                Err(BadFilter(format!("a word is missing before `{word}`")))
            }
            Some(mut word) => {
                // A shell takes the quotes off, so words side by side are one text.
                while self.peek().is_some_and(|next| !is_joint(next)) {
                    word.push(' ');
                    word.extend(self.next());
                }
                Ok(match word.split_once(':') {
                    Some(("name", rest)) => Filter::Name(rest.to_owned()),
                    Some(("tag", rest)) => Filter::Tag(rest.to_owned()),
                    _ => Filter::Either(word),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(filter: &str, name: &str, tags: &[&str]) -> bool {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        filter.parse::<Filter>().unwrap().chooses(name, &tags)
    }

    #[test]
    fn words_fit_names_and_tags() {
        assert!(chosen("refund", "Gets a Refund", &[]));
        assert!(chosen("billing", "Gets a Refund", &["Billing"]));
        assert!(!chosen("bill", "Gets a Refund", &["billing"]));
        assert!(chosen("bill*", "Gets a Refund", &["billing"]));
        assert!(!chosen("tag:refund", "Gets a Refund", &["billing"]));
        assert!(chosen("name:\"a refund\"", "Gets a Refund", &[]));
        assert!(chosen("gets a refund and not slow", "Gets a Refund", &[]));
        assert!(!chosen("gets refund", "Gets a Refund", &[]));
        assert!(chosen("\"a && !b\" and r&d", "Has a && !b of R&D", &[]));
    }

    #[test]
    fn words_are_joined() {
        assert!(chosen("refund and not tag:slow", "refund", &["fast"]));
        assert!(!chosen("refund and not tag:slow", "refund", &["slow"]));
        assert!(chosen("a or b and c", "a", &[]));
        assert!(!chosen("(a or b) and c", "a", &[]));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for bad in ["", "and", "a and", "(a", "a )", "\"a", "not", "a not b", "a&&b", "a || b", "!a"] {
            assert!(bad.parse::<Filter>().is_err(), "{bad}");
        }
        assert!("not ".repeat(200).parse::<Filter>().is_err());
    }
}
