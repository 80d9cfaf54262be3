//! The JavaScript engine: reading a source without running it, and running one within limits.

use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rehearsal_core::{Chance, json};
use rquickjs::context::intrinsic;
use rquickjs::prelude::{Coerced, Func};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Error, Function, Module, Object, Runtime, Value};
use serde::Serialize;

use super::program::{Failure, Limits, Program, Wanted};
use super::{Scope, SyntaxError};

/// The intrinsics an expression has: the language, without clocks and weak references.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

const PRELUDE: &str = include_str!("prelude.js");
const PRELUDE_PLACE: &str = "prelude";
const SYNTAX_PLACE: &str = "source";
const LONGEST_MESSAGE: usize = 4 * 1024;
const READING_MEMORY: usize = 32 * 1024 * 1024;
const READING_STACK: usize = 256 * 1024;

/// A runtime with one context.
pub(super) struct Engine {
    context: Context,
    interrupted: Rc<Cell<bool>>,
}

impl Engine {
    /// An engine that may use so much memory and stack, and stops after the deadline.
    pub(super) fn new(memory: usize, stack: usize, deadline: Duration) -> Result<Self, Error> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(memory);
        runtime.set_max_stack_size(stack);
        let interrupted = Rc::new(Cell::new(false));
        let started = now();
        let flag = interrupted.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || {
            flag.set(flag.get() || now().duration_since(started) >= deadline);
            flag.get()
        })));
        let context = Context::custom::<Language>(&runtime)?;
        Ok(Self { context, interrupted })
    }

    pub(super) fn with<R>(&self, work: impl FnOnce(Ctx<'_>) -> R) -> R {
        self.context.with(work)
    }

    /// Whether the deadline has stopped something.
    pub(super) fn was_interrupted(&self) -> bool {
        self.interrupted.get()
    }
}

#[expect(clippy::disallowed_methods, reason = "a deadline for a computation is in real time")]
fn now() -> Instant {
    Instant::now()
}

/// Reads sources without running them.
pub(super) struct Parser(Engine);

impl Parser {
    pub(super) fn new() -> Result<Self, SyntaxError> {
        // Reading never asks whether to stop; what limits its time is the length of a source.
        Engine::new(READING_MEMORY, READING_STACK, Duration::MAX).map(Self).map_err(|error| SyntaxError {
            message: error.to_string(),
            line: 1,
            column: 1,
        })
    }

    /// Whether the text is one expression.
    ///
    /// It is read between two kinds of brackets, so that a text which closes one of them is found out.
    pub(super) fn expression(&self, text: &str) -> Result<(), SyntaxError> {
        self.read(text, "void (() => (\n", "\n))")?;
        self.read(text, "void (() => [\n", "\n])")
    }

    /// Whether the text is the body of a function.
    ///
    /// What can follow an arrow function cannot follow a function declaration, so that a text which closes the body
    /// is found out.
    pub(super) fn body(&self, text: &str) -> Result<(), SyntaxError> {
        self.read(text, "void (() => {\n", "\n})")?;
        self.read(text, "function body() {\n", "\n}")
    }

    fn read(&self, text: &str, before: &str, after: &str) -> Result<(), SyntaxError> {
        self.0.with(|ctx| {
            let module = Module::declare(ctx.clone(), SYNTAX_PLACE, format!("{before}{text}{after}"));
            match module.catch(&ctx) {
                Ok(_) => Ok(()),
                Err(CaughtError::Exception(error)) => {
                    let message = error.message().unwrap_or_default();
                    let place = error.stack().and_then(|stack| position(&stack, SYNTAX_PLACE));
                    Err(located(text, message, place))
                }
                Err(error) => Err(SyntaxError { message: error.to_string(), line: 1, column: 1 }),
            }
        })
    }
}

