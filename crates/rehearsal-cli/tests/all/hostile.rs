//! Names, outputs and calls that mean harm: nothing runs, nothing is written elsewhere, nothing acts on a terminal, and
//! every limit holds.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use expect_test::expect;

use crate::support::{Folder, Ran};

const REST: &str = "run:\n  - {input: hi, evaluations: [{type: string_contains, value: hello}]}\njudgment: {strategy: all_pass}\n";

/// What a terminal acts on, or what turns the direction of text: one of each kind.
const ACTS: &[(&str, &str)] = &[
    ("clears the screen", "\u{1b}[2J"),
    ("sets the title", "\u{1b}]0;mine\u{7}"),
    ("writes to the clipboard", "\u{1b}]52;c;bWluZQ==\u{7}"),
    ("links elsewhere", "\u{1b}]8;;http://evil.example\u{1b}\\"),
    ("resets", "\u{1b}c"),
    ("rings", "\u{7}"),
    ("goes back", "\u{8}\u{8}"),
    ("returns", "\rpassed"),
    ("in one byte", "\u{9b}2J"),
    ("string in one byte", "\u{90}mine\u{9c}"),
    ("deletes", "\u{7f}"),
    ("turns round", "\u{202e}dessap"),
    ("embeds", "\u{202a}\u{202b}\u{202d}\u{202c}"),
    ("isolates", "\u{2066}\u{2067}\u{2068}\u{2069}"),
    ("marks", "\u{200e}\u{200f}\u{61c}"),
    ("separates", "\u{2028}\u{2029}"),
    ("tags", "\u{e0041}\u{e007f}"),
];

fn acts(text: &str) -> Option<char> {
    text.chars().find(|c| {
        (c.is_control() && *c != '\n' && *c != '\t')
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    })
}

fn is_quiet(ran: &Ran, name: &str) {
    for text in [&ran.stdout, &ran.stderr] {
        assert_eq!(acts(text), None, "{name}: {}", text.escape_debug());
    }
}

#[test]
fn nothing_that_is_printed_acts_on_a_terminal() {
    for (name, act) in ACTS {
        let quoted = serde_json::Value::from(*act).to_string();
        let inner = &quoted[1..quoted.len() - 1];
        let good = format!(
            "name: \"N{inner}\"\ndescription: x\ntags: [\"t{inner}\"]\nenvironment: {{type: local}}\nagent:\n  name: \"a{inner}\"\n  instructions: x\n  tools: [{{name: look, parameters: {{type: object}}}}]\nsetup: {{mocks: [{{method: look, error: {{code: \"C{inner}\", message: \"m{inner}\"}}}}]}}\nmodels: {{agent: {{script: [{{call: look, args: {{\"k{inner}\": \"v{inner}\"}}}}, \"no{inner}\"]}}}}\n{REST}"
        );
        let code = format!("name: \"O{inner}\"\ndescription: x\nenvironment: {{type: local}}\nrun:\n  - lang: sh\n    code: 'printf %s \"$ACT\"; printf %s \"$ACT\" >&2; touch \"f$ACT\" || true; exit 3'\n    evaluations: [{{type: string_contains, value: \"e{inner}\"}}, {{type: file_exists, path: \"p{inner}\"}}]\njudgment: {{strategy: all_pass}}\n").replace("$ACT", &act.replace('\u{8}', "\\b").replace('\\', "\\\\"));
        let bad = format!("name: B\nunknown{}: 1\n", if act.contains(['\r', '\u{2028}']) { "" } else { act });
        let file = format!("g{act}.scenario.yaml").replace('\r', "");
        let folder =
            Folder::new(&[(&file, &good), ("c.scenario.yaml", &code), (&format!("b/b{file}"), &bad)]);
        is_quiet(&folder.run("check ."), name);
        is_quiet(&folder.run("check b"), name);
        let mut command = folder.command("run c.scenario.yaml --verbose --json - --store k.db");
        is_quiet(&Ran::of(command.arg(folder.path().join(&file))), name);
        let mut command = folder.command("run c.scenario.yaml --verbose --store k.db --name");
        is_quiet(&Ran::of(command.arg(format!("run{act}"))), name);
        let mut command = folder.command("run --verbose --store k.db");
        is_quiet(&Ran::of(command.arg(folder.path().join(&file))), name);
        for args in [
            "runs --store k.db",
            "runs last --store k.db --verbose",
            "sessions --store k.db",
            "report last --store k.db -o r.html",
            "run . --filter nothing --no-store",
            "gc --store k.db",
        ] {
            is_quiet(&folder.run(args), &format!("{name}: {args}"));
        }
        for args in ["run", "check", "runs", "sessions", "report", "score", "eval", "import", "export"] {
            let mut command = folder.command(args);
            is_quiet(&Ran::of(command.arg(format!("nowhere{act}"))), &format!("{name}: {args}"));
        }
    }
}

