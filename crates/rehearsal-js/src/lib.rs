//! JavaScript in scenario files: matchers, responses that are computed, conditions and patterns.
//!
//! # What an author can write
//!
//! - An **expression**: `args[0].q === 'x' && input.n > 3`.
//! - A **function**: `(args, input, context) => …` or `function (args) { … }`; it is called with the three.
//! - A **function body** with `return`: `const q = args[0]; return q.length > 3`.
//! - A **template**: text with `${…}` outside of backquotes. Inside `${…}` stands any expression; a missing part in
//!   a plain path such as `${input.user.name}` makes the value `undefined` instead of an error.
//!
//! Code is always strict. A source that is JavaScript is a template only if it is a plain expression with `${…}` in
//! single or double quotes, as in `'${input.city}' === 'Berlin'`.
//!
//! As a **matcher** ([`Expression::matcher`]) a template is made of comparisons with `===`, `!==`, `==`, `!=`, `>=`,
//! `<=`, `>` and `<`, joined by `&&`, `||`, `!` and brackets. `===` means the same as `==` there: two values that both
//! look like numbers are compared as numbers, all others as text, with objects written as JSON; `null` and
//! `undefined` equal each other and nothing else. A side without `${…}` is a number, a text in quotes, `true`,
//! `false`, `null` or `undefined`; or code, if it names `args`, `input` or `context`; else it is text as it stands,
//! as in `${input.city} == New York`. A side with `${…}` is code if it reads as code and uses only names of the
//! language, as in `${args[0]}.length`; else it is text with the values put in.
//!
//! As a **response** ([`Expression::response`]) a template is text with the values put in: text as it is, all else as
//! JSON, and `null` for what is missing. If it begins with `{` or `[`, the result is read as JSON; a value between
//! double quotes is escaped there, and one outside of them is put in as JSON with its own quotes.
//!
//! # What runs where
//!
//! Reading a source ([`check_expression`], the constructors of [`Expression`]) never runs it. Running one happens in a
//! process that can be killed ([`Workers`], [`worker_main`]), because some built-in functions of the engine cannot be
//! interrupted. Every evaluation has a fresh context; it sees the time and the chance of its [`Scope`], and no files,
//! no network, no environment.

#[cfg_attr(not(feature = "engine"), path = "no_engine.rs")]
mod engine;
mod pattern;
mod pool;
mod program;
mod template;
#[cfg(feature = "engine")]
#[cfg(test)]
mod tests;
mod tokens;
mod worker;

use std::fmt;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use pattern::{Match, Pattern, PatternError};
pub use pool::{WorkerCommand, Workers};
pub use worker::worker_main;

use engine::Parser;
use program::{Failure, Limits, Program, Wanted};
use tokens::{Kind, Reading, Token, placeholders};

const LONGEST_SOURCE: usize = 64 * 1024;
const LARGEST_OUTPUT: usize = 4 * 1024 * 1024;
const MEMORY: usize = 64 * 1024 * 1024;
const DEADLINE: Duration = Duration::from_millis(250);

/// Says whether a source can be read, without running it.
///
/// ```
/// use rehearsal_js::check_expression;
///
/// assert!(check_expression("args[0].q === 'x' && input.n > 3").is_ok());
/// let error = check_expression("args[0] ===").unwrap_err();
/// assert_eq!((error.line, error.column), (1, 12));
/// ```
pub fn check_expression(source: &str) -> Result<(), SyntaxError> {
    Expression::value(source).map(drop)
}

/// A source that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column} of the expression)")]
pub struct SyntaxError {
    /// What is wrong.
    pub message: String,
    /// The line in the source, from 1.
    pub line: usize,
    /// The column in that line, from 1, in characters.
    pub column: usize,
}

/// A source that can be read, ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    source: String,
    place: String,
    program: Program,
    constant: Option<&'static str>,
}

impl Expression {
    /// A condition: its value is made `true` or `false` as JavaScript does.
    pub fn matcher(source: &str) -> Result<Self, SyntaxError> {
        Self::read(source, Wanted::Truth)
    }

    /// What a mock answers.
    pub fn response(source: &str) -> Result<Self, SyntaxError> {
        Self::read(source, Wanted::Value)
    }

    /// A text as it stands, for what is no code: the answer of a mock in files whose runner gives it verbatim.
    pub fn verbatim(source: &str) -> Self {
        let code = format!("(function () {{ return {}; }})", Value::from(source));
        Self::new(source, Program { code, function_from: None, wanted: Wanted::Value }, Some(CONSTANT))
    }

