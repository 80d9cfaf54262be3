"""What a host offers while something of it cannot be told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.tools.function_tool import FunctionTool

from tests.hosting import hosting
from tests.stage import NEVER_CALLED, Json, Person, Server, eventually


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def other() -> str:
    """Does something else."""
    return "x"


class Remote(BaseToolset):
    """Tools of a server that is down at first."""

    is_down = True

    async def get_tools(self, readonly_context: Any = None) -> list[BaseTool]:
        if self.is_down:
            raise ConnectionError("the tools' server is down")
        return [FunctionTool(add)]

    async def close(self) -> None:
        return


class Broken(FunctionTool):
    """A tool that cannot say what it is."""

    async def process_llm_request(self, *, tool_context: Any, llm_request: Any) -> None:
        raise ValueError("no schema for this")


def test_what_fails_takes_nothing_else_with_it_and_is_offered_later(
    server: Server, person: Person, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rehearsal.simulator._LIFE_SECONDS", 0.05)
    remote = Remote()

    async def offered() -> list[str]:
        told: Json = await person.call("GET", "/v1/agents/z")
        return [tool["name"] for tool in told["tools"]]

    async def main() -> None:
        tools: list[Any] = [remote, Broken(add), other]
        async with hosting(server, Agent(name="z", model=NEVER_CALLED, tools=tools)):
            assert await offered() == ["other"]
            remote.is_down = False

            async def is_back() -> bool:
                return await offered() == ["add", "other"]

            await eventually(is_back, "tool that is back")

    asyncio.run(main())
    # It is said once, however often it is tried.
    assert caplog.text.count("the tools' server is down") == 1
    assert caplog.text.count("no schema for this") == 1
