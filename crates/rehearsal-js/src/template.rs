//! Templates, `${…}` in text, made into JavaScript.

use std::ops::Range;

use super::SyntaxError;
use super::engine::Parser;
use super::tokens::{Kind, Reading, Token, inner, placeholders, tokens};

/// What an expression can look at.
pub(super) const SCOPE: [&str; 3] = ["args", "input", "context"];

/// The names that stay code beside a `${…}`.
const KNOWN: [&str; 18] = [
    "Array",
    "Boolean",
    "Date",
    "JSON",
    "Math",
    "Number",
    "Object",
    "String",
    "RegExp",
    "parseFloat",
    "parseInt",
    "typeof",
    "in",
    "null",
    "true",
    "false",
    "undefined",
    "new",
];

const COMPARISONS: [&str; 8] = ["===", "!==", "==", "!=", ">=", "<=", ">", "<"];
const DEEPEST: usize = 32;

/// Makes a template into a condition, and says whether it has an operator and not only values.
pub(super) fn condition(parser: &Parser, source: &str) -> Result<(String, bool), SyntaxError> {
    let tokens = tokens(source, Reading::Template);
    if let Some(open) = tokens.iter().find(|token| token.kind == Kind::Unclosed) {
        return Err(refused(source, open.span.start, "this `${` is not closed"));
    }
    let mut translation = Translation { parser, source, decides: false };
    let code = translation.condition(&tokens, 0)?;
    Ok((code, translation.decides))
}

/// Makes a template into an expression that gives a text, or what that text says where it is JSON.
pub(super) fn response(parser: &Parser, source: &str) -> Result<String, SyntaxError> {
    let is_json = source.trim_start().starts_with(['{', '[']);
    let mut code = String::new();
    // For the check of the JSON: the same text with something of the same length in place of each `${…}`.
    let mut sample = String::new();
    let mut in_quotes = false;
    let mut at = 0;
    for hole in placeholders(source) {
        let text = &source[at..hole.start];
        in_quotes = quotes_after(text, in_quotes);
        let way = match (is_json, in_quotes) {
            (false, _) => "text",
            (true, true) => "quoted",
            (true, false) => "json",
        };
        let value = placeholder(parser, source, &hole)?;
        write_piece(&mut code, &literal(text));
        write_piece(&mut code, &format!("$.{way}({value})"));
        let filler = if in_quotes { "x" } else { " " };
        let number = if in_quotes { "x" } else { "0" };
        sample.push_str(text);
        sample.push_str(number);
        sample.push_str(&filler.repeat(hole.len() - 1));
        at = hole.end;
    }
    if let Some(open) = source[at..].find("${") {
        return Err(refused(source, at + open, "this `${` is not closed"));
    }
    write_piece(&mut code, &literal(&source[at..]));
    sample.push_str(&source[at..]);
    if !is_json {
        return Ok(code);
    }
    if let Err(error) = rehearsal_core::json::from_str::<serde::de::IgnoredAny>(&sample) {
        return Err(json_error(&sample, &error));
    }
    Ok(format!("$.parse({code})"))
}

/// The code for a `${…}`: a missing part on the way to a value makes it undefined, not an error.
fn placeholder(parser: &Parser, source: &str, hole: &Range<usize>) -> Result<String, SyntaxError> {
    let code = &source[inner(hole)];
    if let Some(path) = optional_path(code) {
        return Ok(path);
    }
    parser.expression(code).map_err(|error| {
        let (line, column) = position(source, hole.start + 2);
        let column = if error.line == 1 { column + error.column - 1 } else { error.column };
        SyntaxError { line: line + error.line - 1, column, ..error }
    })?;
    Ok(format!("(\n{code}\n)"))
}

/// `args[0].a` as `args?.[0]?.a`.
fn optional_path(code: &str) -> Option<String> {
    let tokens = tokens(code, Reading::Code);
    let (root, mut rest) = tokens.split_first()?;
    if !SCOPE.contains(&root.text(code)) {
        return None;
    }
    let mut path = root.text(code).to_owned();
    while let Some((sign, after)) = rest.split_first() {
        let (name, after) = after.split_first()?;
        rest = match (sign.text(code), name.kind, after.first().map(|token| token.text(code))) {
            ("." | "?.", Kind::Word, _) => {
                path.extend(["?.", name.text(code)]);
                after
            }
            ("[", Kind::Number | Kind::Text, Some("]")) if !name.text(code).contains("${") => {
                path.extend(["?.[", name.text(code), "]"]);
                &after[1..]
            }
            _ => return None,
        };
    }
    Some(path)
}

