"""A world by hand: its tools listed, called and looked at by whoever wrote it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from rehearsal.errors import NOT_SET_UP
from rehearsal.world.base import Occasion, World
from rehearsal.world.finding import find
from rehearsal.world.forms import Form
from rehearsal.world.plain import json_text
from rehearsal.world.playing import Answer, Play
from rehearsal.world.problem import WorldProblem, WrongArgument, alternatives

if TYPE_CHECKING:
    import argparse

_CALL_FAILED = 1
_WORDS = ("tools", "state", "help", "quit")
_HELP = """\
tools                      lists the tools that there are now
state                      shows the state
refund order=17            calls a tool; what has spaces stands in quotes: note="two words"
refund {"order": "17"}     the same, with the arguments as JSON
help                       shows this
quit                       leaves; so does the end of the input"""


class _Refused(Exception):
    """What a person typed is nothing that can be done."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `python -m rehearsal.world`; gives its exit code: 1 where a call failed, 2 where nothing could be done."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if len(given) == 1 and not given[0].startswith("-"):
        return _played(given[0], Occasion())
    parsed = _parser().parse_args(given)
    what_for = Occasion(seed=parsed.seed, row=parsed.row)
    if parsed.tools or parsed.call:
        return _tried(parsed.world, what_for, parsed.tools, parsed.call)
    return _played(parsed.world, what_for, chosen=parsed.seed != 0 or parsed.row is not None)


def sit_down(world: type[World], what_for: Occasion) -> int:
    """Lets a person at a terminal try a world; gives the exit code."""
    screen = _Screen()
    try:
        played = Play(world, what_for)
    except WorldProblem as problem:
        screen.problem(problem)
        return NOT_SET_UP
    screen.say(f"{world.__name__}: {', '.join(played.offered()) or 'no tools yet'}. `help` says what can be typed.")
    return _prompted(played, screen)


class _Screen:
    """What a person reads. What the world prints stands beside it, on standard error."""

    def __init__(self, *, alone: bool = False) -> None:
        self._out: TextIO = sys.stdout
        if alone:
            # Another program may read it: also what the world starts writes elsewhere.
            self._out = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding)
            os.dup2(2, 1)
        sys.stdout = sys.stderr

    def say(self, text: str) -> None:
        """Writes some lines."""
        # A terminal need not know every letter.
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        self._out.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        self._out.flush()

    def problem(self, problem: WorldProblem) -> None:
        """Says why it cannot go on."""
        self._out.flush()
        sys.stderr.write(f"error: {problem}\n")


def _parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m rehearsal.world",
        description="Try a world by hand. Without options: a prompt on a terminal; else the world speaks the protocol "
        "of worlds, for `world: {command: [python3, -m, rehearsal.world, WORLD]}`.",
    )
    parser.add_argument("world", metavar="WORLD", help="shop:Shop, shop.py, or shop.py:Shop")
    parser.add_argument("--tools", action="store_true", help="list the tools with their schemas")
    parser.add_argument(
        "--call",
        action="append",
        default=[],
        metavar="'TOOL ARGS'",
        help="""call a tool, as 'refund {"order": "17"}' or 'refund order=17'; may be given again""",
    )
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="the seed of its chance (default: 0)")
    parser.add_argument("--row", type=_row, metavar="JSON", help="the row that the case is made of")
    return parser


def _seed(text: str) -> int:
    import argparse

    if not text.isdecimal() or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"{text} is no seed; seeds are whole numbers from 0 to 2⁶⁴-1")
    return int(text)


def _row(text: str) -> dict[str, Any]:
    import argparse

    try:
        row = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text} is no JSON: {error}") from None
    if not isinstance(row, dict):
        raise argparse.ArgumentTypeError(f"{text} is no object of JSON")
    return cast("dict[str, Any]", row)


def _played(written: str, what_for: Occasion, *, chosen: bool = False) -> int:
    from rehearsal.world.serving import at_a_terminal, speak

    if not at_a_terminal():
        if chosen:
            sys.stderr.write("error: --seed and --row say nothing here: who speaks the protocol sends them\n")
            return NOT_SET_UP
        return speak(lambda: find(written))
    try:
        world = find(written)
    except WorldProblem as problem:
        sys.stderr.write(f"error: {problem}\n")
        return NOT_SET_UP
    return sit_down(world, what_for)


def _tried(written: str, what_for: Occasion, tools: bool, calls: list[str]) -> int:
    screen = _Screen(alone=True)
    outcome = 0
    try:
        played = Play(find(written), what_for)
        if tools:
            screen.say(_tools(played))
        before = played.state()
        for line in calls:
            screen.say(f"> {line}")
            name, arguments = _understood(line, played)
            answer = played.call(name, arguments)
            screen.say(_answer(played, name, answer, before))
            before = played.state()
            outcome = _CALL_FAILED if answer.error is not None else outcome
        played.end()
    except WorldProblem as problem:
        screen.problem(problem)
        return NOT_SET_UP
    except _Refused as refused:
        sys.stderr.write(f"error: {refused}\n")
        return NOT_SET_UP
    return outcome


