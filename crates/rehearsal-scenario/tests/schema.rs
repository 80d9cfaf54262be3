//! The schemas for editors say the same as the readers: what one takes, the other takes.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rehearsal_core::Schema;
use rehearsal_metrics::evaluator::{Kind, LooksAt};
use rehearsal_scenario::{
    CheckOptions, Dialect, Problem, Severity, agent_schema, check, check_agent, scenario_schema, yaml,
};
use serde_json::{Map, Value, json};

/// What every file has besides what it is about.
const REST: &str = r"
name: Refund
description: A customer gets a refund
environment: {type: local, variables: [PATH], public: [PATH]}
judgment: {strategy: all_pass}
";

const SAYS: &str = r"
run: [{input: hi, evaluations: []}]
";

const WHOLE: &str = r"
name: Refund
description: A customer gets a refund
tags: [billing]
prices:
  openai:gpt-4o: {input: 2.5, output: 10, cached: 1.25}
environment:
  type: local
  variables: {HOME_PAGE: x}
run:
  - name: looks
    description: at files
    timeout_ms: 1
    lang: python
    code: print(1)
    evaluations: [{type: file_contains, path: a, value: x}]
judgment: {strategy: any_pass}
";

const INLINE: &str = r"
models: {own: openai:gpt-4o}
agent:
  name: support
  description: The support desk
  model: own
  instructions: Be kind.
  temperature: 0.5
  max_tokens: 300
  max_rounds: 8
  output_schema: {type: object}
  tools:
    - name: refund
      service: billing
      description: Pays back
      parameters: {type: object, properties: {order: {type: string}}}
      output: {type: object}
      command: python3 refund.py
    - name: lookup
      http: {url: 'https://example.com/lookup', method: PUT, headers: {authorization: 'Bearer ${env.KEY}'}}
    - name: note
      http: https://example.com/note
    - name: count
      command: [python3, count.py]
";

const MODELS: &str = r"
agent: {}
models:
  agent:
    rules:
      - when: {user_contains: hi, user_matches: '^h', system_contains: kind, conversation_contains: hi, turn: 1}
        call: refund
        args: {order: A-1}
        usage: {input: 10, output: 5}
      - when: {tool_result: refund, tool_result_contains: ok}
        json: {done: true}
      - when: {turn: 9}
        calls: [{tool: lookup, args: {id: 1}}, {tool: note}]
      - when: {turn: 8}
        fail: it is down
      - say: Hello
  judge: {model: 'openai-compatible:qwen2.5', base_url: 'http://127.0.0.1:8080/v1'}
  strict: {script: [a text, {json: null}, {call: lookup, invalid: true}, {say: Hi, call: lookup, args: {}}, {say: Hi, calls: []}, {fail: no, calls: []}]}
run:
  - input: hi
    evaluations:
      - {type: llm_judge, prompt: Was it kind?, expected: 'yes'}
      - {type: llm_judge, prompt: Was it kind?, expected: 'yes', model_type: strict}
";

const SETUP: &str = r#"
agent:
  tools: [{name: billing.refund, command: ls}, {name: lookup}, {name: note}, {name: count}]
models: {agent: {script: []}}
setup:
  mocks:
    - description: pays
      service: billing
      method: refund
      when: {input: {order: A-1}, args: [{order: A-1}], partialArgs: [{order: A-1}], context: {customer: ada}, matcher: 'input.order === "A-1"'}
      response: {ok: true}
    - method: lookup
      responseFn: '(call) => ({id: call.input.id})'
    - method: note
      response: null
      state: {session: {noted: true}}
    - method: count
      error: {code: DOWN, message: try later, status: 503}
      metadata: {delay: 10, probability: 0.5}
      response: 1
    - method: count
      error: {code: DOWN, message: try later}
  virtual_fs: {notes/today.txt: hello}
  passthrough: [billing.refund]
  seed: [touch a, [touch, b]]
  state: {session: {stage: new}}
run:
  - name: asks
    description: for money
    context: {customer: ada}
    timeout_ms: 5000
    input: hi
    evaluations: []
"#;

const ROWS: &str = r"
use: []
agent: {instructions: 'Sell at ${row.shop}.'}
models: {agent: {script: []}}
cases:
  rows:
    - {name: a, shop: x, question: hi, expect: [{type: string_contains, value: x}]}
    - {name: b, shop: y, question: ho, tags: [z]}
  select: [a, b]
  limit: 2
