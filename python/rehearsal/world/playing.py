"""A world that is played: what it lists, answers and shows, whoever asks."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from rehearsal.world.base import Occasion, World, begin, occasion
from rehearsal.world.plain import NotPlain, json_text, plain
from rehearsal.world.problem import (
    ToolFailed,
    WorldProblem,
    WrongArgument,
    alternatives,
    in_words,
    place_of,
)
from rehearsal.world.tools import Tool, tools_of

if TYPE_CHECKING:
    import asyncio

State = dict[str, Any] | None


class Answer(NamedTuple):
    """What a call came to. Of state and tools it has only what the call changed."""

    output: Any
    error: dict[str, str] | None
    changed: dict[str, Any]


class Play:
    """A world from its beginning to its end.

    Raises:
        WorldProblem: It cannot be played as it is written.
    """

    def __init__(self, world: type[World], what_for: Occasion) -> None:
        self._name = world.__name__
        self._loop: asyncio.AbstractEventLoop | None = None
        self.tools: dict[str, Tool] = tools_of(world)
        self._world = self._made(world, what_for)
        self._state = json_text(self.state())
        self._offered = self.offered()

    def offered(self) -> list[str]:
        """Names the tools that there are now."""
        said = occasion(self._world).offered
        return [name for name, tool in self.tools.items() if said.get(name, tool.offered)]

    def listed(self) -> list[dict[str, Any]]:
        """Lists the tools that there are now, as the protocol has them."""
        return [self.tools[name].listed for name in self.offered()]

    def state(self) -> State:
        """Gives the state as plain values.

        Raises:
            WorldProblem: It cannot be shown.
        """
        own = type(self._world).state is not World.state
        try:
            given: Any = self._world.state()
        except Exception as error:
            raise self._stumbled("state", error) from error
        if given is None:
            return None
        if not isinstance(given, dict):
            kind = type(given).__name__
            raise WorldProblem(f"{self._name}.state gave a value of the class `{kind}`", "give a dictionary, or None")
        try:
            if own:
                return plain(given, "the state")
            attributes = cast("dict[str, Any]", given)
            return {name: plain(value, f"self.{name}") for name, value in attributes.items()}
        except NotPlain as error:
            raise self._not_shown(error, own) from error

    def call(self, name: str, arguments: Any) -> Answer:
        """Calls a tool.

        Raises:
            WorldProblem: The world cannot go on.
        """
        output, error = None, None
        try:
            output = self._called(name, arguments)
        except KeyboardInterrupt:
            raise
        except WorldProblem:
            raise
        except WrongArgument as wrong:
            error = {"type": "InvalidArguments", "message": str(wrong)}
        except ToolFailed as failed:
            error = {"type": failed.type, "message": failed.message}
        except BaseException as raised:
            # Also what would end the program: it is the tool that failed, and the world lives on.
            _show(raised)
            error = {"type": type(raised).__name__, "message": in_words(raised)}
        return Answer(output, error, self._changed())

    def end(self) -> None:
        """Ends what the world had begun."""
        if self._loop is None:
            return
        import asyncio

        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _made(self, world: type[World], what_for: Occasion) -> World:
        made = world.__new__(world)
        begin(made, what_for)
        try:
            made.__init__()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._stumbled("__init__", error) from error
        try:
            self._result(made.start())
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._stumbled("start", error) from error
        return made

    def _called(self, name: str, arguments: Any) -> Any:
        offered = self.offered()
        if name not in offered:
            later = f"`{name}` is not offered now" if name in self.tools else f"there is no tool `{name}`"
            raise ToolFailed(f"{later}; {alternatives(name, offered, 'there are')}", type="UnknownTool")
        tool = self.tools[name]
        read = tool.arguments.read(arguments, "")
        given = self._result(getattr(self._world, tool.attribute)(**read))
        try:
            return plain(given, "its output")
        except NotPlain as error:
            raise WorldProblem(f"{self._name}.{tool.attribute}: {error}", error.hint) from error

    def _result(self, given: Any) -> Any:
        """Waits for what an `async` method gives; all of them run on one loop, and can share what they opened."""
        if not hasattr(given, "__await__"):
            return given
        if self._loop is None:
            import asyncio

            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(_awaited(given))

    def _changed(self) -> dict[str, Any]:
        changed: dict[str, Any] = {}
        state, offered = self.state(), self.offered()
        # Compared as text, because Python takes 1, 1.0 and True for the same.
        text = json_text(state)
        if text != self._state:
            self._state = text
            # A state that is none any more is told when it is asked for: null would say that it is as it was.
            changed["state"] = state if state is not None else {}
        if offered != self._offered:
            self._offered = offered
            changed["tools"] = self.listed()
        return changed

    def _stumbled(self, method: str, error: BaseException) -> WorldProblem:
        _show(error)
        place = place_of(error)
        at = f" ({place})" if place else ""
        takes = isinstance(error, TypeError) and place is None and method == "__init__"
        hint = (
            "write `def __init__(self)`: a world is made without arguments; what it is made for is in self.row, "
            "self.seed and self.folder"
            if takes
            else "the whole traceback stands on standard error"
        )
        return WorldProblem(f"{self._name}.{method} raised {type(error).__name__}: {in_words(error)}{at}", hint)

    def _not_shown(self, error: NotPlain, own: bool) -> WorldProblem:
        if own:
            return WorldProblem(f"{self._name}.state: {error}", error.hint)
        attribute = error.place.split(".")[1].split("[")[0].split("{")[0]
        return WorldProblem(
            f"the state of {self._name} cannot be shown: `{error.place}` {error.what}",
            f"call it `self._{attribute}`, and it is no part of the state; or define `state()`, which gives what is; "
            f"or {error.hint}",
        )


async def _awaited(work: Awaitable[Any]) -> Any:
    return await cast("Coroutine[Any, Any, Any]", work)


def _show(error: BaseException) -> None:
    traceback.print_exception(error, file=sys.stderr)
