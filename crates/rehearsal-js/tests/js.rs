//! Evaluating expressions in processes of their own: what they give, and what ends them.
//!
//! This file has a main of its own, because the process that evaluates is this same program: its standard output
//! belongs to the answers.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::print_stdout, reason = "it is its own harness")]

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use rehearsal_js::{Expression, JsError, Scope, WorkerCommand, Workers, worker_main};
use serde_json::{Value, json};

const AS_WORKER: &str = "__js-worker";
const GUARD: Duration = Duration::from_mins(1);

/// A test by its name.
type Test = (&'static str, fn() -> Pin<Box<dyn Future<Output = ()>>>);

macro_rules! tests {
    ($($name:ident),* $(,)?) => { [$((stringify!($name), || Box::pin($name()))),*] };
}

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|first| first == AS_WORKER) {
        return worker_main().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    run(&tests![
        an_expression_is_evaluated_elsewhere,
        evaluations_share_nothing,
        many_at_once_get_their_own_answers,
        what_is_thrown_names_its_place,
        a_loop_in_script_is_stopped,
        a_loop_in_a_native_is_killed,
        memory_is_limited,
        recursion_is_limited,
        a_large_value_is_refused,
        a_worker_that_dies_is_replaced,
        a_dropped_evaluation_leaves_no_answer_behind,
        a_worker_that_cannot_start_says_so,
        a_worker_sees_no_environment,
        paused_time_does_not_cut_an_evaluation_short,
        hostile_expressions_reach_nothing_and_end,
    ])
}

