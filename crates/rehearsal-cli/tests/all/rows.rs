//! Rows, matrices, the project's file and what is shared, as a user runs them.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, Ran};

/// A scenario over rows: the agent repeats what it is told.
const SHOP: &str = r#"
name: Shop
description: Answers questions
environment: {type: local}
agent: {instructions: "You sell at ${row.shop}."}
models:
  agent:
    rules:
      - {when: {user_contains: ship}, say: We ship to Norway.}
      - {say: "I do not know."}
run:
  - input: "${row.question}"
    evaluations: [{type: string_contains, value: "${row.answer}"}]
judgment: {strategy: all_pass}
"#;

fn shop(cases: &str) -> String {
    format!("{SHOP}cases: {cases}\n")
}

fn run_with(folder: &Folder, args: &[&str]) -> Ran {
    let mut command = folder.command(args[0]);
    Ran::of(command.args(&args[1..]))
}

fn json_of(ran: &Ran) -> Value {
    rehearsal_core::json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}{}", ran.stdout, ran.stderr))
}

#[track_caller]
fn said(ran: &Ran, code: i32, parts: &[&str]) {
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{all}");
    for part in parts {
        assert!(all.contains(part), "no `{part}` in:\n{all}");
    }
}

const CSV: &str = "\u{feff}name,question,answer,shop\r\nnorway,\"Do you ship, \"\"there\"\"?\",ship to Norway,Nordlicht\r\ncash,\"Do you\ntake cash?\",not know,Nordlicht\r\n";

#[test]
fn a_row_makes_a_case() {
    let folder = Folder::new(&[("a.scenario.yaml", &shop("{csv: rows.csv}")), ("rows.csv", CSV)]);
    let ran = folder.run("run a.scenario.yaml --no-store --json -");
    let result = json_of(&ran);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(result["summary"]["passed"], 2);
    let names: Vec<&str> =
        result["results"].as_array().unwrap().iter().map(|case| case["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Shop [norway]", "Shop [cash]"]);
    assert_eq!(result["results"][1]["row"], "cash");
    assert_eq!(result["results"][1]["scenario"], "Shop");
}

#[test]
fn rows_come_from_every_kind_of_file_and_from_a_command() {
    let row = r#"{"id": 7, "question": "Do you ship?", "answer": "ship", "shop": "x"}"#;
    let files = [
        ("{jsonl: rows.txt}", format!("{row}\n\n")),
        ("{json: rows.txt}", format!("[{row}]")),
        ("{yaml: 'rows.txt#/shop'}", format!("shop: [{row}]")),
        ("{command: [cat, rows.txt]}", format!("[{row}]")),
        ("{command: cat rows.txt}", format!("{row}\n")),
        ("{rows: [{id: 7, question: 'Do you ship?', answer: ship, shop: x}]}", String::new()),
    ];
    for (cases, text) in files {
        let folder = Folder::new(&[("a.scenario.yaml", &shop(cases)), ("rows.txt", &text)]);
        said(&folder.run("run a.scenario.yaml --no-store"), 0, &["Shop [7]", "1 case: 1 passed"]);
    }
}

#[test]
fn a_command_is_run_by_run_alone() {
    let folder = Folder::new(&[("a.scenario.yaml", &shop("{command: 'touch ran; exit 3'}"))]);
    said(&folder.run("check a.scenario.yaml"), 0, &["warning[not-looked-at]", "`check` runs nothing"]);
    said(&folder.run("run a.scenario.yaml --no-store --no-commands"), 2, &["error[runs-commands]"]);
    assert!(!folder.path().join("ran").exists());
    said(&folder.run("run a.scenario.yaml --no-store"), 2, &["the command gives no rows", "exit status: 3"]);
    assert!(folder.path().join("ran").exists());
}

