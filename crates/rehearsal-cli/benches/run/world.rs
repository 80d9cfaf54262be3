//! What a world that lives for a case saves, beside the same tools as one process for each call.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::meter::{self, median};

const ROUNDS: usize = 15;

/// How many calls a case makes.
const CALLS: usize = 20;

/// Both keep a number: one in memory, one in a file of the case's folder.
const COUNTER: &str = r#"import json, sys
class Counter:
    def __init__(self): self.total = 0
    def add(self, by): self.total += by; return {"total": self.total}
"#;

const WORLD: &str = r#"from counter import *
counter = Counter()
def send(**message): print(json.dumps(message), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "start": send(type="tools", tools=[{"name": "add"}])
    elif message["type"] == "state": send(type="state", state={"total": counter.total})
    elif message["type"] == "end": break
    else: send(type="result", id=message["id"], output=counter.add(**message["args"]), state={"total": counter.total})
"#;

const TOOL: &str = r#"from counter import *
import os, pathlib
path = pathlib.Path(os.environ["REHEARSAL_FOLDER"], "total.json")
counter = Counter()
if path.exists(): counter.total = json.loads(path.read_text())
print(json.dumps(counter.add(**json.load(sys.stdin))))
path.write_text(json.dumps(counter.total))
"#;

pub(crate) fn measure() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file can be written");
    write("counter.py", COUNTER);
    write("world.py", WORLD);
    write("tool.py", TOOL);
    write(
        "world.scenario.yaml",
        &case("world: {command: [python3, world.py]}\nagent: {instructions: Add., max_rounds: 50}", CALLS),
    );
    let tool = "agent: {instructions: Add., max_rounds: 50, tools: [{name: add, command: [python3, tool.py]}]}\nsetup: {passthrough: [add]}";
    write("command.scenario.yaml", &case(tool, CALLS));
    // What is left when nothing is called is that of neither.
    write("nothing.scenario.yaml", &case("agent: {instructions: Add., max_rounds: 50}", 0));

    // They take turns, so that what else the machine does falls on all of them.
    let (mut world, mut command, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        for (name, walls) in [("world", &mut world), ("command", &mut command), ("nothing", &mut nothing)] {
            walls.push(run(folder.path(), name).wall);
        }
    }
    let [world, command, nothing] =
        [world, command, nothing].map(|walls| median(walls).as_secs_f64() * 1000.0);
    println!("world: a case of {CALLS} calls, the middle of {ROUNDS} runs of the command");
    println!("  one process for the case      {world:8.1} ms");
    println!("  one process for each call     {command:8.1} ms");
    println!("  a case without calls          {nothing:8.1} ms");
    println!("  ratio                         {:8.1}      (aim: 10)", command / world);
    println!("  ratio of what the calls add   {:8.1}", (command - nothing) / (world - nothing).max(0.1));
}

fn case(head: &str, calls: usize) -> String {
    let calls = "{call: add, args: {by: 1}}, ".repeat(calls);
    format!(
        "name: Adds\ndescription: Calls of one tool\nenvironment: {{type: local}}\n{head}\n\
         models: {{agent: {{script: [{calls}done]}}}}\n\
         run:\n  - {{input: go, evaluations: [{{type: string_contains, value: done}}]}}\njudgment: {{strategy: all_pass}}\n"
    )
}

fn run(folder: &Path, name: &str) -> meter::Taken {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
    command.current_dir(folder).args(["run", &format!("{name}.scenario.yaml"), "--quiet", "--no-store"]);
    meter::run(&mut command)
}
