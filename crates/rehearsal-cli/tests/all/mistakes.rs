//! The mistakes of a review that were silent, wrong or unclear: each gets a message that names the place and the remedy.

use crate::support::Folder;

/// A scenario without a mistake.
const FINE: &str = "name: pays back
description: It pays back what is asked for
environment: {type: local}
agent:
  instructions: Help.
  tools:
    - name: refund
      description: Refunds
      parameters: {type: object, properties: {amount: {type: number}, email: {type: string}}, additionalProperties: false}
      output: {type: object, properties: {total: {type: number}}, required: [total]}
models:
  agent: {script: [{call: refund, args: {amount: 1}}, done]}
setup:
  mocks:
    - {method: refund, response: {total: 1}, state: {session: {refunded: 1}}}
run:
  - input: hi
    evaluations: [{type: tool_called, tool: refund}]
judgment: {strategy: all_pass}
";

const ASKED: &str = "{type: tool_called, tool: refund}";
const SCRIPT: &str = "{script: [{call: refund, args: {amount: 1}}, done]}";
const MOCK: &str = "    - {method: refund, response: {total: 1}, state: {session: {refunded: 1}}}";

/// A mistake in a file: what stands there instead of what, where that is told, in which words, and what would help.
struct Mistake {
    name: &'static str,
    change: (&'static str, &'static str),
    place: &'static str,
    told: &'static str,
    help: &'static str,
}

const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "11: an operator of another language",
        change: (ASKED, "{type: tool_called, tool: refund, args: {amount: {$le: 5}}}"),
        place: "18:59",
        told: "error[invalid-query]: unknown operator `$le` at `amount`",
        help: "did you mean `$lte`?",
    },
    Mistake {
        name: "15: a scripted call breaks the tool's schema",
        change: ("args: {amount: 1}", "args: {amout: 1}"),
        place: "12:3",
        told: "error[bad-call]: this call breaks the `parameters` of `refund`: $: Additional properties are not allowed ('amout' was unexpected)",
        help: "give the arguments that the tool takes; to play a model that gets them wrong, add: invalid: true",
    },
    Mistake {
        name: "17: a mock waits for an argument that the tool does not take",
        change: ("response: {total: 1}", "when: {input: {e_mail: a}}, response: {total: 1}"),
        place: "15:5",
        told: "error[never-true]: `refund` takes no argument `e_mail`, so this never holds",
        help: "did you mean `email`?",
    },
    Mistake {
        name: "18: state without its scope",
        change: (ASKED, "{type: state, matches: {refunded: 1}}"),
        place: "18:5",
        told: "warning[never-written]: nothing in this file writes `refunded`",
        help: "did you mean `session.refunded`?",
    },
    Mistake {
        name: "23: a keyword of JSON Schema is misspelt",
        change: ("properties: {amount", "propertis: {amount"),
        place: "9:34",
        told: "warning[unknown-keyword]: `propertis` is no keyword of JSON Schema, so it asks for nothing",
        help: "did you mean `properties`?",
    },
    Mistake {
        name: "24: a type of JSON Schema is misspelt",
        change: ("{type: number}, email", "{type: strng}, email"),
        place: "9:62",
        told: "error[bad-schema]: `strng` is no type of JSON Schema",
        help: "did you mean `string`?",
    },
    Mistake {
        name: "25: flags within a pattern",
        change: (ASKED, "{type: regex_match, pattern: '(?i)done'}"),
        place: "18:48",
        told: "error[invalid-pattern]: `pattern` begins with `(?i)`, which JavaScript's regular expressions do not have",
        help: "leave it out: upper and lower case are one unless `case_sensitive` is true",
    },
    Mistake {
        name: "45: a variable in what the user says",
        change: ("input: hi", "input: 'hi ${EMAIL}'"),
        place: "17:16",
        told: "warning[not-filled-in]: `${EMAIL}` is sent as it stands: nothing is filled in here",
        help: "write the value itself; leave it where just these characters are to be seen",
    },
    Mistake {
        name: "50: an argument that no call can have is forbidden",
        change: (ASKED, "{type: tool_not_called, tool: refund, args: {amout: 189.9}}"),
        place: "18:5",
        told: "error[always-true]: `refund` takes no argument `amout`, so this always holds",
        help: "did you mean `amount`?",
    },
    Mistake {
        name: "51: a text where the schema wants a number is forbidden",
        change: (ASKED, "{type: tool_not_called, tool: refund, args: {amount: '189.9'}}"),
        place: "18:5",
        told: "error[always-true]: `amount` of `refund` cannot be this: \"189.9\" is not of type \"number\", so this always holds",
        help: "give a value that the `parameters` of the tool allow, or change them",
    },
    Mistake {
        name: "52: state that nothing writes must not be there",
        change: (ASKED, "{type: state, matches: {refunded: {$exists: false}}}"),
        place: "18:5",
        told: "warning[never-written]: nothing in this file writes `refunded`",
        help: "did you mean `session.refunded`?",
    },
    Mistake {
        name: "53: state that nothing writes must be something else",
        change: (ASKED, "{type: state, matches: {session.refundd: {$ne: 500}}}"),
        place: "18:5",
        told: "warning[never-written]: nothing in this file writes `session.refundd`",
        help: "did you mean `session.refunded`?",
    },
    Mistake {
        name: "55: a mock breaks the tool's output schema",
        change: ("response: {total: 1}", "response: {sum: 1}"),
        place: "15:5",
        told: "error[bad-response]: `response` breaks the `output` schema of `refund`: $: \"total\" is a required property",
        help: "the tool itself would be refused such an answer; give one of its form, or change `output`",
    },
    Mistake {
        name: "60: nothing is asked",
        change: (ASKED, ""),
        place: "17:3",
        told: "warning[no-evaluations]: there are no evaluations, so nothing is asked of the agent and every run is `unjudged`",
        help: "add one to a step: evaluations: [{type: string_contains, value: hello}]",
    },
    Mistake {
        name: "a tool is let through that has nothing to run",
        change: ("setup:\n", "setup:\n  passthrough: [refund]\n"),
        place: "14:17",
        told: "error[no-effect]: tool `refund` has nothing that could run: no `command` and no `http`",
        help: "give the tool what it does for real, such as `command: [python3, tool.py]`, or let a mock answer it and leave it out here",
    },
];

