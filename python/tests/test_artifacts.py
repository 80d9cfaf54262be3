"""The artifacts that an agent saves, on the ledger of its session."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.agents.callback_context import CallbackContext
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from rehearsal import RehearsalPlugin
from tests.stage import NEVER_CALLED, Conversation, Json, Person, call, playing

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


async def draw(name: str, tool_context: ToolContext) -> str:
    """Saves a picture."""
    version = await tool_context.save_artifact(name, types.Part.from_bytes(data=PNG, mime_type="image/png"))
    return f"version {version}"


async def write_down(name: str, text: str, tool_context: ToolContext) -> str:
    """Saves a text."""
    await tool_context.save_artifact(name, types.Part(text=text))
    return "kept"


async def film(tool_context: ToolContext) -> str:
    """Saves more than a ledger keeps."""
    reel = types.Part.from_bytes(data=b"x" * (2 << 20), mime_type="video/mp4")
    await tool_context.save_artifact("film.mp4", reel)
    return "kept"


async def draw_and_fail(tool_context: ToolContext) -> str:
    """Saves a picture and fails."""
    await draw("half.png", tool_context)
    raise OSError("the pencil broke")


def painter(**more: Any) -> Agent:
    tools: list[Any] = [draw, write_down, film, draw_and_fail, *more.pop("tools", [])]
    return Agent(name="painter", model=NEVER_CALLED, instruction="Paint.", tools=tools, **more)


async def artifacts(person: Person) -> list[Json]:
    """Gives what the ledger says of artifacts."""
    bodies = [event["body"] for event in await person.events()]
    return [body for body in bodies if body["type"] == "artifact_saved"]


def test_artifacts_of_tools_are_on_the_ledger_with_what_is_small(server: Any, person: Person) -> None:
    async def main() -> None:
        conversation = Conversation(painter(), RehearsalPlugin(server.url, token=server.token))
        await playing(
            conversation.say("paint"),
            person.answer(calls=[call("draw", name="a.png"), call("write_down", name="user:memo", text="so")]),
            person.answer(calls=[call("draw", name="a.png")]),
            person.answer(calls=[call("film")]),
            person.answer(text="done"),
        )
        first, memo, second, reel = await artifacts(person)
        assert (first["name"], first["version"], first["mime_type"]) == ("a.png", 0, "image/png")
        data = first["part"]["inline_data"]
        assert data["mime_type"] == "image/png"
        assert base64.urlsafe_b64decode(data["data"]) == PNG
        assert first["size"] == len(PNG)
        assert (memo["name"], memo["version"], memo["part"], memo["size"]) == ("user:memo", 0, {"text": "so"}, 2)
        assert (second["name"], second["version"]) == ("a.png", 1)
        assert (reel["name"], reel["mime_type"], reel["size"]) == ("film.mp4", "video/mp4", 2 << 20)
        assert "part" not in reel
        assert "at most 1048576 bytes" in reel["left_out"]

        bodies = [event["body"] for event in await person.events()]
        tools = {body["call"]: body["tool"] for body in bodies if body["type"] == "tool_call"}
        assert [tools[each["call"]] for each in (first, memo, second, reel)] == ["draw", "write_down", "draw", "film"]
        history = await person.history()
        assert [entry["type"] for entry in history].count("tool_output") == 4

    asyncio.run(main())


def test_an_artifact_of_an_agent_that_is_a_tool_is_told_once(server: Any, person: Person) -> None:
    async def main() -> None:
        helper = Agent(name="helper", model=NEVER_CALLED, instruction="Help.", tools=[draw])
        conversation = Conversation(painter(tools=[AgentTool(helper)]), RehearsalPlugin(server.url, token=server.token))
        await playing(
            conversation.say("paint"),
            person.answer(calls=[call("helper", request="draw it")]),
            person.answer(calls=[call("draw", name="b.png")]),
            person.answer(text="drawn"),
            person.answer(text="done"),
        )
        (told,) = await artifacts(person)
        assert (told["name"], told["version"], told["size"]) == ("b.png", 0, len(PNG))

    asyncio.run(main())


def test_an_artifact_of_a_callback_or_of_a_tool_that_fails_is_told(server: Any, person: Person) -> None:
    async def sign(callback_context: CallbackContext) -> None:
        await callback_context.save_artifact("signature.txt", types.Part(text="p."))
        # Until 2.0, ADK has no event for a callback that changes no state.
        callback_context.state["signed"] = True

    async def main() -> None:
        agent = painter(after_agent_callback=sign)
        conversation = Conversation(agent, RehearsalPlugin(server.url, token=server.token))
        with pytest.raises(OSError, match="pencil"):
            await playing(conversation.say("paint"), person.answer(calls=[call("draw_and_fail")]))
        (half,) = await artifacts(person)
        assert (half["name"], half["part"]["inline_data"]["mime_type"]) == ("half.png", "image/png")

        await playing(conversation.say("again"), person.answer(text="done"))
        signed = (await artifacts(person))[-1]
        assert (signed["name"], signed["part"]) == ("signature.txt", {"text": "p."})
        assert "call" not in signed

    asyncio.run(main())