struct Translation<'t> {
    parser: &'t Parser,
    source: &'t str,
    decides: bool,
}

impl Translation<'_> {
    fn condition(&mut self, tokens: &[Token], depth: usize) -> Result<String, SyntaxError> {
        if depth > DEEPEST {
            return Err(self.refused(tokens, "this is nested too deeply"));
        }
        for sign in ["||", "&&"] {
            let parts = self.split(tokens, sign)?;
            if parts.len() > 1 {
                self.decides = true;
                let parts: Result<Vec<String>, SyntaxError> =
                    parts.iter().map(|part| Ok(format!("({})", self.condition(part, depth + 1)?))).collect();
                return Ok(parts?.join(&format!(" {sign} ")));
            }
        }
        let comparisons = self.open(tokens, |text| COMPARISONS.contains(&text));
        match comparisons.as_slice() {
            [] => {}
            [at] => {
                let (left, right) = (&tokens[..*at], &tokens[at + 1..]);
                if left.is_empty() || right.is_empty() {
                    return Err(self.refused(&tokens[*at..], "one side of this comparison is missing"));
                }
                let (left, right) = (self.operand(left)?.0, self.operand(right)?.0);
                self.decides = true;
                return Ok(format!("$.compare({left}, {}, {right})", literal(tokens[*at].text(self.source))));
            }
            [_, second, ..] => {
                let message = "a second comparison in a row; join them with `&&`, or put text in quotes";
                return Err(self.refused(&tokens[*second..], message));
            }
        }
        match tokens {
            [] => Err(refused(self.source, self.source.len(), "a condition is missing")),
            [not, rest @ ..] if not.text(self.source) == "!" && !rest.is_empty() => {
                self.decides = true;
                Ok(format!("!({})", self.condition(rest, depth + 1)?))
            }
            [open, inside @ .., _] if open.text(self.source) == "(" && self.closes_last(tokens) => {
                Ok(format!("({})", self.condition(inside, depth + 1)?))
            }
            _ => {
                let (code, is_code) = self.operand(tokens)?;
                self.decides |= is_code;
                Ok(code)
            }
        }
    }

    /// One side of a comparison as an expression, and whether it is code that calls or computes something.
    fn operand(&self, tokens: &[Token]) -> Result<(String, bool), SyntaxError> {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
            return Err(refused(self.source, self.source.len(), "a value is missing"));
        };
        let span = first.span.start..last.span.end;
        let raw = &self.source[span.clone()];
        let has_holes = !placeholders(raw).is_empty();
        if !has_holes {
            let uses_scope = tokens.iter().any(|token| SCOPE.contains(&token.text(self.source)));
            // Code would round a long number; as a text it is compared digit by digit.
            let is_code = (is_literal(raw) && !is_long_number(raw)) || uses_scope;
            let code = if is_code && self.parser.expression(raw).is_ok() {
                format!("(\n{raw}\n)")
            } else {
                literal(unquoted(raw))
            };
            return Ok((code, uses_scope));
        }
        let code = self.code(tokens)?;
        if self.has_only_known_names(tokens)
            && !self.has_neighbours(tokens)
            && self.parser.expression(&code).is_ok()
        {
            return Ok((format!("(\n{code}\n)"), tokens.len() > 1));
        }
        Ok((self.text(span)?, false))
    }

    /// The tokens with each `${…}` as code, and each quoted text that holds one as the pieces it is made of.
    fn code(&self, tokens: &[Token]) -> Result<String, SyntaxError> {
        let mut code = String::new();
        let mut at = tokens.first().map_or(0, |token| token.span.start);
        for token in tokens {
            code.push_str(&self.source[at..token.span.start]);
            match token.kind {
                Kind::Placeholder => {
                    code.extend(["(", &placeholder(self.parser, self.source, &token.span)?, ")"]);
                }
                Kind::Text if !placeholders(token.text(self.source)).is_empty() => {
                    code.extend(["(", &self.text(token.span.start + 1..token.span.end - 1)?, ")"]);
                }
                _ => code.push_str(token.text(self.source)),
            }
            at = token.span.end;
        }
        Ok(code)
    }

    /// A piece of the source as text with each `${…}` replaced by its value.
    fn text(&self, span: Range<usize>) -> Result<String, SyntaxError> {
        let mut code = String::new();
        let mut at = span.start;
        for hole in placeholders(&self.source[span.clone()]) {
            let hole = span.start + hole.start..span.start + hole.end;
            write_piece(&mut code, &literal(&self.source[at..hole.start]));
            write_piece(&mut code, &format!("$.text({})", placeholder(self.parser, self.source, &hole)?));
            at = hole.end;
        }
        write_piece(&mut code, &literal(&self.source[at..span.end]));
        Ok(code)
    }

    fn has_only_known_names(&self, tokens: &[Token]) -> bool {
        let after_dot = |at: usize| at > 0 && matches!(tokens[at - 1].text(self.source), "." | "?.");
        tokens.iter().enumerate().all(|(at, token)| {
            let text = token.text(self.source);
            token.kind != Kind::Word || after_dot(at) || SCOPE.contains(&text) || KNOWN.contains(&text)
        })
    }

    /// Whether a `${…}` follows a value without an operator between them: in code it would be an argument.
    fn has_neighbours(&self, tokens: &[Token]) -> bool {
        tokens.windows(2).any(|pair| {
            let before = pair[0].text(self.source);
            let is_operator = pair[0].kind == Kind::Sign && !matches!(before, ")" | "]" | "}")
                || matches!(before, "typeof" | "in" | "new");
            pair[1].kind == Kind::Placeholder && !is_operator
        })
    }

    /// Where the tokens outside of all brackets are that a test wants.
    fn open(&self, tokens: &[Token], wanted: impl Fn(&str) -> bool) -> Vec<usize> {
        let mut depth = 0usize;
        let mut found = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            match token.text(self.source) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                text if depth == 0 && token.kind == Kind::Sign && wanted(text) => found.push(at),
                _ => {}
            }
        }
        found
    }

    fn split<'k>(&self, tokens: &'k [Token], sign: &str) -> Result<Vec<&'k [Token]>, SyntaxError> {
        let mut parts = Vec::new();
        let mut from = 0;
        let places = self.open(tokens, |text| text == sign);
        for at in &places {
            parts.push(&tokens[from..*at]);
            from = at + 1;
        }
        parts.push(&tokens[from..]);
        match parts.iter().position(|part| part.is_empty()).filter(|_| !places.is_empty()) {
            Some(empty) => {
                let sign = places[empty.saturating_sub(1)];
                Err(self.refused(&tokens[sign..], "a condition is missing here"))
            }
            None => Ok(parts),
        }
    }

    /// Whether the bracket that opens first is closed by the last token.
    fn closes_last(&self, tokens: &[Token]) -> bool {
        let mut depth = 0usize;
        for (at, token) in tokens.iter().enumerate() {
            match token.text(self.source) {
                "(" => depth += 1,
                ")" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1 == tokens.len();
            }
        }
        false
    }

    fn refused(&self, tokens: &[Token], message: &str) -> SyntaxError {
        refused(self.source, tokens.first().map_or(self.source.len(), |token| token.span.start), message)
    }
}