/// The line and column of the first place in a stack.
fn position(stack: &str, place: &str) -> Option<(usize, usize)> {
    let (_, rest) = stack.split_once(&format!("{place}:"))?;
    let mut numbers = rest.split(|next: char| !next.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn located(text: &str, message: String, place: Option<(usize, usize)>) -> SyntaxError {
    let (line, column) = place.map_or((1, 1), |(line, column)| (line.saturating_sub(1).max(1), column));
    let lines = text.split('\n').count();
    if line <= lines {
        return SyntaxError { message, line, column: character(text, line, column) };
    }
    let message = "it ends too early: something is not closed or not finished".into();
    SyntaxError { message, line: lines, column: character(text, lines, usize::MAX) }
}

/// The column in characters for the engine's, which is in bytes.
fn character(text: &str, line: usize, column: usize) -> usize {
    let line = text.split('\n').nth(line - 1).unwrap_or_default();
    line[..line.floor_char_boundary(column - 1)].chars().count() + 1
}

/// Runs a program in a context of its own; the value comes back as JSON text.
pub(super) fn run(program: &Program, place: &str, scope: &Scope, limits: &Limits) -> Result<String, Failure> {
    let engine =
        Engine::new(limits.memory, limits.stack, limits.deadline).map_err(|_| Failure::OutOfMemory)?;
    engine.with(|ctx| {
        let outcome = Run { program, place, scope, limits }.outcome(&ctx);
        let failure = match outcome {
            Ok(outcome) => return outcome,
            Err(error) => CaughtError::from_error(&ctx, error),
        };
        Err(if engine.was_interrupted() {
            Failure::TookTooLong
        } else if is_out_of_memory(&failure) {
            Failure::OutOfMemory
        } else {
            thrown(&failure, program, place)
        })
    })
}

struct Run<'r> {
    program: &'r Program,
    place: &'r str,
    scope: &'r Scope,
    limits: &'r Limits,
}

impl Run<'_> {
    fn outcome(&self, ctx: &Ctx<'_>) -> Result<Result<String, Failure>, Error> {
        let tools = self.tools(ctx)?;
        let mut options = rquickjs::context::EvalOptions::default();
        options.filename = Some(self.place.replace('\0', ""));
        let code: Function<'_> = ctx.eval_with_options(self.program.code.as_str(), options)?;
        let args = parse(ctx, &self.scope.args)?;
        let input = parse(ctx, &self.scope.input)?;
        let context = parse(ctx, &self.scope.context)?;
        let template: Object<'_> = tools.get("template")?;
        let mut value: Value<'_> = code.call((args.clone(), input.clone(), context.clone(), template))?;
        if let (Some(function), Some(source)) = (value.as_function(), &self.program.function_from) {
            let defines: Function<'_> = tools.get("defines")?;
            if !defines.call::<_, bool>((source.as_str(), function.clone()))? {
                return Ok(Err(Failure::NotJson("a built-in function; call it".into())));
            }
            value = match &self.scope.handed {
                None => function.call((args, input, context))?,
                Some(handed) => {
                    let mut list = rquickjs::function::Args::new(ctx.clone(), handed.len());
                    for each in handed {
                        list.push_arg(parse(ctx, each)?)?;
                    }
                    list.apply(function)?
                }
            };
        }
        if value.is_promise() {
            return Ok(Err(Failure::NotJson("a promise; nothing is awaited here".into())));
        }
        if self.program.wanted == Wanted::Truth && !value.is_function() {
            return Ok(Ok(value.get::<Coerced<bool>>()?.0.to_string()));
        }
        let value = self.json(&tools, value)?;
        let Some(name) = &self.scope.kept else { return Ok(value) };
        let kept = self.json(&tools, ctx.globals().get(name.as_str())?)?;
        Ok(value.and_then(|value| Ok(format!("{{\"value\":{value},\"kept\":{}}}", kept?))))
    }

    /// Sets the scene and gives the functions of the prelude.
    fn tools<'js>(&self, ctx: &Ctx<'js>) -> Result<Object<'js>, Error> {
        let mut options = rquickjs::context::EvalOptions::default();
        options.filename = Some(PRELUDE_PLACE.into());
        let prelude: Function<'js> = ctx.eval_with_options(PRELUDE, options)?;
        let chance = Chance::seeded(self.scope.seed);
        let drawn = Cell::new(0);
        let random = Func::from(move || chance.fraction("Math.random", drawn.replace(drawn.get() + 1)));
        let globals = parse(ctx, &self.scope.globals)?;
        #[expect(clippy::cast_precision_loss, reason = "JavaScript's times are doubles")]
        let now = self.scope.now_ms as f64;
        prelude.call((now, random, globals))
    }

    fn json<'js>(&self, tools: &Object<'js>, value: Value<'js>) -> Result<Result<String, Failure>, Error> {
        let json: Function<'js> = tools.get("json")?;
        let text: Value<'js> = json.call((value,))?;
        if let Some(what) = text.as_array() {
            return Ok(Err(Failure::NotJson(what.get(0)?)));
        }
        let text: String = text.get()?;
        if text.len() > self.limits.output {
            return Ok(Err(Failure::TooLarge(text.len())));
        }
        Ok(match json::from_str::<serde_json::Value>(&text) {
            Ok(_) => Ok(text),
            Err(error) => Err(Failure::NotJson(format!("what cannot be read again ({error})"))),
        })
    }
}

