//! MCP servers, those that keep to the protocol and those that do not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_core::json;
use rehearsal_world::environment::{Background, Environment, LocalEnvironment, LocalOptions, Program};
use rehearsal_world::mcp::{McpAnswer, McpClient, McpError, McpServer, McpSettings, Protocol};
use rehearsal_world::remote::{Connection, Guard, Launcher};
use serde_json::{Map, Value, json};

/// What all servers of these tests begin with: `serve` answers requests by the functions of a table, until one of them
/// gives nothing.
const PRELUDE: &str = r#"
import json, sys
def send(message): print(json.dumps(dict(jsonrpc="2.0", **message)), flush=True)
def receive():
    line = sys.stdin.readline()
    return json.loads(line) if line else None
def text(said, **more): return dict(content=[dict(type="text", text=said)], **more)
def tool(name, **more): return dict(name=name, inputSchema=dict(type="object"), **more)
def refuse(message, code=-32601, said="Method not found", **data):
    send(dict(id=message["id"], error=dict(code=code, message=said, data=data)))
def serve(**answers):
    while (message := receive()) is not None:
        if "id" not in message or "method" not in message: continue
        name = message["method"].replace("/", "_")
        if name not in answers: refuse(message); continue
        result = answers[name](message.get("params", {}))
        if result is None: return
        send(dict(id=message["id"], result=result))
def began(params): return dict(protocolVersion="2025-06-18", capabilities=dict(tools=dict(listChanged=True)), serverInfo=dict(name="old", version="3"))
def found(params):
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    return dict(resultType="complete", supportedVersions=["2026-07-28"], capabilities=dict(tools=dict(listChanged=True)), _meta={"io.modelcontextprotocol/serverInfo": dict(name="new", version="1")})
"#;

#[derive(Debug)]
struct Python {
    script: String,
    environment: Arc<LocalEnvironment>,
    started: Arc<AtomicUsize>,
}

#[async_trait]
impl Launcher for Python {
    async fn start(&self) -> Result<Connection, String> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let program = Program::Argv(["python3", "-c", &self.script].map(str::to_owned).to_vec());
        let process =
            self.environment.start(&program, &BTreeMap::new(), None).await.map_err(|e| e.to_string())?;
        let (input, output, process) = process.into_parts();
        Ok(Connection {
            input: Box::new(input),
            output: Box::new(output),
            guard: Box::new(Held { process, exit: None }),
        })
    }
}

struct Held {
    process: Background,
    exit: Option<String>,
}

#[async_trait]
impl Guard for Held {
    async fn ended(&mut self) {
        self.exit = self.process.wait().await.ok().map(|exit| exit.to_string());
    }

    fn stderr_tail(&self) -> String {
        self.process.stderr()
    }

    fn exit(&self) -> Option<String> {
        self.exit.clone()
    }
}

fn quick() -> McpSettings {
    McpSettings { start_within: Duration::from_secs(30), ..McpSettings::default() }
}

async fn open_with(script: &str, settings: McpSettings) -> (Result<McpClient, McpError>, usize) {
    let environment = Arc::new(LocalEnvironment::new(LocalOptions::default()).unwrap());
    let started = Arc::new(AtomicUsize::new(0));
    let script = format!("{PRELUDE}{script}");
    let server = Python { script, environment, started: started.clone() };
    let opened = McpClient::open(McpServer::Process(Box::new(server)), settings).await;
    (opened, started.load(Ordering::SeqCst))
}

async fn open(script: &str) -> McpClient {
    open_with(script, quick()).await.0.unwrap()
}

fn names(client: &McpClient) -> Vec<&str> {
    client.tools().iter().map(|tool| tool.name.as_str()).collect()
}

async fn call(client: &mut McpClient, tool: &str) -> McpAnswer {
    client.call(tool, &Map::new()).await.unwrap()
}

