"""Runs the checks of scenarios that are functions of Python, for the program `rehearse`.

One JSON object a line on standard input and output, one answer for each message. Version 1:

    → {"type":"start","version":1,"path":["/folder/of/scenario"]}
    ← {"type":"ready"}
    → {"type":"load","id":"1","function":"checks:refund_is_right"}
    ← {"type":"loaded","id":"1"}
    → {"type":"check","id":"2","function":"checks:refund_is_right","args":{},"record":{}}
    ← {"type":"result","id":"2","passed":true,"score":null,"reason":null,"events":[]}

What cannot be decided is `{"type":"failed","id":"2","message":"…"}`, and so is what is no message; its `id` is null
where none could be read. The end of standard input is the end of the process.

What this file needs is Python 3.10 and nothing else, since it is run from where no package is installed.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, cast

VERSION = 1
_VERDICT = ("passed", "score", "reason", "events")
_FORMS = "return True or False, a score from 0 to 1, (passed, reason), or a dict with passed, score, reason, events"

# Where this is run from a string, there is no file.
_FILE = str(globals().get("__file__", "<string>"))

Json = dict[str, Any]


class Record(dict[str, Any]):
    """What happened in a case: a dictionary whose keys are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        """Gives what stands under a key."""
        try:
            return self[name]
        except KeyError:
            if name.startswith("__"):
                raise AttributeError(name) from None
            raise AttributeError(f"the record has no `{name}`; {_alternatives(name, list(self), 'it has')}") from None


class Failed(Exception):
    """A check that could not be decided: why, and what would be right."""


class Worker:
    """Loads functions and asks them. A module is loaded once, and keeps what it keeps."""

    def __init__(self) -> None:
        self._loop: Any = None
        self._path: list[str] = []

    def answer(self, line: bytes) -> Json:
        """Answers a line, whatever it is."""
        number: Any = None
        try:
            message = _message(line)
            number = message.get("id")
            kind = message["type"]
            if kind == "start":
                return self._start(message)
            if kind not in ("load", "check"):
                raise Failed(f"a message of the type {_shown(kind)} is unknown here; there are start, load and check")
            if not isinstance(number, str):
                number = None
                raise Failed(f"a message `{kind}` needs an `id`, which is a text")
            if not isinstance(message.get("function"), str):
                raise Failed(f"a message `{kind}` needs a `function`, as checks:refund_is_right")
            function = _function(message["function"], self._path)
            if kind == "load":
                return {"type": "loaded", "id": number}
            return {"type": "result", "id": number, **self._check(function, message)}
        except Failed as failed:
            return _failed(number, str(failed))
        except BaseException as error:
            # Values of the author's own classes can raise wherever they are looked at.
            return _failed(number, _raised("it could not be decided:", error))

    def _start(self, message: Json) -> Json:
        if message.get("version") != VERSION:
            raise Failed(f"the version {_shown(message.get('version'))} is spoken, and this is version {VERSION}")
        folders = message.get("path", [])
        if not isinstance(folders, list) or not all(isinstance(each, str) for each in cast("list[Any]", folders)):
            raise Failed("`path` of start is a list of folders")
        self._path = list(dict.fromkeys(cast("list[str]", folders)))
        sys.path[:] = [*self._path, *(each for each in sys.path if each not in self._path)]
        return {"type": "ready"}

    def _check(self, function: Callable[..., Any], message: Json) -> Json:
        name = message["function"]
        args: Any = {} if message.get("args") is None else message["args"]
        record: Any = message.get("record")
        if not isinstance(args, dict) or not isinstance(record, dict):
            raise Failed("a message `check` needs a `record` and `args`, which are objects")
        _fits(name, function, cast("Json", args))
        try:
            given = self._result(function(Record(cast("Json", record)), **cast("Json", args)))
        except AssertionError as error:
            return _verdict(passed=False, reason=_of_assertion(error))
        except BaseException as error:
            # Also what would end the program: it is the check that failed.
            raise Failed(_raised(f"`{name}` raised", error)) from error
        return _of_return(name, given)

    def _result(self, given: Any) -> Any:
        """Waits for what an `async` function gives; all of them run on one loop, and can share what they opened."""
        if not hasattr(given, "__await__"):
            return given
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()

        async def awaited() -> Any:
            return await given

        return self._loop.run_until_complete(awaited())


def _failed(number: Any, message: str) -> Json:
    return {"type": "failed", "id": number if isinstance(number, str) else None, "message": message}


