"""Agents offered to people: the host, from the first message to the exported golden trace."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.adk.tools.tool_context import ToolContext
from mcp import StdioServerParameters
from pydantic import BaseModel

from rehearsal import AgentSimulator, RehearsalError, SimulatedAgentConfig
from tests.stage import NEVER_CALLED, Json, Person, Server, bodies, call, eventually, failures, kinds, state_of

ROOT = Path(__file__).parent.parent


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fetch(url: str) -> str:
    """Fails."""
    raise ConnectionError(f"cannot reach {url}")


def remember(value: str, tool_context: ToolContext) -> str:
    """Writes into the state."""
    tool_context.state["kept"] = value
    return "kept"


@asynccontextmanager
async def hosting(
    server: Server, *agents: Any, evalset: str = "out.evalset.json"
) -> AsyncGenerator[AgentSimulator, None]:
    """Runs a simulator for as long as the test needs it."""
    os.environ["REHEARSAL_BIN"] = server.binary
    configs = [
        SimulatedAgentConfig(name=getattr(agent, "name", "agent"), agent=agent, eval_set_path=evalset)
        for agent in agents
    ]
    simulator = AgentSimulator(configs, server=server.url, token=server.token)
    running = asyncio.create_task(simulator.run_async())
    try:
        person = Person(server)

        async def online() -> bool:
            if running.done():
                running.result()
            known: list[Json] = (await person.call("GET", "/v1/agents"))["agents"]
            names = {agent["name"] for agent in known if agent["online"]}
            return {config.name for config in configs} <= names

        await eventually(online, "agent online")
        yield simulator
    finally:
        simulator.stop()
        await asyncio.wait_for(running, 30)


async def start(person: Person, agent: str, **opening: Any) -> str:
    made: Json = await person.call("POST", "/v1/sessions", {"agent": agent, **opening})
    return str(made["id"])


async def final(person: Person, session: str, count: int = 1) -> list[Any]:
    """Waits until a session has so many final responses, and gives them."""

    async def look() -> list[Any]:
        finals = [entry["content"] for entry in await person.history(session) if entry["type"] == "final_response"]
        return finals if len(finals) >= count else []

    return list(await eventually(look, f"final response {count}"))


async def running_call(person: Person, session: str) -> str:
    async def look() -> list[Json]:
        told: Json = await person.call("GET", f"/v1/sessions/{session}")
        return told["waiting_calls"]

    calls = await eventually(look, "running call")
    return str(calls[0]["call_id"])


def test_from_the_first_message_to_the_golden_trace(server: Server, person: Person, tmp_path: Path) -> None:
    async def main() -> None:
        agent = Agent(
            name="calculator",
            model=NEVER_CALLED,
            description="counts",
            instruction="Count for {who}.",
            tools=[add, fetch, remember],
        )
        evalset = tmp_path / "sets" / "calculator.evalset.json"
        evalset.parent.mkdir()
        async with hosting(server, agent, evalset=str(evalset)):
            offered: Json = await person.call("GET", "/v1/agents/calculator")
            assert offered["instruction"] == "Count for {who}."
            assert [tool["name"] for tool in offered["tools"]] == ["add", "fetch", "remember"]
            assert offered["tools"][0]["parameters"]["properties"]["a"]["type"] == "integer"

            session = await start(person, "calculator", state={"who": "Ada"}, keep_open=True)
            await person.call("POST", f"/v1/sessions/{session}/query", {"text": "What is 2+2?"})
            first = await person.answer(session, calls=[call("add", a=2, b=2), call("fetch", url="http://x.test")])
            assert first["request"]["system"].startswith("Count for Ada.")
            await person.answer(session, calls=[call("remember", value="4")])
            await person.answer(session, text="The answer is 4")
            assert await final(person, session) == ["The answer is 4"]

            history = await person.history(session)
            assert kinds(history) == [
                "user_query", "tool_call", "tool_call", "tool_output", "tool_error", "tool_call", "tool_output",
                "final_response",
            ]  # fmt: skip
            assert state_of(await person.events(session))["session"] == {"who": "Ada", "kept": "4"}

            await person.call("POST", f"/v1/sessions/{session}/query", {"text": "And again?"})
            again = await person.answer(session, text="Still 4")
            assert "The answer is 4" in json.dumps(again["request"]["contents"])
            assert await final(person, session, 2) == ["The answer is 4", "Still 4"]

            await person.call("POST", f"/v1/sessions/{session}/complete", {})
            exported: Json = await person.call("POST", f"/v1/sessions/{session}/export", {})
            assert Path(exported["path"]) == evalset
            cases = json.loads(evalset.read_text())["eval_cases"]
            assert [case["eval_id"] for case in cases] == [exported["eval_id"]]
            turn = cases[0]["conversation"][0]
            assert turn["user_content"]["parts"] == [{"text": "What is 2+2?"}]
            uses = turn["intermediate_data"]["tool_uses"]
            assert [use["name"] for use in uses] == ["add", "fetch", "remember"]

    asyncio.run(main())


def test_several_sessions_at_once(server: Server, person: Person) -> None:
    async def main() -> None:
        shared = FunctionTool(add)
        agents = [Agent(name=name, model=NEVER_CALLED, tools=[shared]) for name in ("one", "two")]
        async with hosting(server, *agents):
            sessions = [await start(person, name, query={"text": "hi"}) for name in ("one", "two", "one")]
            for number, session in enumerate(sessions):
                await person.answer(session, calls=[call("add", a=number, b=1)])
            for session in reversed(sessions):
                await person.answer(session, text=f"bye {session}")
            for number, session in enumerate(sessions):
                assert await final(person, session) == [f"bye {session}"]
                outputs = [e["result"] for e in await person.history(session) if e["type"] == "tool_output"]
                assert outputs == [{"result": number + 1}]

    asyncio.run(main())


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets a synchronous tool go on; also when a test fails, so that its thread ends."""
    event = threading.Event()
    yield event
    event.set()


