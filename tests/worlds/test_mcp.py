"""MCP servers that others wrote are worlds: of the npm registry, and of the SDK that speaks the 2026 protocol.

Each plays the tools of a case beside mocks, one by one; what it keeps survives the calls of a case, and no longer.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from stage import Json, rehearse

HERE = Path(__file__).parent
SERVERS = HERE / "node_modules" / "@modelcontextprotocol"
FILES = f'cd "$REHEARSAL_FOLDER" && exec node {SERVERS / "server-filesystem/dist/index.js"} .'
EVERYTHING = ["node", str(SERVERS / "server-everything/dist/index.js")]
DEADLINE = 30.0
SHELF = [sys.executable, str(HERE / "shelf.py")]


class Case:
    """A case that was played: what its tools gave, and which of them the world has."""

    def __init__(self, result: Json) -> None:
        bodies = [event["body"] for event in result["events"]]
        self.outcomes = [body["outcome"] for body in bodies if body["type"] == "tool_result"]
        self.tools = next(body["tools"] for body in bodies if body["type"] == "world_started")

    def texts(self) -> list[str]:
        return [str(each.get("output", each.get("error"))) for each in self.outcomes]


def run(
    folder: Path, mcp: Json, calls: list[Json], mocks: list[Json] | None = None, checks: list[Json] | None = None
) -> list[Case]:
    """Plays a case of these calls twice, one after the other."""
    script: list[Json | str] = [{"call": each["tool"], "args": each.get("args", {})} for each in calls]
    scenario = {
        "name": "calls",
        "description": "Calls, one after the other",
        "environment": {"type": "local"},
        "world": {"mcp": mcp},
        "agent": {"instructions": "Call."},
        "models": {"agent": {"script": [*script, "done"]}},
        "setup": {"mocks": mocks or []},
        "run": [{"input": "go", "evaluations": checks or [{"type": "string_contains", "value": "done"}]}],
        "judgment": {"strategy": "all_pass"},
    }
    (folder / "a.scenario.yaml").write_text(json.dumps(scenario))
    twice = ["--repeat", "2", "--jobs", "1"]
    done = rehearse(folder, "run", ".", "--no-store", *twice, "--events", "--json", "results.json")
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((folder / "results.json").read_text())["results"]
    assert len(results) == 2
    return [Case(result) for result in results]


def test_files(tmp_path: Path) -> None:
    """The server that people give their agents: the folder of the case is its world."""
    calls = [
        {"tool": "list_directory", "args": {"path": "."}},
        {"tool": "write_file", "args": {"path": "note.txt", "content": "hello"}},
        {"tool": "edit_file", "args": {"path": "note.txt", "edits": [{"oldText": "hello", "newText": "good bye"}]}},
        {"tool": "read_text_file", "args": {"path": "broken.txt"}},
        {"tool": "read_text_file", "args": {"path": "note.txt"}},
        {"tool": "read_text_file", "args": {"path": "../secret.txt"}},
    ]
    broken = {"method": "read_text_file", "when": {"input": {"path": "broken.txt"}}}
    mocks = [{**broken, "error": {"code": "IO", "message": "bad disk"}}]
    checks = [{"type": "file_contains", "path": "note.txt", "value": "good bye"}]
    for case in run(tmp_path, {"command": FILES}, calls, mocks, checks):
        before, _, _, broken_text, read, outside = case.texts()
        assert "note.txt" not in before
        assert "bad disk" in broken_text
        assert "good bye" in read
        assert "Access denied" in outside
        assert {"read_text_file", "write_file", "move_file"} <= set(case.tools)


TOGGLE = {"tool": "toggle-simulated-logging"}
SUM = {"tool": "get-sum", "args": {"a": 19, "b": 23}}
MOCK = {"method": "echo", "response": "from the mock"}


def check_everything(cases: list[Case]) -> None:
    for case in cases:
        started, total, echo, stopped = case.texts()
        assert started.startswith("Started simulated")
        assert "42" in total
        assert echo == "from the mock"
        assert stopped.startswith("Stopped simulated")


def test_everything(tmp_path: Path) -> None:
    """The reference server, which also asks its client, logs and changes in between."""
    calls = [TOGGLE, SUM, {"tool": "echo", "args": {"message": "x"}}, TOGGLE]
    check_everything(run(tmp_path, {"command": [*EVERYTHING, "stdio"]}, calls, [MOCK]))


def test_everything_at_an_address(tmp_path: Path, everything: str) -> None:
    """One process serves both cases, and each has a session of its own."""
    calls = [TOGGLE, SUM, {"tool": "echo", "args": {"message": "x"}}, TOGGLE]
    check_everything(run(tmp_path, {"url": everything}, calls, [MOCK]))


@pytest.mark.parametrize("protocol", ["negotiated", "stateless", "sessions"])
def test_the_sdk_that_speaks_both_protocols(protocol: str, tmp_path: Path) -> None:
    calls = [
        {"tool": "put", "args": {"thing": "a"}},
        {"tool": "put", "args": {"thing": "broken"}},
        {"tool": "put", "args": {"thing": "b"}},
        {"tool": "count"},
    ]
    mocks = [{"method": "put", "when": {"input": {"thing": "broken"}}, "error": {"code": "FULL", "message": "no room"}}]
    for case in run(tmp_path, {"command": SHELF, "protocol": protocol}, calls, mocks):
        first, refused, second, count = case.outcomes
        assert first["output"] == {"result": ["a"]}
        assert refused["error"]["message"] == "no room"
        assert second["output"] == {"result": ["a", "b"]}
        assert count["output"] == {"result": 2}


def test_the_stateless_protocol_at_an_address(tmp_path: Path, shelf: str) -> None:
    """What a stateless server keeps is its own, and is there for the next case too."""
    put = {"tool": "put", "args": {"thing": "a"}}
    cases = run(tmp_path, {"url": shelf, "protocol": "stateless"}, [put, {"tool": "count"}])
    assert [case.outcomes[1]["output"] for case in cases] == [{"result": 1}, {"result": 2}]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def served(command: list[str], port: int, **variables: str) -> Iterator[str]:
    """A server at an address, for as long as a test takes."""
    environment = {**os.environ, **variables}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + DEADLINE
        while True:
            assert process.poll() is None, f"{command} ended"
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert time.monotonic() < until, f"{command} does not listen"
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def everything() -> Iterator[str]:
    port = free_port()
    yield from served([*EVERYTHING, "streamableHttp"], port, PORT=str(port))


@pytest.fixture
def shelf() -> Iterator[str]:
    port = free_port()
    yield from served([*SHELF, str(port)], port)
