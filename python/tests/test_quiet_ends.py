"""Cues that are dismissed and sessions that are cancelled: what runs for them ends, and the log says it in one line."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool

from tests.hosting import final, hosting, run_python, running_call, start
from tests.stage import DEADLINE, NEVER_CALLED, Json, Person, Server, call, eventually, failures

PROGRAM = '''
import sys
from google.adk.agents import Agent
from rehearsal import AgentSimulator, SimulatedAgentConfig


def fail() -> str:
    """Fails outside Rehearsal."""
    raise ConnectionError("of the tool")


def broken(callback_context, llm_request) -> None:
    if "break" in str(llm_request.contents):
        raise ValueError("of the agent")


agent = Agent(name="quiet", model="gemini-2.5-flash", tools=[fail], before_model_callback=broken)
AgentSimulator([SimulatedAgentConfig("quiet", agent, "x.json")], server=sys.argv[1]).run()
'''


async def logged(caplog: pytest.LogCaptureFixture, words: str) -> bool:
    return any(words in record.getMessage() for record in caplog.records)


async def cancel(person: Person, session: str) -> None:
    await person.call("POST", f"/v1/sessions/{session}/cancel", {"reason": "enough"})


def test_the_log_of_a_simulator(server: Server, person: Person, tmp_path: Path) -> None:
    (tmp_path / "simulator.py").write_text(PROGRAM)
    program = run_python(server, tmp_path, "simulator.py", server.url)
    said: list[str] = []
    reading = threading.Thread(target=lambda: said.extend(program.stderr or []), daemon=True)
    reading.start()

    async def main() -> tuple[str, str]:
        async def online() -> bool:
            assert program.poll() is None, "the simulator ended"
            return bool((await person.call("GET", "/v1/agents"))["agents"])

        async def failed(session: str) -> list[Json]:
            return failures(await person.events(session))

        await eventually(online, "agent online")
        dismissed = await start(person, "quiet", query={"text": "hi"})
        cue = await person.cue(dismissed)
        await person.call("POST", f"/v1/cues/{cue['id']}/dismiss", {})
        assert [each["type"] for each in await eventually(lambda: failed(dismissed), "failure")] == ["CueDismissed"]
        cancelled = await start(person, "quiet", query={"text": "hi"})
        await person.cue(cancelled)
        await cancel(person, cancelled)

        async def is_said() -> bool:
            return any(cancelled in line for line in said)

        await eventually(is_said, "line about the cancelled session")
        # What is not of our making is logged as before.
        broken = await start(person, "quiet", query={"text": "break"})
        await eventually(lambda: failed(broken), "failure")
        program.terminate()
        assert await asyncio.to_thread(program.wait, DEADLINE) == 0
        return dismissed, cancelled

    try:
        dismissed, cancelled = asyncio.run(main())
    finally:
        program.kill()
        program.wait()
    reading.join()
    text = "".join(said)
    assert "EXPERIMENTAL" not in text
    assert "CueDismissed" not in text
    assert "SessionEnded" not in text
    for session, word in ((dismissed, "dismissed"), (cancelled, "is over")):
        lines = [line for line in text.splitlines() if session in line]
        assert len(lines) == 1, text
        assert word in lines[0]
        assert "Error in plugin" not in lines[0]
    assert "ValueError: of the agent" in text
    assert "Traceback" in text


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_a_cancelled_session_ends_its_tools(
    server: Server, person: Person, release: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
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

        def block() -> str:
            """Blocks its thread."""
            release.wait()
            return "late"

        inner = Agent(name="inner", model=NEVER_CALLED, description="digs", tools=[wait])
        agent = Agent(name="busy", model=NEVER_CALLED, tools=[wait, block, AgentTool(inner)])
        async with hosting(server, agent):
            session = await start(person, "busy", query={"text": "go"})
            await person.answer(session, calls=[call("wait"), call("block"), call("inner", request="dig")])
            await person.answer(session, calls=[call("wait")])

            async def all_run() -> bool:
                told: Json = await person.call("GET", f"/v1/sessions/{session}")
                return len(told["waiting_calls"]) == 4

            await eventually(all_run, "running calls")
            await cancel(person, session)
            await eventually(lambda: logged(caplog, f"the run of session {session} is over"), "end of the run")
            assert ended == ["cancelled inside"] * 2

    asyncio.run(main())


def test_a_session_that_is_cancelled_before_its_call_is_known(
    server: Server, person: Person, caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is on its way to the agent when somebody cancels: the server knows of no call to be cancelled."""

    async def main() -> None:
        cancelled = asyncio.Event()
        ran: list[str] = []

        async def after_model(callback_context: Any, llm_response: LlmResponse) -> None:
            await cancelled.wait()

        async def wait() -> str:
            """Waits."""
            ran.append("begun")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ran.append("cancelled inside")
                raise
            return "never"

        agent = Agent(name="late", model=NEVER_CALLED, tools=[wait], after_model_callback=after_model)
        async with hosting(server, agent):
            session = await start(person, "late", query={"text": "go"})
            await person.answer(session, calls=[call("wait")])
            await cancel(person, session)
            cancelled.set()
            await eventually(lambda: logged(caplog, f"the run of session {session} is over"), "end of the run")
            assert ran in ([], ["begun", "cancelled inside"])

    asyncio.run(main())


def test_a_call_that_is_cancelled_before_its_tool_begins(
    server: Server, person: Person, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rehearsal")

    async def main() -> None:
        go_on = asyncio.Event()
        ran: list[str] = []

        async def before_tool(tool: Any, args: Json, tool_context: Any) -> None:
            await go_on.wait()

        async def wait() -> str:
            """Waits."""
            ran.append("begun")
            await asyncio.Event().wait()
            return "never"

        agent = Agent(name="slow", model=NEVER_CALLED, tools=[wait], before_tool_callback=before_tool)
        async with hosting(server, agent):
            session = await start(person, "slow", query={"text": "go"})
            await person.answer(session, calls=[call("wait")])
            call_id = await running_call(person, session)
            await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
            await eventually(
                lambda: logged(caplog, f"the call {call_id} is cancelled before it begins"), "cancellation"
            )
            go_on.set()
            cue = await person.answer(session, text="given up")
            response = cue["request"]["contents"][-1]["parts"][0]["function_response"]["response"]
            assert response["error"]["type"] == "Cancelled"
            assert await final(person, session) == ["given up"]
            assert ran == []

    asyncio.run(main())