#[test]
fn rows_are_chosen_and_a_case_is_named() {
    let csv = "name,question,answer,shop\na,ship,ship,x\nb,ship,ship,x\nc,ship,ship,x\n";
    for (cases, names) in [("{csv: r.csv, select: [c, a]}", 2), ("{csv: r.csv, limit: 1}", 1)] {
        let folder = Folder::new(&[("a.scenario.yaml", &shop(cases)), ("r.csv", csv)]);
        said(&folder.run("check a.scenario.yaml"), 0, &["1 file: 1 can be used"]);
        let ran = folder.run("run a.scenario.yaml --no-store --json -");
        assert_eq!(json_of(&ran)["summary"]["total"], names);
    }
    let folder = Folder::new(&[("a.scenario.yaml", &shop("{csv: r.csv}")), ("r.csv", csv)]);
    let one = run_with(&folder, &["run", "a.scenario.yaml", "--no-store", "--case", "Shop [b]"]);
    said(&one, 0, &["1 case: 1 passed"]);
    said(&run_with(&folder, &["run", "a.scenario.yaml", "--no-store", "--case", "Shop"]), 0, &["3 cases"]);
    said(
        &run_with(&folder, &["run", "a.scenario.yaml", "--no-store", "--case", "Shop [d]"]),
        2,
        &["`Shop [d]`"],
    );
    let folder = Folder::new(&[("a.scenario.yaml", &shop("{csv: r.csv, select: [norwy]}")), ("r.csv", CSV)]);
    said(&folder.run("check a.scenario.yaml"), 2, &["there is no row `norwy`", "did you mean"]);
}

#[test]
fn a_case_that_fails_is_repeated_by_its_command() {
    let csv = "name,question,answer,shop\nit's a,ship,cash,x\nb,ship,ship,x\n";
    let folder = Folder::new(&[("a.scenario.yaml", &shop("{csv: r.csv}")), ("r.csv", csv)]);
    let ran = folder.run("run a.scenario.yaml --no-store");
    said(&ran, 1, &["FAILED", "Shop [it's a]"]);
    let again = ran.stdout.lines().find_map(|line| line.split_once("again: rehearse ")).unwrap().1;
    assert!(again.starts_with(r"run a.scenario.yaml --case 'Shop [it'\''s a]' --case-seed "), "{again}");
}

#[test]
fn a_value_that_stands_alone_keeps_its_type() {
    let file = r#"
name: Types
description: d
environment: {type: local}
agent:
  tools: [{name: pay, parameters: {type: object, properties: {amount: {type: number}, lines: {type: array}}}}]
models: {agent: {script: [{call: pay, args: {amount: "${row.amount}", lines: "${row.lines}"}}, "paid ${row.amount}: ${row.lines.0.sku}"]}}
setup:
  mocks: [{method: pay, when: {input: {amount: "${row.amount}"}}, response: {ok: "${row.ok}"}}]
  state: {session: {order: "${row}"}}
run:
  - input: pay ${row.amount}
    timeout_ms: ${row.timeout}
    evaluations:
      - {type: tool_called, tool: pay, args: {amount: "${row.amount}"}}
      - {type: string_contains, value: "paid ${row.amount}: ${row.lines.0.sku}"}
judgment: {strategy: all_pass}
cases: {csv: r.csv, types: {amount: number, ok: boolean, lines: json, timeout: number}}
"#;
    let csv = "amount,ok,lines,timeout\n189.9,true,\"[{\"\"sku\"\": \"\"A\"\"}]\",5000\n";
    let folder = Folder::new(&[("a.scenario.yaml", file), ("r.csv", csv)]);
    said(&folder.run("run a.scenario.yaml --no-store"), 0, &["Types [1]"]);
    let untyped = file.replace("timeout: number}", "ok: boolean}").replace("ok: boolean, ", "");
    let folder = Folder::new(&[("a.scenario.yaml", &untyped), ("r.csv", csv)]);
    said(&folder.run("check a.scenario.yaml"), 2, &["must be a number", "types: {COLUMN: number}"]);
}