/// A value of the scope. What is beyond JavaScript's own whole numbers is a `BigInt` there.
fn parse<'js>(ctx: &Ctx<'js>, value: &impl Serialize) -> Result<Value<'js>, Error> {
    let text = json::to_string(value).map_err(|error| Error::Io(error.into()))?;
    let marked = with_big_ints(&text);
    if marked == text {
        return ctx.json_parse(text);
    }
    let revive: Function<'js> = ctx.eval(REVIVE)?;
    revive.call((marked.into_owned(),))
}

/// Reads JSON in which texts with a mark before them stand for the `BigInt`s.
const REVIVE: &str = r#"((parse, big) => (text) => parse(text, (key, value) =>
    typeof value === "string" && value.startsWith("\ufdd0") ? big(value.slice(1)) : value))(JSON.parse, BigInt)"#;

/// JSON with texts that have a mark before them in place of the whole numbers that JavaScript would round.
fn with_big_ints(text: &str) -> Cow<'_, str> {
    json::marked_beyond(text, "9007199254740991")
}

fn is_out_of_memory(failure: &CaughtError<'_>) -> bool {
    match failure {
        CaughtError::Error(error) => matches!(error, Error::Allocation | Error::Unknown),
        // What the engine throws when there is no room for an error; nobody else has a reason to.
        CaughtError::Value(value) => value.is_null(),
        CaughtError::Exception(error) => {
            let name = error.as_object().get::<_, Coerced<String>>("name");
            name.is_ok_and(|name| name.0 == "InternalError")
                && error.message().is_some_and(|message| message.starts_with("out of memory"))
        }
    }
}

fn thrown(failure: &CaughtError<'_>, program: &Program, place: &str) -> Failure {
    let (message, stack) = match failure {
        CaughtError::Error(error) => (error.to_string(), String::new()),
        CaughtError::Value(value) => (described(value), String::new()),
        CaughtError::Exception(error) => {
            let name = error.as_object().get::<_, Coerced<String>>("name").map(|name| name.0);
            let name = name.unwrap_or_else(|_| "Error".into());
            let message = error.message().unwrap_or_default();
            let message = if message.is_empty() { name } else { format!("{name}: {message}") };
            (message, error.stack().unwrap_or_default())
        }
    };
    let source = program.function_from.as_deref();
    let stack = source.map(|source| author_frames(&stack, place, source)).unwrap_or_default();
    let stack = if stack.is_empty() { format!("    at {place}") } else { stack };
    Failure::Thrown { message: shortened(&message), stack: shortened(&stack) }
}

/// A thrown value that is no error, as text.
fn described(value: &Value<'_>) -> String {
    let text = value.get::<Coerced<String>>().map(|text| text.0);
    match (value.is_object(), value.ctx().json_stringify(value.clone())) {
        (true, Ok(Some(json))) => json.to_string().unwrap_or_default(),
        _ => text.unwrap_or_else(|_| "a value that has no text".into()),
    }
}

/// The frames of a stack that are the author's, with lines and columns of the source.
fn author_frames(stack: &str, place: &str, source: &str) -> String {
    let frames = stack.lines().filter_map(|frame| {
        let (before, after) = frame.split_once(&format!("{place}:"))?;
        let (line, column) = position(frame, place)?;
        let line = line.checked_sub(1).filter(|line| *line > 0)?;
        let column = character(source, line, column.max(1));
        let closed = if after.ends_with(')') { ")" } else { "" };
        Some(format!("{before}{place}:{line}:{column}{closed}"))
    });
    frames.collect::<Vec<_>>().join("\n")
}

fn shortened(text: &str) -> String {
    if text.len() <= LONGEST_MESSAGE {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(LONGEST_MESSAGE)])
}

/// Looks for the first match of a regular expression in a text: where it begins and ends, in UTF-16 units.
///
/// Without a text the expression is only made.
pub(super) fn find(
    ctx: &Ctx<'_>,
    pattern: &str,
    flags: &str,
    text: Option<&str>,
) -> Result<Option<(usize, usize)>, Error> {
    let search: Function<'_> = ctx.eval(
        "(pattern, flags, text) => {
            const expression = new RegExp(pattern, flags);
            const found = text === undefined ? null : expression.exec(text);
            return found === null ? [] : [found.index, found.index + found[0].length];
        }",
    )?;
    let found: Vec<usize> = search.call((pattern, flags, text))?;
    Ok(found.first().copied().zip(found.last().copied()))
}