    /// A condition that always holds, for a matcher that is no code.
    pub fn always(source: &str) -> Self {
        let code = "(function () { return true; })".to_owned();
        Self::new(source, Program { code, function_from: None, wanted: Wanted::Truth }, Some(CONSTANT))
    }

    /// Whether a source is plain text: it names nothing of the call and nothing of the language, and has no `${…}`.
    pub fn is_plain_text(source: &str) -> bool {
        let words = tokens::tokens(source, Reading::Code);
        let text = |token: &Token| token.text(source).to_owned();
        let is_code = |token: &Token| {
            let text = text(token);
            ["=>", "function"].contains(&text.as_str()) || template::SCOPE.contains(&text.as_str())
        };
        if source.contains("${") || source.trim().is_empty() || words.iter().any(is_code) {
            return false;
        }
        let begins = words.first().map(&text).unwrap_or_default();
        let parses = Parser::new().is_ok_and(|parser| form(&parser, source).is_ok());
        if !parses {
            return !begins_as_statement(source, &words)
                && !["return", "throw", "async", "import", "(", "{", "["].contains(&begins.as_str());
        }
        let names: Vec<String> = words.iter().filter(|token| token.kind == Kind::Word).map(text).collect();
        let is_known = |name: &String| BUILT_IN.contains(&name.as_str());
        !names.iter().any(is_known) && names.iter().any(|name| !PURE.contains(&name.as_str()))
    }

    /// A value; a template gives what it would give as a response.
    pub fn value(source: &str) -> Result<Self, SyntaxError> {
        Self::read(source, Wanted::Value)
    }

    /// The same expression with the place it comes from, such as `greets.scenario.yaml:12`, for messages.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// The source as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where it comes from.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Why its value cannot depend on the call, if so: the reason and what to write instead.
    ///
    /// Nothing is said about a source that only might be constant.
    pub fn why_constant(&self) -> Option<String> {
        self.constant.map(str::to_owned)
    }

    /// Evaluates it in this process, where a few built-in functions cannot be stopped.
    ///
    /// Scenarios are evaluated by [`Workers`]; this is for sources known to end, and for fuzzing.
    pub fn evaluate_here(&self, scope: &Scope) -> Result<Value, JsError> {
        let limits = Limits { deadline: DEADLINE, memory: MEMORY, stack: 256 * 1024, output: LARGEST_OUTPUT };
        let outcome = engine::run(&self.program, &self.place, scope, &limits);
        let text = outcome.map_err(|failure| self.error(failure, DEADLINE))?;
        rehearsal_core::json::from_str(&text)
            .map_err(|error| JsError::Worker { place: self.place.clone(), source: error.into() })
    }

    fn read(source: &str, wanted: Wanted) -> Result<Self, SyntaxError> {
        if source.len() > LONGEST_SOURCE {
            return Err(template::refused(
                source,
                0,
                "an expression has at most 64 KiB; call a tool instead",
            ));
        }
        if let Some(at) = source.find('\0') {
            return Err(template::refused(source, at, "a NUL character cannot stand in an expression"));
        }
        let parser = Parser::new()?;
        let (code, constant) = match form(&parser, source)? {
            Form::Expression => {
                let source = without_semicolons(source);
                let code = format!("(function (args, input, context) {{ return (\n{source}\n); }})");
                (code, constant_code(source))
            }
            Form::Body => {
                (format!("(function (args, input, context) {{\n{source}\n}})"), constant_code(source))
            }
            Form::Template => {
                let (code, decides) = match wanted {
                    Wanted::Truth => template::condition(&parser, source)?,
                    Wanted::Value => (template::response(&parser, source)?, true),
                };
                let constant = if decides { constant_template(source) } else { Some(UNDECIDED) };
                let code = format!("(function (args, input, context, $) {{ return (\n{code}\n); }})");
                return Ok(Self::new(source, Program { code, function_from: None, wanted }, constant));
            }
        };
        Ok(Self::new(source, Program { code, function_from: Some(source.to_owned()), wanted }, constant))
    }

    fn new(source: &str, program: Program, constant: Option<&'static str>) -> Self {
        Self { source: source.to_owned(), place: "expression".into(), program, constant }
    }

