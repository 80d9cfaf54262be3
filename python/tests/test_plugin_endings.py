"""Sessions, runs and calls that end before the program does."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from google.adk.agents import Agent
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from rehearsal import RehearsalPlugin, SessionEnded
from tests.hosting import final, hosting, running_call, start
from tests.stage import (
    NEVER_CALLED,
    Conversation,
    Json,
    Person,
    Server,
    bodies,
    call,
    eventually,
    failures,
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


async def forever() -> str:
    """Waits."""
    await asyncio.Event().wait()
    return "never"


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def ended(person: Person, session: str) -> list[Json]:
    """Waits until no call of a session is open and its run has failed, and gives why."""

    async def look() -> list[Json]:
        told: Json = await person.call("GET", f"/v1/sessions/{session}")
        return failures(await person.events(session)) if not told["waiting_calls"] else []

    return list(await eventually(look, "end of the run"))


def test_a_run_that_is_cancelled_while_a_tool_runs(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        conversation = Conversation(Agent(name="waiter", model=NEVER_CALLED, tools=[forever]), plugin)
        run = asyncio.ensure_future(conversation.say("go"))
        session = (await person.answer(calls=[call("forever")]))["session"]
        await running_call(person, session)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert [error["type"] for error in await ended(person, session)] == ["Cancelled"]
        assert final_text(await playing(conversation.say("second"), person.answer(session, text="fine"))) == "fine"
        history = await person.history(session)
        assert kinds(history) == ["user_query", "tool_call", "tool_error", "run_failed", "user_query", "final_response"]
        assert history[2]["error_type"] == "Cancelled"
        assert len(failures(await person.events(session))) == 1

    asyncio.run(main())


def test_a_program_that_stops_listening(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        runner = Conversation(Agent(name="counter", model=NEVER_CALLED, tools=[add]), plugin).runner
        made = await runner.session_service.create_session(app_name="tests", user_id="u")

        async def first_event(text: str) -> None:
            message = types.UserContent(text)
            async for _ in runner.run_async(user_id="u", session_id=made.id, new_message=message):
                break

        # After the final response that is an end like any other.
        await playing(first_event("one"), person.answer(text="bye"))
        await playing(first_event("two"), person.answer(calls=[call("add", a=1, b=1)]))
        await playing(first_event("three"), person.answer(text="bye"))
        session = await person.only_session()
        assert [error["type"] for error in await ended(person, session)] == ["Cancelled"]
        history = await person.history(session)
        assert kinds(history)[:5] == ["user_query", "final_response", "user_query", "tool_call", "tool_error"]
        assert history[4]["error_type"] == "Cancelled"

    asyncio.run(main())


def test_an_agent_as_a_tool_is_cancelled_with_all_that_is_inside(server: Server, person: Person) -> None:
    async def main() -> None:
        inner = Agent(name="inner", model=NEVER_CALLED, description="digs", tools=[forever])
        root = Agent(name="root", model=NEVER_CALLED, tools=[AgentTool(inner)])
        async with hosting(server, root):
            session = await start(person, "root", query={"text": "go"})
            await person.answer(session, calls=[call("inner", request="x")])
            await person.answer(session, calls=[call("forever"), call("forever")])

            async def three() -> list[Json]:
                told: Json = await person.call("GET", f"/v1/sessions/{session}")
                return told["waiting_calls"] if len(told["waiting_calls"]) == 3 else []

            outer = next(each for each in await eventually(three, "three calls") if each["tool"] == "inner")
            await person.call("POST", f"/v1/sessions/{session}/calls/{outer['call_id']}/cancel", {})
            await person.answer(session, text="done")
            assert await final(person, session) == ["done"]
            ledger = await person.events(session)
            outcomes = [(body["tool"], body["outcome"]["error"]["type"]) for body in bodies(ledger, "tool_result")]
            assert sorted(outcomes) == [("forever", "Cancelled"), ("forever", "Cancelled"), ("inner", "Cancelled")]
            inside = [event for event in ledger if outer["call_id"] in str(event.get("invocation"))]
            assert len(bodies(inside, "agent_ended")) == 1
            assert failures(ledger) == []

    asyncio.run(main())


def test_plugins_behind_this_one_have_their_say(plugin: RehearsalPlugin, person: Person) -> None:
    class Other(BasePlugin):
        seen: list[str]

        async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
            self.seen.append("before")
            llm_request.append_instructions(["Be brief."])

        async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
            self.seen.append("after")

    async def main() -> None:
        other = Other(name="other")
        other.seen = []
        cues: list[Json] = []

        async def play() -> None:
            cues.append(await person.answer(text="hello"))

        await playing(Conversation(Agent(name="talker", model=NEVER_CALLED), plugin, other).say("hi"), play())
        assert other.seen == ["before", "after"]
        assert "Be brief." in cues[0]["request"]["system"]

    asyncio.run(main())
