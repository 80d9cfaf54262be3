"""What tools give once their session is over."""

from __future__ import annotations

import asyncio
import threading

import pytest
from google.adk.agents import Agent

from rehearsal.address import resolve_address
from rehearsal.client import Client
from rehearsal.link import Call, Link
from tests.hosting import hosting, start
from tests.stage import NEVER_CALLED, Json, Person, Server, bodies, call, eventually


def late_results(events: list[Json]) -> list[Json]:
    return bodies(events, "late_result")


def test_a_late_result_after_a_cancelled_session(
    server: Server, person: Person, caplog: pytest.LogCaptureFixture
) -> None:
    began, release = threading.Event(), threading.Event()

    def block() -> str:
        """Blocks."""
        began.set()
        release.wait(60)
        return "after all"

    async def main() -> None:
        async with hosting(server, Agent(name="blocker", model=NEVER_CALLED, tools=[block])):
            session = await start(person, "blocker", query={"text": "go"})
            await person.answer(session, calls=[call("block")])
            # A call is known before its tool begins, and one that is cancelled then gives nothing.
            assert await asyncio.to_thread(began.wait, 60)
            await person.call("POST", f"/v1/sessions/{session}/cancel", {"reason": "enough"})

            async def over() -> bool:
                return f"the run of session {session} is over" in caplog.text

            await eventually(over, "end of the run")
            release.set()

            async def late() -> list[Json]:
                return late_results(await person.events(session))

            assert [each["outcome"]["output"] for each in await eventually(late, "late result")] == [
                {"result": "after all"}
            ]

    try:
        asyncio.run(main())
    finally:
        release.set()


def test_of_what_comes_after_the_end_only_late_results_are_told(server: Server, person: Person) -> None:
    async def main() -> None:
        session = str((await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"])
        link = Link(Client(resolve_address(server.url, server.token)), session, None, join=False)
        link.tell("user_message", "a", (), content={"role": "user", "parts": [{"text": "go"}]})
        for name in "ab":
            link.tell("tool_call", "a", (), call_id=name, tool="t", args={})
        await link.outbox.flush()
        await person.call("POST", f"/v1/sessions/{session}/cancel", {})
        calls = [Call(name, "t", "a", (), "i", told=True) for name in "ab"]
        # The first is told before the outbox knows of the end, the second after it.
        for each in calls:
            link.tell_result(each, b'{"result":"never"}')
            link.tell_result(each, b'{"result":"late"}', late=True)
            await link.outbox.settle()
            assert link.outbox.ended
        late = late_results(await person.events(session))
        assert [(each["call"], each["outcome"]["output"]) for each in late] == [(n, {"result": "late"}) for n in "ab"]

    asyncio.run(main())
