"""Agents offered to people: the host, from the first message to the exported golden trace."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from mcp import StdioServerParameters
from pydantic import BaseModel

from rehearsal import AgentSimulator, RehearsalError, SimulatedAgentConfig
from rehearsal.client import Client
from rehearsal.link import Link
from tests.hosting import completed, final, hosting, running_call, start
from tests.stage import (
    DEADLINE,
    NEVER_CALLED,
    Json,
    Person,
    Server,
    bodies,
    call,
    eventually,
    failures,
    kinds,
    state_of,
)

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
            assert (exported["cases"], exported["created"]) == (1, True)
            cases = json.loads(evalset.read_text())["eval_cases"]
            assert [case["eval_id"] for case in cases] == [exported["eval_id"]]
            turn = cases[0]["conversation"][0]
            assert turn["user_content"]["parts"] == [{"text": "What is 2+2?"}]
            uses = turn["intermediate_data"]["tool_uses"]
            assert [use["name"] for use in uses] == ["add", "fetch", "remember"]

    asyncio.run(main())


@pytest.mark.parametrize("as_app", [False, True], ids=["an agent", "an app"])
def test_a_golden_trace_names_the_app_as_adk_knows_it(
    server: Server, person: Person, tmp_path: Path, as_app: bool
) -> None:
    async def main() -> None:
        agent = Agent(name="plain", model=NEVER_CALLED)
        offered = App(name="plain_app", root_agent=agent) if as_app else agent
        evalset = tmp_path / "plain.evalset.json"
        async with hosting(server, offered, evalset=str(evalset), name="Plain One"):
            session = await start(person, "Plain One", query={"text": "hi"})
            await person.answer(session, text="hello")
            await completed(person, session)
            await person.call("POST", f"/v1/sessions/{session}/export", {})
        case = json.loads(evalset.read_text())["eval_cases"][0]
        assert case["session_input"]["app_name"] == ("plain_app" if as_app else "plain")

    asyncio.run(main())


def test_several_sessions_at_once(server: Server, person: Person, caplog: pytest.LogCaptureFixture) -> None:
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
        # Who started the simulator was told where the page is.
        assert "waits for a person" not in caplog.text

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


def test_a_late_result_comes_after_the_result(
    server: Server, person: Person, release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled tool ends while another one of the same turn still runs, and ADK records both together."""

    def slow() -> str:
        """Blocks its thread."""
        release.wait()
        return "late but real"

    async def main() -> None:
        go_on, given_up, gave_late = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def slower() -> str:
            """Waits for longer."""
            await go_on.wait()
            return "in time"

        def notice(*_: Any, **__: Any) -> None:
            given_up.set()

        told_late = Link.tell_late

        def tell_late(link: Link, *given: Any) -> None:
            told_late(link, *given)
            gave_late.set()

        monkeypatch.setattr(Link, "tell_late", tell_late)
        agent = Agent(name="both", model=NEVER_CALLED, tools=[slow, slower], on_tool_error_callback=notice)
        async with hosting(server, agent):
            session = await start(person, "both", query={"text": "go"})
            await person.answer(session, calls=[call("slow"), call("slower")])
            call_id = await running_call(person, session)
            await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
            await asyncio.wait_for(given_up.wait(), DEADLINE)
            release.set()
            await asyncio.wait_for(gave_late.wait(), DEADLINE)
            go_on.set()
            await person.answer(session, text="done")
            assert await final(person, session) == ["done"]
            history = await person.history(session)
            errors = [(e["call_id"], e["error_type"]) for e in history if e["type"] == "tool_error"]
            assert errors == [(call_id, "Cancelled")]
            ledger = await person.events(session)
            late = bodies(ledger, "late_result")
            assert [(body["call"], body["outcome"]) for body in late] == [
                (call_id, {"output": {"result": "late but real"}})
            ]

    asyncio.run(main())