/// Runs the tests whose names contain the first argument that is no option, as the usual harness does.
fn run(tests: &[Test]) -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let filter = args.iter().find(|arg| !arg.starts_with('-')).map_or("", String::as_str);
    let is_chosen = |name: &str| {
        if args.iter().any(|arg| arg == "--exact") { name == filter } else { name.contains(filter) }
    };
    let chosen: Vec<&Test> = tests.iter().filter(|(name, _)| is_chosen(name)).collect();
    if args.iter().any(|arg| arg == "--list") {
        for (name, _) in chosen {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", chosen.len());
    let passed = chosen.iter().filter(|(name, test)| {
        let passed = catch_unwind(AssertUnwindSafe(|| {
            let builder = &mut tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_time().build().unwrap();
            runtime.block_on(async { tokio::time::timeout(GUARD, test()).await.unwrap() });
        }));
        println!("test {name} ... {}", if passed.is_ok() { "ok" } else { "FAILED" });
        passed.is_ok()
    });
    let passed = passed.count();
    let failed = chosen.len() - passed;
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    let skipped = tests.len() - chosen.len();
    println!(
        "\ntest result: {verdict}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {skipped} filtered out; \
         finished in 0.00s\n"
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn command() -> WorkerCommand {
    WorkerCommand { program: std::env::current_exe().unwrap(), args: vec![AS_WORKER.into()] }
}

/// Workers for expressions that end: a busy machine does not make them late.
fn patient() -> Workers {
    Workers::with_deadline(command(), Duration::from_secs(20))
}

fn expression(source: &str) -> Expression {
    Expression::value(source).unwrap().at("greets.scenario.yaml:12")
}

fn scope() -> Scope {
    Scope { args: vec![json!(1), json!("two")], input: json!({"n": 3}), ..Scope::default() }
}

async fn value(workers: &Workers, source: &str) -> Value {
    workers.evaluate(&expression(source), scope()).await.unwrap()
}

async fn error(workers: &Workers, source: &str) -> JsError {
    let error = workers.evaluate(&expression(source), scope()).await.unwrap_err();
    assert!(error.to_string().starts_with("greets.scenario.yaml:12: "), "{error}");
    error
}

/// The same pool still answers.
async fn answers(workers: &Workers) {
    // The deadline is short where a test waits for it, and a busy machine may need more than one try.
    for _ in 0..20 {
        match workers.evaluate(&expression("args[1] + input.n"), scope()).await {
            Ok(value) => return assert_eq!(value, json!("two3")),
            Err(error) => assert!(matches!(error, JsError::TookTooLong { .. }), "{error}"),
        }
    }
    panic!("no answer");
}

async fn an_expression_is_evaluated_elsewhere() {
    let workers = patient();
    assert_eq!(value(&workers, "args[0] + input.n").await, json!(4));
    assert_eq!(
        value(&workers, "() => ({ at: new Date().getHours(), é: '\\n😀' })").await,
        json!({"at": 0, "é": "\n😀"})
    );
    let matcher = Expression::matcher("${input.n} == 3 && ${args[1]} == two").unwrap();
    assert_eq!(workers.evaluate(&matcher, scope()).await.unwrap(), json!(true));
    let large = Scope { input: json!("x".repeat(3_000_000)), ..Scope::default() };
    assert_eq!(workers.evaluate(&expression("input"), large.clone()).await.unwrap(), large.input);
}

async fn evaluations_share_nothing() {
    let workers = patient();
    for _ in 0..10 {
        assert_eq!(value(&workers, "globalThis.seen = (globalThis.seen ?? 0) + 1").await, json!(1));
    }
}

async fn many_at_once_get_their_own_answers() {
    let workers = patient();
    let own = expression("args[0] * 2");
    let all = (0..50).map(|number| {
        let (workers, own) = (workers.clone(), own.clone());
        async move {
            workers.evaluate(&own, Scope { args: vec![json!(number)], ..Scope::default() }).await.unwrap()
        }
    });
    let expected: Vec<Value> = (0..50).map(|number| json!(number * 2)).collect();
    assert_eq!(futures::future::join_all(all).await, expected);
}

async fn what_is_thrown_names_its_place() {
    let workers = patient();
    let JsError::Thrown { message, stack, .. } = error(&workers, "\n  args[7].q").await else {
        panic!("not thrown")
    };
    assert_eq!(message, "TypeError: cannot read property 'q' of undefined");
    assert_eq!(stack.trim(), "at <anonymous> (greets.scenario.yaml:12:2:3)");
    assert_eq!(value(&workers, "1").await, json!(1));
}

async fn a_loop_in_script_is_stopped() {
    let workers = Workers::new(command());
    for source in [
        "(() => { while (true) {} })()",
        "() => { for (;;) try { for (;;); } catch {} }",
        "/(a+)+$/.test('a'.repeat(60) + '!')",
    ] {
        let error = error(&workers, source).await;
        assert!(matches!(error, JsError::TookTooLong { .. }), "{source}: {error}");
    }
    answers(&workers).await;
}

async fn a_loop_in_a_native_is_killed() {
    let workers = Workers::new(command());
    for source in [
        "new Array(4294967295).join('')",
        "new Array(4294967295).reverse()",
        "[].concat(new Array(4294967295))",
    ] {
        let error = error(&workers, source).await;
        assert!(matches!(error, JsError::TookTooLong { .. }), "{source}: {error}");
    }
    answers(&workers).await;
}

async fn memory_is_limited() {
    let workers = patient();
    for source in [
        "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
        "const a = []; for (;;) a.push(new Array(1000).fill(1))",
        "new Uint8Array(1e9)",
        "let s = 'ab'; for (;;) s = s.replaceAll('a', s)",
    ] {
        let error = error(&workers, &format!("{source}; return 1")).await;
        assert!(matches!(error, JsError::OutOfMemory { .. }), "{source}: {error}");
        answers(&workers).await;
    }
}

async fn recursion_is_limited() {
    let workers = patient();
    for source in [
        "const f = () => f() + 1; return f()",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return JSON.stringify(a)",
        "return new RegExp('('.repeat(1e5))",
        "return eval('['.repeat(1e5))",
        "let s = '['.repeat(1e5); return JSON.parse(s)",
    ] {
        let error = error(&workers, source).await;
        assert!(matches!(error, JsError::Thrown { .. }), "{source}: {error}");
        answers(&workers).await;
    }
}

async fn a_large_value_is_refused() {
    let workers = patient();
    let error = error(&workers, "'x'.repeat(5000000)").await;
    assert!(matches!(error, JsError::TooLarge { bytes: 5_000_002, .. }), "{error}");
    answers(&workers).await;
}

/// A worker that begins well and ends with its first request.
async fn a_worker_that_dies_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("started");
    let script = format!(
        "if [ -e {mark} ]; then exec {program} {AS_WORKER}; fi; : > {mark}; echo ready; read line",
        mark = mark.display(),
        program = command().program.display()
    );
    let sh = WorkerCommand { program: "/bin/sh".into(), args: vec!["-c".into(), script] };
    let workers = Workers::with_deadline(sh, Duration::from_secs(20));
    let JsError::Worker { source, .. } = error(&workers, "1").await else { panic!("not the worker") };
    assert!(source.to_string().contains("the worker ended"), "{source}");
    assert_eq!(value(&workers, "2").await, json!(2));
}

async fn a_dropped_evaluation_leaves_no_answer_behind() {
    let workers = patient();
    for number in 0..20 {
        let source = format!("let sum = 0; for (let i = 0; i < 1e5; i++) sum += i; return {number}");
        let abandoned = expression(&source);
        let waiting = workers.evaluate(&abandoned, scope());
        drop(futures::future::select(Box::pin(waiting), Box::pin(tokio::task::yield_now())).await);
        assert_eq!(value(&workers, &format!("'next {number}'")).await, json!(format!("next {number}")));
    }
}

async fn a_worker_that_cannot_start_says_so() {
    let missing = WorkerCommand { program: "/nowhere/rehearse".into(), args: vec![] };
    let JsError::Worker { source, .. } = error(&Workers::new(missing), "1").await else {
        panic!("not the worker")
    };
    assert!(source.to_string().contains("cannot start `/nowhere/rehearse`"), "{source}");
    let wrong = WorkerCommand { program: "/bin/echo".into(), args: vec!["hello".into()] };
    let JsError::Worker { source, .. } = error(&Workers::new(wrong), "1").await else {
        panic!("not the worker")
    };
    assert!(source.to_string().contains("`hello`"), "{source}");
}

async fn a_worker_sees_no_environment() {
    let script = "[ -z \"$HOME$USER\" ] && [ -n \"$TZ\" ] && echo empty".into();
    let sh = WorkerCommand { program: "/bin/sh".into(), args: vec!["-c".into(), script] };
    let JsError::Worker { source, .. } = error(&Workers::new(sh), "1").await else {
        panic!("not the worker")
    };
    assert!(source.to_string().contains("`empty`"), "{source}");
}

async fn paused_time_does_not_cut_an_evaluation_short() {
    tokio::time::pause();
    let workers = patient();
    let slow = "let sum = 0; for (let i = 0; i < 3e6; i++) sum += i; return sum > 0";
    assert_eq!(value(&workers, slow).await, json!(true));
}

/// Ways to something outside: each throws, or gives one of a few values that say that nothing is there.
const REACHING: &[&str] = &[
    "process.env",
    "process.exit(0)",
    "typeof process",
    "typeof require",
    "require('fs').readFileSync('/etc/passwd', 'utf8')",
    "typeof module",
    "typeof exports",
    "typeof globalThis.process",
    "typeof Deno",
    "typeof Bun",
    "typeof std",
    "typeof os",
    "std.open('/etc/passwd', 'r').readAsString()",
    "os.exec(['touch', '/tmp/hostile'])",
    "import('std')",
    "import('os')",
    "import('fs')",
    "import('/etc/passwd')",
    "typeof fetch",
    "fetch('http://127.0.0.1:1/')",
    "typeof XMLHttpRequest",
    "typeof WebSocket",
    "typeof setTimeout",
    "typeof setInterval",
    "typeof Worker",
    "typeof WebAssembly",
    "typeof SharedArrayBuffer === 'function' && typeof Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9)",
    "typeof load",
    "typeof read",
    "typeof scriptArgs",
    "typeof print",
    "typeof console",
    "this.constructor.constructor('return process')()",
    "(() => {}).constructor('return process')()",
    "(async () => {}).constructor('return process')()",
    "(function* () {}).constructor('return process')()",
    "Function('return process.env')()",
    "new Function('return require')()",
    "eval('process')",
    "(0, eval)('require')",
    "Reflect.construct(Function, ['return process'])()",
    "[].map.constructor('return process')()",
    "input.constructor.constructor('return process.env')()",
    "args.constructor.constructor('return process')()",
    "({}).__proto__.constructor.constructor('return require')()",
    "Object.getPrototypeOf(async function () {}).constructor('return process')()",
    "typeof arguments.callee.caller",
    "new Error().constructor.constructor('return process')()",
    "Error.prepareStackTrace = (_, frames) => frames[0].getThis().process, typeof new Error().stack.process",
    "typeof Symbol.for('nodejs.util.inspect.custom').process",
    "new Proxy({}, {get: () => process}).x",
    "JSON.parse('{\"__proto__\": {\"process\": 1}}').process",
    "Object.keys(globalThis).includes('process')",
    "Object.getOwnPropertyNames(globalThis).some(name => /^(process|require|fetch|std|os|bjson)$/.test(name))",
];

/// What never ends, or takes all there is.
const ENDLESS: &[&str] = &[
    "while (true) {}",
    "(() => { for (;;); })()",
    "(() => { do {} while (1) })()",
    "(function f() { return f() })()",
    "(f => f(f))(f => f(f))",
    "[].concat(...Array(1e9).keys())",
    "'x'.repeat(2 ** 29)",
    "'x'.padEnd(2 ** 30)",
    "Array(1e8).fill('x')",
    "new ArrayBuffer(2 ** 40)",
    "new Uint8Array(2 ** 32)",
    "(() => { let a = []; for (;;) a.push(a.slice()) })()",
    "(() => { let s = 'x'; for (;;) s += s })()",
    "/^(a+)+$/.test('a'.repeat(64) + 'b')",
    "/(x+x+)+y/.test('x'.repeat(64))",
    "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(64))",
    "JSON.stringify((() => { const a = {}; a.a = a; return a })())",
    "JSON.parse('['.repeat(1e6))",
    "(() => { let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a })()",
    "({toJSON() { while (true) {} }})",
    "({get x() { while (true) {} }})",
    "({get x() { return this.x }}).x",
    "new Proxy({}, {ownKeys() { while (true) {} }})",
    "({[Symbol.toPrimitive]() { while (true) {} }}) + ''",
    "new Promise(() => {})",
    "(async () => { for (;;) await 0 })()",
    "(function* () { for (;;) yield 1 })().next().value && [...(function* () { for (;;) yield 1 })()]",
    "BigInt(2) ** BigInt(1e9)",
    "Array.from({length: 2 ** 32})",
    "[3, 1, 2].sort(() => { while (true) {} })",
    "'a'.replace(/a/, () => { while (true) {} })",
];

/// What would be different for the next one.
const POLLUTING: &[&str] = &[
    "Object.prototype.polluted = 1",
    "Array.prototype.map = () => 'mine'",
    "Object.defineProperty(Object.prototype, 'polluted', {get() { return 1 }})",
    "({}).__proto__.polluted = 1",
    "globalThis.polluted = 1",
    "JSON.stringify = () => '\"mine\"', 1",
    "JSON.parse = () => 'mine', 1",
    "Math.random = () => 4, Date.now = () => 4, 1",
    "String.prototype.includes = () => true, 1",
    "Object.freeze(Object.prototype), 1",
    "input.n = 'mine', args[0] = 'mine', 1",
    "Object = Array = JSON = undefined, 1",
    "Function.prototype.call = () => 'mine', 1",
    "Symbol.iterator in [] && (Array.prototype[Symbol.iterator] = function* () { yield 'mine' }), 1",
];

async fn hostile_expressions_reach_nothing_and_end() {
    assert!(REACHING.len() + ENDLESS.len() + POLLUTING.len() >= 58);
    let nothing = [json!(null), json!("undefined"), json!(false), json!({})];
    let workers = patient();
    for source in REACHING {
        // What cannot be read reaches nothing either.
        let Ok(expression) = Expression::value(source) else { continue };
        if let Ok(value) = workers.evaluate(&expression, scope()).await {
            assert!(nothing.contains(&value), "{source} gives {value}");
        }
    }
    for source in POLLUTING {
        let Ok(expression) = Expression::value(source) else { continue };
        drop(workers.evaluate(&expression, scope()).await);
        let probe = "[typeof polluted, ({}).polluted, [1].map(x => x + 1)[0], 'a'.includes('b'), JSON.stringify([1]), input.n, [...args].length, Object.isFrozen(Object.prototype)]";
        let clean = json!(["undefined", null, 2, false, "[1]", 3, 2, false]);
        assert_eq!(value(&workers, probe).await, clean, "after {source}");
    }
    let brief = Workers::with_deadline(command(), Duration::from_millis(300));
    for source in ENDLESS {
        let Ok(expression) = Expression::value(source) else { continue };
        if let Ok(value) = brief.evaluate(&expression, scope()).await {
            let size = value.to_string().len();
            assert!(size < 1024, "{source} gives {size} bytes");
        }
    }
    assert!(!std::path::Path::new("/tmp/hostile").exists());
    answers(&workers).await;
}