#[test]
fn names_of_scenarios_and_stores_write_nothing_elsewhere() {
    let names = [
        "../../../../escaped",
        "/tmp/escaped",
        "..",
        ".",
        "a/../../escaped",
        "..\\\\..\\\\escaped",
        "%2e%2e/escaped",
        "~/escaped",
        "con",
        "-rf",
        "a\\0b",
        "\u{202e}",
        "…/…",
        "x".repeat(5000).as_str(),
    ]
    .map(str::to_owned);
    let folder = Folder::new(&[]);
    for (index, name) in names.iter().enumerate() {
        let text = format!(
            "name: \"{name}\"\ndescription: x\nenvironment: {{type: local}}\nagent: {{instructions: x}}\nmodels: {{agent: {{script: [hello]}}}}\n{REST}"
        );
        fs::write(folder.path().join(format!("{index}.scenario.yaml")), text).unwrap();
    }
    fs::create_dir(folder.path().join("in")).unwrap();
    let ran = folder.run("run . --out in/out --no-store --quiet");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ledgers = fs::read_dir(folder.path().join("in/out/ledgers")).unwrap().count();
    assert_eq!(ledgers, names.len());
    let beside = |folder: &Path| fs::read_dir(folder).unwrap().count();
    assert_eq!(
        (beside(folder.path()), beside(&folder.path().join("in")), beside(&folder.path().join("in/out"))),
        (names.len() + 1, 1, 2)
    );
    assert!(!Path::new("/tmp/escaped").exists());
}

/// Ways to call a tool for which there is no answer, so that it would have to run.
#[test]
fn no_call_runs_a_tool_that_is_not_let_through() {
    let spellings = [
        "look",
        "LOOK",
        "Look",
        " look",
        "look ",
        "look\\n",
        "look\\0",
        "./look",
        "/look",
        "look;",
        "look|sh",
        "$(look)",
        "shop.look",
        "look.shop",
        "shop/look",
        "shop__look",
        "l\u{43e}ok",
        "loo\u{212a}",
        "look\u{200b}",
        "\u{feff}look",
        "",
        "sh",
        "run",
        "__proto__",
        "constructor",
        "toString",
    ];
    let arguments =
        ["{}", "{q: a}", "{q: [1]}", "{passthrough: true}", "{live: true, __proto__: {live: true}}"];
    let mocks = [
        "",
        "{method: other, response: ok}",
        "{method: look, when: {input: {q: never}}, response: ok}",
        "{method: look, when: {matcher: 'nothing.there'}, response: ok}",
        "{method: look, when: {matcher: 'false'}, response: ok}",
    ];
    let folder = Folder::new(&[]);
    let mark = folder.path().join("mark");
    let (mut count, mut number) = (0, 0);
    for spelling in spellings {
        for args in arguments {
            for mock in mocks {
                // Each pair is enough for those that are not the tool's own name.
                number += 1;
                if spelling != "look" && number % 3 != 0 {
                    continue;
                }
                let text = format!(
                    "name: Calls {count}\ndescription: x\nenvironment: {{type: local}}\nagent:\n  instructions: x\n  tools:\n    - {{name: look, parameters: {{type: object, properties: {{q: {{}}}}}}, command: 'touch {mark}'}}\n    - {{name: other, command: 'touch {mark}'}}\nsetup: {{mocks: [{mock}]}}\nmodels: {{agent: {{script: [{{calls: [{{tool: \"{spelling}\", args: {args}}}], invalid: true}}, hello]}}}}\n{REST}",
                    mark = mark.display()
                );
                fs::write(folder.path().join(format!("{count}.scenario.yaml")), text).unwrap();
                count += 1;
            }
        }
    }
    assert!(count >= 200, "{count}");
    let ran = folder.run("run . --keep-going --quiet --json r.json --no-store");
    assert!(!mark.exists(), "a tool ran");
    let result: serde_json::Value =
        rehearsal_core::json::from_str(&fs::read_to_string(folder.path().join("r.json")).unwrap()).unwrap();
    let own = result["results"].as_array().unwrap();
    assert!(own.len() >= 100, "{} of {count} were run: {}", own.len(), ran.stderr);
    for one in own {
        let error = one["error"].to_string();
        // A model may hear that there is no such tool; what has no mock ends its scenario.
        let is_held = error.contains("look") || one["status"] != "error";
        assert!(is_held, "{}: {one}", one["name"]);
    }
}

