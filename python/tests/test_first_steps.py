"""What goes wrong when somebody starts for the first time, and what they are told."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosting import ROOT, start
from tests.stage import DEADLINE, Person, Server, call, eventually

PROGRAM = """
import sys

from google.adk.agents import Agent
from rehearsal import AgentSimulator, SimulatedAgentConfig

agent = Agent(name="clerk", model="gemini-2.5-flash")
AgentSimulator([SimulatedAgentConfig("clerk", agent, "x.evalset.json")], port=int(sys.argv[1])).run()
"""


def said(folder: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """Runs Python and gives how it ended and what it said."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE,
    )
    return done.returncode, done.stderr


def test_a_port_that_another_program_has(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, told = said(tmp_path, "-c", PROGRAM, str(port))
    assert code == 2
    assert f"error: `rehearse serve --port {port}` ended" in told
    assert "hint: " in told
    assert "Traceback" not in told


def test_the_server_of_another_folder(tmp_path: Path, server: Server) -> None:
    code, told = said(tmp_path, "-c", PROGRAM, str(server.port))
    assert code == 2
    assert (f"error: the Rehearsal server at {server.url} wants its token") in told
    assert "hint: " in told
    assert "Traceback" not in told


def test_a_binary_that_is_not_there(tmp_path: Path) -> None:
    code, told = said(tmp_path, "-c", PROGRAM, "0", REHEARSAL_BIN="/no/such/file")
    assert code == 2
    assert told.endswith("error: REHEARSAL_BIN names /no/such/file, which is not a file\n")
    assert "Traceback" not in told


@pytest.mark.parametrize("name", ["RehearsalPlugin", "AgentSimulator", "SimulatedAgentConfig"])
def test_an_import_without_adk(tmp_path: Path, name: str) -> None:
    program = f"import sys; sys.modules['google.adk'] = None; from rehearsal import {name}"
    code, told = said(tmp_path, "-c", program)
    assert code == 1
    assert "hint: google-adk is needed here: pip install 'agent-rehearsal[adk]'" in told
    assert told.rstrip().splitlines()[-1].startswith("hint: ")


AGENT = '''
import asyncio

from google.adk.agents import Agent


async def get_agent_async():
    questions = asyncio.Queue()

    async def answer_them():
        while True:
            (await questions.get()).set_result(42)

    answering = asyncio.get_running_loop().create_task(answer_them())

    async def ask() -> int:
        """Asks what was begun with the agent."""
        question = asyncio.get_running_loop().create_future()
        questions.put_nowait(question)
        return await asyncio.wait_for(question, 20)

    class Resources:
        async def aclose(self):
            answering.cancel()
            print("closed", flush=True)

    return Agent(name="bound", model="gemini-2.5-flash", tools=[ask]), Resources()
'''


def test_an_agent_lives_in_the_loop_that_it_was_made_in(server: Server, person: Person, tmp_path: Path) -> None:
    (tmp_path / "bound").mkdir()
    (tmp_path / "bound" / "__init__.py").write_text("from . import agent\n")
    (tmp_path / "bound" / "agent.py").write_text(AGENT)
    host = subprocess.Popen(
        [sys.executable, "-m", "rehearsal", "host", "bound", "--server", server.url],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "REHEARSAL_TOKEN": server.token},
        stdout=subprocess.PIPE,
        text=True,
    )

    async def main() -> None:
        async def online() -> bool:
            assert host.poll() is None, "the host ended"
            return bool((await person.call("GET", "/v1/agents"))["agents"])

        await eventually(online, "agent online")
        session = await start(person, "bound", query={"text": "go"})
        await person.answer(session, calls=[call("ask")])
        cue = await person.answer(session, text="done")
        given = cue["request"]["contents"][-1]["parts"][0]["function_response"]["response"]
        assert given == {"result": 42}

    try:
        asyncio.run(main())
        host.terminate()
        out, _ = host.communicate(timeout=DEADLINE)
    finally:
        host.kill()
        host.wait()
    assert host.returncode == 0
    assert out == "closed\n"
