"""What a class has to be to be a world, and what it finds in itself when it is played."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

from rehearsal.world.problem import WorldProblem, alternatives

if TYPE_CHECKING:
    import random

MARK = "__rehearsal_tool__"
_OCCASION = "_rehearsal_occasion"

Method = TypeVar("Method", bound=Callable[..., Any])
Side = Literal["agent", "user"]


class Mark(NamedTuple):
    """What `@tool` says of a method."""

    by: Side
    offered: bool
    name: str | None


@overload
def tool(method: Method, /) -> Method: ...


@overload
def tool(*, by: Side = "agent", offered: bool = True, name: str | None = None) -> Callable[[Method], Method]: ...


def tool(
    method: Callable[..., Any] | None = None,
    /,
    *,
    by: Side = "agent",
    offered: bool = True,
    name: str | None = None,
) -> Any:
    """Makes a method of a world a tool. Its hints are the schema of the tool, its docstring what the model is told.

    Args:
        method: The method, where `@tool` is written without anything.
        by: Who may call it: the agent, or only the user.
        offered: Whether it is there from the beginning; else `self.offer(…)` brings it.
        name: What the tool is called, if not as the method.
    """
    if by not in ("agent", "user"):
        near = difflib.get_close_matches(str(by), ["agent", "user"], n=1)
        raise ValueError(f'@tool(by={by!r}): write by="{near[0] if near else "user"}"; by is "agent" or "user"')

    def mark(method: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(method) or isinstance(method, type | staticmethod | classmethod):
            raise TypeError(f"@tool stands before {method!r}, and it belongs directly before a `def` of a World")
        setattr(method, MARK, Mark(by, offered, name))
        return method

    return mark if method is None else mark(method)


class Occasion:
    """What a world is played for, and what it has to say meanwhile."""

    def __init__(
        self,
        *,
        seed: int = 0,
        session: str | None = None,
        scenario: str | None = None,
        folder: Path | None = None,
        row: dict[str, Any] | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        self.seed = seed
        self.session = session
        self.scenario = scenario
        self.folder = folder
        self.row = row
        self.log = log or _to_standard_error
        self.offered: dict[str, bool] = {}
        self._random: random.Random | None = None

    @property
    def random(self) -> random.Random:
        """Gives the world's chance, which is the same for the same seed."""
        if self._random is None:
            import random

            self._random = random.Random(self.seed)
        return self._random


class World:
    """A world: methods marked with `@tool` are its tools, its public attributes are its state.

    `__init__` takes no arguments. What is set when the world is made, and cannot be set by it: `seed`, `random`,
    `folder`, `row`, `scenario`, `session`. Attributes with a leading underscore are no part of the state.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name in TAKEN:
            raise AttributeError(
                f"`self.{name}` of a World is {TAKEN[name]}, and cannot be set; give your attribute another name"
            )
        super().__setattr__(name, value)

    @property
    def seed(self) -> int:
        """The case's seed, a whole number from 0."""
        return occasion(self).seed

    @property
    def random(self) -> random.Random:
        """Chance from the case's seed: the same in every run with it."""
        return occasion(self).random

    @property
    def folder(self) -> Path | None:
        """The case's own folder, which is removed afterwards; None by hand."""
        return occasion(self).folder

    @property
    def row(self) -> dict[str, Any] | None:
        """The row that the case was made of, where there is one."""
        return occasion(self).row

    @property
    def scenario(self) -> str | None:
        """The scenario's name."""
        return occasion(self).scenario

    @property
    def session(self) -> str | None:
        """The session's id."""
        return occasion(self).session

    def start(self) -> Any:
        """Is called once, before anything else. Yours may prepare what needs the seed, the row or the folder."""

    def state(self) -> dict[str, Any] | None:
        """Gives the state: the attributes without a leading underscore. Yours may give another one, or None."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def offer(self, name: str) -> None:
        """Adds a tool to those that there are, from the model's next turn on."""
        self._offer(name, True)

    def withdraw(self, name: str) -> None:
        """Takes a tool from those that there are, from the model's next turn on."""
        self._offer(name, False)

    def log(self, text: str) -> None:
        """Keeps a note with the session, which nobody answers."""
        occasion(self).log(str(text))

    @classmethod
    def serve(cls) -> None:
        """Plays the world for whoever started the program; on a terminal, for the person who sits there."""
        from rehearsal.world.serving import play

        sys.exit(play(cls))

    def _offer(self, name: str, offered: bool) -> None:
        names = list(marked(type(self)))
        if name not in names:
            word = "offer" if offered else "withdraw"
            raise ValueError(f"self.{word}({name!r}): {alternatives(name, names, 'its tools are')}")
        occasion(self).offered[name] = offered


# What a world has of the framework, and what each is.
TAKEN = {
    "seed": "the case's seed",
    "random": "the chance of the case's seed",
    "folder": "the case's folder",
    "row": "the row that the case was made of",
    "scenario": "the scenario's name",
    "session": "the session's id",
    "start": "the method that prepares it",
    "state": "the method that gives the state",
    "offer": "the method that adds a tool",
    "withdraw": "the method that takes a tool away",
    "log": "the method that keeps a note",
    "serve": "the method that plays it",
}


def begin(world: World, what_for: Occasion) -> None:
    """Says what a world is played for."""
    object.__setattr__(world, _OCCASION, what_for)


def occasion(world: World) -> Occasion:
    """Tells what a world is played for; nothing yet, where a test just made one."""
    if _OCCASION not in vars(world):
        begin(world, Occasion())
    return getattr(world, _OCCASION)


class Marked(NamedTuple):
    """A method that is a tool."""

    attribute: str
    method: Callable[..., Any]
    mark: Mark


def marked(world: type[World]) -> dict[str, Marked]:
    """Gives the methods of a class that are tools, by the tools' names, those of what it is made from first.

    A method that stands in for a tool of a class above is that tool, also without a mark of its own.
    """
    marks: dict[str, Mark] = {}
    for each in reversed(world.__mro__):
        for attribute, method in vars(each).items():
            mark = getattr(method, MARK, None)
            if isinstance(mark, Mark):
                marks[attribute] = mark
    found: dict[str, Marked] = {}
    for attribute, mark in marks.items():
        method = getattr(world, attribute)
        if not callable(method):
            continue
        name = attribute if mark.name is None else mark.name
        if name in found:
            raise WorldProblem(
                f"{world.__name__} has two tools called `{name}`: `{found[name].attribute}` and `{attribute}`",
                "give one of them another name",
            )
        found[name] = Marked(attribute, method, mark)
    return found


def _to_standard_error(text: str) -> None:
    sys.stderr.write(f"{text}\n")
