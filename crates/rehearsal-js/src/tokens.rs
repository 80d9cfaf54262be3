//! The words and signs of a source, read leniently: enough to tell code from text, never a verdict on syntax.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    /// A number.
    Number,
    /// Text in single or double quotes.
    Text,
    /// A JavaScript template literal, with its backquotes.
    Literal,
    /// A regular expression.
    Pattern,
    /// `${…}` in the open.
    Placeholder,
    /// `${` that is never closed, with all that follows.
    Unclosed,
    /// An operator, a bracket or any other character.
    Sign,
}

/// A piece of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

impl Token {
    pub(super) fn text<'s>(&self, source: &'s str) -> &'s str {
        &source[self.span.clone()]
    }
}

/// Whether comments and regular expressions are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// JavaScript, where `//` begins a comment.
    Code,
    /// A template, where `//` is as likely part of an address.
    Template,
}

const SIGNS: [&str; 11] = ["===", "!==", "==", "!=", ">=", "<=", "=>", "&&", "||", "??", "?."];

/// How many bytes of a regular expression are looked at.
const LONGEST_PATTERN: usize = 1024;

/// The tokens of a source, without white space and comments.
pub(super) fn tokens(source: &str, reading: Reading) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut at = 0;
    // Where a quote turned out to be an apostrophe, the same quote is one up to the end of its line.
    let mut apostrophes = 0;
    // What is not closed once is not looked for again: reading stays linear.
    let mut never_closed = false;
    while let Some(next) = source[at..].chars().next() {
        let rest = &source[at..];
        if next.is_whitespace() {
            at += next.len_utf8();
            continue;
        }
        if reading == Reading::Code
            && let Some(end) = comment(source, at)
        {
            at = end;
            continue;
        }
        let before = found.last().map_or("", |token| token.text(source));
        let (kind, end) = if rest.starts_with("${") {
            closing(source, at + 2, Inside::Braces)
                .map_or((Kind::Unclosed, source.len()), |end| (Kind::Placeholder, end))
        } else if is_word_start(next) {
            (Kind::Word, at + word(rest))
        } else if next.is_ascii_digit() {
            (Kind::Number, at + number(rest))
        } else if (next == '"' || next == '\'') && at >= apostrophes {
            match quoted(source, at, &mut never_closed) {
                Ok(end) => (Kind::Text, end),
                Err(end) => {
                    apostrophes = end;
                    (Kind::Sign, at + 1)
                }
            }
        } else if next == '`' && !never_closed {
            let end = closing(source, at + 1, Inside::Literal);
            never_closed = end.is_none();
            end.map_or((Kind::Sign, at + 1), |end| (Kind::Literal, end))
        } else if next == '/'
            && reading == Reading::Code
            && let Some(end) = pattern(source, at, before)
        {
            (Kind::Pattern, end)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (Kind::Sign, at + sign.map_or(next.len_utf8(), |sign| sign.len()))
        };
        found.push(Token { kind, span: at..end });
        at = end;
    }
    found
}

/// The places of `${…}` in a text, whatever stands around them.
pub(super) fn placeholders(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find("${").map(|start| at + start) {
        let Some(end) = closing(text, start + 2, Inside::Braces) else { break };
        found.push(start..end);
        at = end;
    }
    found
}

/// The code inside `${…}`.
pub(super) fn inner(placeholder: &Range<usize>) -> Range<usize> {
    placeholder.start + 2..placeholder.end - 1
}

/// The number of bytes of the word a text begins with; it stops before `${`.
fn word(text: &str) -> usize {
    text.char_indices()
        .find(|(at, next)| !is_word(*next) || (*at > 0 && text[*at..].starts_with("${")))
        .map_or(text.len(), |(at, _)| at)
}

fn is_word_start(next: char) -> bool {
    next.is_alphabetic() || next == '_' || next == '$' || next == '#'
}

fn is_word(next: char) -> bool {
    next.is_alphanumeric() || next == '_' || next == '$' || next == '#'
}

/// The number of bytes of the number a text begins with.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let signed = (*byte == b'+' || *byte == b'-') && matches!(bytes[at - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || *byte == b'.' || *byte == b'_' || signed) {
            break;
        }
        at += 1;
    }
    at
}

/// The end of the comment that begins here.
fn comment(source: &str, at: usize) -> Option<usize> {
    let rest = &source[at..];
    if rest.starts_with("//") {
        return Some(rest.find('\n').map_or(source.len(), |length| at + length));
    }
    rest.starts_with("/*").then(|| rest.find("*/").map_or(source.len(), |length| at + length + 2))
}

