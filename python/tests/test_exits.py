"""Tools that want to end the program they run in."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.hosting import final, run_python, start
from tests.stage import DEADLINE, Json, Person, Server, bodies, call, eventually, failures

PACKAGE = '''
import argparse
import asyncio
import sys

from google.adk.agents import Agent


def leave(code: int) -> str:
    """Ends the program."""
    sys.exit(code)


async def leave_with_a_word(word: str) -> str:
    """Ends the program and says why."""
    await asyncio.sleep(0)
    sys.exit(word)


def parse(arguments: list[str]) -> str:
    """Reads arguments as a command would."""
    parser = argparse.ArgumentParser(prog="tool")
    parser.add_argument("--count", type=int)
    return str(parser.parse_args(arguments).count)


def interrupt() -> str:
    """Raises what Ctrl-C would."""
    raise KeyboardInterrupt("by the tool")


async def interrupt_here() -> str:
    """Raises what Ctrl-C would, in the loop."""
    raise KeyboardInterrupt("by the tool")


def look(callback_context, llm_request) -> None:
    if "go away" in str(llm_request.contents):
        sys.exit(4)


tools = [leave, leave_with_a_word, parse, interrupt, interrupt_here]
root_agent = Agent(name="leaver", model="gemini-2.5-flash", tools=tools, before_model_callback=look)
'''


@contextmanager
def host_command(server: Server, folder: Path, source: str) -> Generator[subprocess.Popen[str], None, None]:
    """Runs `rehearsal host` with an agent package of this source."""
    package = folder / "leaver"
    package.mkdir()
    (package / "__init__.py").write_text("from . import agent\n")
    (package / "agent.py").write_text(source)
    process = run_python(server, folder, "-m", "rehearsal", "host", str(package), "--server", server.url)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


WISHES = [
    (call("leave", code=3), "SystemExit", "exit code 3"),
    (call("leave_with_a_word", word="no such order"), "SystemExit", "no such order"),
    (call("parse", arguments=["--count", "many"]), "SystemExit", "exit code 2"),
    (call("interrupt"), "KeyboardInterrupt", "by the tool"),
    (call("interrupt_here"), "KeyboardInterrupt", "by the tool"),
]


def test_a_host_outlives_tools_that_exit(server: Server, person: Person, tmp_path: Path) -> None:
    async def main(host: subprocess.Popen[str]) -> None:
        async def online() -> bool:
            assert host.poll() is None, "the host ended"
            return bool((await person.call("GET", "/v1/agents"))["agents"])

        await eventually(online, "agent online")
        session = await start(person, "leaver", query={"text": "go"})
        for wish, kind, message in WISHES:
            await person.answer(session, calls=[wish])
            cue = await person.cue(session)
            given = cue["request"]["contents"][-1]["parts"][0]["function_response"]["response"]
            assert given == {"error": {"type": kind, "message": message}}
        await person.answer(session, calls=[call("parse", arguments=["--count", "2"])])
        await person.answer(session, text="done")
        assert await final(person, session) == ["done"]
        history = await person.history(session)
        told = [entry for entry in history if entry["type"] == "tool_error"]
        assert [(error["error_type"], error["error_message"]) for error in told] == [wish[1:] for wish in WISHES]
        for error, (wish, _, _) in zip(told, WISHES, strict=True):
            assert f"in {wish['tool']}\n" in error["traceback"]
        assert [entry["result"] for entry in history if entry["type"] == "tool_output"] == [{"result": "2"}]
        assert host.poll() is None

        # What the agent does outside its tools ends the host, and the host says so.
        await start(person, "leaver", query={"text": "go away"})
        _, said = await asyncio.to_thread(host.communicate, timeout=DEADLINE)
        assert host.returncode == 4
        assert "an agent's code ended this program" in said

    with host_command(server, tmp_path, PACKAGE) as host:
        asyncio.run(main(host))


PROGRAM = """
import asyncio
import sys

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.adk.tools.agent_tool import AgentTool
from google.genai import types
from rehearsal import RehearsalPlugin


async def wait() -> str:
    "Waits beside the other."
    await asyncio.Event().wait()
    return "never"


def leave(code: int) -> str:
    "Ends the program."
    sys.exit(code)


inner = Agent(name="inner", model="gemini-2.5-flash", description="digs", tools=[leave])
root = Agent(name="root", model="gemini-2.5-flash", tools=[leave, wait, AgentTool(inner)])


async def main() -> None:
    runner = InMemoryRunner(app=App(name="own", root_agent=root, plugins=[RehearsalPlugin(sys.argv[1])]))
    await runner.session_service.create_session(app_name="own", user_id="u", session_id="s")
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=types.UserContent("go")):
        pass


asyncio.run(main())
"""


def play(person: Person, program: subprocess.Popen[str], *answers: dict[str, Any]) -> list[Json]:
    """Answers the cues of a program and waits for its end; gives the ledger."""

    async def main() -> list[Json]:
        for answer in answers:
            await person.answer(calls=[answer] if "tool" in answer else answer["both"])
        assert await asyncio.to_thread(program.wait, DEADLINE) == 3
        return await person.events()

    return asyncio.run(main())


def test_a_program_with_the_plugin_ends_as_it_would_and_the_reason_is_recorded(
    server: Server, person: Person, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(PROGRAM)
    program = run_python(server, tmp_path, "own.py", server.url)
    try:
        both = {"both": [call("wait"), call("leave", code=3)]}
        ledger = play(person, program, both)
    finally:
        program.kill()
        _, said = program.communicate()
    outcomes = {body["tool"]: body["outcome"]["error"] for body in bodies(ledger, "tool_result")}
    assert sorted(outcomes) == ["leave", "wait"]
    # It is seen without any logging set up.
    assert said.count("root waits for a person: ") == 1
    assert (outcomes["leave"]["type"], outcomes["leave"]["message"]) == ("SystemExit", "exit code 3")
    assert "in leave" in outcomes["leave"]["traceback"]
    assert [(error["type"], error["message"]) for error in failures(ledger)] == [("SystemExit", "exit code 3")]


def test_a_tool_that_exits_inside_an_agent_that_is_a_tool(server: Server, person: Person, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(PROGRAM)
    program = run_python(server, tmp_path, "own.py", server.url)
    try:
        ledger = play(person, program, call("inner", request="dig"), call("leave", code=3))
    finally:
        program.kill()
        program.communicate()
    outcomes = {body["tool"]: body["outcome"]["error"] for body in bodies(ledger, "tool_result")}
    assert outcomes["leave"]["type"] == "SystemExit"
    assert sorted(outcomes) == ["inner", "leave"]
    assert [error["type"] for error in failures(ledger)] == ["SystemExit"]
