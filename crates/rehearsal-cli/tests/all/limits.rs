//! Limits: calls at once, and budgets of tokens, money and time, against a server on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{Folder, Ran};

/// What a server does with a call.
#[derive(Clone, Copy)]
enum Does {
    /// Answers, and says that it used so many tokens: read and written.
    Uses(u64, u64),
    /// Answers, and does not say what it used.
    KeepsSilent,
    /// Refuses the first so many calls, to be asked again after a second.
    Refuses(usize),
    /// Says nothing, for ever.
    Hangs,
}

/// A model's server that counts its calls, and how many were under way at once at most.
struct Server {
    address: SocketAddr,
    calls: Arc<AtomicUsize>,
    peak: Arc<AtomicUsize>,
}

impl Server {
    fn start(does: Does) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (calls, peak, now) =
            (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let server = Self { address, calls: calls.clone(), peak: peak.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (calls, peak, now) = (calls.clone(), peak.clone(), now.clone());
                std::thread::spawn(move || {
                    let mut stream = BufReader::new(stream.unwrap());
                    while read(&mut stream).is_some() {
                        let nth = calls.fetch_add(1, Ordering::SeqCst);
                        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        answer(&mut stream, does, nth);
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        server
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn model(&self) -> String {
        format!("openai-compatible:m@http://{}/v1", self.address)
    }

    /// A scenario that asks this model twice, with these lines.
    fn scenario(&self, lines: &str) -> Folder {
        let model = self.model();
        let text = format!(
            "name: Limits
description: d
environment: {{type: local}}
agent: {{instructions: Talk., model: agent, max_tokens: 50}}
models: {{agent: '{model}'}}
{lines}
run:
  - {{input: hi, evaluations: [{{type: string_contains, value: hello}}]}}
  - {{input: and again, evaluations: [{{type: string_contains, value: hello}}]}}
judgment: {{strategy: all_pass}}
"
        );
        Folder::new(&[("a.scenario.yaml", &text)])
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<()> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()
}

fn answer(stream: &mut BufReader<TcpStream>, does: Does, nth: usize) {
    let (status, more, body) = match does {
        Does::Refuses(first) if nth < first => {
            ("429 Too Many Requests", "retry-after: 1\r\n", json!({"error": {"message": "slow down"}}))
        }
        Does::Hangs => {
            let mut end = [0];
            drop(stream.read(&mut end));
            return;
        }
        _ => {
            let message = json!({"role": "assistant", "content": "hello"});
            let mut body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
            let (input, output) = if let Does::Uses(input, output) = does { (input, output) } else { (1, 1) };
            if !matches!(does, Does::KeepsSilent) {
                body["usage"] = json!({"prompt_tokens": input, "completion_tokens": output});
            }
            ("200 OK", "", body)
        }
    };
    let body = body.to_string();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\n\r\n"
    );
    drop(write!(stream.get_mut(), "{head}{body}"));
}

fn result(folder: &Folder, args: &str) -> (Ran, Value) {
    let ran = folder.run(format!("run a.scenario.yaml --no-store --json r.json {args}").trim_end());
    let text = std::fs::read_to_string(folder.path().join("r.json"));
    let result = text.map(|text| rehearsal_core::json::from_str(&text).unwrap()).unwrap_or_default();
    (ran, result)
}

#[track_caller]
fn said(ran: &Ran, code: i32, parts: &[&str]) {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{all}");
    for part in parts {
        assert!(all.contains(part), "no `{part}` in:\n{all}");
    }
}

#[test]
fn a_run_ends_before_it_uses_more_tokens_than_it_may() {
    let server = Server::start(Does::Uses(100, 50));
    let folder = server.scenario("");
    for jobs in [1, 8] {
        let (ran, result) = result(&folder, &format!("--repeat 20 --jobs {jobs} --max-tokens 1300"));
        said(&ran, 1, &["ended by its budget: the run may use 1300 tokens", "of 1300 tokens"]);
        let (budget, summary) = (&result["budget"], &result["summary"]);
        let spent = budget["spent"]["tokens"].as_u64().unwrap();
        assert!((900..=1300).contains(&spent), "{budget}");
        assert_eq!(budget["max_tokens"], 1300);
        assert!(
            summary["not_run"].as_u64().unwrap() >= 10 && (jobs > 1 || summary["passed"] == 4),
            "{summary}"
        );
        let stopped: Vec<&Value> =
            result["results"].as_array().unwrap().iter().filter(|case| case["status"] != "passed").collect();
        assert!(!stopped.is_empty(), "{result}");
        for case in stopped {
            assert_eq!(
                (&case["fault"], &case["error"]["kind"]),
                (&json!("budget"), &json!("budget")),
                "{case}"
            );
        }
    }
}

#[test]
fn a_cost_is_limited_where_every_model_has_a_price() {
    let server = Server::start(Does::Uses(100, 50));
    let model = server.model();
    let (ran, _) = result(&server.scenario(""), "--max-cost 1");
    let line = format!("  {model}: {{input: …, output: …}}");
    said(&ran, 2, &["the cost is limited, and there is no price for", "prices:", &line]);
    let file = "budget: {max_cost: 1}";
    said(&result(&server.scenario(file), "").0, 2, &["there is no price for"]);
    assert_eq!(server.calls(), 0);

    // A call costs 100 * 1 + 50 * 2 millionths of a dollar.
    let priced = format!("prices: {{'{model}': {{input: 1, output: 2}}}}");
    let (ran, result) = result(&server.scenario(&priced), "--repeat 20 --jobs 8 --max-cost 0.0021");
    said(&ran, 1, &["ended by its budget: the run may cost $0.0021", "of $0.0021"]);
    let cost = result["budget"]["spent"]["cost"].as_f64().unwrap();
    assert!((0.0012..=0.0021 + 1e-12).contains(&cost), "{cost}");
}

#[test]
fn a_case_ends_with_its_own_budget_and_the_others_go_on() {
    let server = Server::start(Does::Uses(100, 50));
    let (ran, result) = result(&server.scenario("budget: {max_tokens: 200}"), "--repeat 3");
    said(&ran, 1, &["the case may use 200 tokens", "3 with an error"]);
    assert_eq!((server.calls(), &result["summary"]["not_run"]), (3, &json!(0)));
    // The command line goes before the file.
    let (ran, _) = self::result(&server.scenario("budget: {max_tokens: 200}"), "--case-max-tokens 1000");
    said(&ran, 0, &["1 scenario: 1 passed"]);
}

#[test]
fn a_model_that_does_not_say_what_it_used_keeps_no_budget() {
    let server = Server::start(Does::KeepsSilent);
    let (ran, result) = result(&server.scenario(""), "--max-tokens 100000");
    said(&ran, 1, &["does not say what the call used, so no budget can be kept"]);
    assert_eq!(result["results"][0]["fault"], "budget", "{result}");
    // Nobody asks where nothing is limited.
    said(&self::result(&server.scenario(""), "").0, 0, &["1 passed"]);
}

#[test]
fn a_run_ends_when_its_time_is_up() {
    let server = Server::start(Does::Hangs);
    let (ran, result) = result(&server.scenario(""), "--repeat 5 --jobs 2 --max-time 700ms");
    said(&ran, 1, &["the run may take 700ms, and that time is up", "2 with an error", "3 not run"]);
    assert_eq!((&result["interrupted"], &result["budget"]["max_time_ms"]), (&json!(false), &json!(700)));
    for case in result["results"].as_array().unwrap() {
        assert_eq!(case["fault"], "budget", "{case}");
    }
}

#[test]
fn a_project_says_what_its_runs_may_use() {
    let server = Server::start(Does::Uses(100, 50));
    let folder = server.scenario("");
    let project = "budget: {max_tokens: 400, max_time: 10m}\nmax_calls: 1\n";
    std::fs::write(folder.path().join("rehearsal.yaml"), project).unwrap();
    let (ran, result) = result(&folder, "--repeat 9 --jobs 4");
    said(&ran, 1, &["the run may use 400 tokens"]);
    assert_eq!(
        (&result["calls"][0]["limit"], &result["budget"]["max_time_ms"]),
        (&json!(1), &json!(600_000))
    );
    assert_eq!(server.peak.load(Ordering::SeqCst), 1);
    // The command line goes before it.
    said(&self::result(&folder, "--repeat 2 --max-tokens 10000").0, 0, &["2 passed"]);
    said(&folder.run("config"), 0, &["budget.max_tokens", "budget.max_time", "max_calls"]);
    std::fs::write(folder.path().join("rehearsal.yaml"), "budget: {max_time: soon}\n").unwrap();
    said(&folder.run("run a.scenario.yaml --no-store"), 2, &["rehearsal.yaml:1", "`soon` is no time"]);
}

#[test]
fn calls_at_once_are_limited_by_whoever_says_least() {
    let server = Server::start(Does::Uses(10, 5));
    let folder = server.scenario("");
    let (ran, result) = result(&folder, "--repeat 40 --jobs 20 --max-calls 3");
    said(&ran, 0, &["40 passed"]);
    assert_eq!((&result["calls"][0]["limit"], &result["calls"][0]["sent"]), (&json!(3), &json!(80)));
    assert!(server.peak.load(Ordering::SeqCst) <= 3);
    let own = format!("models: {{agent: {{model: '{}', max_calls: 2}}}}", server.model());
    let text = std::fs::read_to_string(folder.path().join("a.scenario.yaml")).unwrap();
    let text = text.replace(&format!("models: {{agent: '{}'}}", server.model()), &own);
    std::fs::write(folder.path().join("a.scenario.yaml"), text).unwrap();
    let (_, result) = self::result(&folder, "--repeat 40 --jobs 20 --max-calls 3");
    assert_eq!(result["calls"][0]["limit"], 2, "{}", result["calls"]);
}

#[test]
fn what_a_model_refused_is_told() {
    let server = Server::start(Does::Refuses(2));
    let (ran, result) = result(&server.scenario(""), "--repeat 4 --jobs 4 --max-tokens 100000");
    said(&ran, 0, &["4 passed", "refused 2 of 10 calls because there were too many", "hint: `--max-calls"]);
    assert_eq!(result["calls"][0]["refused"], 2);
    // What was refused used nothing.
    assert_eq!(result["budget"]["spent"]["tokens"], 16);
}
