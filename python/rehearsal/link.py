"""One conversation of an agent and the Rehearsal session it is written to."""

from __future__ import annotations

import asyncio
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rehearsal.client import Client
from rehearsal.errors import RehearsalError, ServerRefused
from rehearsal.outbox import Observation, Outbox
from rehearsal.request import fitting
from rehearsal.values import json_bytes, jsonable, new_id

_POLL_SECONDS = 25.0
_EMPTY_POLL_PAUSE = 0.2

Path = tuple[str, ...]


@dataclass
class Call:
    """One call of a tool, from the model's wish to the result that the runtime recorded."""

    call_id: str
    tool: str
    agent: str
    path: Path
    invocation: str
    asked: float = field(default_factory=time.monotonic)
    started: float | None = None
    ended: float | None = None
    error: dict[str, Any] | None = None
    returned: bytes | None = None
    actions: Any = None
    told: bool = False
    open: bool = True
    answered: bool = False
    late: tuple[bytes | None, dict[str, Any] | None] | None = None

    @property
    def duration_ms(self) -> int:
        """How long the tool ran, in whole milliseconds."""
        begun = self.started if self.started is not None else self.asked
        return max(0, round(((self.ended or time.monotonic()) - begun) * 1000))


@dataclass
class Run:
    """One message and what the agent makes of it."""

    agent: str
    path: Path
    final_text: str | None = None
    final_author: str | None = None
    turns: dict[tuple[str, str | None], str] = field(default_factory=dict[tuple[str, str | None], str])
    recorded: set[str] = field(default_factory=set[str])
    paths: dict[str | None, Path] = field(default_factory=dict["str | None", Path])


