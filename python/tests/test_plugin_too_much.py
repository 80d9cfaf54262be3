"""Facts that are more than the server takes: they are recorded in parts, and the run goes on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from rehearsal import RehearsalPlugin
from rehearsal.address import resolve_address
from rehearsal.client import Client
from rehearsal.link import Link
from tests.stage import (
    NEVER_CALLED,
    Conversation,
    Json,
    Person,
    Server,
    bodies,
    call,
    final_text,
    kinds,
    playing,
    state_of,
)


def boxes(depth: int) -> Json:
    box: Json = {}
    for _ in range(depth):
        box = {"box": box}
    return box


def dig(depth: int, tool_context: ToolContext) -> Json:
    """Gives boxes in boxes, and keeps them."""
    tool_context.state["kept"] = boxes(depth)
    return boxes(depth)


@pytest.mark.parametrize("depth", [95, 150, 300])
def test_a_deep_result_in_the_next_turn(plugin: RehearsalPlugin, person: Person, depth: int) -> None:
    async def main() -> None:
        cues: list[Json] = []

        async def play() -> None:
            await person.answer(calls=[call("dig", depth=depth)])
            cues.append(await person.answer(text="deep"))

        agent = Agent(name="digger", model=NEVER_CALLED, tools=[dig])
        assert final_text(await playing(Conversation(agent, plugin).say("dig"), play())) == "deep"
        assert "nested too deep" in json.dumps(cues[0]["request"]["contents"][-1])
        assert kinds(await person.history())[-1] == "final_response"

    asyncio.run(main())


def test_a_large_message(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        file = types.Blob(mime_type="application/pdf", data=b"x" * 26_000_000)
        message = types.Content(role="user", parts=[types.Part(inline_data=file), types.Part(text="read")])
        cues: list[Json] = []

        async def play() -> None:
            cues.append(await person.answer(text="much"))

        agent = Agent(name="reader", model=NEVER_CALLED)
        assert final_text(await playing(Conversation(agent, plugin).say(message), play())) == "much"
        shown = [{"text": "[not shown: application/pdf, 26000000 bytes]"}, {"text": "read"}]
        assert cues[0]["request"]["contents"][-1]["parts"] == shown
        assert bodies(await person.events(), "user_message")[0]["content"]["parts"] == shown

    asyncio.run(main())


def test_every_kind_of_fact(server: Server, person: Person) -> None:
    much: Any = {"name": "Ada", "large": "x" * 34_000_000, "deep": boxes(120)}

    async def main() -> None:
        session = str((await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"])
        link = Link(Client(resolve_address(server.url, server.token)), session, None, join=False)
        link.tell("user_message", "a", (), content={"role": "user", "parts": [{"text": much["large"]}]})
        link.tell("tool_call", "a", (), call_id="c", tool="t", args=much)
        link.tell("state_change", "a", (), state_delta=much)
        link.tell("agent_ended", "a", (), output=much["large"])
        error = {"type": "E", "message": much["large"], "traceback": much["large"]}
        link.tell("run_failed", "a", (), error=error)
        # What contradicts the ledger is left out, and what comes behind it is told.
        link.tell("tool_call", "a", (), call_id="c", tool="t", args={})
        link.tell("state_change", "a", (), state_delta={"last": True})
        await link.outbox.flush()
        ledger = await person.events(session)
        message, made = bodies(ledger, "user_message")[0], bodies(ledger, "tool_call")
        assert message["content"]["parts"][0]["text"].endswith("[… 34000000 bytes in all]")
        assert [(body["call"], body["args"]["name"]) for body in made] == [("c", "Ada")]
        assert made[0]["args"]["large"].endswith("[… 34000000 bytes in all]")
        assert "nested too deep" in json.dumps(made[0]["args"]["deep"])
        state = state_of(ledger)["session"]
        assert (state["name"], state["last"], len(state["large"]) < 5000) == ("Ada", True, True)
        assert bodies(ledger, "agent_ended")[0]["output"].endswith("[… 34000000 bytes in all]")
        failed = bodies(ledger, "run_failed")[0]
        assert failed["error"]["message"].endswith("[… 34000000 bytes in all]")

    asyncio.run(main())