#[test]
fn what_is_wrong_with_rows_is_told_with_its_place() {
    for (cases, csv, parts) in [
        ("{csv: r.csv}", "a,b\n1\n", vec!["r.csv:2", "has 1 values", "names 2 columns"]),
        ("{csv: r.csv}", "question,answer,shop\n\"x\ny\",1,2\n3,4\n", vec!["r.csv:4", "has 2 values"]),
        ("{csv: r.csv}", "a,a\n1,2\n", vec!["two columns are called `a`"]),
        ("{csv: r.csv}", "name,question\nx,1\nx,2\n", vec!["two rows are called `x`"]),
        ("{csv: r.csv}", "question,answer,shop\n", vec!["there are no rows"]),
        ("{csv: nowhere.csv}", "", vec!["`nowhere.csv` cannot be read"]),
        (
            "{csv: r.csv, types: {amount: number}}",
            "amount\nabc\n",
            vec!["r.csv:2", "`abc` in column `amount` is no number"],
        ),
        (
            "{csv: r.csv, types: {amout: number}}",
            "amount\n1\n",
            vec!["no column `amout`", "did you mean `amount`?"],
        ),
        (
            "{csv: r.csv, types: {amount: nummer}}",
            "amount\n1\n",
            vec!["type `nummer`", "did you mean `number`?"],
        ),
        ("{jsonl: r.csv}", "{\"a\": 1}\n[1]\n", vec!["r.csv:2", "no JSON object"]),
        ("{json: r.csv}", "{}", vec!["no JSON array"]),
        (
            "{csv: r.csv, limmit: 1}",
            "question,answer,shop\n1,2,3\n",
            vec!["`cases` has no key `limmit`", "did you mean `limit`?"],
        ),
        ("[]", "", vec!["there are no rows"]),
        ("{csv: r.csv, json: r.csv}", "", vec!["two ways"]),
        (
            "{csv: r.csv}",
            "qestion,answer,shop\n1,2,3\n",
            vec![
                "there is no column `question`",
                "did you mean `qestion`?",
                "nobody uses the column `qestion`",
            ],
        ),
    ] {
        let folder = Folder::new(&[("a.scenario.yaml", &shop(cases)), ("r.csv", csv)]);
        said(&folder.run("check a.scenario.yaml"), 2, &parts);
    }
}

#[test]
fn what_is_wrong_with_many_rows_is_said_once() {
    let mut csv = "question,answer,shop,many\n".to_owned();
    (0..100).for_each(|number| {
        let _ = writeln!(csv, "ship,ship,x,{}", if number < 60 { "often" } else { "all_pass" });
    });
    let file = shop("{csv: r.csv}").replace("strategy: all_pass", "strategy: '${row.many}'");
    let folder = Folder::new(&[("a.scenario.yaml", &file), ("r.csv", &csv)]);
    let ran = folder.run("check a.scenario.yaml");
    said(&ran, 2, &["cannot be `often`, in [1] and 59 more", "a.scenario.yaml:14"]);
    assert_eq!(ran.stderr.matches("error[").count(), 1, "{}", ran.stderr);
}

