"""A server that a simulator has started, and that ends before the simulator does."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from google.adk.agents import Agent

from rehearsal import AgentSimulator, RehearsalError, SimulatedAgentConfig
from tests.hosting import final, start
from tests.stage import DEADLINE, NEVER_CALLED, Person, Server, eventually


def own_binary(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program in the binary's place that says who it is, and fails once there is a file `broken`."""
    program = folder / "rehearse"
    program.write_text(
        f"#!/bin/sh\necho $$ >> {folder}/pids\n[ -e {folder}/broken ] && exit 3\n"
        f'exec {os.environ["REHEARSAL_BIN"]} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("REHEARSAL_BIN", str(program))
    monkeypatch.chdir(folder)


def pids(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "pids").read_text().split()]


def token() -> str:
    return Path(".rehearsal/token").read_text().strip()


async def begin() -> tuple[asyncio.Task[None], AgentSimulator, Person]:
    agent = Agent(name="alone", model=NEVER_CALLED)
    simulator = AgentSimulator([SimulatedAgentConfig("alone", agent, "x.evalset.json")], port=0)
    running = asyncio.create_task(simulator.run_async())

    async def at() -> str | None:
        if running.done():
            running.result()
        return simulator.url

    url = str(await eventually(at, "address"))
    place: Any = SimpleNamespace(url=url, token=token())
    person = Person(cast("Server", place))

    async def online() -> bool:
        return any(agent["online"] for agent in (await person.call("GET", "/v1/agents"))["agents"])

    await eventually(online, "agent online")
    return running, simulator, person


def test_a_server_that_is_killed_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_binary(tmp_path, monkeypatch)

    async def main() -> None:
        running, simulator, person = await begin()
        session = await start(person, "alone", query={"text": "hi"})
        await person.cue(session)
        os.kill(pids(tmp_path)[-1], signal.SIGKILL)

        async def back() -> bool:
            return len(pids(tmp_path)) == 2 and await reachable(person)

        await eventually(back, "server at the same address")
        await person.answer(session, text="hello")
        assert await final(person, session) == ["hello"]
        simulator.stop()
        await asyncio.wait_for(running, DEADLINE)
        with pytest.raises(ProcessLookupError):
            os.kill(pids(tmp_path)[-1], 0)

    asyncio.run(main())


def test_a_server_that_cannot_be_started_again_ends_the_simulator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    own_binary(tmp_path, monkeypatch)
    monkeypatch.setattr("rehearsal.simulator._FIRST_PAUSE", 0.01)

    async def main() -> None:
        running, _, _ = await begin()
        (tmp_path / "broken").touch()
        os.kill(pids(tmp_path)[-1], signal.SIGKILL)
        with pytest.raises(RehearsalError, match="ended again and again"):
            await asyncio.wait_for(running, DEADLINE)

    asyncio.run(main())
    assert 2 < len(pids(tmp_path)) < 10
    assert "the server ended" in caplog.text


async def reachable(person: Person) -> bool:
    try:
        await person.call("GET", "/v1/agents")
    except Exception:
        return False
    return True
