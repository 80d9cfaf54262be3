"""How a host ends: whatever its tools are at, as a program ends that nobody has stopped in the middle."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosting import ROOT, final, running_call, start
from tests.stage import DEADLINE, Person, Server, call, eventually

PACKAGE = '''
import atexit
import threading
from pathlib import Path

from google.adk.agents import Agent

atexit.register(lambda: Path("atexit.txt").write_text("ran"))


def shout() -> str:
    """Prints."""
    print("said by a tool")
    return "ok"


def stuck() -> str:
    """Never ends."""
    threading.Event().wait()
    return "never"


root_agent = Agent(name="shouter", model="gemini-2.5-flash", tools=[shout, stuck])
'''

PROGRAM = """
import sys

from rehearsal import AgentSimulator, SimulatedAgentConfig
from shouter.agent import root_agent

AgentSimulator([SimulatedAgentConfig("shouter", root_agent, "x.evalset.json")], server=sys.argv[1]).run()
print("run() is over")
sys.exit(7)
"""


@pytest.mark.parametrize("as_command", [True, False], ids=["rehearsal host", "AgentSimulator.run"])
@pytest.mark.parametrize("at", ["nothing", "a cancelled tool", "a tool"])
def test_a_host_ends_whatever_its_tools_are_at(
    server: Server, person: Person, tmp_path: Path, as_command: bool, at: str
) -> None:
    (tmp_path / "shouter").mkdir()
    (tmp_path / "shouter" / "__init__.py").write_text("from . import agent\n")
    (tmp_path / "shouter" / "agent.py").write_text(PACKAGE)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = (
        ["-m", "rehearsal", "host", "shouter", "--server", server.url] if as_command else ["program.py", server.url]
    )
    host = subprocess.Popen(
        [sys.executable, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "REHEARSAL_TOKEN": server.token},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    async def play() -> None:
        async def online() -> bool:
            assert host.poll() is None, "the host ended"
            return bool((await person.call("GET", "/v1/agents"))["agents"])

        await eventually(online, "agent online")
        session = await start(person, "shouter", query={"text": "go"})
        await person.answer(session, calls=[call("shout")])
        if at != "nothing":
            await person.answer(session, calls=[call("stuck")])
            call_id = await running_call(person, session)
            if at == "a tool":
                return
            await person.call("POST", f"/v1/sessions/{session}/calls/{call_id}/cancel", {})
        await person.answer(session, text="done")
        await final(person, session)

    try:
        asyncio.run(play())
        host.send_signal(signal.SIGINT)
        out, said = host.communicate(timeout=DEADLINE)
    finally:
        host.kill()
        host.wait()
    assert host.returncode == (0 if as_command else 7), said
    assert "said by a tool" in out
    assert as_command or "run() is over" in out
    assert (tmp_path / "atexit.txt").read_text() == "ran"
    told = "the tool stuck still runs" in said
    assert told is (at != "nothing"), said