def test_a_tool_of_two_agents_can_be_cancelled_in_each(server: Server, person: Person) -> None:
    async def main() -> None:
        async def wait() -> str:
            """Waits."""
            await asyncio.Event().wait()
            return "never"

        shared = FunctionTool(wait)
        agents = [Agent(name=name, model=NEVER_CALLED, tools=[shared]) for name in ("one", "two")]
        async with hosting(server, *agents):
            sessions = [await start(person, name, query={"text": "go"}) for name in ("one", "two")]
            # Both models are asked before either calls the tool.
            for session in sessions:
                await person.cue(session)
            for session in sessions:
                await person.answer(session, calls=[call("wait")])
                call_id = await running_call(person, session)
                await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
                cue = await person.answer(session, text="gave up")
                assert cue["request"]["contents"][-1]["parts"][0]["function_response"]["response"]["error"]
                assert await final(person, session) == ["gave up"]

    asyncio.run(main())


def test_a_call_that_another_plugin_makes_can_be_cancelled(server: Server, person: Person) -> None:
    class Eager(BasePlugin):
        """Answers the first model call itself."""

        asked = 0

        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> LlmResponse | None:
            self.asked += 1
            made = types.Part(function_call=types.FunctionCall(name="wait", args={}))
            return LlmResponse(content=types.Content(role="model", parts=[made])) if self.asked == 1 else None

    async def main() -> None:
        async def wait() -> str:
            """Waits."""
            await asyncio.Event().wait()
            return "never"

        agent = Agent(name="eager", model=NEVER_CALLED, tools=[wait])
        async with hosting(server, App(name="eager", root_agent=agent, plugins=[Eager(name="eager")])):
            session = await start(person, "eager", query={"text": "go"})
            call_id = await running_call(person, session)
            await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
            await person.answer(session, text="gave up")
            assert await final(person, session) == ["gave up"]

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
            cue = await person.answer(session, calls=[call("double", number=-1)])
            cue = await person.answer(session, text="42")
            assert "no negative numbers" in json.dumps(cue["request"]["contents"][-1])
            assert await final(person, session) == ["42"]
            first, second = (result["outcome"] for result in bodies(await person.events(session), "tool_result"))
            assert first["output"]["content"][0]["text"] == "42"
            # What a server calls an error is one on the ledger; the model sees it as ADK gives it.
            assert second["error"]["type"] == "McpToolError"
            assert second["error"]["message"] == "no negative numbers"

    asyncio.run(main())


def test_an_app_keeps_its_plugins(server: Server, person: Person) -> None:
    seen: list[str] = []

    class Watcher(BasePlugin):
        async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
            seen.append("before model")

        async def after_model_callback(self, *, callback_context: Any, llm_response: LlmResponse) -> LlmResponse | None:
            seen.append("after model")
            text = llm_response.content and llm_response.content.parts and llm_response.content.parts[0].text
            if text != "2":
                return None
            return LlmResponse(content=types.Content(role="model", parts=[types.Part(text="guarded 2")]))

        async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> None:
            seen.append(tool.name)

    async def main() -> None:
        def after_model(callback_context: Any, llm_response: LlmResponse) -> None:
            seen.append("agent after model")

        agent = Agent(name="watched", model=NEVER_CALLED, tools=[add], after_model_callback=after_model)
        app = App(name="watched", root_agent=agent, plugins=[Watcher(name="watcher")])
        async with hosting(server, app):
            session = await start(person, "watched", query={"text": "1+1"})
            await person.answer(session, calls=[call("add", a=1, b=1)])
            await person.answer(session, text="2")

            async def ended() -> list[Json]:
                return bodies(await person.events(session), "agent_ended")

            assert [body["output"] for body in await eventually(ended, "end")] == ["guarded 2"]
            # As with a model that plays itself, what a plugin gives is not shown to the agent's own callback.
            assert seen == [
                "before model", "after model", "agent after model", "add", "before model", "after model"
            ]  # fmt: skip

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
                return cues[0] if cues and cues[0]["id"] != asked["id"] else None

            # Nobody waits for the inner agent's answer any more: its cue goes by itself.
            mine = await asyncio.wait_for(eventually(moved, "cue of the caller"), 10)
            await person.call("POST", f"/v1/cues/{mine['id']}/answer", {"text": "given up"})
            assert await final(person, session) == ["given up"]

    asyncio.run(main())


