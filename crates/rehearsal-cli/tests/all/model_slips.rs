//! What models do wrong: the model is told what it can put right, and people are told the rest.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::Folder;

/// A server that gives these messages, with the reasons for which they end, one after the other; the last for ever. Says
/// what it was asked.
fn model(answers: Vec<(Value, &'static str)>) -> (SocketAddr, Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, asked) = channel();
    std::thread::spawn(move || {
        for (nth, stream) in listener.incoming().enumerate() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).unwrap();
            drop(tell.send(rehearsal_core::json::from_slice(&body).unwrap()));
            let (message, reason) = answers.get(nth).or(answers.last()).unwrap();
            let answer =
                json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).to_string();
            let answer = answer.replace("CALL", &format!("call_{nth}"));
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            write!(stream.get_mut(), "{head}content-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
        }
    });
    (address, asked)
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn calls(arguments: &str) -> Value {
    let function = json!({"name": "pay", "arguments": arguments});
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": "CALL", "type": "function", "function": function}]})
}

fn folder(address: SocketAddr) -> Folder {
    let text = format!(
        "name: Slips
description: d
environment: {{type: local}}
agent: {{instructions: Pay., max_rounds: 4, tools: [{{name: pay, command: [touch, paid]}}]}}
models: {{agent: 'openai-compatible:m@http://{address}/v1'}}
setup: {{mocks: [{{method: pay, when: {{input: {{amount: 1}}}}, response: paid}}]}}
run: [{{input: pay, evaluations: [{{type: string_contains, value: done}}]}}]
judgment: {{strategy: all_pass}}
"
    );
    let folder = Folder::new(&[]);
    fs::write(folder.path().join("a.scenario.yaml"), text).unwrap();
    folder
}

#[test]
fn arguments_that_cannot_be_read_are_told_to_the_model() {
    let answers = vec![
        (calls("{\"amount\": 1"), "tool_calls"),
        (calls("{\"amount\": 1}"), "tool_calls"),
        (says("done"), "stop"),
    ];
    let (address, asked) = model(answers);
    folder(address).run("run a.scenario.yaml --no-store --verbose").check(&expect![[r#"
        exit 0
        --- stdout
        passed   Slips  TIME
                 a.scenario.yaml
                 step 1: passed
                   passed string_contains "done", line 7
                     the reply contains "done" [#16]
                 pay was answered by mocks[0] (line 6) [#14]
                 transcript:
                     4  user: pay
                     9  agent calls pay {"unreadable_arguments":"{\"amount\": 1"}
                    10  pay fails: InvalidArguments: `pay`: the arguments are not JSON (EOF while parsing an object at line 1 column 12): {"amount": 1
                    13  agent calls pay {"amount":1}
                    14  pay gives "paid"
                    16  agent: done

        1 scenario: 1 passed in TIME
        --- stderr
        start    Slips
        passed   Slips  TIME  1 turn
    "#]]);
    let told = asked.iter().take(3).nth(1).unwrap()["messages"].to_string();
    assert!(told.contains("are not JSON (EOF"), "{told}");
}

#[test]
fn an_answer_that_was_cut_off_is_told_to_be_so() {
    for (nth, (answer, reason, told)) in [
        (says("I was about to"), "length", "agent: I was about to [cut off at the token limit]"),
        (says(""), "length", "agent: nothing [cut off at the token limit]"),
        (says("That"), "content_filter", "agent: That [held back by the provider]"),
        (calls("{\"amou"), "length", "the answer was cut off at the token limit, in the call of `pay`"),
    ]
    .into_iter()
    .enumerate()
    {
        let ran = folder(model(vec![(answer, reason)]).0).run("run a.scenario.yaml --store kept.db");
        assert_eq!(ran.code, 1, "{nth}: {}", ran.stdout);
        assert!(ran.stdout.contains(told), "{nth}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn an_agent_that_goes_round_in_circles_is_told_with_what_it_repeats() {
    let (address, _asked) = model(vec![(calls("{\"amount\": 1}"), "tool_calls")]);
    let ran = folder(address).run("run a.scenario.yaml --no-store");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    let told = "agent `agent` asked its model 4 times without coming to an answer; its last 4 calls were all `pay {\"amount\":1}`";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn a_number_that_a_tool_wrote_in_its_own_way_is_the_text_it_wrote() {
    let tool = |wrote: &str, output: &str| {
        format!(
            "name: Writes\ndescription: d\nenvironment: {{type: local}}\nagent: {{instructions: x, tools: [{{name: look, command: [printf, '{wrote}']{output}}}]}}\nmodels: {{agent: {{script: [{{call: look}}, done]}}}}\nsetup: {{passthrough: [look]}}\nrun: [{{input: hi, evaluations: [{{type: string_contains, value: done}}]}}]\njudgment: {{strategy: all_pass}}\n"
        )
    };
    for (wrote, output, given) in [
        ("481.50", "", "look gives \"481.50\""),
        ("481.50\\n", "", "look gives \"481.50\""),
        ("1e3", "", "look gives \"1e3\""),
        ("481.50", ", output: {type: number}", "look gives 481.5\n"),
        ("481.5\\n", "", "look gives 481.5\n"),
        ("18446744073709551617", "", "look gives 18446744073709551617\n"),
        ("{\"a\": 481.50}", "", "look gives {\"a\":481.5}"),
    ] {
        let folder = Folder::new(&[("a.scenario.yaml", &tool(wrote, output))]);
        let ran = folder.run("run a.scenario.yaml --no-store --verbose");
        assert_eq!(ran.code, 0, "{wrote}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(given), "{wrote}: {}", ran.stdout);
    }
}