def _message(line: bytes) -> Json:
    try:
        message: Any = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Failed(f"the line {_shown(line[:200].decode('utf-8', 'replace'))} is no message: {error}") from None
    if not isinstance(message, dict) or not isinstance(cast("Json", message).get("type"), str):
        raise Failed("a message is an object with a `type`")
    return cast("Json", message)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _function(written: str, path: list[str]) -> Callable[..., Any]:
    """Finds `module:function`, or `package.module:Class.method`."""
    place, colon, name = written.partition(":")
    if not colon or not place or not name:
        raise Failed(f"`{written}` names no function; write module:function, as checks:refund_is_right")
    if place.endswith(".py") or "/" in place:
        raise Failed(f"`{written}`: a module is named without its folder and .py, as {_stem(place)}:{name}")
    found: Any = _module(place, path)
    inside = f"the module `{place}`"
    for part in name.split("."):
        if not hasattr(found, part):
            raise Failed(f"{inside} has no `{part}`; {_alternatives(part, _callables(found), 'it has')}")
        found = getattr(found, part)
        inside = f"`{place}:{part}`"
    if not callable(found):
        raise Failed(f"`{written}` is no function, but {_class(found)}")
    if isinstance(found, type):
        raise Failed(f"`{written}` is a class; name a function, or a method as {written}.NAME")
    return found


def _module(name: str, path: list[str]) -> Any:
    known = sys.modules.get(name)
    if known is not None:
        meant = [each for each in (f"{folder}/{name}.py" for folder in path) if os.path.exists(each)]  # noqa: PTH110
        # One of Python's own was there first, and would be taken for it.
        file = str(getattr(known, "__file__", None) or "")
        same = os.path.exists(file) and any(os.path.samefile(file, each) for each in meant)  # noqa: PTH110, PTH121
        if meant and not same:
            raise Failed(f"`{name}` is a module of Python itself: give {meant[0]} another name")
        return known
    # A file that was written since the last look is found, too.
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise Failed(_raised(f"the module `{name}` could not be loaded:", error)) from error
        folders = "".join(f" in {each}" for each in sys.path[:1])
        raise Failed(
            f"there is no module `{missing}`{folders}; {_alternatives(missing, _files(), 'files there are')}"
        ) from None
    except BaseException as error:
        raise Failed(_raised(f"the module `{name}` could not be loaded:", error)) from error


def _files() -> list[str]:
    try:
        return sorted(_stem(each) for each in os.listdir(sys.path[0]) if each.endswith(".py"))  # noqa: PTH208
    except (OSError, IndexError):
        return []


def _stem(place: str) -> str:
    return place.rpartition("/")[2].removesuffix(".py")


def _callables(holder: Any) -> list[str]:
    inside: Json = dict(getattr(holder, "__dict__", {}))
    own = getattr(holder, "__name__", None)
    found = [name for name, each in inside.items() if callable(each) and not name.startswith("_")]
    # What a module only imported is not what it is asked for, unless there is nothing else.
    return [each for each in found if getattr(inside[each], "__module__", own) == own] or found