/// Whether a text is a whole number that JavaScript may not hold.
fn is_long_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.len() > 15 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is a number, a quoted text or one of the named values.
fn is_literal(text: &str) -> bool {
    let quoted = tokens(text, Reading::Template);
    let is_quoted = matches!(quoted.as_slice(), [only] if only.kind == Kind::Text);
    let number = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = number.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && number.parse::<f64>().is_ok();
    is_quoted || is_number || matches!(text, "true" | "false" | "null" | "undefined")
}

/// The text without the quotes around it.
fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// Whether the end of a piece of JSON is in quotes.
fn quotes_after(text: &str, mut in_quotes: bool) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if in_quotes => drop(bytes.next()),
            b'"' => in_quotes = !in_quotes,
            _ => {}
        }
    }
    in_quotes
}

fn write_piece(code: &mut String, piece: &str) {
    if !code.is_empty() {
        code.push_str(" + ");
    }
    code.push_str(piece);
}

/// A text as a JavaScript literal.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn json_error(sample: &str, error: &serde_json::Error) -> SyntaxError {
    let line = sample.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let before = &line[..line.floor_char_boundary(error.column().saturating_sub(1))];
    let reason = error.to_string();
    let reason = reason.split(" at line ").next().unwrap_or_default();
    let message = format!("with its values put in, this is not JSON: {reason}");
    SyntaxError { message, line: error.line().max(1), column: before.chars().count() + 1 }
}

/// An error at a place of the source.
pub(super) fn refused(source: &str, offset: usize, message: &str) -> SyntaxError {
    let (line, column) = position(source, offset);
    SyntaxError { message: message.to_owned(), line, column }
}

fn position(source: &str, offset: usize) -> (usize, usize) {
    let before = &source[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}
