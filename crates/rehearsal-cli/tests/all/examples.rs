//! The examples: they pass as they are, and each fails when an expectation is inverted or a mock is gone.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// What is changed in an example so that one expectation no longer holds, and the evaluation that says so.
struct Inverted {
    example: &'static str,
    changes: &'static [(&'static str, &'static str)],
    fails: &'static str,
}

const INVERTED: &[Inverted] = &[
    Inverted {
        example: "01-hello",
        changes: &[("value: good morning", "value: good night")],
        fails: r#"1: string_contains "good night""#,
    },
    Inverted {
        example: "02-library-desk",
        changes: &[("'^(?!.*mercator)'", "'^(?=.*mercator)'")],
        fails: "3: regex_match /^(?=.*mercator)/",
    },
    Inverted {
        example: "03-order-lookup",
        changes: &[("tool: delete_account", "tool: refund")],
        fails: "1: tool_not_called refund",
    },
    Inverted {
        example: "04-which-mock-answers",
        changes: &[("value: free today", "value: five each")],
        fails: r#"6: string_contains "five each""#,
    },
    Inverted {
        example: "05-computed-answers",
        changes: &[("before: quote", "after: quote")],
        fails: "1: tool_called weather.forecast after quote",
    },
    Inverted {
        example: "06-when-things-break",
        changes: &[("count: 2", "count: 1")],
        fails: "1: tool_called courier.book ×1 (failed)",
    },
    Inverted {
        example: "07-a-flaky-service",
        changes: &[("value: twelve", "value: thirteen"), ("value: please call", "value: please wait")],
        fails: r#"1: string_contains "thirteen""#,
    },
    Inverted {
        example: "08-an-answer-with-a-form",
        changes: &[("max_cost_usd: 0.0021", "max_cost_usd: 0.002")],
        fails: "1: cost ≤$0.002",
    },
    Inverted {
        example: "09-a-real-tool",
        changes: &[("expected_code: 0", "expected_code: 1")],
        fails: r#"1: command_exit_code_is "test \"$(wc -l < counts.txt)\" -eq 1" 1"#,
    },
    Inverted {
        example: "10-code-steps",
        changes: &[("equals: [brie, gouda]", "equals: [gouda, brie]")],
        fails: r#"4: json_path $.shelf = ["gouda","brie"]"#,
    },
    Inverted {
        example: "11-a-scripted-customer",
        changes: &[("target_range: [3, 5]", "target_range: [5, 6]")],
        fails: "1 final: conversation_length 5 to 6",
    },
    Inverted {
        example: "12-a-simulated-patient",
        changes: &[("satisfaction_threshold: 0.8", "satisfaction_threshold: 0.95")],
        fails: "1 final: user_satisfaction ≥0.95",
    },
    Inverted {
        example: "13-asking-a-judge",
        changes: &[("expected: 'no'", "expected: 'yes'")],
        fails: r#"1: llm_judge "Does it blame anybody?""#,
    },
    Inverted {
        example: "14-ways-to-end",
        changes: &[("{$lte: 3}", "{$gt: 3}")],
        fails: r#"5 final: state {"session.patience":{"$gt":3}}"#,
    },
    Inverted {
        example: "15-an-agent-behind-http",
        changes: &[("max_total_tokens: 60", "max_total_tokens: 10")],
        fails: "2: token_count total ≤10",
    },
    Inverted {
        example: "16-a-chat-endpoint",
        changes: &[("9 eggs", "8 eggs")],
        fails: r"2: regex_match /\b8 eggs\b/",
    },
    Inverted {
        example: "17-a-command-agent",
        changes: &[("type: tool_not_called, tool: door.open", "type: tool_not_called, tool: guests.find")],
        fails: "2: tool_not_called guests.find",
    },
    Inverted {
        example: "18-a-tool-that-asks",
        changes: &[(
            "{session.escalation.urgencyLevel: emergency_999}",
            "{session.escalation.urgencyLevel: gp}",
        )],
        fails: r#"1: state {"session.escalation.urgencyLevel":"gp"}"#,
    },
    Inverted {
        example: "19-a-customer-who-acts",
        changes: &[("{phone.bars: 4}", "{phone.bars: 3}")],
        fails: r#"1 final: state {"phone.bars":3}"#,
    },
    Inverted {
        example: "20-a-caller-who-hangs-up",
        changes: &[("max_turns: 2\n    evaluations", "min_turns: 3\n    evaluations")],
        fails: "1 final: conversation_length ≥3",
    },
    Inverted {
        example: "21-a-living-shop",
        changes: &[("after:\n            - {tool: refund, args: {order: '17'}}", "after: []")],
        fails: "1 final: world_state after nothing",
    },
    Inverted {
        example: "22-your-own-checks",
        changes: &[("args: {word: dollars}", "args: {word: refund}")],
        fails: "2: python programs.shop_checks:promises_what_it_did",
    },
];