def test_cancelling_a_synchronous_tool_and_its_late_result(
    server: Server, person: Person, release: threading.Event
) -> None:
    def block() -> str:
        """Blocks its thread."""
        release.wait()
        return "late but real"

    async def main() -> None:
        async with hosting(server, Agent(name="blocker", model=NEVER_CALLED, tools=[block, add])):
            session = await start(person, "blocker", query={"text": "go"})
            await person.answer(session, calls=[call("block")])
            call_id = await running_call(person, session)
            await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
            cue = await person.cue(session)
            response = cue["request"]["contents"][-1]["parts"][0]["function_response"]["response"]
            assert response["error"]["type"] == "Cancelled"
            # The host goes on while the cancelled tool still holds its thread.
            await person.answer(session, calls=[call("add", a=1, b=1)])
            await person.cue(session)
            release.set()

            async def late() -> bool:
                return "late but real" in json.dumps(await person.events(session))

            await eventually(late, "late result")
            await person.answer(session, text="done")
            assert await final(person, session) == ["done"]
            errors = [entry for entry in await person.history(session) if entry["type"] == "tool_error"]
            assert [error["error_type"] for error in errors] == ["Cancelled"]

    asyncio.run(main())


def test_cancelling_an_asynchronous_tool(server: Server, person: Person) -> None:
    async def main() -> None:
        ended: list[str] = []

        async def wait() -> str:
            """Waits."""
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled inside")
                raise
            return "never"

        async with hosting(server, Agent(name="waiter", model=NEVER_CALLED, tools=[wait])):
            session = await start(person, "waiter", query={"text": "go"})
            await person.answer(session, calls=[call("wait")])
            call_id = await running_call(person, session)
            await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
            await person.answer(session, text="gave up")
            assert await final(person, session) == ["gave up"]
            assert ended == ["cancelled inside"]
            errors = [entry for entry in await person.history(session) if entry["type"] == "tool_error"]
            assert [(error["call_id"], error["error_type"]) for error in errors] == [(call_id, "Cancelled")]

    asyncio.run(main())


class Query(BaseModel):
    query: str
    limit: int


class Found(BaseModel):
    hits: list[str]