def _alternatives(wrong: str, names: list[str], what: str) -> str:
    import difflib

    close = difflib.get_close_matches(wrong, names, n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"{what} {', '.join(f'`{name}`' for name in names[:20]) or 'none'}"


def _fits(name: str, function: Callable[..., Any], args: Json) -> None:
    """Says which arguments are wrong, before the function can be entered: what it raises itself is another matter."""
    import inspect

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # one that Python cannot look into
    try:
        signature.bind(Record(), **args)
    except TypeError as error:
        raise Failed(f"`{name}{signature}` cannot be called with a record and args {_shown(args)}: {error}") from None


def _of_return(name: str, given: Any) -> Json:
    """Reads what a check returned."""
    if isinstance(given, bool):
        return _verdict(passed=given)
    if given is None:
        raise Failed(f"`{name}` returned nothing: {_FORMS}")
    if isinstance(given, int | float):
        return _verdict(score=_score(name, given))
    if isinstance(given, tuple):
        pair = cast("tuple[Any, ...]", given)
        if len(pair) == 2 and isinstance(pair[0], bool) and (pair[1] is None or isinstance(pair[1], str)):
            return _verdict(passed=pair[0], reason=pair[1])
        raise Failed(f"`{name}` returned the tuple {_shown(pair)}; a tuple is (True or False, reason)")
    if isinstance(given, Mapping):
        return _of_mapping(name, cast("Mapping[Any, Any]", given))
    raise Failed(f"`{name}` returned {_shown(given)}, {_class(given)}: {_FORMS}")


def _of_mapping(name: str, given: Mapping[Any, Any]) -> Json:
    for key in given:
        if key not in _VERDICT:
            raise Failed(
                f"`{name}` returned a dict with {_shown(key)}; {_alternatives(str(key), list(_VERDICT), 'it may have')}"
            )
    passed, score, reason, events = (given.get(key) for key in _VERDICT)
    if passed is None and score is None:
        raise Failed(f"`{name}` returned a dict without `passed` and `score`; it needs one of them")
    if passed is not None and not isinstance(passed, bool):
        raise Failed(f"`{name}` returned passed={_shown(passed)}; `passed` is True or False")
    if reason is not None and not isinstance(reason, str):
        raise Failed(f"`{name}` returned reason={_shown(reason)}; `reason` is a text")
    return _verdict(
        passed=passed,
        score=None if score is None else _score(name, score),
        reason=reason,
        events=_events(name, events),
    )


def _events(name: str, events: Any) -> list[int]:
    if events is None:
        return []
    if not isinstance(events, list | tuple | set | frozenset):
        raise Failed(f"`{name}` returned events={_shown(events)}; `events` is a list of the numbers of events")
    listed = list(cast("list[Any]", events))
    for each in listed:
        if isinstance(each, bool) or not isinstance(each, int) or not 0 <= each < 2**64:
            raise Failed(f"`{name}` returned the event {_shown(each)}; events are whole numbers from 0")
    return (
        sorted(int(each) for each in listed) if isinstance(events, set | frozenset) else [int(each) for each in listed]
    )


def _score(name: str, score: Any) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise Failed(f"`{name}` returned score={_shown(score)}; a score is a number from 0 to 1")
    if not 0 <= score <= 1:  # which no NaN is
        raise Failed(f"`{name}` returned the score {_shown(score)}; scores are from 0 to 1")
    return float(score)


def _verdict(
    passed: bool | None = None, score: float | None = None, reason: str | None = None, events: list[int] | None = None
) -> Json:
    return {"passed": passed, "score": score, "reason": reason, "events": events or []}


def _of_assertion(error: AssertionError) -> str:
    """Gives the message of an assertion; the line of the program, where it has none."""
    said = str(error)
    if said:
        return said
    frame = _own_frame(error)
    if frame is None:
        return "an assertion does not hold"
    return f"{frame.line} ({os.path.basename(frame.filename)}:{frame.lineno})"  # noqa: PTH119


def _own_frame(error: BaseException) -> traceback.FrameSummary | None:
    """Gives the innermost frame of the author's own files; of any, where there is none of them."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not _of_this_file(each.filename)]
    own = [each for each in frames if not _installed(each.filename)]
    return (own or frames or [None])[-1]


def _of_this_file(name: str) -> bool:
    return name == _FILE or name.startswith("<")


def _installed(name: str) -> bool:
    return "site-packages" in name or "dist-packages" in name or name.startswith(os.path.dirname(os.__file__))  # noqa: PTH120


def _raised(what: str, error: BaseException) -> str:
    traceback.print_exception(error, file=sys.stderr)
    place = ""
    if isinstance(error, SyntaxError) and error.filename:
        place = f" ({error.filename}:{error.lineno})"
    elif (frame := _own_frame(error)) is not None:
        place = f" ({frame.filename}:{frame.lineno})"
    try:
        said = error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception:
        said = "(its message cannot be read)"
    return f"{what} {type(error).__name__}{f': {said}' if said else ''}{place}"


def _class(value: Any) -> str:
    return f"of the class `{type(value).__name__}`"


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"something {_class(value)}"
    return text if len(text) <= 200 else f"{text[:199]}…"


def main() -> None:
    """Answers to the end of standard input."""
    # Only this function reads and writes messages: what checks print goes to standard error, and the programs that
    # they start find an empty standard input.
    read, write = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    messages: BinaryIO = os.fdopen(read, "rb")
    answers: BinaryIO = os.fdopen(write, "wb")
    # The folder of this file holds nothing that a check could mean.
    folder = os.path.dirname(os.path.abspath(_FILE))  # noqa: PTH100, PTH120
    sys.path[:] = [each for each in sys.path if each != folder]
    # A record may have whole numbers of any size. Early versions of Python 3.10 do not know of a limit.
    getattr(sys, "set_int_max_str_digits", abs)(0)
    worker = Worker()
    while True:
        try:
            line = messages.readline()
            if not line:
                return
            answer = worker.answer(line)
            # Half characters, which a reason may have, are no UTF-8.
            text = json.dumps(answer, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
            answers.write(text + b"\n")
            answers.flush()
        except (BrokenPipeError, KeyboardInterrupt):
            # Nobody waits for answers any more; an ordinary exit would try to write the rest of them.
            os._exit(1)


if __name__ == "__main__":
    main()
