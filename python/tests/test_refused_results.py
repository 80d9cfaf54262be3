"""Results that the server does not take: each of their calls gets an error as its result, and the run goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents import Agent

from rehearsal import RehearsalPlugin, outbox
from tests.hosting import final, hosting, start
from tests.stage import NEVER_CALLED, Conversation, Json, Person, Server, call, final_text, kinds, playing

SIZE = 3_000_000
BOUND = 2 * 1024 * 1024
WHOLE = len('{"result":""}') + SIZE


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def dump() -> str:
    """Gives a lot."""
    return "x" * SIZE


def dig(depth: int) -> Json:
    """Gives boxes in boxes."""
    box: Json = {}
    for _ in range(depth):
        box = {"box": box}
    return box


@pytest.fixture
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server took less, so that little is too much."""
    monkeypatch.setattr(outbox, "UPLOAD_MOST", BOUND)


def errors_of(history: list[Json]) -> list[Json]:
    return [entry for entry in history if entry["type"] == "tool_error"]


def responses(cue: Json) -> list[Json]:
    return [part["function_response"]["response"] for part in cue["request"]["contents"][-1]["parts"]]


@pytest.mark.usefixtures("small_bound")
def test_a_result_that_is_too_large_for_a_host(server: Server, person: Person) -> None:
    async def main() -> None:
        async with hosting(server, Agent(name="dumper", model=NEVER_CALLED, tools=[dump, add])):
            session = await start(person, "dumper", query={"text": "dump"})
            await person.answer(session, calls=[call("dump"), call("add", a=1, b=1)])
            cue = await person.answer(session, text="too much")
            large, small = responses(cue)
            assert small == {"result": 2}
            assert large["error"]["type"] == "ResultTooLarge"
            assert str(WHOLE) in large["error"]["message"]
            assert str(BOUND) in large["error"]["message"]
            assert await final(person, session) == ["too much"]
            told = errors_of(await person.history(session))
            assert [(each["error_type"], each["error_message"]) for each in told] == [
                ("ResultTooLarge", large["error"]["message"])
            ]

    asyncio.run(main())


@pytest.mark.usefixtures("small_bound")
def test_a_result_that_is_too_large_for_the_record_of_a_program(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        agent = Agent(name="dumper", model=NEVER_CALLED, tools=[dump])
        events = await playing(
            Conversation(agent, plugin).say("dump"), person.answer(calls=[call("dump")]), person.answer(text="much")
        )
        assert final_text(events) == "much"
        # What the program has is what its tool gave.
        given: list[Any] = [response for event in events for response in event.get_function_responses()]
        assert [len(response.response["result"]) for response in given] == [SIZE]
        history = await person.history()
        assert kinds(history) == ["user_query", "tool_call", "tool_error", "final_response"]
        assert history[2]["error_type"] == "ResultTooLarge"
        assert str(WHOLE) in history[2]["error_message"]

    asyncio.run(main())


def test_a_result_that_the_server_refuses(server: Server, person: Person) -> None:
    async def main() -> None:
        async with hosting(server, Agent(name="digger", model=NEVER_CALLED, tools=[dig, add])):
            session = await start(person, "digger", query={"text": "dig"})
            await person.answer(session, calls=[call("add", a=1, b=1), call("dig", depth=105), call("dig", depth=150)])
            cue = await person.answer(session, text="too deep")
            small, *deep = responses(cue)
            assert small == {"result": 2}
            assert [each["error"]["type"] for each in deep] == ["ResultRefused"] * 2
            assert "nested" in deep[0]["error"]["message"]
            assert await final(person, session) == ["too deep"]
            told = errors_of(await person.history(session))
            assert [each["error_type"] for each in told] == ["ResultRefused"] * 2

    asyncio.run(main())