matrix:
  tone: [short, 3, true]
  wording:
    - {name: plain, value: {a: 1}, set: {agent.instructions: Be plain.}}
    - {name: kind}
  exclude: [{tone: short, wording: kind}]
  include: [{tone: long, wording: kind}]
run: [{input: '${row.question}', evaluations: []}]
";

/// Where rows are, if they are in files or printed.
const PLACES_OF_ROWS: [&str; 5] = [
    "{csv: a.csv, types: {a: text, b: number, c: boolean, d: json}}",
    "{jsonl: a.jsonl}",
    "{json: a.json}",
    "{yaml: 'a.yaml#/rows'}",
    "{command: [python3, rows.py]}",
];

/// Evaluations with all their keys.
const EVALUATIONS: &str = r"
- {type: string_contains, value: refund, case_sensitive: true, description: it says so}
- {type: regex_match, pattern: 'order #(\d+)', case_sensitive: true}
- {type: json_path, path: $.done, equals: null}
- {type: json_path, path: $.done, matches: {$gte: 3}}
- {type: json_path, path: $.done, exists: true}
- {type: answer_schema, schema: {type: object}}
- type: llm_judge
  prompt: Was it kind?
  expected: 7+
  capabilities: [kindness]
  model_type: strict
  temperature: 0
  json_schema: {type: object, properties: {judgment: {type: number}}}
- {type: llm_judge, prompt: Was it kind?, expected: 'yes'}
- {type: llm_judge, prompt: Was it kind?, expected: 0.2-0.4}
- {type: execution_time, max_duration_ms: 5000, min_duration_ms: 1, target_duration_ms: 100}
- {type: state, matches: {session.stage: done}}
- {type: trajectory_contains_action, action: REFUND}
- {type: tool_called, tool: refund, args: {order: A-1}, min_count: 1, max_count: 2, before: note, after: lookup, status: any}
- {type: tool_called, tool: refund, count: 1}
- {type: tool_not_called, tool: note, args: {text: x}}
- {type: trajectory, calls: [{tool: refund, args: {order: A-1}}, {tool: note, exact_args: {}, description: d}], mode: subset, threshold: 0.5, status: succeeded, nested: true}
- {type: trajectory, calls: []}
- {type: event_count, event: tool_call, tool: refund, min_count: 1, max_count: 3}
- {type: event_count, event: model_response, count: 2}
- {type: tool_order, never: [refund], before: lookup}
- {type: tool_order, never: [refund], after_user_says: stop, stop: true}
- {type: tool_order, each: [refund], of: lookup, within_turns: 2}
- {type: step_count, min_steps: 1, max_steps: 5, target_steps: 2, action_prefix: re}
- {type: token_count, max_input_tokens: 10, max_output_tokens: 10, max_total_tokens: 20}
- {type: cost, max_cost_usd: 0.05}
- {type: file_exists, path: a}
- {type: file_contains, path: a, value: x, case_sensitive: false}
- {type: command_exit_code_is, command: test -f a, expected_code: 0}
- {type: conversation_length, min_turns: 1, max_turns: 9, target_range: [1, 4], optimal_turns: 2}
- {type: string_contains, value: refund, in: any, not: true}
- {type: string_contains, value: refund, in: 2}
- {type: contains_any, values: [refund, money], case_sensitive: true, in: all}
- {type: contains_all, values: [refund, money], case_sensitive: true}
- {type: equals, value: {a: 1}}
- {type: similar, to: hello, method: edit, threshold: 0.5}
- {type: similar, to: hello, method: embedding, model: 'openai:text-embedding-3-small'}
- {type: world_state, after: [{tool: refund, args: {order: A-1}, by: agent}, {tool: look}], ignore: [a.*.b], allow_errors: true}
- {type: world_state, value: {a: 1}}
- {type: world_state, file: expected.json}
- {type: python, function: 'checks.of:Shop.fine', args: {most: 1}, threshold: 0.5}
- {type: javascript, code: 'record.calls.length < args.most', args: {most: 1}, threshold: 0.5}
- {type: command, command: [node, check.mjs], args: {most: 1}, threshold: 0.5, timeout_ms: 1000}
- {type: command, command: ./check}
- {type: group, threshold: 0.5, evaluations: [{type: equals, value: a, weight: 2}, {type: step_count, min_steps: 1}]}
- {type: context_retention, test_memory_of: [Friday], retention_turns: 2, memory_accuracy_threshold: 0.5}
";

const TALK: &str = r"
agent: {instructions: Talk.}
models:
  agent: openai:gpt-4o
  user: {script: [hi, {say: bye}]}