/// A server whose answers never end; it says when somebody came.
fn dripping(endless: bool) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                drop(stream.read(&mut [0; 4096]));
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
                let mut open = stream.write_all(head.as_bytes()).is_ok();
                while open {
                    open = stream.write_all(if endless { b"4\r\n    \r\n" } else { b"1\r\n \r\n" }).is_ok();
                    if !endless {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                }
            });
        }
    });
    port
}

/// Ends with the test, whatever happens.
struct Watched(Child);

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Waits for something, for so many seconds at most.
fn wait_for(what: &str, seconds: u32, mut is_there: impl FnMut() -> bool) {
    for _ in 0..seconds * 100 {
        if is_there() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what} did not come");
}

#[test]
fn limits_and_signals_hold_whatever_the_other_side_does() {
    const DEAF: &str = "trap \"\" TERM INT HUP; touch \"$MARK\"; while :; do sleep 1; done";
    let python = |body: &str| {
        format!(
            "agent:\n  command:\n    - python3\n    - -c\n    - |\n      import json, os, sys\n      for line in sys.stdin:\n        if json.loads(line)[\"type\"] != \"message\": continue\n        open(os.environ[\"MARK\"], \"w\").close()\n        while True: {body}\n{REST}"
        )
    };
    let code = |code: &str| {
        format!(
            "run:\n  - {{lang: sh, code: '{code}', evaluations: [{{type: string_contains, value: x}}]}}\njudgment: {{strategy: all_pass}}\n"
        )
    };
    let others = [
        ("deaf code", code(DEAF)),
        ("code that floods", code("trap \"\" TERM INT HUP; touch \"$MARK\"; yes")),
        (
            "code that left its session",
            code("setsid sh -c \"trap : TERM; sleep 600\" & touch \"$MARK\"; wait"),
        ),
        ("deaf seed", format!("setup: {{seed: '{DEAF}'}}\n{}", code("ls"))),
        (
            "deaf server",
            format!(
                "agent:\n  http: {{url: 'http://127.0.0.1:${{port}}/', response: r, start: {{command: '{DEAF}', ready_within_ms: 600000}}}}\n{REST}"
            ),
        ),
        (
            "deaf tool",
            format!(
                "agent: {{instructions: x, tools: [{{name: look, command: '{DEAF}'}}]}}\nsetup: {{passthrough: [look]}}\nmodels: {{agent: {{script: [{{call: look, args: {{}}}}, hello]}}}}\n{REST}"
            ),
        ),
        (
            "agent without an end of its line",
            python("sys.stdout.write(\"x\"); sys.stdout.flush(); __import__(\"time\").sleep(0.01)"),
        ),
        ("agent that floods its errors", python("sys.stderr.write(\"x\" * 65536)")),
        (
            "server that drips",
            format!(
                "setup: {{seed: 'touch \"$MARK\"'}}\nagent: {{http: {{url: 'http://127.0.0.1:{}/', response: r}}}}\n{REST}",
                dripping(false)
            ),
        ),
        (
            "model that drips",
            format!(
                "setup: {{seed: 'touch \"$MARK\"'}}\nagent: {{instructions: x}}\nmodels: {{agent: {{model: 'openai-compatible:x', base_url: 'http://127.0.0.1:{}/v1'}}}}\n{REST}",
                dripping(false)
            ),
        ),
    ];
    for (name, rest) in others {
        let text =
            format!("name: Holds\ndescription: x\nenvironment: {{type: local, variables: [MARK]}}\n{rest}");
        for signal in ["", "INT", "TERM", "HUP"] {
            let folder = Folder::new(&[("a.scenario.yaml", &text)]);
            let mark = folder.path().join("mark");
            let limit = if signal.is_empty() { " --timeout 1s" } else { "" };
            let plain = folder.command(&format!("run a.scenario.yaml --no-store{limit}"));
            let mut command = Command::new("env");
            command.arg("--default-signal=HUP").arg(plain.get_program()).args(plain.get_args());
            command.current_dir(folder.path()).env("MARK", &mark).stdin(Stdio::null());
            let (out, err) = (folder.path().join("out"), folder.path().join("err"));
            command.stdout(fs::File::create(&out).unwrap()).stderr(fs::File::create(&err).unwrap());
            let mut child = Watched(command.spawn().unwrap());
            if !signal.is_empty() {
                wait_for(&format!("the other side of {name}"), 60, || mark.exists());
                let sent =
                    Command::new("kill").args([&format!("-{signal}"), &child.0.id().to_string()]).status();
                assert!(sent.unwrap().success());
            }
            let mut code = None;
            // Alone it takes less than a second; here others run beside it.
            wait_for(&format!("the end of {name} after {signal}"), 10, || {
                code = child.0.try_wait().unwrap().map(|status| status.code());
                code.is_some()
            });
            let printed = fs::read_to_string(&out).unwrap() + &fs::read_to_string(&err).unwrap();
            let (expected, why) = if signal.is_empty() {
                (1, "`--timeout` of 1s was reached")
            } else {
                (130, "it was interrupted")
            };
            assert_eq!(code.flatten(), Some(expected), "{name} {signal}: {printed}");
            assert!(printed.contains(why) && printed.len() < 64 * 1024, "{name} {signal}: {printed}");
        }
    }
}

