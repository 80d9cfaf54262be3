//! Programs that show what they were given: nothing of it is printed or kept.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::path::Path;

use expect_test::expect;

use crate::support::{Folder, Ran};

const SECRET: &str = "s3cr3t/\"quoted\"+m\\re%&<x> end~é";

/// Spells what is in `TOKEN`, in the way that is asked for or in every way, each in a line of its own.
const SAY: &str = r#"
import base64, json, os, sys, urllib.parse
t = os.environ["TOKEN"]
b = t.encode()
def pair(offset): return b"me:x"[: offset + 2] + b":" + b + b"!"
WAYS = {
    "plain": t,
    "json": json.dumps(t),
    "json with slashes": json.dumps({"token": t}).replace("/", "\\/"),
    "json of json": json.dumps(json.dumps({"token": t})),
    "unicode": '"' + "".join("\\u%04x" % ord(c) for c in t) + '"',
    "UNICODE": '"' + "".join("\\u%04X" % ord(c) for c in t) + '"',
    "repr": repr(t) + ascii(t) + repr(b),
    "quote": urllib.parse.quote(t),
    "quote all": urllib.parse.quote(t, safe=""),
    "quote lower": "".join(c if c.isalnum() and c.isascii() else "".join("%%%02x" % o for o in c.encode()) for c in t),
    "form": urllib.parse.urlencode({"token": t}),
    "base64": base64.b64encode(b).decode(),
    "base64 bare": base64.b64encode(b).decode().rstrip("="),
    "base64 url": base64.urlsafe_b64encode(b).decode(),
    "base64 inside 0": "Basic " + base64.b64encode(pair(0)).decode(),
    "base64 inside 1": "Basic " + base64.b64encode(pair(1)).decode(),
    "base64 inside 2": "Basic " + base64.urlsafe_b64encode(pair(2)).decode().rstrip("="),
    "base64 lines": base64.encodebytes(b"x" * 40 + b).decode(),
    "base64 of json": base64.b64encode(json.dumps({"token": t}).encode()).decode(),
    "hex": b.hex(),
    "HEX": b.hex().upper(),
}
def said(): return "\n".join("%s: %s" % way for way in WAYS.items())
if __name__ == "__main__":
    if sys.argv[1:] == ["ways"]:
        print(json.dumps([way.strip() for way in WAYS.values()]))
    elif sys.argv[1:] == ["fail"]:
        sys.stderr.write(said())
        sys.exit(1)
    else:
        print(said())
"#;

/// A program that speaks the lines of a command agent, or serves HTTP.
const AGENT: &str = r#"
import http.server, json, os, sys
sys.path.insert(0, os.environ["REHEARSAL_SCENARIO_DIR"])
import say
how = sys.argv[1]
def send(message): print(json.dumps(message), flush=True)
if how in ("http", "chat"):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            text = say.said() + "\n" + str(self.headers)
            message = {"role": "assistant", "content": text}
            answer = {"reply": text, "choices": [{"message": message, "finish_reason": "stop"}]}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def log_message(self, *_): pass
    http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
for line in sys.stdin:
    if json.loads(line)["type"] != "message": continue
    if how == "final": send({"type": "final", "text": say.said()})
    if how == "log": send({"type": "log", "text": say.said()}); send({"type": "final", "text": "ok"})
    if how == "call": send({"type": "tool_call", "id": "1", "tool": "look", "args": {"q": say.said(), say.t: 1}})
    if how == "error": send({"type": "error", "message": say.said()})
    if how == "garbage": print("x" * 280 + say.said(), flush=True)
    if how == "unknown": send({"type": "nothing", say.t: say.said()})
    if how == "exit": sys.stderr.write("x" * (64 * 1024 - 100) + say.said()); sys.exit(3)
"#;