setup: {seed: touch a}
run:
  - name: talks
    description: at length
    context: {a: 1}
    input: hello
    conversation:
      max_turns: 4
      timeout_per_turn_ms: 1000
      total_timeout_ms: 10000
      user_simulator:
        persona: a customer
        objective: a refund
        model_type: user
        temperature: 0.7
        max_tokens: 100
        style: short
        constraints: [no names]
        emotional_state: calm
        knowledge_level: beginner
      turn_evaluations: [{type: step_count, min_steps: 1}]
      final_evaluations: [{type: conversation_length, min_turns: 1}]
      debug_options: {log_user_simulation: true, log_turn_decisions: true, export_full_transcript: false}
    evaluations: [{type: user_satisfaction, measurement_method: keyword_analysis}]
";

const ENDS: &str = r"
agent: {}
models: {agent: {script: []}, judge: {rules: [{json: {judgment: 'yes'}}]}}
setup: {state: {session: {stage: new}}}
run:
  - conversation:
      max_turns: 2
      user: {script: [hi, bye]}
      termination_conditions:
        - {type: max_turns_reached, description: enough}
        - {type: conversation_stuck}
        - {type: state_matches, description: d, matches: {session.stage: {$in: [done, left]}}}
        - {type: goal_achieved, description: d, keywords: [done], llm_judge: {prompt: Is it?, threshold: 0.8}}
        - {type: custom_condition, description: d, expression: turns.length > 3, llm_judge: {prompt: Is it?}}
        - {type: custom_condition, expression: turns.length > 3}
";

const SPEAKERS: &str = r"
agent: {}
models: {agent: {script: []}, user: {script: [hi]}}
run:
  - conversation:
      max_turns: 200
      opening: agent
      user:
        script: [hi, {call: restart, args: {hard: true}}, {call: look}, on it, {hang_up: bye}]
        tools:
          - {name: restart, description: d, parameters: {type: object}, response: ok, state: {phone: {on: true}}}
          - {name: look, responseFn: '() => 1', stateFn: '() => ({})'}
  - conversation:
      max_turns: 3
      opening: user
      user_simulator: {persona: {named: angry, about: 'Ann, order 7'}, objective: a refund, stop: [STOP, TRANSFER], may_hang_up: true, tools: [{name: look, description: d, parameters: {type: object}, response: 1, state: {phone: {on: true}}}, {name: see, responseFn: '() => 1', stateFn: '() => ({})'}]}
  - conversation: {max_turns: 3, user_simulator: {instructions: 'Talk until ${stop}. You want ${objective}.', objective: a refund, stop: STOP}}
";

const PEOPLE: &str = r"
agent: {tools: [{name: look}]}
models: {agent: person}
setup: {mocks: [{method: look, when: {input: {id: 1}}, person: true, state: {session: {seen: true}}}, {method: look, response: 1}]}
run: [{conversation: {max_turns: 2, user: person}}]
";

const USERS: &str = r"
agent: {tools: [{name: ask}, {name: confirm}, {name: sign}]}
models: {agent: {model: 'openai:gpt-4o', seed: 7, max_calls: 4}, patient: {script: []}}
budget: {max_tokens: 100000, max_cost: 0.5}
users:
  ask:
    instructions: You are ill.
    model_type: patient
    temperature: 0.5
    max_tokens: 100
    tools:
      - {name: reveal, description: d, parameters: {type: object}, response: {ok: true}, state: {patient: {ill: true}}}
      - {name: deny, responseFn: '() => 1', stateFn: '() => ({})'}
  confirm: {script: ['yes', {sure: true}]}
  sign: person
bridge: {prompt: 'The agent asks: ${input.question}', response: '({answer: output})'}
run: [{input: hi, evaluations: []}]
";

const WORLD: &str = r"
agent: {tools: [{name: own}]}
models: {agent: {script: []}}
world: {command: [python3, shop.py], scope: shop, timeout_ms: 5000}
setup: {mocks: [{method: refund, error: {code: DOWN, message: try later}}]}
run: [{input: hi, evaluations: [{type: world_state, after: []}]}]
";

const WORLD_BY_MCP: &str = r"
agent: {instructions: x}
models: {agent: {script: []}}
world: {mcp: {command: npx server-everything, protocol: sessions}}
run: [{input: hi, evaluations: []}]
";