def test_schemas_are_offered_and_used(server: Server, person: Person) -> None:
    async def main() -> None:
        agent = Agent(name="search", model=NEVER_CALLED, input_schema=Query, output_schema=Found)
        async with hosting(server, agent):
            offered: Json = await person.call("GET", "/v1/agents/search")
            assert sorted(offered["input_schema"]["properties"]) == ["limit", "query"]
            assert sorted(offered["output_schema"]["properties"]) == ["hits"]
            session = await start(person, "search")
            value = {"query": "cats", "limit": 2}
            await person.call("POST", f"/v1/sessions/{session}/query", {"value": value})
            cue = await person.answer(session, final={"hits": ["tom"]})
            assert json.loads(cue["request"]["contents"][0]["parts"][0]["text"]) == value
            given = (await final(person, session))[0]
            assert (json.loads(given) if isinstance(given, str) else given) == {"hits": ["tom"]}

    asyncio.run(main())


def test_an_mcp_server(server: Server, person: Person) -> None:
    async def main() -> None:
        toolset = McpToolset(
            connection_params=StdioConnectionParams(
                server_params=StdioServerParameters(
                    command=sys.executable, args=[str(Path(__file__).parent / "mcp_server.py")]
                ),
                timeout=30,
            )
        )
        async with hosting(server, Agent(name="doubler", model=NEVER_CALLED, tools=[toolset])):
            offered: Json = await person.call("GET", "/v1/agents/doubler")
            assert [tool["name"] for tool in offered["tools"]] == ["double"]
            session = await start(person, "doubler", query={"text": "21"})
            cue = await person.answer(session, calls=[call("double", number=21)])
            tool = cue["request"]["tools"][0]
            assert tool["description"].strip() == "Doubles a number."
            assert tool["parameters"]["properties"]["number"]["type"] == "integer"
            await person.answer(session, text="42")
            assert await final(person, session) == ["42"]
            output = bodies(await person.events(session), "tool_result")[0]["outcome"]["output"]
            assert output["content"][0]["text"] == "42"

    asyncio.run(main())


def test_an_app_keeps_its_plugins(server: Server, person: Person) -> None:
    seen: list[str] = []

    class Watcher(BasePlugin):
        async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
            seen.append(tool.name)

    async def main() -> None:
        agent = Agent(name="watched", model=NEVER_CALLED, tools=[add])
        app = App(name="watched", root_agent=agent, plugins=[Watcher(name="watcher")])
        async with hosting(server, app):
            session = await start(person, "watched", query={"text": "1+1"})
            await person.answer(session, calls=[call("add", a=1, b=1)])
            await person.answer(session, text="2")
            assert await final(person, session) == ["2"]
            assert seen == ["add"]

    asyncio.run(main())


def test_an_agent_as_a_tool_can_be_cancelled(server: Server, person: Person) -> None:
    async def main() -> None:
        inner = Agent(name="inner", model=NEVER_CALLED, description="digs")
        root = Agent(name="root", model=NEVER_CALLED, tools=[AgentTool(inner)])
        async with hosting(server, root):
            session = await start(person, "root", query={"text": "dig"})
            await person.answer(session, calls=[call("inner", request="deeper")])
            asked = await person.cue(session)
            call_id = await running_call(person, session)
            await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})

            async def moved() -> Json | None:
                cues: list[Json] = (await person.call("GET", "/v1/cues", session=session))["cues"]
                later = [cue for cue in cues if cue["id"] != asked["id"]]
                return later[0] if later else None

            mine = await eventually(moved, "cue of the caller")
            await person.call("POST", f"/v1/cues/{asked['id']}/dismiss", {})
            await person.call("POST", f"/v1/cues/{mine['id']}/answer", {"text": "given up"})
            assert await final(person, session) == ["given up"]

    asyncio.run(main())


def test_a_run_that_fails_is_told(server: Server, person: Person) -> None:
    async def main() -> None:
        async with hosting(server, Agent(name="strict", model=NEVER_CALLED, instruction="Hello {nobody}.")):
            session = await start(person, "strict", query={"text": "hi"})

            async def failed() -> list[Json]:
                return failures(await person.events(session))

            told = await eventually(failed, "failure")
            assert "nobody" in told[0]["message"]

    asyncio.run(main())


