"""Sessions, runs and calls that end before the program does."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from google.adk.agents import Agent
from google.adk.tools.tool_context import ToolContext

from rehearsal import RehearsalPlugin, SessionEnded
from tests.stage import (
    NEVER_CALLED,
    Conversation,
    Person,
    Server,
    bodies,
    call,
    final_text,
    kinds,
    playing,
    state_of,
)


def remember(key: str, value: str, tool_context: ToolContext) -> str:
    """Writes into the state."""
    tool_context.state[key] = value
    return "kept"


@pytest.mark.parametrize("complete", ["after_run", "never"])
def test_a_conversation_goes_on_after_its_session(
    server: Server, person: Person, complete: Literal["after_run", "never"]
) -> None:
    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, complete=complete)
        conversation = Conversation(Agent(name="talker", model=NEVER_CALLED, tools=[remember]), plugin)
        await playing(
            conversation.say("hi"),
            person.answer(calls=[call("remember", key="name", value="Ada")]),
            person.answer(text="hello"),
        )
        first = await person.only_session()
        if complete == "never":
            await person.call("POST", f"/v1/sessions/{first}/complete", {})
        for text in ("again", "and again"):
            events = await playing(conversation.say(text), person.answer(text=f"{text}: yes"))
            assert final_text(events) == f"{text}: yes"
        others = [session["id"] for session in await person.sessions() if session["id"] != first]
        assert len(others) == (2 if complete == "after_run" else 1)
        assert kinds(await person.history(first)) == ["user_query", "tool_call", "tool_output", "final_response"]
        for other in others:
            history = await person.history(other)
            assert kinds(history) == ["user_query", "final_response"] * (1 if complete == "after_run" else 2)
            assert state_of(await person.events(other)) == {"session": {"name": "Ada"}}

    asyncio.run(main())


def test_a_session_that_the_program_named_stays_the_one(server: Server, person: Person) -> None:
    session = "11111111-2222-4333-8444-555555555555"

    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, session=session)
        conversation = Conversation(Agent(name="talker", model=NEVER_CALLED), plugin)
        await playing(conversation.say("hi"), person.answer(text="hello"))
        await person.call("POST", f"/v1/sessions/{session}/complete", {})
        with pytest.raises(RuntimeError) as raised:
            await conversation.say("again")
        assert isinstance(raised.value.__cause__, SessionEnded)

    asyncio.run(main())


def test_two_conversations_that_begin_one_session_together(server: Server, person: Person) -> None:
    session = "11111111-2222-4333-8444-555555555555"

    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, session=session)
        left, right = (
            Conversation(Agent(name=name, model=NEVER_CALLED), plugin, state={"of": name}) for name in ("left", "right")
        )

        async def play() -> None:
            for _ in range(2):
                await person.answer(session, text="yes")

        both = await playing(asyncio.gather(left.say("x"), right.say("y")), play())
        assert [final_text(events) for events in both] == ["yes", "yes"]
        assert len(bodies(await person.events(session), "user_message")) == 2

    asyncio.run(main())


class Wordless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_an_exception_without_words(server: Server, person: Person) -> None:
    def weird() -> str:
        """Raises."""
        raise Wordless

    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, tool_errors="return")
        agent = Agent(name="weird", model=NEVER_CALLED, tools=[weird])
        events = await playing(
            Conversation(agent, plugin).say("go"), person.answer(calls=[call("weird")]), person.answer(text="odd")
        )
        assert final_text(events) == "odd"
        error = next(entry for entry in await person.history() if entry["type"] == "tool_error")
        assert error["error_type"] == "Wordless"
        assert "cannot be read" in error["error_message"]

    asyncio.run(main())