const WORLD_AT_AN_ADDRESS: &str = r"
agent: {instructions: x}
models: {agent: {script: []}}
world: {mcp: {url: 'http://127.0.0.1:8080/mcp', headers: {authorization: 'Bearer ${env.KEY}'}, protocol: stateless}}
run: [{input: hi, evaluations: []}]
";

const CHAT: &str = r"
agent:
  name: chat
  description: d
  chat: {url: 'http://127.0.0.1:${port}/v1', model: m, start: {command: [python3, server.py], ready_within_ms: 500}}
";

const HTTP: &str = r"
agent:
  name: http
  description: d
  http:
    url: http://127.0.0.1:${port}/chat
    method: PATCH
    headers: {x-key: '${env.KEY}'}
    request: {text: '${message}', list: [1, true, null]}
    response: reply.text
    session: id
    usage: {input: usage.in, output: usage.out}
    calls: {list: 'did?', tool: function.name, args: function.arguments, result: output, error: error}
    timeout_ms: 1000
    start: python3 server.py
plugins:
  - '@elizaos/plugin-bootstrap'
  - {name: other, version: 1.0.0, enabled: false, config: {rate_limit: 100}}
";

const COMMAND: &str = r"
agent: {name: program, description: d, tools: [{name: look}], command: [python3, agent.py]}
setup: {mocks: [{method: look, response: 1}, {method: look, responseFn: '() => 1'}], state: {}}
";

const AGENT: &str = r"
agent: {instructions: Be kind.}
models: {agent: {script: [hi]}}
prices: {m: {input: 1, output: 1}}
variables: [PATH]
public: [PATH]
world: {command: python3 shop.py}
";

/// The examples of the reference page of evaluators.
fn examples() -> impl Iterator<Item = &'static str> {
    let page = include_str!("../../../docs/reference/evaluators.md");
    let examples = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    examples.filter(|example| example.starts_with("- type:"))
}

/// Small files: one for each evaluation, in a conversation where it can be asked of nothing else.
fn files_of_evaluations() -> Vec<Value> {
    let lists = examples().chain([EVALUATIONS]).map(parsed);
    let evaluations: Vec<Value> =
        lists.flat_map(|list| list.as_array().cloned().unwrap_or_default()).collect();
    // Each is asked in all ways, too.
    let how = |evaluation: &Value| {
        let kind = evaluation["type"].as_str().and_then(Kind::named)?;
        let mut asked = evaluation.clone();
        if asked.get("stop").is_none() && asked.get("not").is_none() {
            asked["not"] = true.into();
        }
        if kind.of_replies {
            asked["in"] = "all".into();
        }
        Some(asked)
    };
    let evaluations: Vec<Value> =
        evaluations.iter().filter_map(how).chain(evaluations.iter().cloned()).collect();
    let file = |evaluation: &Value| {
        let kind = evaluation["type"].as_str().and_then(Kind::named);
        let of_conversation = kind.is_some_and(|kind| kind.looks_at == LooksAt::Conversation);
        let step = if of_conversation {
            json!({"conversation": {"max_turns": 2, "user": {"script": ["hi"]}, "final_evaluations": [evaluation]}})
        } else {
            json!({"input": "hi", "evaluations": [evaluation]})
        };
        json!({
            "name": "a", "description": "b", "environment": {"type": "local"}, "run": [step],
            "judgment": {"strategy": "all_pass"},
        })
    };
    evaluations.iter().map(file).collect()
}

fn parsed(text: &str) -> Value {
    yaml::parse(text).unwrap().to_json()
}

/// What both say of a file: the schema's violations, and the errors of the reader.
struct Judges {
    schema: Schema,
    read: fn(&str) -> Vec<Problem>,
}

impl Judges {
    fn of_scenarios() -> Self {
        Self { schema: Schema::new(scenario_schema()), read: |text| check(text, Dialect::Rehearsal).problems }
    }

    fn of_agents() -> Self {
        Self {
            schema: Schema::new(agent_schema()),
            read: |text| check_agent(text, &CheckOptions::default()).1,
        }
    }

    /// JSON is YAML, so a value that was changed can be read again.
    fn errors(&self, value: &Value) -> Vec<Problem> {
        let problems = (self.read)(&value.to_string());
        problems.into_iter().filter(|problem| problem.severity == Severity::Error).collect()
    }

    fn violations(&self, value: &Value) -> Vec<String> {
        self.schema.check(value).unwrap().iter().map(ToString::to_string).collect()
    }

