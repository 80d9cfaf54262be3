"""What can be wrong with a world, and what a tool says that could not do what it was asked."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path

from rehearsal.errors import RehearsalError


class WorldProblem(RehearsalError):
    """A world that cannot be played as it is written: what is wrong, where, and what to write."""

    def __init__(self, cause: str, hint: str) -> None:
        self.cause = cause
        self.hint = hint
        super().__init__(f"{cause}\n\nhint: {hint}")


class ToolFailed(RehearsalError):
    """A tool could not do what it was asked. The model is told, and may try again or do without.

    Attributes:
        message: What went wrong.
        type: The kind of error, such as `NOT_FOUND`.
    """

    def __init__(self, message: str, type: str = "ToolFailed") -> None:  # noqa: A002 - the word of the protocol
        self.message = message
        self.type = type
        super().__init__(message)


class WrongArgument(ValueError):
    """A value that its hint does not allow."""

    def __init__(self, place: str, what: str) -> None:
        self.place = place
        self.what = what
        super().__init__(f"{place}: {what}" if place else what)


def named(names: Iterable[str]) -> str:
    """Writes names as people would: `a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    if len(quoted) < 2:
        return "".join(quoted) or "nothing"
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def alternatives(wrong: str, names: Iterable[str], what: str) -> str:
    """Says which name was probably meant, else which there are."""
    there = list(names)
    lowered = {name.lower(): name for name in reversed(there)}
    close = difflib.get_close_matches(wrong.lower(), list(lowered), n=1)
    if close:
        return f"did you mean `{lowered[close[0]]}`?"
    return f"{what}: {named(there)}" if there else f"{what}: there are none"


def in_words(error: BaseException) -> str:
    """Gives an error's message; its class, where it has none."""
    if isinstance(error, KeyError) and len(error.args) == 1:
        return f"not found: {error.args[0]!r}"
    return str(error) or type(error).__name__


def place_of(error: BaseException) -> str | None:
    """Gives file and line of the innermost frame of the author's own; of what is installed, where there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{Path(error.filename).name}:{error.lineno}"
    own = str(Path(__file__).parent)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith((own, "<"))]
    others = (str(Path(traceback.__file__).parent), "site-packages", "dist-packages")
    authors = [frame for frame in frames if not any(each in frame.filename for each in others)] or frames
    return f"{Path(authors[-1].filename).name}:{authors[-1].lineno}" if authors else None
