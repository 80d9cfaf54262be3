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

use rehearsal_scenario::js::{Expression, JsError, Scope, WorkerCommand, Workers, worker_main};
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