    /// What the two disagree about, if they do.
    fn disagreement(&self, value: &Value) -> Option<String> {
        let (errors, violations) = (self.errors(value), self.violations(value));
        match (errors.is_empty(), violations.is_empty()) {
            (true, false) => Some(format!("only the schema refuses it: {violations:.300?}")),
            (false, true) => {
                let seen = errors.iter().find(|problem| !is_beyond_a_schema(problem))?;
                Some(format!("only the reader refuses it: {}: {}", seen.code, seen.message))
            }
            _ => None,
        }
    }
}

/// Problems that a schema cannot see: what text means, and how one place fits another.
fn is_beyond_a_schema(problem: &Problem) -> bool {
    let kinds = [
        // What a text or a map means.
        ("bad-address", ""),
        ("bad-expression", ""),
        ("bad-schema", ""),
        ("invalid-query", ""),
        ("invalid-schema", ""),
        // What other files hold, and how rows and values of a matrix fit the rest.
        ("no-file", ""),
        ("no-block", ""),
        ("no-agent", "names no agent"),
        ("unknown-column", ""),
        ("unknown-row", ""),
        ("unknown-axis", ""),
        ("no-path", ""),
        ("no-axes", ""),
        ("duplicate", "two rows are called"),
        ("duplicate", "two values of axis"),
        ("no-effect", "no combination has these values"),
        ("no-effect", "this combination is there already"),
        ("missing-key", "this combination has no value"),
        ("wrong-type", "`expect` of a row must be"),
        ("empty", "an axis"),
        // How one place fits another.
        ("never-used", "the agent has no tool"),
        ("no-effect", "from the environment"),
        ("no-effect", "the agent has no tool"),
        ("no-effect", "has nothing that could run"),
        ("no-effect", "these mocks can never answer"),
        ("no-effect", "this world can play no tool"),
        // What an evaluation of a group is made of.
        ("bad-evaluation", "of the group"),
        ("never-true", "in its context, so this never holds"),
        ("no-effect", "this line is never said"),
        ("no-effect", "the agent opens, so the `input`"),
        ("no-effect", "its model is told its `instructions` and nothing else"),
        ("no-effect", "the user has hung up before this"),
        ("no-effect", "this user has two tools"),
        ("not-filled-in", "to fill in here"),
        ("not-filled-in", "is not filled in here"),
        ("always-true", "it looks at nothing of the conversation"),
        ("no-effect", "is what calls find around them"),
        ("never-true", "nobody can say a word that is not there"),
        ("never-true", "`judgment` of this `json_schema` is never"),
        // Which of two numbers is the larger one.
        ("never-true", "nothing is at least"),
        ("never-true", "nothing takes at least"),
        ("never-true", "a judge gives a number from 0 to 1"),
        ("wrong-type", "the smaller one first"),
    ];
    // What a row holds is looked at where it is put in.
    let is_of_case = problem.message.contains(", in [") || problem.message.contains(", in (");
    is_of_case || kinds.iter().any(|(code, part)| problem.code == *code && problem.message.contains(part))
}

/// The place of a value: keys and positions, from the outside in.
type Place = Vec<String>;

fn places(value: &Value, at: &Place, found: &mut Vec<Place>) {
    found.push(at.clone());
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in below {
        places(value, &[at.clone(), vec![key]].concat(), found);
    }
}

fn all_places(value: &Value) -> Vec<Place> {
    let mut found = Vec::new();
    places(value, &Vec::new(), &mut found);
    found
}

fn pointer(place: &[String]) -> String {
    let keys: Vec<String> = place.iter().map(|key| key.replace('~', "~0").replace('/', "~1")).collect();
    if keys.is_empty() { String::new() } else { format!("/{}", keys.join("/")) }
}

fn at<'a>(value: &'a Value, place: &[String]) -> &'a Value {
    value.pointer(&pointer(place)).unwrap()
}

/// The value with something else in one place.
fn changed(value: &Value, place: &[String], change: impl FnOnce(&mut Value)) -> Value {
    let mut value = value.clone();
    change(value.pointer_mut(&pointer(place)).unwrap());
    value
}

/// The value without a key, or with it under another name.
fn without(value: &Value, place: &[String], renamed: Option<&str>) -> Option<Value> {
    let (key, parent) = place.split_last()?;
    let mut value = value.clone();
    let fields = value.pointer_mut(&pointer(parent))?.as_object_mut()?;
    let taken = fields.shift_remove(key)?;
    if let Some(name) = renamed {
        fields.insert(format!("{key}{name}"), taken);
    }
    Some(value)
}