def test_a_run_that_fails_is_told(server: Server, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    send = Client.send

    async def main() -> None:
        finished = asyncio.Event()

        async def sent(client: Client, method: str, path: str, **options: Any) -> Any:
            answer = await send(client, method, path, **options)
            if method == "POST" and "/work/" in path:
                finished.set()
            return answer

        monkeypatch.setattr(Client, "send", sent)
        async with hosting(server, Agent(name="strict", model=NEVER_CALLED, instruction="Hello {nobody}.")):
            session = await start(person, "strict", query={"text": "hi"})

            async def failed() -> list[Json]:
                return failures(await person.events(session))

            told = await eventually(failed, "failure")
            assert "nobody" in told[0]["message"]
            # The outcome of the work is the last that the host tells of it.
            await asyncio.wait_for(finished.wait(), DEADLINE)
            assert len(await failed()) == 1, "a failure is told once"

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


@pytest.mark.parametrize("token", [None, "a-token-of-ones-own-0123456789"], ids=["its own token", "a given token"])
def test_a_simulator_starts_its_own_server(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: Server,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    token: str | None,
) -> None:
    monkeypatch.setenv("REHEARSAL_BIN", server.binary)
    monkeypatch.chdir(tmp_path)
    caplog.set_level("DEBUG")

    async def main() -> None:
        agent = Agent(name="alone", model=NEVER_CALLED)
        simulator = AgentSimulator([SimulatedAgentConfig("alone", agent, "x.evalset.json")], port=0, token=token)
        running = asyncio.create_task(simulator.run_async())

        async def address() -> str | None:
            if running.done():
                running.result()
            return simulator.url

        own = _Own(str(await eventually(address, "server")), tmp_path, token)
        person = Person(own)

        async def online() -> list[Json]:
            return (await person.call("GET", "/v1/agents"))["agents"]

        await eventually(online, "agent")
        session = await start(person, "alone", query={"text": "hi"})
        await person.answer(session, text="hello")
        assert await final(person, session) == ["hello"]
        simulator.stop()
        await asyncio.wait_for(running, 30)
        assert f"Open {own.url}/?token={own.token}" in capfd.readouterr().out
        assert own.token not in caplog.text

    asyncio.run(main())


class _Own(Server):
    """A server that somebody else has started."""

    def __init__(self, url: str, folder: Path, token: str | None) -> None:
        self.folder = folder
        self._token = token
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
    case = json.loads((package / "Packaged.evalset.json").read_text())["eval_cases"][0]
    assert case["session_input"]["app_name"] == "my_agent"


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


WAITING = """
from google.adk.agents import Agent
from rehearsal import AgentSimulator, SimulatedAgentConfig

agent = Agent(name="waiting", model="gemini-2.5-flash")
AgentSimulator([SimulatedAgentConfig("waiting", agent, "x.json")], server="http://127.0.0.1:1", token="t").run()
"""


@pytest.mark.parametrize("wish", [signal.SIGINT, signal.SIGTERM])
def test_a_simulator_that_waits_for_its_server_can_be_ended(wish: signal.Signals) -> None:
    waiting = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert waiting.stderr is not None
        assert any("waiting for the Rehearsal server" in line for line in waiting.stderr)
        waiting.send_signal(wish)
        assert waiting.wait(30) == 0
    finally:
        waiting.kill()
        waiting.communicate()


def test_a_server_that_does_not_come_up_is_ended_with_the_simulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "silent"
    silent.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 600\n")
    silent.chmod(0o755)
    monkeypatch.setenv("REHEARSAL_BIN", str(silent))
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        agent = Agent(name="alone", model=NEVER_CALLED)
        simulator = AgentSimulator([SimulatedAgentConfig("alone", agent, "x.evalset.json")], port=0)
        running = asyncio.create_task(simulator.run_async())

        async def started() -> str:
            place = tmp_path / "pid"
            return place.read_text().strip() if place.exists() else ""

        pid = int(await eventually(started, "process"))
        simulator.stop()
        await asyncio.wait_for(running, 10)
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)

    asyncio.run(main())


