"""Tools that are left alone while they run."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

import pytest
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext

from rehearsal.racing import Key, Race
from tests.stage import eventually


class Context:
    """As much of a tool's context as a function tool looks at."""

    function_call_id = "c"


def test_a_synchronous_tool_whose_caller_is_cancelled_runs_on() -> None:
    """As one does inside an agent that is a tool, and is cancelled itself."""
    begun, release = threading.Event(), threading.Event()

    def block() -> str:
        begun.set()
        release.wait()
        return "late but real"

    async def main() -> None:
        told: list[tuple[Key, Any]] = []
        race = Race(lambda: "s", lambda key, work: told.append((key, work.result())))
        tool = FunctionTool(block)
        race.wrap(tool)
        running = asyncio.ensure_future(tool.run_async(args={}, tool_context=cast("ToolContext", Context())))
        await asyncio.to_thread(begun.wait)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (race.left, told) == (["block"], [])
        release.set()

        async def late() -> bool:
            return bool(told)

        await eventually(late, "late result")
        assert (race.left, told) == ([], [(("s", "c"), "late but real")])

    try:
        asyncio.run(main())
    finally:
        release.set()