/// Every mutant of a file, with what was done; only those changed in a place below `under`.
fn mutants(file: &Value, under: &str) -> Vec<(String, Value)> {
    let others =
        [json!(null), json!(true), json!(3), json!("x"), json!([]), json!({}), json!(["x"]), json!([3])];
    let numbers = [json!(-1), json!(0), json!(0.5), json!(1), json!(1.0), json!(2.5), json!(1e20)];
    let mut mutants = Vec::new();
    for place in all_places(file).into_iter().filter(|place| pointer(place).starts_with(under)) {
        let name = pointer(&place);
        let mut add = |what: String, mutant: Value| mutants.push((format!("{name} {what}"), mutant));
        if let Some(mutant) = without(file, &place, None) {
            add("left out".to_owned(), mutant);
        }
        if let Some(mutant) = without(file, &place, Some("zz")) {
            add("renamed".to_owned(), mutant);
        }
        let value = at(file, &place);
        let mut instead: Vec<&Value> = others.iter().filter(|other| *other != value).collect();
        let empty = json!("");
        match value {
            Value::Number(_) => instead.extend(&numbers),
            Value::String(_) => instead.push(&empty),
            Value::Object(_) => add(
                "with an unknown key".to_owned(),
                changed(file, &place, |value| value["zzzzzzzzzzzz"] = json!(1)),
            ),
            Value::Array(items) if items.len() == 2 => {
                let mut turned = items.clone();
                turned.reverse();
                add("turned round".to_owned(), changed(file, &place, |value| *value = json!(turned)));
            }
            _ => {}
        }
        for other in instead {
            add(format!("= {other}"), changed(file, &place, |value| *value = other.clone()));
        }
    }
    mutants
}

/// Good files that are about something, as text.
fn texts() -> Vec<String> {
    let with_steps =
        [MODELS, SETUP, TALK, ENDS, SPEAKERS, PEOPLE, USERS, ROWS, WORLD, WORLD_BY_MCP, WORLD_AT_AN_ADDRESS]
            .map(|text| format!("{text}{REST}"));
    let others = [INLINE, CHAT, HTTP, COMMAND].map(|text| format!("{text}{SAYS}{REST}"));
    let rows = PLACES_OF_ROWS.map(|cases| {
        let agent = "agent: {instructions: x}\nmodels: {agent: {script: []}}";
        format!("{agent}\ncases: {cases}\nrun: [{{input: '${{row.a}}', evaluations: []}}]{REST}")
    });
    [WHOLE.to_owned()].into_iter().chain(with_steps).chain(others).chain(rows).collect()
}

fn scenarios() -> Vec<Value> {
    texts().iter().map(|text| parsed(text)).chain(files_of_evaluations()).collect()
}

#[test]
fn good_files_are_good_by_both() {
    for text in texts() {
        let checked = check(&text, Dialect::Rehearsal);
        let scenario = checked.scenario.unwrap_or_else(|| panic!("{text}\n{:#?}", checked.problems));
        let (missing, unused) = (scenario.missing(), scenario.unused());
        assert!(missing.is_empty() && unused.is_empty(), "{text}\n{missing:?}\n{unused:?}");
    }
    let judges = Judges::of_scenarios();
    for file in scenarios() {
        assert_eq!(judges.violations(&file), [""; 0], "{file}");
        assert!(judges.errors(&file).is_empty(), "{:#?}", judges.errors(&file));
    }
    let agent = parsed(AGENT);
    assert_eq!(Judges::of_agents().violations(&agent), [""; 0]);
    assert!(Judges::of_agents().errors(&agent).is_empty());
}

/// The numbers just inside and just outside of the ranges that the reader names.
fn at_the_bounds(judges: &Judges, file: &Value) -> Vec<(String, Value)> {
    let mut mutants = Vec::new();
    for place in all_places(file).iter().filter(|place| at(file, place).is_number()) {
        for far in [-1e20, 1e20] {
            let errors = judges.errors(&changed(file, place, |value| *value = json!(far)));
            let ranges = errors.iter().filter(|problem| problem.code == "out-of-range");
            let words = ranges.flat_map(|problem| problem.message.split(' '));
            for bound in words.filter_map(|word| word.parse::<f64>().ok()) {
                for number in [bound, bound - 1.0, bound + 1.0] {
                    let mutant = changed(file, place, |value| *value = json!(number));
                    mutants.push((format!("{} = {number}", pointer(place)), mutant));
                }
            }
        }
    }
    mutants
}

