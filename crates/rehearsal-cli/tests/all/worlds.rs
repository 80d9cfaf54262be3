//! Worlds: living programs that play the tools of a case.

use std::fs;

use rehearsal_core::json;
use serde_json::Value;

use crate::support::{Folder, Ran};

/// A shop with two orders, in Python: a parcel can be sent once there is one, and only the user can look outside.
const SHOP: &str = r#"
import json, os, sys

ORDERS = {"17": {"status": "paid", "total": 23.5}, "18": {"status": "lost", "total": 9}}
parcels = []
with open(os.environ["LOG"], "a") as log:
    log.write(f"{os.getpid()}\n")

def send(**message):
    print(json.dumps(message), flush=True)

def tool(name, by="agent", **more):
    properties = more.pop("properties", {})
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": name, "parameters": schema, "by": by, **more}

ORDER = {"order": {"type": "string"}}

def tools():
    listed = [tool("find_order", properties=ORDER, output={"type": "object", "required": ["total"]}),
              tool("refund", properties=ORDER), tool("look_outside", by="user"), tool("die"), tool("wrong", output={"type": "string"})]
    return listed + [tool("send_parcels")] if parcels else listed

def state():
    return {"orders": ORDERS, "parcels": parcels}

def call(name, args):
    if name == "die":
        sys.exit("the shop burnt down")
    if name == "wrong":
        return 7
    if name == "look_outside":
        return {"courier": bool(parcels)}
    if name == "send_parcels":
        sent = list(parcels)
        parcels.clear()
        return {"sent": sent}
    order = ORDERS[args["order"]]
    if name == "refund":
        if order["status"] == "refunded":
            raise ValueError("it was paid back before")
        order["status"] = "refunded"
        parcels.append("letter")
    return order

for line in sys.stdin:
    message = json.loads(line)
    kind = message["type"]
    if kind == "start":
        send(type="log", text=f"seed {message['seed']}")
        send(type="tools", tools=tools())
    elif kind == "state":
        send(type="state", state=state())
    elif kind == "call":
        before = json.dumps([state(), tools()])
        result = {"type": "result", "id": message["id"]}
        try:
            result["output"] = call(message["tool"], message["args"])
        except KeyError as error:
            result["error"] = {"type": "NOT_FOUND", "message": f"there is no {error}"}
        except ValueError as error:
            result["error"] = {"type": "REFUSED", "message": str(error)}
        if json.dumps([state(), tools()]) != before:
            result.update(state=state(), tools=tools())
        send(**result)
    elif kind == "end":
        break
"#;

/// A scenario in which the agent's model makes these calls and then says that it is done.
fn scenario(calls: &str, more: &str, evaluations: &str) -> String {
    format!(
        "name: shop
description: d
environment: {{type: local, variables: [LOG], public: [LOG]}}
world: {{command: [python3, shop.py]}}
agent: {{instructions: x}}
models: {{agent: {{script: [{calls} done]}}}}
{more}
run:
  - input: hi
    evaluations:
{evaluations}
judgment: {{strategy: all_pass}}
"
    )
}

struct Shop(Folder);

impl Shop {
    fn new(text: &str) -> Self {
        Self(Folder::new(&[("shop.py", SHOP), ("a.scenario.yaml", text)]))
    }

    fn run(&self, args: &str) -> Ran {
        let log = self.0.path().join("log");
        Ran::of(self.0.command(&format!("run a.scenario.yaml --verbose {args}")).env("LOG", log))
    }