    fn error(&self, failure: Failure, limit: Duration) -> JsError {
        let place = self.place.clone();
        match failure {
            Failure::Thrown { message, stack } => JsError::Thrown { place, message, stack },
            Failure::TookTooLong => JsError::TookTooLong { place, limit },
            Failure::OutOfMemory => JsError::OutOfMemory { place },
            Failure::NotJson(what) => JsError::NotJson { place, what },
            Failure::TooLarge(bytes) => JsError::TooLarge { place, bytes },
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

/// What an expression sees.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// The arguments of the call, in order.
    pub args: Vec<Value>,
    /// The arguments of the call, by name.
    pub input: Value,
    /// What is known around the call.
    pub context: Value,
    /// What a function that is the value is called with, where that is not `args`, `input` and `context`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed: Option<Vec<Value>>,
    /// Further names, such as `transcript`.
    pub globals: Map<String, Value>,
    /// The one of them that code may change, and that comes back beside the value: see
    /// [`Workers::evaluate_keeping`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The time that `Date` tells, in milliseconds since 1970.
    pub now_ms: i64,
    /// The seed of `Math.random`.
    pub seed: u64,
}

/// Why an expression gave no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsError {
    /// It threw.
    #[error("{place}: the expression threw {message}")]
    Thrown {
        /// Where the expression comes from.
        place: String,
        /// What it threw.
        message: String,
        /// Where it threw, one frame to a line: the expression's place, then line and column in its source.
        stack: String,
    },
    /// It did not come to an end in time.
    #[error("{place}: the expression took longer than {} ms; look for a loop without end", limit.as_millis())]
    TookTooLong {
        /// Where the expression comes from.
        place: String,
        /// How long it may take.
        limit: Duration,
    },
    /// It needed more memory than it may use.
    #[error(
        "{place}: the expression needs more than 64 MiB; look for a text or a list that grows without end"
    )]
    OutOfMemory {
        /// Where the expression comes from.
        place: String,
    },
    /// Its value cannot be written as JSON.
    #[error("{place}: the value of the expression cannot be JSON: it is or holds {what}")]
    NotJson {
        /// Where the expression comes from.
        place: String,
        /// What is in the value.
        what: String,
    },
    /// Its value is too large.
    #[error("{place}: the value of the expression has {bytes} bytes of JSON, at most 4 MiB are allowed")]
    TooLarge {
        /// Where the expression comes from.
        place: String,
        /// The size as JSON.
        bytes: usize,
    },
    /// The process that evaluates could not be started, or ended.
    #[error("{place}: the expression could not be evaluated in its own process")]
    Worker {
        /// Where the expression comes from.
        place: String,
        /// What happened.
        source: io::Error,
    },
}

const CONSTANT: &str = "it looks at nothing of the call, so it always gives the same; compare something of `args`, \
                        `input` or `context`";
const UNDECIDED: &str = "it has no operator, so it holds for every value that is not empty; compare, as in \
                         `${args[0]} === 'value'`";

enum Form {
    Expression,
    Body,
    Template,
}

fn form(parser: &Parser, source: &str) -> Result<Form, SyntaxError> {
    let words = tokens::tokens(source, Reading::Code);
    let is = |token: &Token, text: &str| token.text(source) == text;
    let refused_expression = match parser.expression(without_semicolons(source)) {
        Ok(()) => {
            let has_function = words.iter().any(|token| is(token, "=>") || is(token, "function"));
            if !has_function && words.iter().any(|token| has_hole(token, source)) {
                return Ok(Form::Template);
            }
            refuse_import(source, &words)?;
            return refuse_async(source, &words).map(|()| Form::Expression);
        }
        Err(error) => error,
    };
    let gives =
        words.iter().any(|token| token.kind == Kind::Word && (is(token, "return") || is(token, "throw")));
    let body = parser.body(source);
    let is_body = body.is_ok();
    let refused_body = match body {
        Ok(()) if gives => return refuse_import(source, &words).map(|()| Form::Body),
        Ok(()) if source.trim().is_empty() => template::refused(source, 0, "the expression is empty"),
        Ok(()) => template::refused(source, 0, "a function body gives its value with `return`"),
        Err(error) => error,
    };
    if tokens::tokens(source, Reading::Template).iter().any(|token| has_hole(token, source)) {
        if begins_as_function(source, &words) {
            let at = source.find("${").unwrap_or_default();
            return Err(template::refused(source, at, "inside a function, `${…}` stands in backquotes only"));
        }
        return Ok(Form::Template);
    }
    let is_statement = is_body || gives || begins_as_statement(source, &words);
    Err(if is_statement { refused_body } else { refused_expression })
}