#[test]
fn a_row_has_expectations_tags_and_a_description_of_its_own() {
    let rows = r#"
  - {name: a, question: ship?, answer: ship, shop: x, tags: [abroad], description: Ships, expect: [{type: string_contains, value: Norway}]}
  - {name: b, question: cash?, answer: not, shop: x, expect: [{type: string_contains, value: "${row.answer}"}, {type: string_contains, value: cash}]}
"#;
    let folder = Folder::new(&[("a.scenario.yaml", &shop(rows))]);
    let ran = folder.run("run a.scenario.yaml --no-store --json -");
    let result = json_of(&ran);
    assert_eq!(result["results"][0]["status"], "passed", "{result:#}");
    assert_eq!(result["results"][0]["tags"], json!(["abroad"]));
    assert_eq!(result["results"][0]["description"], "Ships");
    let asked = result["results"][1]["steps"][0]["evaluations"].as_array().unwrap();
    let passed: Vec<bool> = asked.iter().map(|one| one["success"].as_bool().unwrap()).collect();
    assert_eq!(passed, [true, true, false]);
    assert_eq!(asked[2]["line"], 17);
    let one = run_with(&folder, &["run", "a.scenario.yaml", "--no-store", "--filter", "tag:abroad"]);
    said(&one, 0, &["1 case: 1 passed"]);
    let wrong = shop("[{question: ship, answer: ship, shop: x, expect: [{type: string_contain, value: x}]}]");
    let folder = Folder::new(&[("a.scenario.yaml", &wrong)]);
    said(&folder.run("check a.scenario.yaml"), 2, &["did you mean `string_contains`?", "a.scenario.yaml:15"]);
}

const MATRIX: &str = r#"
matrix:
  tone: [short, friendly]
  agent:
    - {name: plain, set: {agent.instructions: "Answer ${matrix.tone}."}}
    - {name: rude, set: {agent.instructions: Be rude., 'run[0].input': "You: ${row.question}"}}
"#;