    /// The processes of the world that were started.
    fn started(&self) -> Vec<String> {
        let log = fs::read_to_string(self.0.path().join("log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }
}

const REFUND: &str = "{call: refund, args: {order: '17'}},";

fn passes(text: &str) -> String {
    let ran = Shop::new(text).run("--no-store");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    ran.stdout
}

fn fails(text: &str, said: &[&str]) {
    let ran = Shop::new(text).run("--no-store");
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    for said in said {
        assert!(ran.stdout.contains(said), "{said}\n{}", ran.stdout);
    }
}

#[test]
fn one_call_finds_what_another_has_changed() {
    let calls =
        format!("{REFUND} {{call: find_order, args: {{order: '17'}}}}, {REFUND} {{call: send_parcels}},");
    let told = passes(&scenario(
        &calls,
        "",
        "      - {type: state, matches: {world.orders.17.status: refunded, world.parcels: {$size: 0}}}
      - {type: tool_called, tool: find_order, count: 1}
      - {type: event_count, event: world_log, count: 0}",
    ));
    for said in [
        r#"find_order gives {"status":"refunded","total":23.5}"#,
        "refund fails: REFUSED: it was paid back before",
        r#"send_parcels gives {"sent":["letter"]}"#,
    ] {
        assert!(told.contains(said), "{said}\n{told}");
    }
}

#[test]
fn a_tool_is_unknown_before_it_is_offered_and_after_it_is_withdrawn() {
    let calls = format!("{{call: send_parcels}}, {REFUND} {{call: send_parcels}}, {{call: send_parcels}},");
    let told = passes(&scenario(&calls, "", "      - {type: tool_called, tool: send_parcels, count: 1}"));
    assert_eq!(told.matches("send_parcels fails: UnknownTool").count(), 2, "{told}");
}

#[test]
fn mocks_go_before_the_world() {
    let mock = "setup: {mocks: [{method: refund, when: {input: {order: '17'}}, error: {code: DOWN, message: try later}}]}";
    let calls = format!("{REFUND} {{call: refund, args: {{order: '18'}}}},");
    let told = passes(&scenario(
        &calls,
        mock,
        "      - {type: state, matches: {world.orders.17.status: paid, world.orders.18.status: refunded}}",
    ));
    assert!(told.contains("refund fails: DOWN: try later"), "{told}");
}

#[test]
fn the_final_state_is_compared_with_what_a_reference_gives() {
    let after = |calls: &str| format!("      - {{type: world_state, after: [{calls}]}}");
    let refund = "{tool: refund, args: {order: '17'}}";
    passes(&scenario(REFUND, "", &after(refund)));
    passes(&scenario("{call: find_order, args: {order: '17'}},", "", &after("")));
    fails(
        &scenario("", "", &after(refund)),
        &["FAILED", "`world.orders.17.status` is \"paid\", and should be \"refunded\""],
    );
    fails(
        &scenario(REFUND, "", &after("{tool: refund, args: {order: '18'}}")),
        &[
            "differs from what it should be at 2 places",
            "`world.orders.18.status` is \"lost\", and should be \"refunded\"",
        ],
    );
    fails(
        &scenario(&format!("{REFUND} {{call: refund, args: {{order: '18'}}}},"), "", &after(refund)),
        &["`world.orders.18.status` is \"refunded\", and should be \"lost\""],
    );
    // What a reference does nobody else sees, and it stands apart from the run.
    let shop = Shop::new(&scenario(
        REFUND,
        "",
        &format!("{}\n{}", after(refund), after(&format!("{refund}, {{tool: send_parcels}}"))),
    ));
    assert_eq!(shop.run("--no-store").code, 1);
    let started = shop.started();
    assert_eq!(started.len(), 3, "{started:?}");
}

#[test]
fn a_reference_that_cannot_be_made_decides_nothing() {
    let twice = "{tool: refund, args: {order: '17'}}, {tool: refund, args: {order: '17'}}";
    let asks = |more: &str| format!("      - {{type: world_state, after: [{twice}]{more}}}");
    fails(
        &scenario(REFUND, "", &asks("")),
        &["ERROR", "undecided world_state", "REFUSED: it was paid back before", "add: allow_errors: true"],
    );
    passes(&scenario(REFUND, "", &asks(", allow_errors: true")));
    fails(
        &scenario("", "", "      - {type: world_state, after: [{tool: fly}]}"),
        &["ERROR", "is of `fly`, and the world offers no such tool at that moment"],
    );
    fails(
        &scenario("", "", "      - {type: world_state, after: [{tool: die}]}"),
        &["ERROR", "there is no state to compare with", "the shop burnt down"],
    );
    fails(
        &scenario("", "", "      - {type: world_state, file: nowhere.json}"),
        &["ERROR", "nowhere.json` cannot be read"],
    );
}

#[test]
fn a_state_can_be_written_down_and_parts_of_it_left_out() {
    let value = "{orders: {'17': {status: refunded, total: 23.5}, '18': {status: odd, total: 9.0}}, parcels: [letter], gone: null}";
    fails(
        &scenario(REFUND, "", &format!("      - {{type: world_state, value: {value}}}")),
        &["at one place"],
    );
    passes(&scenario(
        REFUND,
        "",
        &format!("      - {{type: world_state, value: {value}, ignore: [orders.18.status]}}"),
    ));
    let shop = Shop::new(&scenario(
        REFUND,
        "",
        "      - {type: world_state, file: expected.json, ignore: [orders.*.total]}",
    ));
    let state =
        r#"{"orders": {"17": {"status": "refunded"}, "18": {"status": "lost"}}, "parcels": ["letter"]}"#;
    fs::write(shop.0.path().join("expected.json"), state).unwrap();
    assert_eq!(shop.run("--no-store").code, 0);
}

#[test]
fn users_have_tools_in_the_world_that_agents_do_not() {
    let run = "run:
  - conversation:
      max_turns: 3
      user: {script: [refund it, {call: look_outside}, the courier is here]}
      final_evaluations:
        - {type: state, matches: {world.orders.17.status: refunded}}
        - {type: tool_not_called, tool: look_outside}
";
    let text = scenario(&format!("{REFUND} one moment,"), "", "");
    let (head, tail) = (text.split("run:").next().unwrap(), "judgment: {strategy: all_pass}\n");
    let shop = Shop::new(&format!("{head}{run}{tail}"));
    let ran = shop.run("--out out");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let users = fs::read_dir(shop.0.path().join("out/ledgers")).unwrap();
    let users = users.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let all: String = users.collect();
    assert!(all.contains(r#"{"courier":true}"#), "{all}");
    let calls = "{call: look_outside},";
    let told = passes(&scenario(calls, "", "      - {type: string_contains, value: done}"));
    assert!(told.contains("look_outside fails: UnknownTool"), "{told}");
}

#[test]
fn a_world_that_cannot_go_on_is_an_error_and_what_it_does_not_play_is_refused() {
    let fine = "      - {type: string_contains, value: done}";
    fails(&scenario("{call: die},", "", fine), &["ERROR", "the world failed", "the shop burnt down"]);
    let declared = scenario("{call: fly},", "", fine).replace(
        "agent: {instructions: x}",
        "agent: {instructions: x, tools: [{name: fly, description: d}]}",
    );
    fails(
        &declared,
        &["ERROR", "tool `fly` was called by agent", "no mock answers", "let the world offer `fly`"],
    );
    fails(
        &scenario("{call: wrong},", "", "      - {type: tool_called, tool: wrong}"),
        &["wrong fails: InvalidOutput"],
    );
    let gone = scenario("", "", fine).replace("shop.py", "nowhere.py");
    fails(&gone, &["ERROR", "nowhere.py"]);
    let deaf =
        Shop::new(&scenario("", "", fine).replace("[python3, shop.py]}", "sleep 60, timeout_ms: 200}"));
    let ran = deaf.run("--no-store");
    assert!(ran.stdout.contains("did not answer its start within 200 ms"), "{}", ran.stdout);
}

#[test]
fn each_case_has_a_process_of_its_own() {
    let calls = (0..20).map(|_| "{call: find_order, args: {order: '17'}}, ").collect::<String>();
    let text = scenario(
        &format!("{calls}{REFUND}"),
        "",
        "      - {type: state, matches: {world.parcels: {$size: 1}}}",
    );
    let text = text.replace("agent: {instructions: x}", "agent: {instructions: x, max_rounds: 30}");
    let shop = Shop::new(&text);
    let ran = shop.run("--no-store --repeat 3");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let mut started = shop.started();
    started.sort();
    started.dedup();
    assert_eq!(started.len(), 3);
}

#[test]
fn programs_of_strangers_are_refused_and_what_is_wrong_is_told_by_check() {
    let shop = Shop::new(&scenario("", "", "      - {type: string_contains, value: done}"));
    let ran = shop.run("--no-commands");
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("the world is a program") && shop.started().is_empty(), "{}", ran.stderr);
    for (world, said) in [
        ("{}", "`world` does not say what plays the tools"),
        ("{command: x, mcp: {command: y}}", "not both"),
        ("{mcp: {}}", "`mcp` does not say where the server is"),
        ("{mcp: {command: x, url: 'http://127.0.0.1/'}}", "not both"),
        ("{mcp: {command: x, headers: {a: b}}}", "is sent no headers"),
        ("{mcp: {url: nowhere}}", "`nowhere` is no HTTP address"),
        ("{command: x, scope: session}", "`session` cannot be the scope"),
        ("{comand: x}", "did you mean `command`?"),
    ] {
        let text = scenario("", "", "      - {type: string_contains, value: done}");
        let folder =
            Folder::new(&[("a.scenario.yaml", &text.replace("{command: [python3, shop.py]}", world))]);
        let ran = folder.run("check a.scenario.yaml");
        assert!(ran.code == 2 && ran.stderr.contains(said), "{world}: {}", ran.stderr);
    }
    let http = scenario("", "", "      - {type: string_contains, value: done}")
        .replace("agent: {instructions: x}", "agent: {http: {url: 'http://127.0.0.1:1/', response: reply}}")
        .replace("models: {agent: {script: [ done]}}", "");
    let ran = Folder::new(&[("a.scenario.yaml", &http)]).run("check a.scenario.yaml");
    assert!(ran.stderr.contains("this world can play no tool"), "{}", ran.stderr);
}

#[test]
fn an_agents_file_may_bring_the_world() {
    let text = scenario("", "", "      - {type: state, matches: {world.orders.17.status: refunded}}")
        .replace("world: {command: [python3, shop.py]}\nagent: {instructions: x}\nmodels: {agent: {script: [ done]}}\n", "");
    let agent = "agent: {instructions: x}\nworld: {command: [python3, shop.py]}\nmodels: {agent: {script: [{call: refund, args: {order: '17'}}, done]}}\n";
    let folder =
        Folder::new(&[("a.scenario.yaml", &text), ("desk/shop.py", SHOP), ("desk/agent.yaml", agent)]);
    let mut command = folder.command("run a.scenario.yaml --no-store --agent desk/agent.yaml");
    let ran = Ran::of(command.env("LOG", folder.path().join("log")));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_command_agent_is_told_which_tools_there_are() {
    const AGENT: &str = r#"
import json, sys
tools = []
def send(**message):
    print(json.dumps(message), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] in ("start", "tools"):
        tools.append(sorted(tool["name"] for tool in message["tools"]))
    elif message["type"] == "message":
        send(type="tool_call", id="1", tool="refund", args={"order": "17"})
    elif message["type"] == "tool_result":
        new = [name for name in tools[-1] if name not in tools[0]]
        send(type="final", text=f"new: {new}")
"#;
    let text = scenario("", "", "      - {type: string_contains, value: \"new: ['send_parcels']\"}").replace(
        "agent: {instructions: x}\nmodels: {agent: {script: [ done]}}",
        "agent: {command: [python3, agent.py]}",
    );
    let shop = Shop::new(&text);
    fs::write(shop.0.path().join("agent.py"), AGENT).unwrap();
    let ran = shop.run("--no-store");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn what_a_world_says_stands_on_the_ledger_and_is_scored_again() {
    let shop = Shop::new(&scenario(
        REFUND,
        "",
        "      - {type: world_state, after: [{tool: refund, args: {order: '17'}}]}",
    ));
    assert_eq!(shop.run("--out out").code, 0);
    let ledger = fs::read_dir(shop.0.path().join("out/ledgers")).unwrap().next().unwrap().unwrap().path();
    let events: Vec<Value> =
        fs::read_to_string(&ledger).unwrap().lines().map(|line| json::from_str(line).unwrap()).collect();
    let of = |kind: &str| {
        events.iter().find(|event| event["body"]["type"] == kind || event["type"] == kind).cloned()
    };
    let text: String = fs::read_to_string(&ledger).unwrap();
    assert!(of("world_started").is_some(), "{text}");
    assert!(text.contains("\"by\":\"world\""), "{text}");
    assert!(text.contains("seed "), "{text}");
    let started = shop.started().len();
    let ran = shop.0.run(&format!("score {} --with a.scenario.yaml", ledger.display()));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(shop.started().len(), started, "scoring starts no world");
}

#[test]
fn scripts_of_mocks_keep_a_world_for_the_case() {
    let text = "name: counts
description: d
environment: {type: local}
agent: {instructions: x, tools: [{name: add, description: d}, {name: total, description: d}]}
models: {agent: {script: [{calls: [{tool: add, args: {n: 2}}, {tool: add, args: {n: 3}}]}, {call: add, args: {n: 5}}, {call: total}, done]}}
setup:
  state: {world: {sum: 1}}
  mocks:
    - {method: add, responseFn: '(call, input) => { world.sum += input.n; (world.seen ??= []).push(input.n); return world.sum; }'}
    - {method: total, responseFn: 'world.sum'}
run:
  - input: hi
    evaluations:
      - {type: state, matches: {world.sum: 11, world.seen: {$size: 3}}}
judgment: {strategy: all_pass}
";
    let folder = Folder::new(&[("a.scenario.yaml", text)]);
    let ran = folder.run("run a.scenario.yaml --no-store --verbose --repeat 2");
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    for said in ["add gives 3", "add gives 6", "add gives 11", "total gives 11"] {
        assert!(ran.stdout.contains(said), "{said}\n{}", ran.stdout);
    }
}