/// The mock to remove from each example that has mocks, by its place, and the tool that nobody plays then.
const WITHOUT_MOCK: &[(&str, usize, &str)] = &[
    ("03-order-lookup", 1, "refund"),
    ("04-which-mock-answers", 0, "price"),
    ("05-computed-answers", 1, "quote"),
    ("06-when-things-break", 1, "shelf.reserve"),
    ("07-a-flaky-service", 0, "count_plants"),
    ("09-a-real-tool", 0, "publish"),
    ("17-a-command-agent", 2, "door.open"),
    ("18-a-tool-that-asks", 0, "read"),
    ("22-your-own-checks", 0, "refund"),
];

/// What ends conversations.
const ENDS: [&str; 8] = [
    "max_turns_reached",
    "user_expresses_satisfaction",
    "agent_provides_solution",
    "conversation_stuck",
    "escalation_needed",
    "goal_achieved",
    "state_matches",
    "custom_condition",
];

/// Keys, some with their value, that belong to the parts which the examples show together.
const PARTS: &str = "
    instructions temperature max_tokens max_rounds output_schema parameters output service command passthrough
    http url start headers request response session usage timeout_ms chat ready_within_ms plugins config enabled
    script rules say json call user_contains user_matches tool_result tool_result_contains system_contains
    conversation_contains prices cached
    args input context matcher partialArgs responseFn error code status metadata delay probability
    users stateFn bridge prompt matches virtual_fs seed state variables lang:sh lang:bash lang:python lang:node
    max_turns timeout_per_turn_ms total_timeout_ms user user_simulator persona objective style emotional_state
    knowledge_level constraints named about stop may_hang_up hang_up opening:agent termination_conditions keywords llm_judge threshold expression turn_evaluations
    final_evaluations log_user_simulation log_turn_decisions export_full_transcript
    capabilities json_schema model_type strategy:all_pass strategy:any_pass
    measurement_method:keyword_analysis measurement_method:sentiment_analysis
";

/// A copy of the examples, so that runs leave nothing beside the originals.
fn examples() -> TempDir {
    let copy = TempDir::new().unwrap();
    copy_folder(&source(), &copy.path().join("examples"));
    copy
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The scenario files by their names without the ending.
fn texts() -> BTreeMap<String, String> {
    let files = fs::read_dir(source().join("scenarios")).unwrap().map(|entry| entry.unwrap().path());
    let named = files.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".scenario.yaml")?.to_owned();
        Some((name, fs::read_to_string(&path).unwrap()))
    });
    named.collect()
}

