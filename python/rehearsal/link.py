"""One conversation of an agent and the Rehearsal session it is written to."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rehearsal.client import Client
from rehearsal.errors import RehearsalError, ServerRefused, SessionEnded, ToolExit
from rehearsal.outbox import Observation, Outbox
from rehearsal.request import cut, fitting, shallow
from rehearsal.values import json_bytes, jsonable, new_id

_POLL_SECONDS = 25.0
_EMPTY_POLL_PAUSE = 0.2
# How the server refuses what is too large or nested too deep.
_TOO_MUCH = ("too_large", "invalid_body", "refused")

Path = tuple[str, ...]

log = logging.getLogger("rehearsal")


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
    is_lasting: bool = False
    answered: bool = False
    late: tuple[bytes | None, dict[str, Any] | None] | None = None

    @property
    def duration_ms(self) -> int:
        """How long the tool ran, in whole milliseconds."""
        begun = self.started if self.started is not None else self.asked
        return max(0, round(((self.ended or time.monotonic()) - begun) * 1000))


@dataclass
class Turn:
    """One model turn of a run; of one that is only recorded, also what is not told yet.

    Attributes:
        request: What the model was asked, until that is told: callbacks may still change it.
        parts: What the model has answered so far; it may answer in several responses.
    """

    turn_id: str
    path: Path
    request: Any = None
    parts: list[Any] | None = None


@dataclass
class Run:
    """One message and what the agent makes of it."""

    agent: str
    path: Path
    driver: asyncio.Task[Any] | None = None
    final_text: str | None = None
    final_author: str | None = None
    turns: dict[tuple[str, str | None], Turn] = field(default_factory=dict[tuple[str, str | None], Turn])
    paths: dict[str | None, Path] = field(default_factory=dict["str | None", Path])


class Link:
    """A Rehearsal session as an agent's process sees it."""

    def __init__(
        self,
        client: Client,
        session: str,
        opening: dict[str, Any] | None,
        *,
        join: bool,
        ended: Callable[[str], None] | None = None,
        opened: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Makes a link; nothing is sent before there is something to say.

        Args:
            client: The way to the server.
            session: The session's id.
            opening: What to create the session with; `None` when somebody else has created it.
            join: Whether the session may exist already, with other people's words on it.
            ended: Is told the session's id when the server says that it is over.
            opened: Is told the session's id when the session is there, before anything is written to it.
        """
        self.session = session
        self.calls: dict[str, Call] = {}
        self.runs: dict[str, Run] = {}
        self.artifacts: set[tuple[str, int]] = set()
        self.has_spoken = False
        self._names: dict[str, list[str]] = {}
        self._client = client
        self._farewells: set[asyncio.Task[None]] = set()
        self._is_ours = opening is not None and not join
        self._opening = opening
        self._join = join
        self._has_said_waiting = False
        self._ended = ended
        self._opened = opened
        self.outbox = Outbox(client, session, self._open if opening is not None else None, self._tell_ended)

    def _tell_ended(self) -> None:
        if self._ended is not None:
            self._ended(self.session)

    async def _open(self) -> None:
        await self._make()
        if self._opened is not None:
            await self._opened(self.session)

    async def _make(self) -> None:
        if self._join:
            try:
                await self._client.send("GET", f"/v1/sessions/{self.session}")
            except ServerRefused as refused:
                if refused.status != 404:
                    raise
            else:
                return
        opening = json_bytes({"id": self.session, **(self._opening or {})})
        try:
            await self._client.send("POST", "/v1/sessions", body=opening)
        except ServerRefused as refused:
            # Another one that joins it was faster.
            if not (self._join and refused.kind == "exists"):
                raise

    def call(self, runtime_id: str | None, invocation: str) -> Call | None:
        """Finds a call by the id that the runtime has for it.

        A model that plays itself may give one id to many calls, in one turn after another or inside of each
        other. The last of this run that has no result is meant then.
        """
        names = self._names.get(runtime_id or "", [runtime_id or ""])
        found = [self.calls[name] for name in reversed(names) if name in self.calls]
        return max(found, key=lambda call: (call.invocation == invocation, call.open), default=None)

    def add_call(self, runtime_id: str, tool: str, agent: str, path: Path, invocation: str) -> Call:
        """Remembers a call, under another name where its id is taken: the ledger has one call of a name."""
        names = self._names.setdefault(runtime_id, [runtime_id] if runtime_id in self.calls else [])
        name, count = runtime_id, len(names) + 1
        while name in self.calls:
            name, count = f"{runtime_id}~{count}", count + 1
        names.append(name)
        call = self.calls[name] = Call(name, tool, agent, path, invocation)
        return call

    def tell(self, kind: str, agent: str, path: Path, **fields: Any) -> None:
        """Writes down that something happened."""
        self.outbox.add_observation(_observation(kind, agent, path, fields))

    def tell_result(
        self, call: Call, output: bytes | None, *, state_delta: dict[str, Any] | None = None, late: bool = False
    ) -> Observation:
        """Writes down a call's result.

        Args:
            call: The call.
            output: What the runtime recorded, as JSON.
            state_delta: The state that it changed.
            late: Whether nobody waited for it any more. One more result that somebody waited for (that of a
                tool which was confirmed and ran again) is told as such.
        """
        if not call.told:
            self._make_up(call)
        fields: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool, "duration_ms": call.duration_ms}
        if call.error is not None:
            fields["error"] = call.error
        if state_delta:
            fields["state_delta"] = state_delta
        if late:
            fields["late"] = True
        elif call.answered:
            fields["again"] = True
        call.answered, call.open = True, False
        observation = _observation("tool_result", call.agent, call.path, fields)
        observation.output, observation.otherwise = output, _other_result
        self.outbox.add_observation(observation)
        # Results may be large, and calls are remembered for as long as the conversation.
        call.returned = call.actions = None
        if call.late is not None:
            (output, error), call.late = call.late, None
            self._tell_late(call, output, error)
        return observation

    def tell_answer(self, call: Call, output: bytes) -> None:
        """Writes down the result that the user gave; a server that read it in the user's message has it."""
        self.tell_result(call, output).otherwise = _other_answer

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
        self.tell_result(call, output, late=True)

    async def ask(self, turn: str, agent: str, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        """Asks for a model turn and waits for the answer, for as long as it takes.

        Raises:
            CueDismissed: Somebody put the cue away.
            SessionEnded: The session was completed or cancelled.
        """
        try:
            return await self._ask(turn, agent, path, request)
        except SessionEnded:
            self._tell_ended()
            raise
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
        self._say_waiting(agent)
        where = f"/v1/sessions/{self.session}/turns/{turn}/response"
        while True:
            asked = time.monotonic()
            answer = await self._client.send("GET", where, wait=_POLL_SECONDS)
            if answer.status_code != 204:
                return answer.json()["response"]
            if time.monotonic() - asked < _EMPTY_POLL_PAUSE:
                await asyncio.sleep(_EMPTY_POLL_PAUSE)

    def _say_waiting(self, agent: str) -> None:
        """Says once that the program waits, and where; a session that others have opened is theirs to show."""
        if self._opening is None or self._has_said_waiting:
            return
        self._has_said_waiting = True
        log.warning("%s waits for a person: %s/sessions/%s", agent, self._client.url, self.session)

    async def put_turn(self, turn: str, agent: str, path: Path, request: dict[str, Any], *, recorded: bool) -> None:
        """Puts a model turn on the session, after everything that happened before it."""
        await self.outbox.flush()
        body: dict[str, Any] = {"agent": agent, "request": request}
        if path:
            body["path"] = list(path)
        if recorded:
            body["recorded"] = True
        where = f"/v1/sessions/{self.session}/turns/{turn}"
        try:
            await self._client.send("PUT", where, body=fitting(body))
        except ServerRefused as refused:
            if refused.kind not in _TOO_MUCH:
                raise
            await self._client.send("PUT", where, body=json_bytes(shallow(jsonable(body))))

    async def record_turn(self, turn: str, agent: str, path: Path, request: dict[str, Any]) -> bool:
        """Puts a turn on the session that nobody is asked about; tells whether the server took it."""
        try:
            await self.put_turn(turn, agent, path, request, recorded=True)
        except ServerRefused as refused:
            log.error("a model turn of %s was not recorded: %s", agent, refused)
            return False
        return True

    async def complete(self) -> None:
        """Ends the session as a completed one."""
        await self.outbox.flush()
        await self._client.send("POST", f"/v1/sessions/{self.session}/complete", body=b"{}")


def unwrapped(error: BaseException, plugin: str) -> BaseException:
    """Gives an exception as it was raised.

    What came through the plugin of this name, its own errors and those of the agent's callbacks that it called,
    ADK has wrapped as an error of the plugin. That is taken off.
    """
    while isinstance(error, RuntimeError) and _message(error).startswith(f"Error in plugin '{plugin}' "):
        if error.__cause__ is None:
            break
        error = error.__cause__
    return error


def describe_error(error: BaseException, plugin: str) -> dict[str, Any]:
    """Gives an exception as the server reads it.

    What ADK has wrapped is taken out, and so is what a tool raised to end the program.
    """
    error = unwrapped(error, plugin)
    if isinstance(error, ToolExit) and error.__cause__ is not None:
        error = error.__cause__
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return {"type": type(error).__name__, "message": _message(error), "traceback": text}


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit) and (error.code is None or isinstance(error.code, int)):
        return f"exit code {int(error.code or 0)}"
    try:
        return str(error)
    except Exception as problem:
        return f"<{type(error).__name__}, whose message cannot be read: {type(problem).__name__}>"


def _observation(kind: str, agent: str, path: Path, fields: dict[str, Any]) -> Observation:
    told: dict[str, Any] = {"type": kind, "agent": agent}
    if path:
        told["path"] = list(path)
    # Values are written down now: what the agent does to them later is not part of this fact.
    told.update(jsonable(fields))
    return Observation(told, otherwise=_other)


def _other(told: Observation, refused: ServerRefused) -> list[Observation]:
    """Makes something smaller of a fact that is too much, else leaves it out: a record does not end a run."""
    kind = told.fields["type"]
    if told.is_cut or refused.kind not in _TOO_MUCH:
        log.error("a %s was not recorded: %s", kind, refused)
        return []
    log.warning("a %s is recorded in parts only: %s", kind, refused)
    told.fields, told.is_cut, told.event_id = cut(told.fields), True, new_id()
    return [told]


def _other_answer(told: Observation, refused: ServerRefused) -> list[Observation]:
    return [] if refused.kind == "answered_call" else _other_result(told, refused)


def _other_result(told: Observation, refused: ServerRefused) -> list[Observation]:
    """Makes something else of a result that the server refuses: without any, its call would run for ever."""
    fields = told.fields
    state_delta: Any = None
    if refused.kind in ("answered_call", "unknown_call") and "late" not in fields:
        # It is one more than the server takes of a call: as a late one it is a note, which changes no state.
        fields.pop("again", None)
        fields["late"], state_delta = True, fields.pop("state_delta", None)
    elif told.refused is None:
        told.refused = fields["error"] = _refused_result(told, refused)
        told.output = told.upload = None
        log.warning("a result of %s is told as an error: %s", fields["tool"], told.refused["message"])
    elif fields.pop("state_delta", None) is None:
        return _other(told, refused)
    told.event_id = new_id()
    if state_delta is None:
        return [told]
    changed = {key: fields[key] for key in ("agent", "path") if key in fields}
    return [told, Observation({"type": "state_change", **changed, "state_delta": state_delta})]


def _refused_result(told: Observation, refused: ServerRefused) -> dict[str, Any]:
    if refused.kind == "too_large":
        size = len(told.output or b"")
        return {"type": "ResultTooLarge", "message": f"the result has {size} bytes as JSON; {refused.detail}"}
    return {"type": "ResultRefused", "message": f"the server does not take the result: {refused.detail}"}


def new_turn() -> str:
    """Makes the id of a model turn."""
    return new_id()