#[test]
fn a_matrix_multiplies_and_gives_a_table() {
    let file = format!(
        "{}{MATRIX}",
        shop(
            "[{name: a, question: ship, answer: ship, shop: x}, {name: b, question: cash, answer: ship, shop: x}]"
        )
    );
    let file = file.replace(r#"instructions: "You sell at ${row.shop}.""#, "instructions: x");
    let folder = Folder::new(&[("a.scenario.yaml", &file)]);
    let ran = folder.run("run a.scenario.yaml --no-store --repeat 2 --json result.json");
    said(&ran, 1, &["Shop [a] (tone=short, agent=rude)", "A  tone=short, agent=plain  2/4 (50 %)"]);
    let row = ran.stdout.lines().find(|line| line.starts_with("Shop [a]   ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["Shop", "[a]", "2/2", "2/2", "2/2", "2/2"]);
    let result: Value =
        rehearsal_core::json::from_str(&fs::read_to_string(folder.path().join("result.json")).unwrap())
            .unwrap();
    assert_eq!(result["table"]["rows"][1]["cells"][0], json!({"runs": 2, "passed": 0}));
    assert_eq!(result["table"]["variants"][3]["values"], json!({"tone": "friendly", "agent": "rude"}));
    assert_eq!(result["results"][0]["variant"], json!({"tone": "short", "agent": "plain"}));
}

#[test]
fn combinations_are_left_out_and_added() {
    for (more, parts, code) in [
        ("  exclude: [{tone: short}]", vec!["2 cases"], 0),
        ("  include: [{tone: long, agent: plain}]", vec!["5 cases", "(tone=long, agent=plain)"], 0),
        ("  exclude: [{tone: shrt}]", vec!["no combination has these values", "did you mean `short`?"], 2),
        ("  exclude: [{tome: short}]", vec!["no axis `tome`", "did you mean `tone`?"], 2),
        ("  exclude: [{tone: short}, {tone: friendly}]", vec!["leaves out every combination"], 2),
        ("  include: [{tone: long}]", vec!["no value for axis `agent`"], 2),
        ("  include: [{tone: short, agent: rude}]", vec!["is there already"], 2),
        (
            "  other: [{name: x, set: {agent.instruction: y}}]",
            vec!["there is no `instruction` in `agent`", "did you mean `instructions`?"],
            2,
        ),
        ("  other: [{name: x, set: {run.3.input: y}}]", vec!["there is no `3.input` in `run`"], 2),
        ("  other: [a, a]", vec!["two values", "are called `a`"], 2),
        ("  other: []", vec!["has no values"], 2),
    ] {
        let file = shop("[{question: ship, answer: ship, shop: x}]");
        let folder = Folder::new(&[("a.scenario.yaml", &format!("{file}{MATRIX}{more}\n"))]);
        said(&folder.run("run a.scenario.yaml --no-store"), code, &parts);
    }
}

#[test]
fn a_placeholder_without_rows_is_told() {
    let folder = Folder::new(&[("a.scenario.yaml", SHOP)]);
    said(
        &folder.run("check a.scenario.yaml"),
        0,
        &["has no row that it could come from", "add rows: cases:"],
    );
}

#[test]
fn what_is_meant_as_it_stands_is_escaped() {
    let file =
        shop("[{question: ship, answer: ship, shop: x}]").replace("${row.question}", "ship $${row.question}");
    let folder = Folder::new(&[("a.scenario.yaml", &file)]);
    let ran = folder.run("run a.scenario.yaml --no-store --verbose");
    said(&ran, 0, &["ship ${row.question}"]);
}

/// Five questions to a shop, two ways to instruct it, and a check or two for each.
const FIVE: &str = r#"
name: Birkenhof
description: What people ask a garden shop
environment: {type: local}
agent: {instructions: "You answer for the shop Birkenhof. Be ${matrix.tone}."}
models:
  agent: {rules: [{when: {user_contains: Sweden}, say: "Yes, in three days."}, {when: {user_contains: JSON}, say: '{"order_id": null}'}, {when: {user_contains: spade}, say: "It is 24,90 EUR."}, {say: "Two sisters, in 1998. How can I help?", usage: {input: 9, output: 9}}]}
  judge: {rules: [{json: {reasoning: polite, judgment: "yes", confidence: 0.9}}]}
prices: {script: {input: 1, output: 1}}
matrix: {tone: [short, warm]}
cases:
  - {q: Do you deliver to Sweden?, expect: [{type: string_contains, value: "yes"}, {type: regex_match, pattern: '^.{1,200}$'}]}
  - {q: The return form as JSON, expect: [{type: answer_schema, schema: {type: object, required: [order_id]}}]}
  - {q: What is a spade?, expect: [{type: regex_match, pattern: '\d+[.,]\d{2}'}]}
  - {q: You are useless, expect: [{type: llm_judge, prompt: Is it polite and does it offer help?, expected: "yes"}]}
  - {q: Who founded you?, expect: [{type: string_contains, value: two sisters}, {type: token_count, max_total_tokens: 50}]}
run:
  - input: ${row.q}
    evaluations: [{type: execution_time, max_duration_ms: 3000}, {type: regex_match, pattern: '^(?!.*as an AI)'}]
judgment: {strategy: all_pass}
"#;

#[test]
fn five_tests_with_checks_of_their_own_take_a_page() {
    assert!(FIVE.trim().lines().count() <= 24);
    let folder = Folder::new(&[("a.scenario.yaml", FIVE)]);
    said(&folder.run("check a.scenario.yaml"), 0, &["1 can be used, with 10 cases"]);
    said(
        &folder.run("run a.scenario.yaml --no-store"),
        0,
        &["10 cases: 10 passed", "B  tone=warm  5/5 (100 %)"],
    );
}

#[test]
fn ledgers_of_rows_are_scored_with_their_rows() {
    let file = shop("{csv: rows.csv}");
    let folder = Folder::new(&[("a.scenario.yaml", &file), ("rows.csv", CSV)]);
    said(&folder.run("run a.scenario.yaml"), 0, &["2 cases: 2 passed"]);
    said(&folder.run("score last --with a.scenario.yaml"), 0, &["2 ledgers: 2 passed"]);
    fs::write(folder.path().join("rows.csv"), CSV.replace("not know", "of course")).unwrap();
    said(
        &folder.run("score last --with a.scenario.yaml"),
        1,
        &["FAILED   Shop [cash]", "1 passed, 1 failed"],
    );
}