struct Output {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn rehearse(folder: &Path, args: &[&str]) -> Output {
    let output =
        Command::new(env!("CARGO_BIN_EXE_rehearse")).args(args).current_dir(folder).output().unwrap();
    Output {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs a changed example in the place of the original.
fn run_changed(folder: &TempDir, example: &str, text: &str, args: &[&str]) -> Output {
    let path = format!("examples/scenarios/{example}.scenario.yaml");
    fs::write(folder.path().join(&path), text).unwrap();
    rehearse(folder.path(), &[&["run", &path], args].concat())
}

/// The text without one item of its list of mocks.
fn without_mock(text: &str, place: usize) -> String {
    let mut kept = Vec::new();
    let mut item = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        if line == "  mocks:" {
            item = Some(0);
        } else if indent < 4 {
            item = None;
        } else if let (Some(number), true) = (&mut item, line.starts_with("    - ")) {
            *number += 1;
        }
        if item != Some(place + 1) {
            kept.push(line);
        }
    }
    let text = kept.join("\n") + "\n";
    if text.contains("  mocks:\n    - ") { text } else { text.replacen("  mocks:\n", "  mocks: []\n", 1) }
}

/// The key occurs outside of comments, with this value where one is named.
fn occurs(text: &str, part: &str) -> bool {
    let (key, value) = part.split_once(':').unwrap_or((part, ""));
    let wanted = format!("{key}: {value}");
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    code.map(|line| format!("{line} ")).any(|line| {
        line.match_indices(wanted.trim_end()).any(|(at, found)| {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let before = line[..at].chars().next_back().is_none_or(|c| !is_word(c));
            before && line[at + found.len()..].chars().next().is_none_or(|c| !is_word(c))
        })
    })
}

#[test]
fn all_examples_can_be_used_without_a_warning() {
    let folder = examples();
    let output = rehearse(folder.path(), &["check", "examples"]);
    let expected = format!("{0} files: {0} can be used\n", texts().len());
    assert_eq!((output.code, output.stdout, output.stderr.as_str()), (Some(0), expected, ""));
}

#[test]
fn all_examples_pass_and_a_second_run_is_the_same() {
    let folder = examples();
    let run = |out: &str| {
        let output = rehearse(folder.path(), &["run", "examples", "--seed", "7", "--out", out]);
        assert_eq!(output.code, Some(0), "{}", output.stdout);
        let count = texts().len();
        let summary = format!("{count} scenarios: {count} passed in ");
        assert!(output.stdout.contains(&summary), "{}", output.stdout);
        ledgers(&folder.path().join(out).join("ledgers"))
    };
    let (first, second) = (run("first"), run("second"));
    assert_eq!(first.len(), texts().len());
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    for (name, events) in &first {
        assert_eq!(events, &second[name], "{name} differs");
    }
}

/// The agents' ledgers in a folder, without times and without ports.
fn ledgers(folder: &Path) -> BTreeMap<String, String> {
    let mut ledgers = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name.contains('.') {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let events = text.lines().map(|line| {
            let mut event: Value = rehearsal_core::json::from_str(line).unwrap();
            event.as_object_mut().unwrap().remove("at").unwrap();
            if let Some(decision) = event.get_mut("decision") {
                decision.as_object_mut().unwrap().remove("micros").unwrap();
            }
            without_ports(&event.to_string())
        });
        ledgers.insert(name, events.collect::<Vec<_>>().join("\n"));
    }
    ledgers
}

/// The text without the ports of servers that were started for a run.
fn without_ports(text: &str) -> String {
    let mut pieces = text.split("127.0.0.1:");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept.push_str("127.0.0.1:");
        kept.push_str(piece.trim_start_matches(|c: char| c.is_ascii_digit()));
    }
    kept
}

/// The names of evaluations that failed, wherever they stand in a result.
fn failed_evaluations(result: &Value, failed: &mut Vec<String>) {
    match result {
        Value::Object(fields) => {
            if let (Some("failed"), Some(name), true) = (
                fields.get("status").and_then(Value::as_str),
                fields.get("name").and_then(Value::as_str),
                fields.contains_key("line"),
            ) {
                failed.push(name.to_owned());
            }
            fields.values().for_each(|value| failed_evaluations(value, failed));
        }
        Value::Array(items) => items.iter().for_each(|value| failed_evaluations(value, failed)),
        _ => {}
    }
}

#[test]
fn an_inverted_expectation_fails_by_its_name() {
    let (folder, texts) = (examples(), texts());
    let listed: Vec<&str> = INVERTED.iter().map(|inverted| inverted.example).collect();
    assert_eq!(listed, texts.keys().map(String::as_str).collect::<Vec<_>>());
    for Inverted { example, changes, fails } in INVERTED {
        let changed = changes.iter().fold(texts[*example].clone(), |text, (from, to)| {
            assert!(text.contains(from), "{example} has no `{from}`");
            text.replacen(from, to, 1)
        });
        let output = run_changed(&folder, example, &changed, &["--json", "-"]);
        assert_eq!(output.code, Some(1), "{example}\n{}{}", output.stdout, output.stderr);
        assert!(output.stderr.contains("FAILED "), "{example}\n{}", output.stderr);
        let result: Value = rehearsal_core::json::from_str(&output.stdout).unwrap();
        let mut failed = Vec::new();
        failed_evaluations(&result, &mut failed);
        assert!(failed.iter().any(|name| name == fails), "{example}: `{fails}` is not in {failed:?}");
        assert_eq!(failed.len(), changes.len(), "{example}: {failed:?}");
    }
}

#[test]
fn a_removed_mock_ends_the_scenario_and_is_offered_for_pasting() {
    let (folder, texts) = (examples(), texts());
    let listed: Vec<&str> = WITHOUT_MOCK.iter().map(|(example, ..)| *example).collect();
    // What no mock plays, a world does.
    let with_mocks = texts.iter().filter(|(_, text)| occurs(text, "mocks") && !occurs(text, "world"));
    assert_eq!(listed, with_mocks.map(|(example, _)| example.as_str()).collect::<Vec<_>>());
    for (example, place, tool) in WITHOUT_MOCK {
        let output = run_changed(&folder, example, &without_mock(&texts[*example], *place), &[]);
        assert_eq!(output.code, Some(1), "{example}\n{}{}", output.stdout, output.stderr);
        assert!(output.stdout.starts_with("ERROR "), "{example}\n{}", output.stdout);
        for part in [format!("tool `{tool}` was called"), "Add a mock under `setup.mocks`:".to_owned()] {
            assert!(output.stdout.contains(&part), "{example}: `{part}` is not in\n{}", output.stdout);
        }
    }
}

#[test]
fn the_mock_that_an_error_offers_answers_the_call() {
    let (folder, texts) = (examples(), texts());
    // One call with arguments, one without; both scenarios go on whatever the tool gives.
    for (example, place) in [("03-order-lookup", 1), ("06-when-things-break", 1)] {
        let without = without_mock(&texts[example], place);
        let output = run_changed(&folder, example, &without, &["--json", "-"]);
        assert_eq!(output.code, Some(1), "{example}");
        let result: Value = rehearsal_core::json::from_str(&output.stdout).unwrap();
        let message = result["results"][0]["error"]["message"].as_str().unwrap();
        let offered = message.split_once("setup.mocks`:\n").unwrap().1;
        let offered: Vec<String> =
            offered.lines().take_while(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
        let pasted = without.replacen("  mocks:\n", &format!("  mocks:\n{}", offered.concat()), 1);
        let output = run_changed(&folder, example, &pasted, &[]);
        assert_eq!(output.code, Some(0), "{example}\n{}{}", output.stdout, output.stderr);
    }
}

#[test]
fn the_examples_show_every_evaluator_every_end_and_every_part() {
    let text = texts().into_values().collect::<String>();
    let reference = include_str!("../../../../docs/reference/evaluators.md");
    let evaluators: Vec<&str> = reference.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    assert!(evaluators.len() >= 20, "{evaluators:?}");
    let types = evaluators.iter().chain(&ENDS).map(|name| format!("type:{name}"));
    let parts = types.chain(PARTS.split_whitespace().map(str::to_owned));
    let missing: Vec<String> = parts.filter(|part| !occurs(&text, part)).collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_example_explains_itself_and_stays_short() {
    for (example, text) in texts() {
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        assert!(header.len() >= 4, "{example} says too little about itself");
        assert!(header.iter().any(|line| line.starts_with("# Try: ")), "{example} proposes nothing to try");
        assert!(text.lines().count() < 90, "{example} is too long for a newcomer");
    }
}