/// Whether a token is, or is text that holds, a `${…}`.
fn has_hole(token: &Token, source: &str) -> bool {
    match token.kind {
        Kind::Placeholder | Kind::Unclosed => true,
        Kind::Text => !placeholders(token.text(source)).is_empty(),
        _ => false,
    }
}

fn without_semicolons(source: &str) -> &str {
    source.trim_end_matches(|next: char| next.is_whitespace() || next == ';')
}

fn begins_as_statement(source: &str, words: &[Token]) -> bool {
    const STATEMENTS: [&str; 9] = ["const", "let", "var", "if", "for", "while", "do", "switch", "try"];
    words.first().is_some_and(|first| STATEMENTS.contains(&first.text(source)))
}

fn begins_as_function(source: &str, words: &[Token]) -> bool {
    let first = words.first().map(|token| token.text(source));
    matches!(first, Some("function" | "async")) || parameters(source, words) > 0
}

/// The number of tokens up to the end of a function's parameters; 0 for what is no function.
fn parameters(source: &str, words: &[Token]) -> usize {
    let text = |at: usize| words.get(at).map(|token| token.text(source));
    let is_declared = text(0) == Some("function");
    let open = words.iter().position(|token| token.text(source) == "(").filter(|at| is_declared || *at == 0);
    let end = match open {
        Some(open) => {
            let mut depth = 0usize;
            let close = words[open..].iter().position(|token| {
                match token.text(source) {
                    "(" => depth += 1,
                    ")" => depth -= 1,
                    _ => {}
                }
                depth == 0
            });
            close.map_or(0, |close| open + close + 1)
        }
        None => usize::from(words.first().is_some_and(|token| token.kind == Kind::Word)),
    };
    if is_declared || text(end) == Some("=>") { end } else { 0 }
}

fn refuse_async(source: &str, words: &[Token]) -> Result<(), SyntaxError> {
    let mut code = words.iter().skip_while(|token| token.text(source) == "(");
    let (first, second) = (code.next(), code.next());
    let text = |token: Option<&Token>| token.map_or("", |token| token.text(source));
    let at = first.map_or(0, |token| token.span.start);
    let is_async = text(first) == "async"
        && second.is_some_and(|token| token.kind == Kind::Word || token.text(source) == "(");
    if is_async {
        return Err(template::refused(source, at, "an async function gives a promise; leave out `async`"));
    }
    if text(first) == "function" && text(second) == "*" {
        return Err(template::refused(source, at, "a generator function gives no value; leave out the `*`"));
    }
    Ok(())
}

fn refuse_import(source: &str, words: &[Token]) -> Result<(), SyntaxError> {
    let import = words
        .windows(2)
        .position(|pair| pair[0].text(source) == "import" && matches!(pair[1].text(source), "(" | "."));
    match import {
        Some(at) if at == 0 || words[at - 1].text(source) != "." => {
            Err(template::refused(source, words[at].span.start, "an expression cannot import anything"))
        }
        _ => Ok(()),
    }
}

/// What the language brings along and an expression may use.
const BUILT_IN: [&str; 9] =
    ["Array", "Date", "JSON", "Math", "Object", "RegExp", "parseFloat", "parseInt", "globalThis"];

/// The names of the language whose meaning does not depend on anything outside.
const PURE: [&str; 15] = [
    "true",
    "false",
    "null",
    "undefined",
    "return",
    "typeof",
    "void",
    "function",
    "new",
    "NaN",
    "Infinity",
    "Boolean",
    "String",
    "Number",
    "in",
];

fn constant_code(source: &str) -> Option<&'static str> {
    let words = tokens::tokens(source, Reading::Code);
    let body = &words[parameters(source, &words)..];
    body.iter().all(|token| is_pure(token, source)).then_some(CONSTANT)
}

fn constant_template(source: &str) -> Option<&'static str> {
    let is_pure_hole = |hole| {
        let code = &source[tokens::inner(hole)];
        tokens::tokens(code, Reading::Code).iter().all(|token| is_pure(token, code))
    };
    let outside = tokens::tokens(source, Reading::Template);
    let names_scope = outside.iter().any(|token| template::SCOPE.contains(&token.text(source)));
    (!names_scope && placeholders(source).iter().all(is_pure_hole)).then_some(CONSTANT)
}

fn is_pure(token: &Token, source: &str) -> bool {
    match token.kind {
        Kind::Word => PURE.contains(&token.text(source)),
        Kind::Literal => !token.text(source).contains("${"),
        Kind::Placeholder | Kind::Unclosed => false,
        _ => true,
    }
}
