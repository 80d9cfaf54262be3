"""Whole numbers of any size, from a person's answer to ADK's own model of the golden trace: equal at every stop."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import Agent
from google.adk.evaluation.eval_case import EvalCase
from google.adk.evaluation.eval_set import EvalSet

from rehearsal import RehearsalPlugin
from tests.stage import NEVER_CALLED, Conversation, Json, Person, Server, bodies, call, playing

# Beyond what JavaScript's numbers hold, beyond 64 bits, and beyond both on the other side of zero.
ASKED = {"beyond_53": 2**53 + 1, "beyond_64": 2**64 + 3, "below": -(2**63) - 5, "few": 7}
GIVEN = {"result": {"sum": 2**70 + 9, "list": [2**53 + 1, -(2**64) - 1], "few": 7}}


async def text_of(server: Server, path: str) -> str:
    async with httpx.AsyncClient(trust_env=False, timeout=90.0) as client:
        answer = await client.get(server.url + path, headers={"authorization": f"Bearer {server.token}"})
    assert answer.status_code == 200, answer.text
    return answer.text


def parts_of(case: EvalCase) -> tuple[Any, Any]:
    """The arguments of the only call of a golden trace, and what it gave, as ADK's own models have them."""
    assert case.conversation is not None
    [invocation] = case.conversation
    told: Any = invocation.intermediate_data
    return told.tool_uses[0].args, told.tool_responses[0].response


async def play(server: Server, folder: Path) -> None:
    person = Person(server)
    seen: list[Json] = []

    def keep(beyond_53: int, beyond_64: int, below: int, few: int) -> dict[str, Any]:
        """Keeps numbers."""
        seen.append({"beyond_53": beyond_53, "beyond_64": beyond_64, "below": below, "few": few})
        return GIVEN

    async def act() -> None:
        await person.answer(calls=[call("keep", **ASKED)])
        asked = await person.answer(text="kept")
        said = [part for content in asked["request"]["contents"] for part in content["parts"]]
        assert [part["function_call"]["args"] for part in said if "function_call" in part] == [ASKED]
        assert [part["function_response"]["response"] for part in said if "function_response" in part] == [GIVEN]

    plugin = RehearsalPlugin(server.url, token=server.token, complete="after_run")
    agent = Agent(name="keeper", model=NEVER_CALLED, tools=[keep])
    await playing(Conversation(agent, plugin).say("keep these"), act())
    assert seen == [ASKED]

    session = await person.only_session()
    events = await person.events(session)
    assert [body["args"] for body in bodies(events, "tool_call")] == [ASKED]
    assert [body["outcome"]["output"] for body in bodies(events, "tool_result")] == [GIVEN]
    ledger = [
        json.loads(line)["body"] for line in (await text_of(server, f"/v1/sessions/{session}/ledger")).splitlines()
    ]
    assert [body["args"] for body in ledger if body["type"] == "tool_call"] == [ASKED]
    assert [body["outcome"]["output"] for body in ledger if body["type"] == "tool_result"] == [GIVEN]
    history = {entry["type"]: entry for entry in await person.history(session)}
    assert history["tool_call"]["arguments"] == ASKED
    assert history["tool_output"]["result"] == GIVEN

    case = EvalCase.model_validate_json(await text_of(server, f"/v1/sessions/{session}/eval-case"))
    assert parts_of(case) == (ASKED, GIVEN)
    evalset = folder / "numbers.evalset.json"
    command = [server.binary, "export", session, "--evalset", str(evalset), "--server", server.url]
    environment = {"REHEARSAL_TOKEN": server.token}
    await asyncio.to_thread(subprocess.run, command, check=True, env=environment, cwd=folder)
    [exported] = EvalSet.model_validate_json(evalset.read_text()).eval_cases
    assert parts_of(exported) == (ASKED, GIVEN)


def test_big_numbers_through_sqlite(server: Server, tmp_path: Path) -> None:
    asyncio.run(play(server, tmp_path))


def test_big_numbers_through_postgresql(tmp_path: Path, database: str) -> None:
    server = Server(tmp_path, store=database, token="a-token-for-big-numbers")
    try:
        asyncio.run(play(server, tmp_path))
    finally:
        server.kill()


@pytest.mark.parametrize("number", [2**53 + 1, 2**64 + 3, -(2**63) - 5])
def test_a_big_number_in_the_state(server: Server, person: Person, number: int) -> None:
    async def main() -> None:
        made: Json = await person.call("POST", "/v1/sessions", {"agent": "keeper", "state": {"n": number}})
        started = bodies(await person.events(made["id"]), "session_started")
        assert started[0]["state"]["session"] == {"n": number}
        case = json.loads((await text_of(server, f"/v1/sessions/{made['id']}/ledger")).splitlines()[0])
        assert case["body"]["state"]["session"] == {"n": number}

    asyncio.run(main())