/// The programs, by name: what a scenario has beside its head.
const PROGRAMS: &[(&str, &str)] = &[
    (
        "code",
        "run: [{lang: sh, code: 'python3 $D/say.py', evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "env",
        "run: [{lang: sh, code: 'env; export -p', evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "stderr",
        "run: [{lang: sh, code: 'python3 $D/say.py fail', evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "cut",
        "run: [{lang: sh, code: 'head -c 1048570 /dev/zero | tr \"\\0\" a; printf %s \"$TOKEN\"', evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "file",
        "run: [{lang: sh, code: 'python3 $D/say.py > all; ln -s \"$TOKEN\" link', evaluations: [{type: file_contains, path: all, value: nowhere}, {type: file_exists, path: nowhere}]}]\n",
    ),
    ("seed", "setup: {seed: 'python3 $D/say.py fail'}\nrun: [{lang: sh, code: ls, evaluations: []}]\n"),
    (
        "asked",
        "run: [{lang: sh, code: ls, evaluations: [{type: command_exit_code_is, command: 'python3 $D/say.py fail', expected_code: 0}]}]\n",
    ),
    (
        "tool",
        "agent: {instructions: x, tools: [{name: look, command: [python3, say.py]}]}\nmodels: {agent: {script: [{call: look, args: {}}, done]}}\nsetup: {passthrough: [look]}\nrun: [{input: hi, evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "failing tool",
        "agent: {instructions: x, tools: [{name: look, command: [python3, say.py, fail]}]}\nmodels: {agent: {script: [{call: look, args: {}}, done]}}\nsetup: {passthrough: [look]}\nrun: [{input: hi, evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "final",
        "agent: {command: [python3, agent.py, final]}\nrun: [{input: hi, evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "log",
        "agent: {command: [python3, agent.py, log]}\nrun: [{input: hi, evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "call",
        "agent: {command: [python3, agent.py, call], tools: [{name: look}]}\nrun: [{input: hi, evaluations: []}]\n",
    ),
    ("error", "agent: {command: [python3, agent.py, error]}\nrun: [{input: hi, evaluations: []}]\n"),
    ("garbage", "agent: {command: [python3, agent.py, garbage]}\nrun: [{input: hi, evaluations: []}]\n"),
    ("unknown", "agent: {command: [python3, agent.py, unknown]}\nrun: [{input: hi, evaluations: []}]\n"),
    ("exit", "agent: {command: [python3, agent.py, exit]}\nrun: [{input: hi, evaluations: []}]\n"),
    (
        "http",
        "agent: {http: {url: 'http://127.0.0.1:${port}/', response: reply, headers: {x-key: 'Bearer ${env.TOKEN}'}, start: {command: [python3, agent.py, http]}}}\nrun: [{input: hi, evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
    (
        "chat",
        "agent: {chat: {url: 'http://127.0.0.1:${port}/v1', model: x, start: {command: [python3, agent.py, chat]}}}\nrun: [{input: hi, evaluations: [{type: string_contains, value: nowhere}]}]\n",
    ),
];

fn head(name: &str) -> String {
    format!(
        "name: Shows it as {name}\ndescription: x\nenvironment: {{type: local, variables: [TOKEN, D], public: [D]}}\njudgment: {{strategy: all_pass}}\n"
    )
}

/// All that is below a folder; what is not text is replaced, and a secret in it is text.
fn texts_below(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(texts_below(&path));
        } else {
            found.push((
                path.display().to_string(),
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(),
            ));
        }
    }
    found
}