#[test]
fn each_mistake_in_a_file_is_told_with_its_place_and_the_remedy() {
    let folder = Folder::new(&[("fine.scenario.yaml", FINE)]);
    let fine = folder.run("check fine.scenario.yaml");
    assert_eq!((fine.code, fine.stderr.as_str()), (0, ""));
    let mut wrong = Vec::new();
    for mistake in MISTAKES {
        let (from, to) = mistake.change;
        assert!(FINE.contains(from), "{}", mistake.name);
        let folder = Folder::new(&[("a.scenario.yaml", &FINE.replacen(from, to, 1))]);
        let ran = folder.run("check a.scenario.yaml");
        let code = if mistake.told.starts_with("error") { 2 } else { ran.code };
        // What is told, where, and what helps stand in this order, in one message.
        let message = ran.stderr.split("\n\n").find(|message| message.contains(mistake.told));
        let is_told = message.is_some_and(|message| {
            message.contains(&format!("--> a.scenario.yaml:{}\n", mistake.place))
                && message.contains(mistake.help)
        });
        if !is_told || ran.code != code {
            wrong.push(format!("{} (exit {})\n{}", mistake.name, ran.code, ran.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_mistake_that_shows_in_a_run_is_told_in_words_of_the_file() {
    for (name, to, told, help) in [
        (
            "no rule of a scripted model holds",
            "{rules: [{when: {user_contains: zzz}, say: a}]}",
            "script:agent has no answer: no rule matches turn 1 of agent `agent`",
            "hint: add a rule that matches, or a last one without `when`, which always does",
        ),
        (
            "a script is too short",
            "{script: [{call: refund, args: {amount: 1}}]}",
            "the script has 1 turn, and agent `agent` asks for turn 2",
            "hint: add a reply to the script",
        ),
        (
            "a model gets the arguments wrong",
            "{script: [{call: refund, args: {amount: x}, invalid: true}, done]}",
            "refund {\"amount\":\"x\"} failed: InvalidArguments: the arguments of `refund` break its schema: $.amount: \"x\" is not of type \"number\"",
            "refund succeeded 0 times, at least 1 asked for",
        ),
    ] {
        let folder = Folder::new(&[("a.scenario.yaml", &FINE.replace(SCRIPT, to))]);
        let ran = folder.run("run a.scenario.yaml --no-store --quiet");
        assert_eq!(ran.code, 1, "{name}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains(told) && ran.stdout.contains(help), "{name}: {}", ran.stdout);
        assert!(!ran.stdout.contains("Rule::"), "{name}: {}", ran.stdout);
    }
    // The result of a tool is one thing, and it breaks its schema.
    let real = FINE
        .replace(MOCK, "    []\n  passthrough: [refund]")
        .replace("      output:", "      command: [echo, '{\"sum\": 1}']\n      output:");
    let folder = Folder::new(&[("a.scenario.yaml", &real)]);
    let ran = folder.run("run a.scenario.yaml --no-store --quiet");
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    let told = "the result of `refund` breaks its schema: $: \"total\" is a required property";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
}

#[test]
fn each_mistake_on_the_command_line_is_told_with_the_remedy() {
    let folder =
        Folder::new(&[("a.scenario.yaml", FINE), ("deep/b.scenario.yaml", FINE), ("empty/x.txt", "")]);
    for (args, told, help) in [
        (
            "check nowhere.scenario.yaml",
            "cannot read `nowhere.scenario.yaml`",
            "hint: there are:\n  a.scenario.yaml",
        ),
        (
            "run nowhere.scenario.yaml",
            "cannot read `nowhere.scenario.yaml`",
            "hint: there are:\n  a.scenario.yaml",
        ),
        ("check deep/c.yaml", "cannot read `deep/c.yaml`", "hint: there are:\n  deep/b.scenario.yaml"),
        ("check empty/c.yaml", "cannot read `empty/c.yaml`", "hint: there is no YAML file in `empty`"),
        ("run . --agent nowhere.yaml", "cannot read `nowhere.yaml`", "hint: there are:\n  a.scenario.yaml"),
        (
            "run . --filter pays&&back",
            "`&&` joins nothing here: write `and`",
            "such as `billing and not tag:slow`",
        ),
        (
            "run . --filter pays||back",
            "`||` joins nothing here: write `or`",
            "such as `billing and not tag:slow`",
        ),
        (
            "run . --filter !pays",
            "`!` denies nothing here: write `not`",
            "such as `billing and not tag:slow`",
        ),
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 2, "{args}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(told) && ran.stderr.contains(help), "{args}: {}", ran.stderr);
    }
    // Words with such characters are found in quotes.
    let ran = folder.run("run . --no-store --filter \"a&&b\"");
    assert!(ran.stderr.contains("no scenario fits the filter"), "{}", ran.stderr);
}