def test_a_stopped_host_leaves_no_session_stuck(server: Server, person: Person) -> None:
    async def main() -> None:
        async def wait() -> str:
            """Waits."""
            await asyncio.Event().wait()
            return "never"

        agent = Agent(name="stopped", model=NEVER_CALLED, tools=[wait])
        async with hosting(server, agent):
            at_the_model = await start(person, "stopped", query={"text": "hi"})
            await person.cue(at_the_model)
            at_a_tool = await start(person, "stopped", query={"text": "hi"})
            await person.answer(at_a_tool, calls=[call("wait")])
            await running_call(person, at_a_tool)
        for session in (at_the_model, at_a_tool):
            told = failures(await person.events(session))
            assert [failure["message"] for failure in told] == ["the host was stopped"]
            assert (await person.call("GET", "/v1/cues", session=session))["cues"] == []
            shown: Json = await person.call("GET", f"/v1/sessions/{session}")
            assert shown["waiting_calls"] == []
            # No message is taken for a host that is not there; nothing else stands in its way.
            with pytest.raises(AssertionError, match="host_offline"):
                await person.call("POST", f"/v1/sessions/{session}/query", {"text": "again"})

    asyncio.run(main())


@asynccontextmanager
async def restarting(
    server: Server, person: Person, agent: Agent
) -> AsyncGenerator[Callable[[], Awaitable[None]], None]:
    """Runs a simulator that can be stopped and started anew: another host, with nothing in its memory."""
    config = SimulatedAgentConfig(agent.name, agent, "x.evalset.json")
    running: list[tuple[AgentSimulator, asyncio.Task[None]]] = []

    async def online() -> bool:
        return any(known["online"] for known in (await person.call("GET", "/v1/agents"))["agents"])

    async def begin() -> None:
        simulator = AgentSimulator([config], server=server.url, token=server.token)
        running.append((simulator, asyncio.create_task(simulator.run_async())))
        await eventually(online, "agent online")

    async def end() -> None:
        simulator, task = running.pop()
        simulator.stop()
        await asyncio.wait_for(task, 30)

    async def again() -> None:
        await end()
        await begin()

    await begin()
    try:
        yield again
    finally:
        await end()


def test_a_restarted_host_knows_what_was_said(server: Server, person: Person) -> None:
    def dump() -> str:
        """Gives a lot."""
        return "x" * 200_000

    async def main() -> None:
        seen: list[list[Json]] = []

        def look(callback_context: Any, llm_request: LlmRequest) -> None:
            seen.append([content.model_dump(mode="json", exclude_none=True) for content in llm_request.contents])

        inner = Agent(name="inner", model=NEVER_CALLED, description="digs", tools=[add])
        helper = Agent(name="helper", model=NEVER_CALLED, description="helps", before_model_callback=look)
        tools: list[Any] = [add, fetch, remember, dump, AgentTool(inner)]
        root = Agent(name="root", model=NEVER_CALLED, tools=tools, sub_agents=[helper], before_model_callback=look)
        async with restarting(server, person, root) as again:
            session = await start(person, "root", state={"who": "Ada"}, keep_open=True, query={"text": "count"})
            both = [call("add", a=1, b=2), call("fetch", url="http://x.test")]
            await person.answer(session, text="well", calls=both)
            await person.answer(session, calls=[call("inner", request="dig")])
            await person.answer(session, calls=[call("add", a=5, b=5)])
            await person.answer(session, text="inside")
            await person.answer(session, calls=[call("dump"), call("remember", value="3")])
            await person.answer(session, text="three")
            await final(person, session)
            await person.call("POST", f"/v1/sessions/{session}/query", {"text": "and now?"})
            await person.answer(session, text="the same")
            await final(person, session, 2)
            before = seen[-1]

            await again()
            await person.call("POST", f"/v1/sessions/{session}/query", {"text": "still there?"})
            await person.answer(session, calls=[call("transfer_to_agent", agent_name="helper")])
            # What the model is told is the same as if nothing had happened, and so is the state.
            assert seen[-1][: len(before)] == before
            said = [part.get("text") for content in seen[-1][len(before) :] for part in content["parts"]]
            assert said == ["the same", "still there?"]
            await person.answer(session, text="with the helper")
            await final(person, session, 3)

            await again()
            await person.call("POST", f"/v1/sessions/{session}/query", {"text": "who is there?"})
            cue = await person.answer(session, text="the helper")
            assert cue["agent"] == "helper"
            await final(person, session, 4)
            assert state_of(await person.events(session))["session"] == {"who": "Ada", "kept": "3"}

    asyncio.run(main())