#[test]
fn what_programs_show_of_a_secret_is_hidden_in_every_spelling_and_every_place() {
    let mut files: Vec<(String, String)> = PROGRAMS
        .iter()
        .map(|(name, rest)| (format!("{name}.scenario.yaml").replace(' ', "-"), head(name) + rest))
        .collect();
    files.extend([("say.py".to_owned(), SAY.to_owned()), ("agent.py".to_owned(), AGENT.to_owned())]);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let folder = Folder::new(&files);
    let ways = std::process::Command::new("python3")
        .args(["say.py", "ways"])
        .current_dir(folder.path())
        .env("TOKEN", SECRET)
        .output()
        .unwrap();
    let mut ways: Vec<String> = rehearsal_core::json::from_slice(&ways.stdout).unwrap();
    ways.extend([SECRET.to_owned(), "s3cr3t".to_owned(), "quoted".to_owned()]);
    assert!(ways.len() > 20);
    for (name, _) in PROGRAMS {
        let file = format!("{name}.scenario.yaml").replace(' ', "-");
        let mut command = folder
            .command(&format!("run {file} --verbose --out out --json r.json --junit j.xml --store kept.db"));
        let ran = Ran::of(command.env("TOKEN", SECRET).env("D", folder.path()));
        assert_eq!(ran.code, 1, "{name}: {}", ran.stderr);
        let run =
            ran.stderr.rsplit("rehearse runs ").next().unwrap().split_whitespace().next().unwrap().to_owned();
        let shown = folder.run(&format!("runs {run} --store kept.db"));
        let report = folder.run(&format!("report {run} --store kept.db -o report.html"));
        let mut places = vec![("stdout".to_owned(), ran.stdout), ("stderr".to_owned(), ran.stderr)];
        places.extend(
            [shown.stdout, shown.stderr, report.stdout, report.stderr].map(|text| ("again".to_owned(), text)),
        );
        let is_ours =
            |path: &str| !Path::new(path).extension().is_some_and(|end| end == "yaml" || end == "py");
        places.extend(texts_below(folder.path()).into_iter().filter(|(path, _)| is_ours(path)));
        // What was cut off is not shown at all.
        let is_hidden = *name == "cut" || places.iter().any(|(_, text)| text.contains("[hidden]"));
        assert!(is_hidden, "{name} showed nothing");
        for kept in ["kept.db", "r.json", "j.xml", "out/result.json", ".jsonl", "report.html"] {
            let is_there = places.iter().any(|(path, text)| path.contains(kept) && !text.is_empty());
            assert!(is_there, "{name} left no {kept}");
        }
        for (path, text) in &places {
            for way in &ways {
                let json = serde_json::Value::from(way.as_str()).to_string();
                for form in [way, &json[1..json.len() - 1]] {
                    assert!(!text.contains(form), "{name}: {path} holds {way}");
                }
            }
        }
        fs::remove_dir_all(folder.path().join("out")).unwrap();
        for left in ["kept.db", "kept.db-wal", "kept.db-shm", "report.html"] {
            drop(fs::remove_file(folder.path().join(left)));
        }
    }
}

#[test]
fn a_value_that_is_too_short_to_hide_is_told_before_the_run() {
    let text = |more: &str| {
        format!(
            "name: Short\ndescription: x\nenvironment: {{type: local, variables: [PIN, DEBUG], public: [{more}]}}\nrun: [{{lang: sh, code: 'echo $PIN', evaluations: [{{type: string_contains, value: '1234'}}]}}]\njudgment: {{strategy: all_pass}}\n"
        )
    };
    let folder =
        Folder::new(&[("a.scenario.yaml", &text("DEBUG")), ("b.scenario.yaml", &text("DEBUG, PIN"))]);
    let run = |file: &str| {
        Ran::of(folder.command(&format!("run {file} --quiet")).env("PIN", "1234").env("DEBUG", "1"))
    };
    run("a.scenario.yaml").check(&expect![[r#"
        exit 0
        --- stdout
        1 scenario: 1 passed in TIME
        --- stderr
        warning: a.scenario.yaml: the value of `PIN` has fewer than 8 characters, which cannot be hidden: what a program shows of it is shown and kept

        hint: use a longer value, or, if it is no secret, say so in the file: public: [PIN], beside `variables`

    "#]]);
    run("b.scenario.yaml").check(&expect![[r#"
        exit 0
        --- stdout
        1 scenario: 1 passed in TIME
        --- stderr
    "#]]);
    folder.run("check .").check(&expect![[r#"
        exit 0
        --- stdout
        2 files: 2 can be used
        --- stderr
    "#]]);
}