def _prompted(played: Play, screen: _Screen) -> int:
    with suppress(ImportError):
        # Lines can be edited then, and brought back.
        import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]
    before = played.state()
    while True:
        try:
            line = _line(screen).strip()
        except (EOFError, KeyboardInterrupt):
            screen.say("")
            break
        word = line.lower()
        if word in ("quit", "exit", "q"):
            break
        try:
            if word in ("help", "?"):
                screen.say(_HELP)
            elif word == "tools":
                screen.say(_tools(played))
            elif word == "state":
                screen.say(json.dumps(before, ensure_ascii=False, indent=2))
            elif line:
                name, arguments = _understood(line, played)
                answer = played.call(name, arguments)
                screen.say(_answer(played, name, answer, before))
                before = played.state()
        except _Refused as refused:
            screen.say(str(refused))
        except KeyboardInterrupt:
            screen.say("stopped")
        except WorldProblem as problem:
            screen.problem(problem)
            return NOT_SET_UP
    played.end()
    return 0


def _line(screen: _Screen) -> str:
    # `input` edits lines only where standard output is what it was.
    aside, sys.stdout = sys.stdout, screen._out  # pyright: ignore[reportPrivateUsage]
    try:
        return input("> ")
    finally:
        sys.stdout = aside


def _tools(played: Play) -> str:
    there = played.offered()
    parts: list[str] = []
    for name, tool in played.tools.items():
        notes = ["the user's"] if tool.by == "user" else []
        notes += ["not offered now"] if name not in there else []
        lines = [f"{name} ({', '.join(notes)})" if notes else name]
        lines += [f"  {line}" for line in str(tool.listed.get("description", "")).splitlines() if line]
        lines.append(f"  parameters: {json_text(tool.listed['parameters'])}")
        if "output" in tool.listed:
            lines.append(f"  output: {json_text(tool.listed['output'])}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _answer(played: Play, name: str, answer: Answer, before: Any) -> str:
    lines = [f"error {answer.error['type']}: {answer.error['message']}" if answer.error else json_text(answer.output)]
    tool = played.tools.get(name)
    if answer.error is None and tool is not None and tool.output is not None:
        try:
            tool.output.read(answer.output, "")
        except WrongArgument as wrong:
            lines.append(f"this is not what its return hint says, and a scenario would not take it: {wrong}")
    if "state" in answer.changed:
        lines += [f"state {change}" for change in _changes("", before, answer.changed["state"])]
    if "tools" in answer.changed:
        lines.append(f"tools now: {', '.join(played.offered()) or 'none'}")
    return "\n".join(lines)


def _changes(place: str, before: Any, after: Any) -> list[str]:
    """Says what became of a value, one line for each place that changed."""
    if isinstance(before, dict) and isinstance(after, dict):
        old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
        keys: list[Any] = list(dict.fromkeys([*old, *new]))
        pairs = [(f"{place}.{key}" if place else key, old.get(key, _gone), new.get(key, _gone)) for key in keys]
    elif isinstance(before, list) and isinstance(after, list):
        olds, news = cast("list[Any]", before), cast("list[Any]", after)
        pairs = [
            (f"{place}[{at}]", olds[at] if at < len(olds) else _gone, news[at] if at < len(news) else _gone)
            for at in range(max(len(olds), len(news)))
        ]
    elif before is _gone:
        return [f"+ {place}: {json_text(after)}"]
    elif after is _gone:
        return [f"- {place}: {json_text(before)}"]
    elif json_text(before) == json_text(after):
        return []
    else:
        return [f"{place or '(all of it)'}: {json_text(before)} → {json_text(after)}"]
    return [line for where, old, new in pairs for line in _changes(where, old, new)]


def _gone() -> None:
    """Stands for what is not there, which None is."""


def _understood(line: str, played: Play) -> tuple[str, dict[str, Any]]:
    """Reads `refund order=17` or `refund {"order": "17"}`."""
    name, _, rest = line.strip().partition(" ")
    rest = rest.strip()
    if "{" in name:
        name, _, more = line.strip().partition("{")
        rest = "{" + more
    tool = played.tools.get(name)
    if tool is None or name not in played.offered():
        why = f"`{name}` is not offered now" if tool is not None else f"there is no tool `{name}`"
        there = played.offered()
        words = [*there, *_WORDS] if not tool else there
        hint = alternatives(name, words, "there are") if tool is None else alternatives("", there, "there are")
        raise _Refused(f"{why}; {hint}")
    if rest.startswith("{"):
        try:
            given = json.loads(rest)
        except ValueError as error:
            raise _Refused(f"{rest} is no JSON: {error}") from None
        return name, cast("dict[str, Any]", given)
    return name, _pairs(rest, tool.fields)


def _pairs(text: str, fields: dict[str, Form]) -> dict[str, Any]:
    import shlex

    try:
        words = shlex.split(text)
    except ValueError as error:
        raise _Refused(f"{text} cannot be read: {error}") from None
    found: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            hint = f"{next(iter(fields), 'name')}={word}"
            raise _Refused(f"`{word}` has no name; write NAME=VALUE, such as {hint}, or the arguments as JSON")
        if name in found:
            raise _Refused(f"`{name}` is given twice")
        found[name] = _value(value, fields.get(name))
    return found


def _value(text: str, form: Form | None) -> Any:
    """Takes `17` for a number where there may be one, and for text where there has to be."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if form is None:
        return value
    for each in (value, text):
        try:
            form.read(each, "")
        except Exception:
            continue
        return each
    return value