/// The end of the quoted text that begins here, or how far it was looked for.
///
/// A `${…}` in it may hold the same quotes.
fn quoted(source: &str, start: usize, never_closed: &mut bool) -> Result<usize, usize> {
    let bytes = source.as_bytes();
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => return Err(at),
            b'$' if !*never_closed && bytes.get(at + 1) == Some(&b'{') => {
                let end = closing(source, at + 2, Inside::Braces);
                *never_closed = end.is_none();
                at = end.unwrap_or(at + 2);
            }
            byte if *byte == bytes[start] => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(source.len())
}

/// The end of the regular expression that begins here, if the token before makes one possible.
fn pattern(source: &str, start: usize, before: &str) -> Option<usize> {
    let last = before.chars().last();
    let operand =
        last.is_some_and(|last| is_word(last) || matches!(last, ')' | ']' | '}' | '"' | '\'' | '`'));
    if operand && !matches!(before, "return" | "typeof" | "in" | "of" | "case" | "void") {
        return None;
    }
    let bytes = &source.as_bytes()[..source.len().min(start + LONGEST_PATTERN)];
    let mut at = start + 1;
    let mut in_class = false;
    loop {
        match bytes.get(at)? {
            b'\n' => return None,
            b'\\' => at += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'/' if !in_class => break,
            _ => {}
        }
        at += 1;
    }
    let flags = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    Some(at + 1 + flags)
}

#[derive(Clone, Copy)]
enum Inside {
    Braces,
    Literal,
}

/// Where the braces or the template literal that began before `at` end.
fn closing(source: &str, start: usize, inside: Inside) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut open = vec![inside];
    let mut at = start;
    while let Some(current) = open.last() {
        let byte = *bytes.get(at)?;
        match (current, byte) {
            (Inside::Literal, b'\\') => at += 2,
            (Inside::Literal, b'$') if bytes.get(at + 1) == Some(&b'{') => {
                open.push(Inside::Braces);
                at += 2;
            }
            (Inside::Literal, b'`') | (Inside::Braces, b'}') => {
                open.pop();
                at += 1;
            }
            (Inside::Braces, b'{') => {
                open.push(Inside::Braces);
                at += 1;
            }
            (Inside::Braces, b'`') => {
                open.push(Inside::Literal);
                at += 1;
            }
            (Inside::Braces, b'"' | b'\'') => at = plain_quoted(bytes, at),
            (Inside::Braces, b'/') => {
                let before = source[start..at].trim_end();
                at = comment(source, at).or_else(|| pattern(source, at, before)).unwrap_or(at + 1);
            }
            _ => at += 1,
        }
    }
    Some(at)
}

/// The end of a quoted text in code, or of its line.
fn plain_quoted(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if *byte == bytes[start] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str, reading: Reading) -> Vec<(Kind, &str)> {
        tokens(source, reading).iter().map(|token| (token.kind, token.text(source))).collect()
    }

    #[test]
    fn code_is_words_and_signs() {
        use Kind::*;
        assert_eq!(
            read("args[0].q === 'it\\'s' && /[/\"]+/i.test(`a ${'}'} b`) // end", Reading::Code),
            [
                (Word, "args"),
                (Sign, "["),
                (Number, "0"),
                (Sign, "]"),
                (Sign, "."),
                (Word, "q"),
                (Sign, "==="),
                (Text, "'it\\'s'"),
                (Sign, "&&"),
                (Pattern, "/[/\"]+/i"),
                (Sign, "."),
                (Word, "test"),
                (Sign, "("),
                (Literal, "`a ${'}'} b`"),
                (Sign, ")"),
            ]
        );
    }

    #[test]
    fn a_placeholder_is_one_token_whatever_is_in_it() {
        use Kind::*;
        assert_eq!(
            read("a${ {b: '}', c: `${1}`, d: /}/} } \"${x[\"y\"]}\" //z", Reading::Template),
            [
                (Word, "a"),
                (Placeholder, "${ {b: '}', c: `${1}`, d: /}/} }"),
                (Text, "\"${x[\"y\"]}\""),
                (Sign, "/"),
                (Sign, "/"),
                (Word, "z"),
            ]
        );
        assert_eq!(read("a ${b", Reading::Template), [(Word, "a"), (Unclosed, "${b")]);
    }

    #[test]
    fn an_apostrophe_is_not_the_beginning_of_a_text() {
        use Kind::*;
        assert_eq!(
            read("it's\n'a'", Reading::Template),
            [(Word, "it"), (Sign, "'"), (Word, "s"), (Text, "'a'")]
        );
    }
}