def test_a_restarted_host_can_be_told_to_go_on(server: Server, person: Person) -> None:
    """The user's yes comes when the host that asked for it is gone."""

    async def main() -> None:
        careful = Agent(name="careful", model=NEVER_CALLED, tools=[FunctionTool(remember, require_confirmation=True)])
        async with restarting(server, person, careful) as again:
            session = await start(person, "careful", keep_open=True, query={"text": "pay"})
            await person.answer(session, calls=[call("remember", value="paid")])

            async def asked() -> list[Json]:
                ledger = await person.events(session)
                ended = bodies(ledger, "agent_ended")
                return [body for body in bodies(ledger, "tool_call") if body["tool"] != "remember"] if ended else []

            question = (await eventually(asked, "question"))[0]
            await again()
            given = {"id": question["call"], "name": question["tool"], "response": {"confirmed": True}}
            content = {"role": "user", "parts": [{"function_response": given}]}
            await person.call("POST", f"/v1/sessions/{session}/query", {"content": content})
            cue = await person.answer(session, text="paid")
            assert '{"result": "kept"}' in json.dumps(cue["request"]["contents"])
            await final(person, session)
            assert state_of(await person.events(session))["session"] == {"kept": "paid"}

            await again()
            await person.call("POST", f"/v1/sessions/{session}/query", {"text": "sure?"})
            later = await person.answer(session, text="sure")
            assert later["request"]["contents"][: len(cue["request"]["contents"])] == cue["request"]["contents"]

    asyncio.run(main())


def test_work_that_is_done_is_forgotten_and_a_hasty_server_is_not_overrun(tmp_path: Path) -> None:
    asked: list[float] = []
    finished: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
                await reader.readexactly(int(length.group(1)) if length else 0)
                answer = "HTTP/1.1 204 No Content\r\n\r\n"
                if head.startswith("GET"):
                    asked.append(time.monotonic())
                    if len(asked) <= 50:
                        work = json.dumps({"id": str(len(asked)), "kind": "cancel", "session": "s", "call_id": "c"})
                        answer = f"HTTP/1.1 200 OK\r\ncontent-length: {len(work)}\r\n\r\n{work}"
                elif head.startswith("POST"):
                    finished.append(head.split()[1])
                writer.write(answer.encode())
                await writer.drain()

    async def main() -> None:
        hasty = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{hasty.sockets[0].getsockname()[1]}"
        agent = Agent(name="a", model=NEVER_CALLED)
        simulator = AgentSimulator([SimulatedAgentConfig("a", agent, tmp_path / "x.json")], server=url, token="t")
        running = asyncio.create_task(simulator.run_async())

        async def done() -> bool:
            return len(finished) == 50

        await eventually(done, "outcome of all work")
        count = len(asked)

        async def more() -> bool:
            return len(asked) >= count + 4

        await eventually(more, "further question")
        # A pause may be longer than it was meant to be, never shorter.
        pauses = [later - before for before, later in zip(asked[count:], asked[count + 1 :], strict=False)]
        assert min(pauses) >= 0.15, pauses
        gc.collect()
        tasks = cast("list[Any]", [each for each in gc.get_objects() if isinstance(each, asyncio.Task)])
        assert len([each for each in map(repr, tasks) if "_Hosting._do" in each]) <= 1
        simulator.stop()
        await asyncio.wait_for(running, 30)
        hasty.close()

    asyncio.run(main())
