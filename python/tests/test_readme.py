"""Every snippet of the READMEs, run by itself."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.stage import ADK_2, DEADLINE, Person, Server, call, eventually

ROOT = Path(__file__).parent.parent
TOP = ROOT.parent


class Snippet(NamedTuple):
    """A block of code in a README."""

    file: str
    language: str
    text: str


def snippets() -> list[Snippet]:
    found: list[Snippet] = []
    for file in (TOP / "README.md", ROOT / "README.md"):
        blocks: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```", file.read_text(), re.DOTALL | re.MULTILINE)
        found += [Snippet(str(file.relative_to(TOP)), language, text) for language, text in blocks]
    return found


def snippet(start: str, file: str = "README.md") -> str:
    """Gives the one snippet of a README that has this in it."""
    (found,) = [each.text for each in snippets() if each.file == file and start in each.text]
    return found


# What the tests below run, by a piece of each.
RUN = [
    ("README.md", "cargo run --release -- run examples\n"),
    ("README.md", "--model agent=openai:gpt-4o-mini"),
    ("README.md", "name: Refunds an order"),
    ("README.md", "rehearse init try"),
    ("README.md", "rehearse serve "),
    ("README.md", "import RehearsalPlugin"),
    ("README.md", "api cues/$(cue)/answer"),
    ("python/README.md", "rehearsal host path/to/calculator"),
    ("python/README.md", "adk eval path/to/calculator"),
    ("python/README.md", "AgentSimulator("),
    ("python/README.md", "import RehearsalPlugin"),
]
# What is run elsewhere, or is what runs this.
ELSEWHERE = [
    ("README.md", "use rehearsal::prelude::*;"),  # crates/rehearsal/tests/readme.rs
    ("README.md", "cargo xtask test"),  # runs these tests
    ("python/README.md", "pip install 'agent-rehearsal[adk]'"),  # the step `wheel` installs what was built
    ("python/README.md", "def test_refund(rehearse)"),  # tests/test_guide_pytest.py: the guide has the same
    ("python/README.md", "REHEARSAL_BIN=../target/debug/rehearse pytest"),  # runs these tests
]


def test_every_snippet_is_run() -> None:
    for each in snippets():
        known = [piece for file, piece in RUN + ELSEWHERE if file == each.file and piece in each.text]
        assert len(known) == 1, f"{each.file} has a snippet that no test here runs: {each.text}"
    for file, piece in RUN + ELSEWHERE:
        assert snippet(piece, file)


class Model(BaseHTTPRequestHandler):
    """A model behind an address, as OpenAI's: it calls the refund tool where there is one, and talks of money."""

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message: dict[str, Any] = {"role": "assistant", "content": "Your money is on its way. Welcome to the library!"}
        reason = "stop"
        if asked.get("tools") and asked["messages"][-1]["role"] != "tool":
            function = {"name": asked["tools"][0]["function"]["name"], "arguments": '{"order": 7}'}
            called = [{"id": "call_1", "type": "function", "function": function}]
            message, reason = {"role": "assistant", "content": None, "tool_calls": called}, "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        body = json.dumps({"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""


@pytest.fixture
def model() -> Iterator[str]:
    """The address of a model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Server]:
    """`rehearse serve` as the README starts it, on a port of its own, in the folder in which the rest is typed."""
    assert re.match(r"rehearse serve +#", snippet("rehearse serve "))
    running = Server(tmp_path, store=str(tmp_path / ".rehearsal" / "rehearsal.db"))
    yield running
    running.kill()


def shell(text: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Types a snippet into a shell whose `rehearse` is the one that is tested."""
    binary = Path(os.environ["REHEARSAL_BIN"]).resolve()
    own = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{binary.parent}:{own}:{os.environ['PATH']}", **variables}
    done = subprocess.run(
        ["sh", "-euc", text], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done


def program(text: str, folder: Path, server: Server) -> subprocess.Popen[str]:
    """Runs a program of a README by itself. The server is the tests' own, for the README's may run on this machine."""
    (folder / "program.py").write_text(text)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "REHEARSAL_SERVER": server.url,
        "REHEARSAL_TOKEN": server.token,
    }
    return subprocess.Popen([sys.executable, "program.py"], cwd=folder, env=environment, text=True)


of_the_binary = pytest.mark.skipif(not ADK_2, reason="about the binary, which is the same for every ADK")


@of_the_binary
def test_the_examples(tmp_path: Path, model: str) -> None:
    shutil.copytree(TOP / "examples", tmp_path / "examples")
    first = snippet("cargo run --release -- run examples\n").replace("cargo run --release --", "rehearse")
    shell(first, tmp_path)
    real = snippet("--model agent=openai:gpt-4o-mini").replace("cargo run --release --", "rehearse")
    real = real.replace("http://127.0.0.1:8080/v1", model)
    # Whether a model says what the example wants is its own affair; here it is asked, and answers.
    for line in real.splitlines():
        done = shell(f"{line} || [ $? = 1 ]", tmp_path, OPENAI_BASE_URL=model, OPENAI_API_KEY="k")
        assert "library" in done.stdout + done.stderr