def test_a_server_that_is_restarted(server: Server, person: Person) -> None:
    async def main() -> None:
        async with hosting(server, Agent(name="patient", model=NEVER_CALLED, tools=[add])):
            session = await start(person, "patient", query={"text": "1+1"})
            await person.answer(session, calls=[call("add", a=1, b=1)])
            await person.cue(session)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            await person.answer(session, text="two")
            assert await final(person, session) == ["two"]

            async def online() -> bool:
                return any(agent["online"] for agent in (await person.call("GET", "/v1/agents"))["agents"])

            await eventually(online, "agent online again")
            other = await start(person, "patient", query={"text": "hi"})
            await person.answer(other, text="hello")
            assert await final(person, other) == ["hello"]

    asyncio.run(main())


def test_a_simulator_starts_its_own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("REHEARSAL_BIN", server.binary)
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        agent = Agent(name="alone", model=NEVER_CALLED)
        simulator = AgentSimulator([SimulatedAgentConfig("alone", agent, "x.evalset.json")], port=0)
        running = asyncio.create_task(simulator.run_async())

        async def address() -> str | None:
            if running.done():
                running.result()
            return simulator.url

        own = _Own(str(await eventually(address, "server")), tmp_path)
        person = Person(own)

        async def online() -> list[Json]:
            return (await person.call("GET", "/v1/agents"))["agents"]

        await eventually(online, "agent")
        session = await start(person, "alone", query={"text": "hi"})
        await person.answer(session, text="hello")
        assert await final(person, session) == ["hello"]
        simulator.stop()
        await asyncio.wait_for(running, 30)

    asyncio.run(main())


class _Own(Server):
    """A server that somebody else has started."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self.port = int(url.rsplit(":", 1)[1])


def test_wrong_configurations_are_named() -> None:
    agent = Agent(name="a", model=NEVER_CALLED)
    with pytest.raises(RehearsalError, match="at least one"):
        AgentSimulator([])
    with pytest.raises(RehearsalError, match="'a'"):
        AgentSimulator([SimulatedAgentConfig("a", agent, "x"), SimulatedAgentConfig("a", agent, "y")])


PACKAGE = """
from google.adk.agents import Agent

def add(a: int, b: int) -> int:
    "Adds two numbers."
    return a + b

root_agent = Agent(name="packaged", model="gemini-2.5-flash", tools=[add])
"""


@pytest.mark.parametrize("imports", ["from . import agent\n", ""], ids=["as adk eval wants it", "as adk web takes it"])
def test_the_host_command(server: Server, person: Person, tmp_path: Path, imports: str) -> None:
    package = tmp_path / "my_agent"
    package.mkdir()
    (package / "__init__.py").write_text(imports)
    (package / "agent.py").write_text(PACKAGE)
    command = [
        sys.executable, "-m", "rehearsal", "host", str(package), "--name", "Packaged", "--server", server.url
    ]  # fmt: skip
    environment = {**os.environ, "REHEARSAL_TOKEN": server.token, "PYTHONPATH": str(ROOT)}
    host = subprocess.Popen(command, env=environment, cwd=tmp_path)

    async def main() -> None:
        async def online() -> bool:
            assert host.poll() is None, "the host ended"
            return any(agent["name"] == "Packaged" for agent in (await person.call("GET", "/v1/agents"))["agents"])

        await eventually(online, "agent online")
        session = await start(person, "Packaged", query={"text": "1+1"})
        await person.answer(session, calls=[call("add", a=1, b=1)])
        await person.answer(session, text="2")
        assert await final(person, session) == ["2"]
        await person.call("POST", f"/v1/sessions/{session}/complete", {})
        exported: Json = await person.call("POST", f"/v1/sessions/{session}/export", {})
        assert Path(exported["path"]) == package / "Packaged.evalset.json"

        host.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(host.wait, 30) == 0

        async def gone() -> bool:
            return not any(agent["online"] for agent in (await person.call("GET", "/v1/agents"))["agents"])

        await eventually(gone, "agent gone")

    try:
        asyncio.run(main())
    finally:
        if host.poll() is None:
            host.kill()
            host.wait()


def test_the_host_command_says_what_is_missing(tmp_path: Path) -> None:
    package = tmp_path / "empty_agent"
    package.mkdir()
    (package / "__init__.py").write_text("")
    told = subprocess.run(
        [sys.executable, "-m", "rehearsal", "host", str(package)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert "root_agent" in told.stderr