#[tokio::test]
async fn the_stateless_revision_is_spoken_where_it_is_known() {
    let mut client = open(
        r#"
n = 0
def call(params):
    global n
    assert params["name"] == "count" and "_meta" in params
    n += 1
    return text("x", resultType="complete", structuredContent=dict(n=n, big=123456789012345678901234567890))
def tools(params): return dict(tools=[tool("count")] + ([tool("reset")] if n > 1 else []), ttlMs=0)
serve(server_discover=found, tools_list=tools, tools_call=call)
"#,
    )
    .await;
    assert_eq!((client.protocol(), client.server(), names(&client)), ("2026-07-28", "new 1", vec!["count"]));
    let first = call(&mut client, "count").await;
    assert_eq!(json::text(&first.result.unwrap()), r#"{"n":1,"big":123456789012345678901234567890}"#);
    assert!(!first.tools_changed);
    assert!(call(&mut client, "count").await.tools_changed);
    assert_eq!(names(&client), ["count", "reset"]);
    client.close(Duration::from_secs(5)).await;
}

const OLD: &str = r#"
def pages(params):
    if "cursor" not in params: return dict(tools=[tool("one", description="1")], nextCursor="next")
    return dict(tools=[tool("two", outputSchema=dict(type="object"))])
"#;

#[tokio::test]
async fn a_session_is_begun_on_the_same_process_where_it_is_not() {
    let script =
        format!("{OLD}\nserve(initialize=began, tools_list=pages, tools_call=lambda p: text('[1, 2]'))");
    let (client, started) = open_with(&script, quick()).await;
    let mut client = client.unwrap();
    assert_eq!((client.protocol(), client.server(), started), ("2025-06-18", "old 3", 1));
    assert_eq!(names(&client), ["one", "two"]);
    assert!(client.tools()[1].output.is_some());
    assert_eq!(call(&mut client, "one").await.result, Ok(json!([1, 2])));
}

#[tokio::test]
async fn a_server_that_does_not_answer_what_it_does_not_know_is_waited_for_only_so_long() {
    let script = format!(
        "{OLD}\nwhile receive()['method'] != 'initialize': pass\nsend(dict(id=2, result=began({{}})))\n\
         serve(tools_list=pages)"
    );
    let settings = McpSettings { discover_within: Duration::from_millis(300), ..quick() };
    let (client, started) = open_with(&script, settings).await;
    assert_eq!((client.unwrap().protocol(), started), ("2025-06-18", 1));
}

#[tokio::test]
async fn a_server_that_ends_at_what_it_does_not_know_is_started_again() {
    let script = format!(
        "{OLD}\nfirst = receive()\nassert first['method'] == 'initialize', 'expected initialize'\n\
         send(dict(id=first['id'], result=began({{}})))\nserve(tools_list=pages)"
    );
    let (client, started) = open_with(&script, quick()).await;
    assert_eq!((names(&client.unwrap()), started), (vec!["one", "two"], 2));
}

#[tokio::test]
async fn what_a_server_says_and_asks_beside_its_answers_is_heard() {
    let script = r#"
more = False
def call(params):
    global more
    print("a line that is no message", flush=True)
    send(dict(method="notifications/progress", params=dict(progressToken=1, progress=0.5)))
    send(dict(method="notifications/message", params=dict(level="info", data="hm")))
    send(dict(id="p", method="ping"))
    send(dict(id=7, method="sampling/createMessage", params={}))
    more = True
    send(dict(method="notifications/tools/list_changed"))
    return text(json.dumps([receive(), receive()]))
def tools(params): return dict(tools=[tool("a")] + ([tool("b")] if more else []))
serve(initialize=began, tools_list=tools, tools_call=call)
"#;
    let mut client = open(script).await;
    assert_eq!(names(&client), ["a"]);
    let answer = call(&mut client, "a").await;
    let said = answer.result.unwrap();
    assert_eq!((&said[0]["id"], &said[0]["result"]), (&json!("p"), &json!({})));
    assert_eq!((&said[1]["id"], &said[1]["error"]["code"]), (&json!(7), &json!(-32601)));
    assert!(
        said[1]["error"]["message"].as_str().unwrap().starts_with("`sampling/createMessage` is not offered")
    );
    assert!(answer.tools_changed);
    assert_eq!(names(&client), ["a", "b"]);
}

#[tokio::test]
async fn what_a_tool_cannot_do_is_told_and_the_server_lives_on() {
    let script = r#"
def call(params):
    name = params["name"]
    if name == "bad": return text("no such file", isError=True)
    if name == "ask": return dict(resultType="input_required", inputRequests=dict(who=dict(method="elicitation/create", params=dict(message="Who?"))))
    return text("fine")
serve(initialize=began, tools_list=lambda p: dict(tools=[tool("bad"), tool("ask"), tool("good")]), tools_call=call)
"#;
    let mut client = open(script).await;
    assert_eq!(call(&mut client, "bad").await.result.unwrap_err().message, "no such file");
    let asked = call(&mut client, "ask").await.result.unwrap_err();
    assert!(asked.message.contains("`who` (elicitation/create): Who?"), "{asked:?}");
    assert_eq!(call(&mut client, "good").await.result, Ok(json!("fine")));
}

async fn failure(script: &str) -> String {
    let settings = McpSettings { answer_within: Duration::from_secs(1), ..quick() };
    let mut client = open_with(script, settings).await.0.unwrap();
    client.call("a", &Map::new()).await.unwrap_err().to_string()
}

#[tokio::test]
async fn a_server_that_dies_or_falls_silent_is_named_with_what_it_complained_of() {
    let tools = "tools_list=lambda p: dict(tools=[tool('a')])";
    let dies =
        format!("def call(p): sys.exit('out of paper')\nserve(initialize=began, {tools}, tools_call=call)");
    let told = failure(&dies).await;
    assert!(told.starts_with("the MCP server's process ended (it ended with code 1)"), "{told}");
    assert!(told.contains("out of paper"), "{told}");
    let waits = format!(
        "def call(p):\n  print('thinking', file=sys.stderr, flush=True)\n  while receive(): pass\n\
         serve(initialize=began, {tools}, tools_call=call)"
    );
    let told = failure(&waits).await;
    assert!(told.starts_with("the MCP server did not answer `tools/call` within 1s"), "{told}");
    assert!(told.contains("thinking") && told.contains("hint: raise `timeout"), "{told}");
    let nonsense = format!("serve(initialize=began, {tools}, tools_call=lambda p: [1])");
    let told = failure(&nonsense).await;
    assert!(
        told.starts_with("the MCP server broke the protocol: it answered `tools/call` with a list"),
        "{told}"
    );
}

#[tokio::test]
async fn a_server_of_another_time_is_refused_with_what_it_speaks() {
    let later = "serve(server_discover=lambda p: dict(supportedVersions=['2031-01-01']))";
    let settings = McpSettings { protocol: Protocol::Stateless, ..quick() };
    let error = open_with(later, settings).await.0.unwrap_err();
    assert!(matches!(&error, McpError::Version { versions } if versions == &["2031-01-01"]), "{error}");
    let refuses = "m = receive()\nrefuse(m, -32022, 'Unsupported', supported=['2031-01-01'])\nreceive()";
    let error = open_with(refuses, quick()).await.0.unwrap_err();
    assert!(
        error.to_string().starts_with("the MCP server speaks 2031-01-01, and none of these is known"),
        "{error}"
    );
    let value: Value = json!(error.to_string());
    assert!(value.as_str().unwrap().contains("hint: "));
}