/// Panics with all disagreements about mutants.
fn agree(judges: &Judges, mutants: Vec<(String, Value)>) -> usize {
    let count = mutants.len();
    let disagreements: Vec<String> = mutants
        .into_iter()
        .filter_map(|(what, mutant)| Some(format!("{what}\n    {}", judges.disagreement(&mutant)?)))
        .collect();
    assert!(
        disagreements.is_empty(),
        "{} of {count} mutants:\n{}",
        disagreements.len(),
        disagreements[..disagreements.len().min(60)].join("\n")
    );
    count
}

/// Every map with one more key that another map of its kind has.
fn with_more_keys(files: &[Value]) -> Vec<(String, Value)> {
    let mut known: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let maps = |file: &Value| {
        all_places(file).into_iter().filter(|place| at(file, place).is_object()).collect::<Vec<_>>()
    };
    for file in files {
        for place in maps(file) {
            let fields = at(file, &place).as_object().unwrap().clone();
            known.entry(kind_of_place(file, &place)).or_default().extend(fields);
        }
    }
    let mut mutants = Vec::new();
    for file in files {
        for place in maps(file) {
            let own = at(file, &place);
            for (key, value) in
                known[&kind_of_place(file, &place)].iter().filter(|(key, _)| own.get(key).is_none())
            {
                let mutant = changed(file, &place, |fields| fields[key] = value.clone());
                mutants.push((format!("{} in {file} with {key}: {value}", pointer(&place)), mutant));
            }
        }
    }
    mutants
}

#[test]
fn the_schema_and_the_reader_agree_on_keys_that_stand_together() {
    let mutants = with_more_keys(&scenarios());
    assert!(agree(&Judges::of_scenarios(), mutants) > 500);
}

#[test]
fn the_schema_and_the_reader_agree_on_what_can_be_asked_where() {
    let files = files_of_evaluations();
    let evaluations = files.iter().map(|file| {
        let step = &file["run"][0];
        let list = step.get("evaluations").unwrap_or_else(|| &step["conversation"]["final_evaluations"]);
        list[0].clone()
    });
    let step = |step: Value| changed(&files[0], &["run".to_owned()], |run| *run = json!([step]));
    let mutants = evaluations.flat_map(|evaluation| {
        let talk = |more: Value| {
            let mut talk = json!({"conversation": {"max_turns": 2, "user": {"script": ["hi"]}}});
            talk["conversation"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            talk
        };
        [
            step(json!({"input": "hi", "evaluations": [evaluation]})),
            step(json!({"code": "ls", "evaluations": [evaluation]})),
            step(talk(json!({"turn_evaluations": [evaluation]}))),
            step(talk(json!({"final_evaluations": [evaluation]}))),
        ]
    });
    let mutants: Vec<(String, Value)> = mutants.map(|mutant| (mutant["run"].to_string(), mutant)).collect();
    assert!(agree(&Judges::of_scenarios(), mutants) > 150);
}

#[test]
fn the_schema_and_the_reader_agree_on_every_change_of_a_good_file() {
    let whole = texts().iter().map(|text| (parsed(text), "")).collect::<Vec<_>>();
    let evaluations = files_of_evaluations().into_iter().map(|file| (file, "/run/"));
    let files: Vec<(Value, &str)> = whole.into_iter().chain(evaluations).collect();
    // The longest test of all by far, so that each processor has its part.
    let next = AtomicUsize::new(0);
    let judge = || {
        let judges = Judges::of_scenarios();
        let (mut changes, mut bounds) = (0, 0);
        while let Some((file, under)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            changes += agree(&judges, mutants(file, under));
            bounds += agree(&judges, at_the_bounds(&judges, file));
        }
        (changes, bounds)
    };
    let lanes = thread::available_parallelism().map_or(2, usize::from);
    let (changes, bounds) = thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(judge)).collect();
        let sums = lanes.into_iter().map(|lane| lane.join().unwrap());
        sums.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    });
    assert!(changes > 5000 && bounds > 200, "{changes} {bounds}");
    assert!(agree(&Judges::of_agents(), mutants(&parsed(AGENT), "")) > 100);
}