class Link:
    """A Rehearsal session as an agent's process sees it."""

    def __init__(self, client: Client, session: str, opening: dict[str, Any] | None, *, join: bool) -> None:
        """Makes a link; nothing is sent before there is something to say.

        Args:
            client: The way to the server.
            session: The session's id.
            opening: What to create the session with; `None` when somebody else has created it.
            join: Whether the session may exist already, with other people's words on it.
        """
        self.session = session
        self.calls: dict[str, Call] = {}
        self.runs: dict[str, Run] = {}
        self._client = client
        self._farewells: set[asyncio.Task[None]] = set()
        self._is_ours = opening is not None and not join
        self._opening = opening
        self._join = join
        self.outbox = Outbox(client, session, self._open if opening is not None else None)

    async def _open(self) -> None:
        if self._join:
            try:
                await self._client.send("GET", f"/v1/sessions/{self.session}")
            except ServerRefused as refused:
                if refused.status != 404:
                    raise
            else:
                return
        await self._client.send("POST", "/v1/sessions", body=json_bytes({"id": self.session, **(self._opening or {})}))

    def tell(self, kind: str, agent: str, path: Path, **fields: Any) -> None:
        """Writes down that something happened."""
        self.outbox.add_observation(_observation(kind, agent, path, fields))

    def tell_result(self, call: Call, output: bytes | None, *, state_delta: dict[str, Any] | None = None) -> None:
        """Writes down a call's result. A second one for the same call (after a confirmation) is a late one."""
        if not call.told:
            self._make_up(call)
        late = call.answered
        fields: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool, "duration_ms": call.duration_ms}
        if call.error is not None:
            fields["error"] = call.error
        if late:
            fields["late"] = True
        elif state_delta:
            fields["state_delta"] = state_delta
        call.answered, call.open = True, False
        observation = _observation("tool_result", call.agent, call.path, fields)
        observation.output = output
        self.outbox.add_observation(observation)
        if late and state_delta:
            # A late result is a note on the ledger and changes no state.
            self.tell("state_change", call.agent, call.path, state_delta=state_delta)
        # Results may be large, and calls are remembered for as long as the conversation.
        call.returned = call.actions = None
        if call.late is not None:
            (output, error), call.late = call.late, None
            self._tell_late(call, output, error)

    def _make_up(self, call: Call) -> None:
        """Makes up for a call that was not told here: a tool that was confirmed after the program was restarted."""
        call.told = True
        if self._is_ours:
            self.tell("tool_call", call.agent, call.path, call_id=call.call_id, tool=call.tool, args={})
        else:
            call.answered = True  # the call may be on the ledger that others began: its result is one more

    def tell_late(self, call: Call, output: bytes | None, error: dict[str, Any] | None) -> None:
        """Writes down what a tool gave after all, once somebody had stopped waiting for it.

        The result that the runtime records may come later still, with those of the calls beside it. It comes
        first on the ledger.
        """
        if call.answered:
            self._tell_late(call, output, error)
        else:
            call.late = (output, error)

    def _tell_late(self, call: Call, output: bytes | None, error: dict[str, Any] | None) -> None:
        call.ended, call.error = time.monotonic(), error
        self.tell_result(call, output)

    async def ask(self, turn: str, agent: str, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        """Asks for a model turn and waits for the answer, for as long as it takes.

        Raises:
            CueDismissed: Somebody put the cue away.
            SessionEnded: The session was completed or cancelled.
        """
        try:
            return await self._ask(turn, agent, path, request)
        except asyncio.CancelledError:
            # Nobody will hear an answer, and the cue would hold up the others until it counts as abandoned.
            task = asyncio.get_running_loop().create_task(self._dismiss(turn))
            self._farewells.add(task)
            task.add_done_callback(self._farewells.discard)
            raise

    async def farewells(self) -> None:
        """Waits until the cues are put away that nobody waits for any more."""
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(task for task in self._farewells if task.get_loop() is loop))

    async def _dismiss(self, turn: str) -> None:
        with suppress(RehearsalError):
            await self._client.send("POST", f"/v1/cues/{turn}/dismiss", body=b"{}")

    async def _ask(self, turn: str, agent: str, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        await self.put_turn(turn, agent, path, request, recorded=False)
        where = f"/v1/sessions/{self.session}/turns/{turn}/response"
        while True:
            asked = time.monotonic()
            answer = await self._client.send("GET", where, wait=_POLL_SECONDS)
            if answer.status_code != 204:
                return answer.json()["response"]
            if time.monotonic() - asked < _EMPTY_POLL_PAUSE:
                await asyncio.sleep(_EMPTY_POLL_PAUSE)

    async def put_turn(self, turn: str, agent: str, path: Path, request: dict[str, Any], *, recorded: bool) -> None:
        """Puts a model turn on the session, after everything that happened before it."""
        await self.outbox.flush()
        body: dict[str, Any] = {"agent": agent, "request": request}
        if path:
            body["path"] = list(path)
        if recorded:
            body["recorded"] = True
        await self._client.send("PUT", f"/v1/sessions/{self.session}/turns/{turn}", body=fitting(body))

    async def complete(self) -> None:
        """Ends the session as a completed one."""
        await self.outbox.flush()
        await self._client.send("POST", f"/v1/sessions/{self.session}/complete", body=b"{}")


def describe_error(error: BaseException, plugin: str) -> dict[str, Any]:
    """Gives an exception as the server reads it.

    What came through the plugin of this name, its own errors and those of the agent's callbacks that it called,
    ADK has wrapped as an error of the plugin. That is taken off.
    """
    while isinstance(error, RuntimeError) and str(error).startswith(f"Error in plugin '{plugin}' "):
        if error.__cause__ is None:
            break
        error = error.__cause__
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"type": type(error).__name__, "message": str(error), "traceback": text}


def _observation(kind: str, agent: str, path: Path, fields: dict[str, Any]) -> Observation:
    told: dict[str, Any] = {"type": kind, "agent": agent}
    if path:
        told["path"] = list(path)
    # Values are written down now: what the agent does to them later is not part of this fact.
    told.update(jsonable(fields))
    return Observation(told)


def new_turn() -> str:
    """Makes the id of a model turn."""
    return new_id()
