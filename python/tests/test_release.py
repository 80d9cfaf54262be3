"""What a host keeps of sessions that are over: nothing."""

from __future__ import annotations

import asyncio
import gc

import pytest
from google.adk.agents import Agent
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from rehearsal.host import HostedAgent
from rehearsal.racing import Race
from tests.hosting import completed, final, hosting, start
from tests.stage import NEVER_CALLED, Person, Server, call, eventually


async def draw(tool_context: ToolContext) -> str:
    """Keeps a picture."""
    await tool_context.save_artifact("picture.txt", types.Part(text="a picture"))
    return "drawn"


def kept(session: str) -> list[str]:
    """Names what is still held of a session."""
    found: list[str] = []
    for each in gc.get_objects():
        if isinstance(each, Race) and session in repr(vars(each)):
            found.append("race")
        elif isinstance(each, HostedAgent):
            services = (each.runner.session_service, each.runner.artifact_service)
            found.extend(type(held).__name__ for held in services if session in repr(vars(held)))
            found.extend(["turns"] if session in repr(vars(each)["_turns"]) else [])
            found.extend(["links"] if session in repr(vars(each.plugin)["_links"]) else [])
    return found


def test_a_session_that_is_over_is_released(server: Server, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rehearsal.simulator._LIFE_SECONDS", 0.05)

    async def main() -> None:
        async def released(session: str) -> None:
            async def look() -> bool:
                gc.collect()
                return not kept(session)

            await eventually(look, "released session")

        agent = Agent(name="drawer", model=NEVER_CALLED, tools=[draw])
        async with hosting(server, agent):
            lasting = await start(person, "drawer", keep_open=True, query={"text": "hi"})
            await person.answer(lasting, calls=[call("draw")])
            await person.answer(lasting, text="hello")
            await final(person, lasting)

            done = await start(person, "drawer", query={"text": "hi"})
            await person.answer(done, calls=[call("draw")])
            await person.answer(done, text="hello")
            await completed(person, done)
            await released(done)

            cancelled = await start(person, "drawer", query={"text": "hi"})
            await person.cue(cancelled)
            await person.call("POST", f"/v1/sessions/{cancelled}/cancel", {})
            await released(cancelled)

            # One that goes on is kept, with its artifacts, until somebody ends it.
            assert "InMemoryArtifactService" in kept(lasting)
            await person.call("POST", f"/v1/sessions/{lasting}/query", {"text": "again"})
            await person.answer(lasting, text="hello again")
            await final(person, lasting, 2)
            await person.call("POST", f"/v1/sessions/{lasting}/complete", {})
            await released(lasting)

    asyncio.run(main())
