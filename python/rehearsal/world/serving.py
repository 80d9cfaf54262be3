"""A world that speaks the protocol of docs/reference/world-program.md on standard input and output."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from rehearsal.world.base import Occasion, World
from rehearsal.world.playing import Play
from rehearsal.world.problem import WorldProblem

VERSION = 1
_FAILED = 1
_INTERRUPTED = 130

Json = dict[str, Any]


class Lines:
    """The two ends of the protocol, which nothing else of the process can reach any more.

    What is printed goes to standard error, also by programs that the world starts, and they find an empty
    standard input.
    """

    def __init__(self) -> None:
        # What was printed before is no message, either: it is let out after the change.
        read, write = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
            sys.stdout.flush()
        sys.stdout = sys.stderr
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
        self._read: BinaryIO = os.fdopen(read, "rb")
        # Not held back anywhere: nothing is left to be written where nobody reads any more.
        self._write = write
        self._mutex = threading.Lock()
        # A state may have whole numbers of any size. Early versions of Python 3.10 do not know of a limit.
        getattr(sys, "set_int_max_str_digits", abs)(0)

    def receive(self) -> Json | None:
        """Gives the next message; nothing at the end.

        Raises:
            WorldProblem: The line is none.
        """
        line = self._read.readline()
        if not line:
            return None
        try:
            message: Any = json.loads(line, parse_constant=_no_number)
        except ValueError as error:
            raise _no_message(line, str(error)) from None
        if not isinstance(message, dict) or not isinstance(cast("Json", message).get("type"), str):
            raise _no_message(line, "an object with a `type` expected")
        return cast("Json", message)

    def send(self, message: Json) -> None:
        """Sends a message."""
        # Half characters, which only messages of exceptions can have here, are no UTF-8.
        text = json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        rest = memoryview(text + b"\n")
        with self._mutex:
            while rest:
                rest = rest[os.write(self._write, rest) :]


def play(world: type[World]) -> int:
    """Plays a world for whoever is at the other end; on a terminal, for a person. Gives the exit code."""
    if at_a_terminal():
        from rehearsal.world.hand import sit_down

        return sit_down(world, Occasion())
    return speak(lambda: world)


def speak(find: Callable[[], type[World]]) -> int:
    """Speaks the protocol to its end; gives the exit code."""
    lines = Lines()
    try:
        _converse(lines, find)
    except WorldProblem as problem:
        sys.stderr.write(f"error: {problem}\n")
        with suppress(OSError):  # perhaps nobody is there to be told
            lines.send({"type": "error", "message": str(problem)})
        return _FAILED
    except BrokenPipeError:
        # Whoever asked is gone, and so is the reason to be here.
        return _FAILED
    except KeyboardInterrupt:
        return _INTERRUPTED
    return 0


def _converse(lines: Lines, find: Callable[[], type[World]]) -> None:
    world = find()
    played: Play | None = None
    while (message := lines.receive()) is not None:
        kind = message["type"]
        if kind == "end":
            break
        if kind == "start":
            if played is not None:
                raise _misspoken("a second `start` came", "start a world for each case")
            played = Play(world, _occasion(message, lines))
            lines.send({"type": "tools", "tools": played.listed()})
        elif kind in ("call", "state") and played is None:
            raise _misspoken(f"`{kind}` came before `start`", "begin with `start`")
        elif kind == "state" and played is not None:
            lines.send({"type": "state", "state": played.state()})
        elif kind == "call" and played is not None:
            lines.send(_answer(played, message))
    if played is not None:
        played.end()


def _answer(played: Play, message: Json) -> Json:
    call, name = message.get("id"), message.get("tool")
    if not isinstance(call, str) or not isinstance(name, str):
        raise _misspoken("a `call` came without its `id` or `tool`", 'write {"type":"call","id":"1","tool":"NAME"}')
    answer = played.call(name, message.get("args", {}))
    told = {"output": answer.output} if answer.error is None else {"error": answer.error}
    return {"type": "result", "id": call, **told, **answer.changed}


def _occasion(message: Json, lines: Lines) -> Occasion:
    version = message.get("version", VERSION)
    if version != VERSION:
        raise _misspoken(
            f"the protocol's version {json.dumps(version)} is spoken, and this is a world of version {VERSION}",
            "install the agent-rehearsal that belongs to this rehearse: pip install -U agent-rehearsal",
        )
    seed, row, folder = message.get("seed", 0), message.get("row"), message.get("folder")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise _misspoken(f"the seed of `start` is {json.dumps(seed)}", "give a whole number")
    if row is not None and not isinstance(row, dict):
        raise _misspoken(f"the row of `start` is {json.dumps(row)}", "give an object, or leave it out")
    return Occasion(
        seed=seed,
        session=message.get("session"),
        scenario=message.get("scenario"),
        folder=Path(folder) if isinstance(folder, str) else None,
        row=cast("Json | None", row),
        log=lambda text: lines.send({"type": "log", "text": text}),
    )


def at_a_terminal() -> bool:
    """Tells whether a person sits at standard input."""
    try:
        return os.isatty(0)
    except OSError:
        return False


def _misspoken(what: str, hint: str) -> WorldProblem:
    return WorldProblem(f"what was asked of this world is not in its protocol: {what}", hint)


def _no_message(line: bytes, why: str) -> WorldProblem:
    shown = line[:200].decode("utf-8", "replace").rstrip()
    return _misspoken(f"the line {shown!r} is no message: {why}", "write one JSON object a line, in UTF-8")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