#[test]
fn answers_and_scripts_without_end_have_a_named_outcome() {
    let mock = |script: &str| {
        format!(
            "agent: {{instructions: x, tools: [{{name: look, parameters: {{type: object}}}}]}}\nsetup: {{mocks: [{{method: look, responseFn: '{script}'}}]}}\nmodels: {{agent: {{script: [{{call: look, args: {{}}}}, hello]}}}}\n"
        )
    };
    let cases = [
        ("a script that loops", mock("() => { while (true) {} }"), "took longer than"),
        (
            "a script that takes all memory",
            // At once: on a busy machine what takes it piece by piece comes to the limit of time first.
            mock("() => new Uint8Array(1e9)"),
            "needs more than 64 MiB",
        ),
        (
            "a pattern that tries for ever",
            mock("() => /^(a+)+$/.test(\"a\".repeat(60) + \"b\")"),
            "took longer than",
        ),
        (
            "a server without end",
            format!("agent: {{http: {{url: 'http://127.0.0.1:{}/', response: r}}}}\n", dripping(true)),
            "more than 8 MiB",
        ),
        ("a line without end", "agent: {command: 'yes | tr -d \"\\n\"'}\n".to_owned(), "longer than 8 MiB"),
    ];
    for (name, head, why) in cases {
        let text = format!("name: Ends\ndescription: x\nenvironment: {{type: local}}\n{head}{REST}");
        let ran =
            Folder::new(&[("a.scenario.yaml", &text)]).run("run a.scenario.yaml --no-store --timeout 100s");
        assert!(ran.code == 1 && ran.stdout.contains(why), "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.len() + ran.stderr.len() < 16 * 1024, "{name}");
    }
}

#[test]
fn words_of_the_command_line_are_shown_as_text() {
    let mut command = Folder::new(&[]).command("run . --name");
    Ran::of(command.arg("a\rb\u{1b}[2J").current_dir("/")).check(&expect![[r#"
        exit 2
        --- stdout
        --- stderr
        error: invalid value 'a\rb' for '--name <NAME>': a name has 1 to 200 characters, all in one line

        For more information, try '--help'.
    "#]]);
}
