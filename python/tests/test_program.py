"""Programs that run their agents by themselves: what people can ask of them, and what tells that they are gone."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import Agent
from google.adk.evaluation.eval_set import EvalSet

from rehearsal import RehearsalPlugin
from tests.hosting import run_python, running_call
from tests.stage import (
    NEVER_CALLED,
    Conversation,
    Json,
    Person,
    Server,
    bodies,
    call,
    eventually,
    final_text,
    kinds,
    playing,
)

PROGRAM = """
import asyncio, sys, time
from google.adk.agents import Agent
from rehearsal import RehearsalPlugin
from tests.stage import Conversation

def hang() -> str:
    time.sleep(3600)
    return "never"

agent = Agent(name="slow", model="gemini-2.5-flash", tools=[hang])
asyncio.run(Conversation(agent, RehearsalPlugin(sys.argv[1])).say("go"))
"""

HOST = """
import sys
from google.adk.agents import Agent
from rehearsal import AgentSimulator, SimulatedAgentConfig

agent = Agent(name="hosted", model="gemini-2.5-flash")
AgentSimulator([SimulatedAgentConfig("hosted", agent, "x.evalset.json")], server=sys.argv[1]).run()
"""


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Server]:
    """A server that takes nobody for gone because of their silence: only their connections tell."""
    folder = tmp_path / "patient"
    folder.mkdir()
    running = Server(folder, "--grace", "3600")
    yield running
    running.kill()


async def answered(person: Person, cue: str, answer: Json, **params: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, timeout=90.0) as client:
        return await client.post(
            f"{person.server.url}/v1/cues/{cue}/answer",
            json=answer,
            params=params,
            headers={"authorization": f"Bearer {person.server.token}"},
        )


def test_an_answer_to_a_killed_program_is_not_taken(patient: Server, tmp_path: Path) -> None:
    person = Person(patient)
    program = run_python(patient, tmp_path, "-c", PROGRAM, patient.url)

    async def main() -> None:
        cue = await person.cue()
        program.kill()

        async def gone() -> bool:
            return (await person.call("GET", f"/v1/cues/{cue['id']}"))["status"] == "abandoned"

        await eventually(gone, "cue that nobody waits for")
        refused = await answered(person, cue["id"], {"text": "hello?"})
        assert (refused.status_code, refused.json()["type"]) == (409, "agent_gone")
        assert "slow" in refused.json()["detail"]
        assert kinds(await person.history()) == ["user_query"]
        kept = await answered(person, cue["id"], {"text": "hello?"}, anyway="true")
        assert kept.status_code == 200, kept.text

    try:
        asyncio.run(main())
    finally:
        program.kill()
        program.communicate()


def test_a_program_that_is_killed_while_a_tool_runs_is_missed(patient: Server, tmp_path: Path) -> None:
    person = Person(patient)
    program = run_python(patient, tmp_path, "-c", PROGRAM, patient.url)

    async def main() -> None:
        cue = await person.answer(calls=[call("hang")])
        session = cue["session"]
        call_id = await running_call(person, session)

        async def online() -> bool:
            return bool((await person.call("GET", f"/v1/sessions/{session}"))["program_online"])

        await eventually(online, "program")
        program.kill()

        async def gone() -> bool:
            return not await online()

        await eventually(gone, "missing program")
        listed = (await person.call("GET", "/v1/sessions"))["sessions"]
        assert [item["program_online"] for item in listed if item["id"] == session] == [False]
        assert "its program is gone" in patient.command("sessions")
        await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
        assert kinds(await person.history(session)) == ["user_query", "tool_call", "tool_error"]

    try:
        asyncio.run(main())
    finally:
        program.kill()
        program.communicate()


def test_a_killed_host_is_missed(patient: Server, tmp_path: Path) -> None:
    person = Person(patient)
    host = run_python(patient, tmp_path, "-c", HOST, patient.url)

    async def main() -> None:
        async def agents(*, online: bool) -> list[Json]:
            known: list[Json] = (await person.call("GET", "/v1/agents"))["agents"]
            return [agent for agent in known if agent["online"] is online]

        await eventually(lambda: agents(online=True), "host")
        host.kill()
        await eventually(lambda: agents(online=False), "missing host")

    try:
        asyncio.run(main())
    finally:
        host.kill()
        host.communicate()


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Lets tools go on that block their thread."""
    event = threading.Event()
    yield event
    event.set()


async def cancel(person: Person, session: str) -> str:
    call_id = await running_call(person, session)
    await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
    return call_id


def errors(history: list[Json]) -> list[tuple[str, str]]:
    return [(entry["call_id"], entry["error_type"]) for entry in history if entry["type"] == "tool_error"]


