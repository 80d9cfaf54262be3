"""Running cases with the `rehearse` binary."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rehearsal.binary import find_binary
from rehearsal.errors import RehearsalError, SetupError
from rehearsal.testing.outcome import Json, Result
from rehearsal.testing.serving import Serving

# Exit codes of `rehearse run` that come with results.
_JUDGED = (0, 1)


class NotUsable(SetupError):
    """A scenario file, or what was asked of it, cannot be used. The message says where and what would be right."""


@dataclass(frozen=True)
class Case:
    """A case of a scenario file.

    Attributes:
        name: Its name.
        file: Its file.
        line: The line at which it stands, from 1.
        description: What it is about.
        tags: Words to select it by.
    """

    name: str
    file: str
    line: int
    description: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class CheckedFile:
    """A scenario file, and what is wrong with it.

    Attributes:
        file: The file.
        usable: Whether it can be run.
        cases: Its cases.
        problems: What is wrong with it, as a terminal shows it.
    """

    file: str
    usable: bool
    cases: list[Case] = field(default_factory=list[Case])
    problems: list[str] = field(default_factory=list[str])


def cases(path: str | os.PathLike[str], *, args: Sequence[str] = (), agent: Any = None) -> list[Case]:
    """Gives the cases of a scenario file, or of all files below a folder, without running them.

    Args:
        path: The file or folder.
        args: Further arguments for `rehearse check`.
        agent: Something, where the tests bring the agent and the files need none.

    Raises:
        NotUsable: A file cannot be used.
    """
    found = check([path], args=[*args, *(["--agent-socket", "elsewhere"] if agent is not None else [])])
    bad = [problem for each in found if not each.usable for problem in each.problems]
    if bad:
        raise NotUsable("\n".join(bad))
    return [case for each in found for case in each.cases]


def check(
    paths: Sequence[str | os.PathLike[str]],
    *,
    args: Sequence[str] = (),
    binary: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> list[CheckedFile]:
    """Gives the files with their cases and problems.

    Raises:
        NotUsable: They cannot be looked at, for a reason that is not in one of them.
    """
    words = ["check", "--json", "-", "--color", "never", *[os.fspath(path) for path in paths], *args]
    done = _rehearse(words, binary, cwd)
    if not done.stdout.strip():
        raise NotUsable(_told(done))
    return [_checked(file) for file in json.loads(done.stdout)["files"]]


def _checked(file: Json) -> CheckedFile:
    found = [
        Case(each["name"], file["file"], each["line"], each.get("description", ""), tuple(each.get("tags", ())))
        for each in file["cases"]
    ]
    return CheckedFile(file["file"], file["usable"], found, [each["shown"] for each in file["problems"]])


def run(
    path: str | os.PathLike[str],
    agent: Any = None,
    *,
    case: str | None = None,
    passthrough: Sequence[str] = (),
    args: Sequence[str] = (),
    binary: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Result:
    """Runs a case and gives what it came to.

    Args:
        path: The scenario file.
        agent: Who plays the agent in place of the file's own: a function `(message, session)` that gives what the
            agent says, plain or `async`, or an agent or `App` of google-adk.
        case: The case, by its name; needed where the file has several.
        passthrough: Tools of an ADK agent that run for real, by name. All others are played by the scenario.
        args: Further arguments for `rehearse run`, such as `["--model", "judge=openai:gpt-4o"]`.
        binary: The `rehearse` binary, where it is not to be found as usual.
        cwd: The folder in which it runs; this one unless told.

    Raises:
        NotUsable: The file, or what was asked of it, cannot be used.
        RehearsalError: There are several cases, and none is named.
    """
    chosen = [] if case is None else [case]
    results = run_all(path, agent, cases=chosen, passthrough=passthrough, args=args, binary=binary, cwd=cwd)
    if len(results) != 1:
        names = "".join(f"\n  {result.name}" for result in results[:20])
        raise RehearsalError(
            f"{os.fspath(path)} gave {len(results)} results, and `run` gives one\n\n"
            f"hint: name a case with `case=`, or take all with `run_all`; there are:{names}"
        )
    return results[0]


def run_all(
    path: str | os.PathLike[str],
    agent: Any = None,
    *,
    cases: Sequence[str] = (),
    passthrough: Sequence[str] = (),
    args: Sequence[str] = (),
    binary: str | os.PathLike[str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> list[Result]:
    """Runs the cases of a file, or of all files below a folder, side by side; all of them unless some are named.

    See `run`, which is the same for one case.

    Raises:
        NotUsable: The files, or what was asked of them, cannot be used.
    """
    words = ["run", os.fspath(path), "--quiet", "--color", "never", *_store(args), "--events", "--reports"]
    words += [word for name in cases for word in ("--case", name)]
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="rehearsal-")))
        serving: Serving | None = None
        if agent is not None:
            serving, more = held.enter_context(_served(agent, passthrough, folder))
            words += more
        elif passthrough:
            raise RehearsalError("`passthrough` names tools of an `agent` of google-adk, and none is given")
        written = folder / "result.json"
        done = _rehearse([*words, "--json", str(written), *args], binary, cwd)
        raised = [] if serving is None else list(serving.exceptions)
    for each in raised:
        if not isinstance(each, Exception):
            raise each  # such as pytest's skip and fail, or Ctrl-C
    if done.returncode not in _JUDGED:
        raise NotUsable(_told(done))
    results = cast("list[Json]", json.loads(done.written)["results"])
    return [Result(data, raised) for data in results]


@contextmanager
def _served(agent: Any, passthrough: Sequence[str], folder: Path) -> Generator[tuple[Serving, list[str]]]:
    """An agent on a socket, and what `rehearse run` is to be told of it."""
    if any(base.__module__.split(".")[:2] == ["google", "adk"] for base in type(agent).__mro__):
        from rehearsal.testing.adk import AdkAgent

        adk = AdkAgent(agent, passthrough)
        with Serving(adk.answer) as serving:
            try:
                file = folder / "agent.json"
                file.write_text(json.dumps({"agent": serving.run(adk.description())}), encoding="utf-8")
                yield serving, ["--agent", str(file), "--agent-socket", str(serving.path)]
            finally:
                serving.run(adk.close())
        return
    if not callable(agent):
        raise RehearsalError(f"an agent is a function, or an agent or App of google-adk, not {type(agent).__name__}")
    if passthrough:
        raise RehearsalError("`passthrough` is for agents of google-adk; a function runs its own tools by itself")
    with Serving(agent) as serving:
        yield serving, ["--agent-socket", str(serving.path)]


@dataclass(frozen=True)
class _Done:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str
    written: str


def _rehearse(words: Sequence[str], binary: str | os.PathLike[str] | None, cwd: str | os.PathLike[str] | None) -> _Done:
    program = find_binary() if binary is None else Path(binary)
    if not program.is_file():
        raise SetupError(f"the `rehearse` binary is to be {program}, which is not a file")
    command = [str(program.resolve()), *words]
    ran = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    out, err = (each.decode(errors="replace") for each in (ran.stdout, ran.stderr))
    written = Path(words[words.index("--json") + 1])
    text = written.read_text(encoding="utf-8") if written.is_file() else ""
    return _Done(ran.returncode, out, err, text)


def _store(args: Sequence[str]) -> list[str]:
    """Nothing is kept, unless somebody says where."""
    keeps = any(word == "--store" or word.startswith("--store=") for word in args)
    return [] if keeps or os.environ.get("REHEARSAL_STORE") else ["--no-store"]


def _told(done: _Done) -> str:
    text = (done.stderr or done.stdout).strip()
    return text.removeprefix("error: ") or f"`rehearse` ended with {done.returncode} and said nothing"