@of_the_binary
def test_the_scenario(tmp_path: Path, model: str) -> None:
    (tmp_path / "refund.scenario.yaml").write_text(snippet("name: Refunds an order"))
    shell("rehearse check . && rehearse run .", tmp_path, OPENAI_BASE_URL=model, OPENAI_API_KEY="k")


@of_the_binary
def test_the_commands(tmp_path: Path) -> None:
    shell(snippet("rehearse init try"), tmp_path)
    for name in ("report.xml", "report.html", "golden.evalset.json"):
        assert (tmp_path / name).stat().st_size > 0


def ended(running: subprocess.Popen[str]) -> None:
    assert running.wait(DEADLINE) == 0


def test_a_person_plays_the_model(desk: Server, tmp_path: Path) -> None:
    running = program(snippet("import RehearsalPlugin"), tmp_path, desk)
    try:
        typed = snippet("api cues/$(cue)/answer").replace("localhost:4200", f"localhost:{desk.port}")
        shell(typed, tmp_path)
        ended(running)
        case = json.loads((tmp_path / "refunds.evalset.json").read_text())["eval_cases"][0]["conversation"][0]
        assert case["intermediate_data"]["tool_uses"][0]["args"] == {"order": 7}
    finally:
        running.kill()
        running.wait()


def test_the_plugin_of_the_package(desk: Server, tmp_path: Path) -> None:
    running = program(snippet("import RehearsalPlugin", "python/README.md"), tmp_path, desk)
    person = Person(desk)

    async def main() -> None:
        await person.answer(calls=[call("add", a=2, b=2)])
        await person.answer(text="4")

    try:
        asyncio.run(main())
        ended(running)
    finally:
        running.kill()
        running.wait()


async def played(person: Person, running: subprocess.Popen[str]) -> None:
    """Plays the calculator from the page's side, and has it exported."""

    async def online() -> bool:
        assert running.poll() is None, "the program ended"
        known = (await person.call("GET", "/v1/agents"))["agents"]
        return any(agent["name"] == "calculator" and agent["online"] for agent in known)

    await eventually(online, "calculator")
    made = await person.call("POST", "/v1/sessions", {"agent": "calculator", "query": {"text": "What is 2+2?"}})
    await person.answer(made["id"], calls=[call("add", a=2, b=2)])
    await person.answer(made["id"], text="4")

    async def completed() -> bool:
        return (await person.call("GET", f"/v1/sessions/{made['id']}"))["status"] == "completed"

    await eventually(completed, "completed session")
    await person.call("POST", f"/v1/sessions/{made['id']}/export", {})


def play(desk: Server, folder: Path, start: Callable[[], subprocess.Popen[str]]) -> None:
    running = start()
    try:
        asyncio.run(played(Person(desk), running))
        running.terminate()
        ended(running)
    finally:
        running.kill()
        running.wait()
    assert (folder / "calculator.evalset.json").is_file()


def test_the_simulator_of_the_package(desk: Server, tmp_path: Path) -> None:
    play(desk, tmp_path, lambda: program(snippet("AgentSimulator(", "python/README.md"), tmp_path, desk))


SCRIPTED = """
from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        given = [part for content in llm_request.contents for part in content.parts if part.function_response]
        asked = types.Part(function_call=types.FunctionCall(name="add", args={"a": 2, "b": 2}))
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="4") if given else asked]))


def add(a: int, b: int) -> int:
    return a + b


root_agent = Agent(name="calculator", model=Scripted(model="scripted"), tools=[add])
"""


def test_the_host_and_the_evaluation(desk: Server, tmp_path: Path) -> None:
    package = tmp_path / "path" / "to" / "calculator"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from . import agent\n")
    (package / "agent.py").write_text(SCRIPTED)
    words = snippet("rehearsal host path/to/calculator", "python/README.md").split()
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "REHEARSAL_SERVER": desk.url, "REHEARSAL_TOKEN": desk.token,
        "ADK_DISABLE_LOAD_DOTENV": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", *words]
    play(desk, tmp_path, lambda: subprocess.Popen(command, cwd=tmp_path, env=environment, text=True))
    if not ADK_2:
        pytest.skip("`adk eval` of 1.21 exits 0 even for failures, so it cannot decide")
    shell(snippet("adk eval path/to/calculator", "python/README.md"), tmp_path, ADK_DISABLE_LOAD_DOTENV="1")