def test_a_running_tool_of_a_program_is_cancelled(person: Person, plugin: RehearsalPlugin) -> None:
    ended: list[str] = []

    async def wait() -> str:
        """Waits for ever."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("wait")
            raise
        return "never"

    async def main() -> None:
        async def act() -> None:
            cue = await person.answer(calls=[call("wait")])
            call_id = await cancel(person, cue["session"])
            # The run goes on, and the model is told.
            asked = await person.answer(text="then not")
            given = asked["request"]["contents"][-1]["parts"][0]["function_response"]["response"]
            assert given["error"]["type"] == "Cancelled"
            assert errors(await person.history()) == [(call_id, "Cancelled")]

        agent = Agent(name="waiter", model=NEVER_CALLED, tools=[wait])
        assert final_text(await playing(Conversation(agent, plugin).say("go"), act())) == "then not"
        assert ended == ["wait"]

    asyncio.run(main())


def test_a_synchronous_tool_of_a_program_is_cancelled(
    person: Person, plugin: RehearsalPlugin, release: threading.Event
) -> None:
    def block() -> str:
        """Blocks its thread."""
        release.wait()
        return "late"

    async def main() -> None:
        async def act() -> None:
            cue = await person.answer(calls=[call("block"), call("block")])
            session = cue["session"]
            # The second of them waits for its turn, and is cancelled without one.
            await running_call(person, session)
            told: Json = await person.call("GET", f"/v1/sessions/{session}")
            for each in reversed(told["waiting_calls"]):
                await person.call("POST", f"/v1/sessions/{session}/calls/{each['call_id']}/cancel", {})
            await person.answer(session, text="then not")
            assert [kind for _, kind in errors(await person.history(session))] == ["Cancelled", "Cancelled"]
            release.set()

            async def late() -> list[Any]:
                return [body["outcome"]["output"] for body in bodies(await person.events(session), "late_result")]

            assert await eventually(late, "late result") == [{"result": "late"}]

        agent = Agent(name="blocker", model=NEVER_CALLED, tools=[block])
        assert final_text(await playing(Conversation(agent, plugin).say("go"), act())) == "then not"

    asyncio.run(main())


@pytest.mark.parametrize("tool_threads", [True, False])
def test_synchronous_tools_run_one_at_a_time(server: Server, person: Person, tool_threads: bool) -> None:
    seen: list[tuple[str, bool]] = []
    second_began = threading.Event()

    def look(n: int) -> int:
        """Looks where it runs."""
        here = threading.current_thread() is threading.main_thread()
        seen.append((f"begin {n}", here))
        # The second of them has the time to begin beside the first, if it could.
        if n == 1:
            second_began.wait(0.05)
        else:
            second_began.set()
        seen.append((f"end {n}", here))
        return n

    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, tool_threads=tool_threads)
        agent = Agent(name="looker", model=NEVER_CALLED, tools=[look])
        acts = (person.answer(calls=[call("look", n=1), call("look", n=2)]), person.answer(text="done"))
        await playing(Conversation(agent, plugin).say("go"), *acts)

    asyncio.run(main())
    here = not tool_threads
    assert seen == [("begin 1", here), ("end 1", here), ("begin 2", here), ("end 2", here)]


@pytest.mark.parametrize("given", [None, "golden/mine.evalset.json"])
def test_a_program_exports_what_it_played(
    server: Server, person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    monkeypatch.setenv("REHEARSAL_BIN", server.binary)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "golden").mkdir()

    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, complete="after_run", eval_set_path=given)
        agent = Agent(name="talker", model=NEVER_CALLED)
        talk = Conversation(agent, plugin)
        await playing(talk.say("hi"), person.answer(text="hello"))
        session = await person.only_session()
        told: Json = await person.call("POST", f"/v1/sessions/{session}/export", {})
        path = tmp_path / (given or "tests.evalset.json")
        assert told["path"] == str(path)
        written = EvalSet.model_validate_json(path.read_text())
        assert [case.eval_id for case in written.eval_cases] == [told["eval_id"]]
        assert written.eval_cases[0].session_input is None or written.eval_cases[0].session_input.app_name == "tests"
        again: Json = await person.call("POST", f"/v1/sessions/{session}/export", {})
        assert again["repeated"] is True

        await plugin.close()
        assert (await person.call("GET", f"/v1/sessions/{session}"))["program_online"] is False
        with pytest.raises(AssertionError, match=f"rehearse export {session} --evalset FILE"):
            await person.call("POST", f"/v1/sessions/{session}/export", {"again": True})
        # A plugin that is closed can be used again.
        await playing(talk.say("more"), person.answer(text="again"))
        newest = str((await person.sessions())[0]["id"])
        await person.call("POST", f"/v1/sessions/{newest}/export", {})
        assert len(json.loads(path.read_text())["eval_cases"]) == 2

    asyncio.run(main())
