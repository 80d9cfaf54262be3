"""What can be offered: agents of any name, workflows, apps; and what is said of anything else."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Agent

from rehearsal import AgentSimulator, RehearsalError, SimulatedAgentConfig
from rehearsal.loading import load_agent
from tests.hosting import completed, final, hosting, start
from tests.stage import ADK_2, NEVER_CALLED, Person, Server
from tests.test_command import package

FLOW = """
from google.adk.agents import Agent
from google.adk.workflow import Workflow

root_agent = Workflow(name="flow", edges=[("START", Agent(name="clerk", model="gemini-2.5-flash"))])
"""


@pytest.mark.skipif(not ADK_2, reason="1.21 has no workflows")
def test_a_workflow_as_the_root(server: Server, person: Person, tmp_path: Path) -> None:
    async def main() -> None:
        flow = await load_agent(package(tmp_path, "flowing", FLOW), AsyncExitStack())
        async with hosting(server, flow):
            session = await start(person, "flow", query={"text": "hi"})
            cue = await person.answer(session, text="hello")
            assert cue["agent"] == "clerk"
            assert await final(person, session) == ["hello"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def root_agent(): ...", "`root_agent` is a function"),
        ("root_agent = 'clerk'", "`root_agent` is a str"),
        ("async def get_agent_async():\n    return 7", "`get_agent_async()` gives an int"),
        ("app = object()", "has no agent"),
    ],
)
def test_what_is_no_agent_in_a_package(tmp_path: Path, source: str, found: str) -> None:
    name = f"wrong_{abs(hash(source))}"
    with pytest.raises(RehearsalError) as refused:
        asyncio.run(load_agent(package(tmp_path, name, source), AsyncExitStack()))
    assert found in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)


def test_what_is_no_agent_in_a_program() -> None:
    wrong: Any = lambda: None  # noqa: E731
    with pytest.raises(RehearsalError, match="the agent 'clerk' is a function"):
        AgentSimulator([SimulatedAgentConfig("clerk", wrong, "x.evalset.json")])


@pytest.mark.parametrize("name", ["_hidden", "über", "_", "agent_7"])
def test_every_name_that_adk_takes_for_an_agent(server: Server, person: Person, tmp_path: Path, name: str) -> None:
    async def main() -> None:
        evalset = tmp_path / "named.evalset.json"
        async with hosting(server, Agent(name=name, model=NEVER_CALLED), evalset=str(evalset)):
            session = await start(person, name, query={"text": "hi"})
            cue = await person.answer(session, text="hello")
            assert cue["agent"] == name
            await completed(person, session)
            await person.call("POST", f"/v1/sessions/{session}/export", {})
        case = json.loads(evalset.read_text())["eval_cases"][0]
        assert case["session_input"]["app_name"] == name

    asyncio.run(main())
