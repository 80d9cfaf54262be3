"""Runs that are spread over a cluster of Ray: one run in one store, whatever happens to the nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from conftest import kill_node

ROWS = 12
REPEAT = 2
ALL = ROWS * REPEAT

SCENARIO = """
name: Answers
description: The porter answers
environment: {type: local, variables: [GATE, REHEARSE_NODE], public: [GATE, REHEARSE_NODE]}
cases: ROWS
agent: {command: [python3, porter.py]}
run:
  - input: Hello from ${row.name}
    evaluations: [{type: string_contains, value: open}]
judgment: {strategy: all_pass}
""".replace("ROWS", json.dumps([{"name": f"guest {n}"} for n in range(ROWS)]))

# It says that it began, and where, and answers when the gate is open.
PORTER = """
import json, os, sys, time, pathlib
gate = pathlib.Path(os.environ["GATE"])
node = os.environ.get("REHEARSE_NODE", "here").split()[-1]
for line in sys.stdin:
    if json.loads(line)["type"] == "message":
        (gate / f"began-{node}-{os.getpid()}").touch()
        while (gate / "closed").exists():
            time.sleep(0.02)
        print(json.dumps({"type": "final", "text": "It is open."}), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scenario, whose gate is open."""
    place = tmp_path / "project"
    (place / "cases").mkdir(parents=True)
    (place / "cases" / "answers.scenario.yaml").write_text(SCENARIO)
    (place / "cases" / "porter.py").write_text(PORTER)
    (tmp_path / "gate").mkdir()
    monkeypatch.setenv("GATE", str(tmp_path / "gate"))
    monkeypatch.setenv("REHEARSE_NODE", "here")
    monkeypatch.chdir(place)
    return place


def gate() -> Path:
    return Path(os.environ["GATE"])


def nodes_that_began() -> set[str]:
    return {path.name.split("-")[1] for path in gate().glob("began-*")}


def rehearse(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([os.environ["REHEARSAL_BIN"], *words], capture_output=True, text=True, check=False)


def timeless(value: Any) -> Any:
    """A result without times and ids, and without what says that it was merged."""
    left_out = {"started_at", "duration_ms", "parts", "sessions", "started_at_ms", "ended_at_ms", "timestamp"}
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in left_out}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def wait_until(is_so: Any, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen"
        threading.Event().wait(0.05)


def test_a_node_dies_in_mid_run_and_no_case_is_lost_or_doubled(cluster: Any, folder: Path) -> None:
    import ray
    from rehearsal.ray import run

    ray.init(address=cluster.address, log_to_driver=False)
    victim = cluster.add_node(num_cpus=2, object_store_memory=80 << 20)
    cluster.wait_for_nodes()
    name = victim.node_id[:8]
    (gate() / "closed").touch()

    def kill() -> None:
        # Every node has parts, and none of them has ended.
        wait_until(lambda: name in nodes_that_began() and len(nodes_that_began()) > 1)
        kill_node(victim)
        (gate() / "closed").unlink()

    killer = threading.Thread(target=kill)
    killer.start()
    spread = run("cases", repeat=REPEAT, shards=10, store="team.db", name="nightly", env=["GATE"])
    heard = [(case["name"], case["repeat"]) for case in spread]
    killer.join()
    result = spread.result()
    cluster.remove_node(victim)
    assert ray.is_initialized(), "what somebody else has joined stays joined"
    ray.shutdown()

    assert len(heard) == len(set(heard)) == ALL, "each case ended once"
    assert (result["summary"]["total"], result["summary"]["passed"], spread.passed) == (ALL, ALL, True)
    cases = [(case["name"], case["repeat"]) for case in result["results"]]
    assert len(cases) == len(set(cases)) == ALL
    # Whatever was on the node was begun again, and counts where it came to its end.
    again = [part for part in result["parts"] if part.get("attempts", 1) > 1]
    assert again
    assert all(name not in part["node"] for part in again)
    assert len(result["parts"]) == 10
    assert len({part["node"] for part in result["parts"]}) > 1
    # One run in one store, and it is what one machine gives.
    listed = json.loads(rehearse("runs", "--store", "team.db", "--json").stdout)
    assert [(run["name"], run["status"]) for run in listed] == [("nightly", "passed")]
    assert not list(Path(".rehearsal").glob("ray/*")), "parts that are merged are put away"
    one = rehearse("run", "cases", "--repeat", str(REPEAT), "--store", "one.db", "--json", "one.json", "--quiet")
    assert one.returncode == 0, one.stderr
    assert timeless(result) == timeless(json.loads(Path("one.json").read_text()))


def command(cluster: Any, *words: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from rehearsal.ray.cli import main; sys.exit(main())"
    line = [sys.executable, "-c", program, *words, "--address", cluster.address]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_command_ends_as_rehearse_run_does(cluster: Any, folder: Path) -> None:
    words = ["cases", "--shards", "4", "--env", "GATE", "--store", "team.db"]
    passed = command(cluster, *words, "--junit", "results.xml", "--json", "all.json")
    assert passed.returncode == 0, passed.stderr
    assert passed.stdout.count("answers.scenario.yaml") == 0
    assert f"{ROWS} passed" in passed.stdout
    assert "[4/4] part " in passed.stderr
    assert "<testsuite" in Path("results.xml").read_text()
    assert json.loads(Path("all.json").read_text())["summary"]["passed"] == ROWS

    scenario = Path("cases/answers.scenario.yaml")
    scenario.write_text(SCENARIO.replace("value: open", "value: shut"))
    failed = command(cluster, *words)
    assert failed.returncode == 1, failed.stderr

    scenario.write_text("name: [")
    wrong = command(cluster, *words)
    assert wrong.returncode == 2
    assert "answers.scenario.yaml" in wrong.stderr
    for word, hint in [("--shard=1/2", "--shards N"), ("--env-file=x", "--env NAME")]:
        refused = command(cluster, *words, word)
        assert refused.returncode == 2
        assert hint in refused.stderr
    unset = command(cluster, *words, "--env", "NO_SUCH_VARIABLE")
    assert "the variable NO_SUCH_VARIABLE is not set here" in unset.stderr


def test_parts_that_are_there_are_not_run_again(cluster: Any, folder: Path) -> None:
    words = ["cases", "--shards", "3", "--env", "GATE", "--parts", "parts"]
    first = command(cluster, *words, "--store", "one.db", "--quiet")
    assert first.returncode == 0, first.stderr
    began = len(list(gate().glob("began-*")))
    assert began == ROWS
    Path("parts/part-00002-of-00003.db").unlink()
    second = command(cluster, *words, "--store", "two.db", "--json", "two.json")
    assert second.returncode == 0, second.stderr
    assert began < len(list(gate().glob("began-*"))) < 2 * ROWS
    assert json.loads(Path("two.json").read_text())["summary"]["passed"] == ROWS


def test_limits_hold_for_the_cluster(cluster: Any, folder: Path) -> None:
    words = ["cases", "--shards", "4", "--env", "GATE", "--store", "team.db"]
    passed = command(cluster, *words, "--max-calls", "3", "--json", "all.json")
    assert passed.returncode == 0, passed.stderr
    assert json.loads(Path("all.json").read_text())["summary"]["passed"] == ROWS
    kept = rehearse("runs", "last", "--store", "team.db")
    assert f"{ROWS} passed" in kept.stdout


class Model(BaseHTTPRequestHandler):
    """A provider that counts what it is asked."""

    calls = 0
    tokens = 100

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        type(self).calls += 1
        message = {"role": "assistant", "content": "It is open."}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 60, "completion_tokens": 40, "total_tokens": self.tokens},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def test_a_budget_holds_for_all_parts_together(cluster: Any, folder: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    agent = "agent: {instructions: Answer.}\nmodels: {agent: 'openai-compatible:m@http://127.0.0.1:PORT/v1'}"
    agent = agent.replace("PORT", str(server.server_port))
    text = SCENARIO.replace("agent: {command: [python3, porter.py]}", agent)
    Path("cases/answers.scenario.yaml").write_text(text)
    most = 60_000
    words = ["cases", "--shards", "6", "--env", "GATE", "--store", "team.db", "--repeat", "100", "--jobs", "2"]
    ended = command(cluster, *words, "--max-tokens", str(most), "--json", "all.json", "--quiet")
    server.shutdown()
    assert ended.returncode == 1, ended.stderr
    result = json.loads(Path("all.json").read_text())
    assert 0 < Model.calls * Model.tokens <= most
    assert result["budget"]["spent"]["tokens"] == Model.calls * Model.tokens
    assert result["budget"]["reached"]
    assert result["summary"]["total"] == 100 * ROWS
    assert result["summary"]["not_run"] > 0