/// The words in backticks of a help such as "it can be: `a`, `b`".
fn words(help: &str, begins: &str) -> Vec<String> {
    let Some(list) = help.strip_prefix(begins) else { return Vec::new() };
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_word_the_reader_takes_is_one_of_the_schema_and_the_other_way_round() {
    let judges = Judges::of_scenarios();
    let mut seen = BTreeSet::new();
    for file in scenarios() {
        for place in all_places(&file).iter().filter(|place| at(&file, place).is_string()) {
            let other = changed(&file, place, |value| *value = json!("zzzzzzzzzzzz"));
            let problems = judges.errors(&other);
            let helps = problems.iter().filter_map(|problem| problem.help.as_deref());
            let known: Vec<String> = helps.flat_map(|help| words(help, "it can be: ")).collect();
            let is_type = place.last().is_some_and(|key| key == "type");
            // `expected` of a judge takes numbers too, which its help shows by example.
            for word in known.iter().filter(|word| !word.starts_with("0.")) {
                seen.insert(word.clone());
                // Another type has other keys, so only whether the word itself is known can be compared.
                let mutant = changed(&file, place, |value| *value = json!(word));
                if !is_type {
                    assert_eq!(judges.disagreement(&mutant), None, "{} = {word}", pointer(place));
                }
            }
        }
    }
    let of_schema = schema_words(&scenario_schema());
    let odd: Vec<_> = seen.symmetric_difference(&of_schema).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

/// All words of enumerations and constants.
fn schema_words(schema: &Value) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match (key.as_str(), value) {
                    ("enum", Value::Array(items)) => {
                        words.extend(items.iter().filter_map(|item| item.as_str().map(str::to_owned)));
                    }
                    ("const", Value::String(word)) => {
                        words.insert(word.clone());
                    }
                    _ => words.extend(schema_words(value)),
                }
            }
        }
        Value::Array(items) => words.extend(items.iter().flat_map(schema_words)),
        _ => {}
    }
    words
}

/// Where a map stands, without positions and the names of models; the type of an evaluation.
fn kind_of_place(file: &Value, place: &[String]) -> String {
    let mut keys: Vec<&str> =
        place.iter().map(String::as_str).filter(|key| key.parse::<u64>().is_err()).collect();
    if let ["models" | "users", _, ..] = keys[..] {
        keys.remove(1);
    }
    // All types of conditions are read alike, and what has no effect on one is told afterwards.
    let is_evaluation = keys.last() != Some(&"termination_conditions");
    match at(file, place)["type"].as_str().filter(|_| is_evaluation) {
        Some(name) => name.to_owned(),
        // The turns of a script and its rules are read alike, too.
        None => keys.join("/").replace("models/rules", "models/script"),
    }
}

#[test]
fn every_key_the_reader_takes_stands_in_a_good_file() {
    let judges = Judges::of_scenarios();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut used = known.clone();
    for file in scenarios() {
        for place in all_places(&file).iter().filter(|place| at(&file, place).is_object()) {
            let kind = kind_of_place(&file, place);
            let keys = at(&file, place).as_object().unwrap().keys().cloned();
            used.entry(kind.clone()).or_default().extend(keys);
            let mutant = changed(&file, place, |value| value["zzzzzzzzzzzz"] = json!(1));
            for problem in judges.errors(&mutant) {
                let keys =
                    problem.help.as_deref().map(|help| words(help, "its keys are: ")).unwrap_or_default();
                let keys = keys.into_iter().filter(|key| key != "description");
                known.entry(kind.clone()).or_default().extend(keys);
            }
        }
    }
    let missing: Map<String, Value> = known
        .iter()
        .map(|(kind, keys)| (kind.clone(), keys.difference(&used[kind]).cloned().collect::<Value>()))
        .filter(|(_, keys)| keys.as_array().is_some_and(|keys| !keys.is_empty()))
        .collect();
    assert!(missing.is_empty(), "no good file has {missing:#?}");
    assert!(known.len() > 50, "{}", known.len());
}

#[test]
fn every_key_is_explained() {
    fn unexplained(schema: &Value, at: &str, found: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                for (key, value) in fields {
                    let here = format!("{at}/{key}");
                    if let ("properties", Value::Object(properties)) = (key.as_str(), value)
                        && fields.get("additionalProperties") == Some(&json!(false))
                    {
                        let silent = properties.iter().filter(|(_, schema)| schema["description"].is_null());
                        found.extend(silent.map(|(key, _)| format!("{here}/{key}")));
                    }
                    unexplained(value, &here, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| unexplained(item, at, found)),
            _ => {}
        }
    }
    for schema in [scenario_schema(), agent_schema()] {
        let mut found = Vec::new();
        unexplained(&schema, "", &mut found);
        assert_eq!(found, [""; 0]);
    }
}
