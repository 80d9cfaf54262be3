"""A session with an agent of this process: what its function is given."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from rehearsal.errors import RehearsalError

Json = dict[str, Any]


class ToolFailed(RehearsalError):
    """A tool answered with an error. The agent may try again or do without.

    Attributes:
        tool: The tool.
        type: The kind of error, such as `InvalidArguments` or the code that a mock names.
        message: What went wrong.
        violations: Where arguments break the tool's schema: each with a `path` and a `message`.
    """

    def __init__(self, tool: str, error: Json) -> None:
        self.tool = tool
        self.type = str(error.get("type", ""))
        self.message = str(error.get("message", ""))
        self.violations: list[Json] = list(error.get("violations") or [])
        super().__init__(f"{tool} failed ({self.type}): {self.message}")


class SessionOver(RehearsalError):
    """The session ended while the agent was still at work: nobody waits for what it does any more."""


class Lines(Protocol):
    """What takes the lines of a session."""

    def send(self, line: bytes) -> None:
        """Sends a line."""
        ...


class Conversation:
    """What both kinds of sessions know and do.

    Attributes:
        id: The session's id.
        scenario: The scenario's name.
        turn: The number of the user's message, from 1.
        tools: The agent's tools: for each a `name`, a `description` and `parameters`, which are a JSON Schema.
        plugins: What the scenario's `plugins` hand over.
        context: What the scenario wants the agent to know.
        history: What was said before: for each a `role` (`user` or `assistant`) and a `text`.
        memory: Whatever the agent wants to keep from turn to turn.
    """

    def __init__(self, start: Json, lines: Lines) -> None:
        self.id = str(start.get("session", ""))
        self.scenario = str(start.get("scenario") or "")
        self.turn = 0
        self.tools: list[Json] = list(start.get("tools") or [])
        self.plugins: list[Json] = list(start.get("plugins") or [])
        self.context: Any = start.get("context")
        self.history: list[Json] = []
        self.memory: Json = {}
        self._lines = lines
        self._mutex = threading.Lock()
        self._calls = 0
        self._open: dict[str, tuple[str, Future[Any]]] = {}
        self._usage: dict[str, int] = {}
        self._over = False

    def say(self, text: str) -> None:
        """Says something to the user before the final answer."""
        self._send({"type": "message", "text": text})

    def log(self, text: str) -> None:
        """Keeps something with the session, which nobody answers."""
        self._send({"type": "log", "text": text})

    def count_tokens(self, read: int, written: int) -> None:
        """Adds to the tokens that this turn took."""
        self._usage["input"] = self._usage.get("input", 0) + read
        self._usage["output"] = self._usage.get("output", 0) + written

    def _ask(self, tool: str, args: Mapping[str, Any]) -> Future[Any]:
        answer: Future[Any] = Future()
        with self._mutex:
            if self._over:
                raise SessionOver("the session is over")
            self._calls += 1
            call = str(self._calls)
            self._open[call] = (tool, answer)
        self._send({"type": "tool_call", "id": call, "tool": tool, "args": dict(args)})
        return answer

    def _send(self, message: Json) -> None:
        self._lines.send((json.dumps(message, ensure_ascii=False, allow_nan=False) + "\n").encode())

    def _take_result(self, message: Json) -> None:
        with self._mutex:
            tool, answer = self._open.pop(str(message["id"]))
        if "error" in message:
            answer.set_exception(ToolFailed(tool, message["error"]))
        else:
            answer.set_result(message.get("output"))

    def _take_usage(self) -> dict[str, int]:
        usage, self._usage = self._usage, {}
        return usage

    def _end(self) -> None:
        with self._mutex:
            self._over = True
            waiting = list(self._open.values())
            self._open.clear()
        for _, answer in waiting:
            if not answer.done():
                answer.set_exception(SessionOver("the session ended before the tool answered"))


class Session(Conversation):
    """A session, as a plain function is given it."""

    def call(self, tool: str, /, **args: Any) -> Any:
        """Calls a tool: the scenario's mocks or its world answer.

        Raises:
            ToolFailed: The tool answered with an error.
            SessionOver: The session ended before that.
        """
        return self._ask(tool, args).result()


class AsyncSession(Conversation):
    """A session, as an `async` function is given it."""

    async def call(self, tool: str, /, **args: Any) -> Any:
        """Calls a tool: the scenario's mocks or its world answer.

        Raises:
            ToolFailed: The tool answered with an error.
            SessionOver: The session ended before that.
        """
        return await asyncio.wrap_future(self._ask(tool, args))
