"""Spreading a run over a cluster: parts are started, waited for, begun again where they are lost, and merged."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike, environ
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rehearsal.binary import find_binary
from rehearsal.errors import RehearsalError, SetupError
from rehearsal.ray.bundle import digest, pack
from rehearsal.ray.leases import Limits
from rehearsal.ray.node import Job, PartFailed, version_of

if TYPE_CHECKING:
    from rehearsal.ray.cluster import Cluster

# So many parts for each that can run at once: they do not take equally long.
_PARTS_EACH = 4
# How often a part is begun before the run is given up.
ATTEMPTS = 5
# What parts say of where results go is the head's business, and how much they may use is handed out in shares.
_NOT_FOR_PARTS = {
    "--shard": "--shards N says how many parts there are",
    "--no-store": "--store says where the run is kept",
    "--env-file": "--env NAME hands a variable of this machine to the nodes",
    "--resume": "--parts DIR goes on with the parts that are there",
    "--agent-socket": "an agent that listens on this machine is not there on the nodes",
}

Case = dict[str, Any]


class PartsFailed(RehearsalError):
    """The run did not come to its end.

    Attributes:
        code: What a program ends with that was asked for it.
    """

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


class Interrupted(PartsFailed):
    """Somebody ended the run."""

    def __init__(self, message: str) -> None:
        super().__init__(message, 130)


@dataclass
class Plan:
    """How a run is spread. `words` are those of `rehearse run`, with its paths."""

    words: list[str]
    shards: int | None = None
    address: str | None = None
    root: Path | None = None
    store: str | None = None
    name: str | None = None
    cpus: float = 1.0
    attempts: int = ATTEMPTS
    parts: Path | None = None
    pass_on: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    tell: Callable[[str], None] = lambda _: None


@dataclass
class _Part:
    """A part that was started."""

    shard: int
    attempt: int
    file: Path
    node: str = "?"
    cases: list[Case] = field(default_factory=list[Case])


class Spread:
    """A run on a cluster. To iterate over it gives what cases came to, as parts end; `result` gives the whole run."""

    def __init__(self, plan: Plan) -> None:
        """Prepares the run; nothing is started before somebody asks for something."""
        self._plan = plan
        self._cases = self._spread()
        self._merged: dict[str, Any] | None = None
        self._folder: Path | None = None
        self.exit_code: int | None = None

    def __iter__(self) -> Iterator[Case]:
        """What cases came to, as parts of the run end."""
        return self._cases

    def result(self, words: Sequence[str] = (), *, shown: bool = False) -> dict[str, Any]:
        """Waits for all parts, and merges them into one run in the store.

        Args:
            words: Options of `rehearse merge`, such as `["--junit", "results.xml"]`.
            shown: Whether what `rehearse merge` prints is printed.

        Raises:
            PartsFailed: A part could not be run.
        """
        for _ in self._cases:
            pass
        if self._merged is None:
            self._merged = self._merge(list(words), shown)
        return self._merged

    @property
    def passed(self) -> bool:
        """Whether everything ran and passed."""
        self.result()
        return self.exit_code == 0

    def _merge(self, words: list[str], shown: bool) -> dict[str, Any]:
        assert self._folder is not None
        store = ["--store", self._plan.store] if self._plan.store else []
        name = ["--name", self._plan.name] if self._plan.name else []
        with tempfile.TemporaryDirectory() as folder:
            own = next((place for flag, place in pairwise(words) if flag == "--json"), None)
            file = Path(folder, "result.json") if own in (None, "-") else Path(own)
            json_words = [] if own is not None else ["--json", str(file)]
            command = [str(find_binary()), "merge", str(self._folder), *store, *name, *words, *json_words]
            merged = subprocess.run(command, capture_output=not shown, text=True, check=False)
            self.exit_code = merged.returncode
            if merged.returncode not in (0, 1):
                raise PartsFailed(
                    (merged.stderr or "the parts could not be merged").strip()
                    + f"\n\nhint: the parts are in {self._folder}",
                    merged.returncode,
                )
            result: dict[str, Any] = json.loads(file.read_text()) if own != "-" else {}
        if self._plan.parts is None:
            shutil.rmtree(self._folder, ignore_errors=True)
        return result

    def _spread(self) -> Iterator[Case]:
        plan = self._plan
        _check_words(plan.words)
        binary = find_binary()
        here = Path.cwd().resolve()
        root = (plan.root or here).resolve()
        if not here.is_relative_to(root):
            raise SetupError(f"this folder, {here}, is not in {root}, which is sent to the nodes")
        packed = pack(root)
        run = uuid.uuid4().hex[:12]
        from rehearsal.ray.cluster import Cluster

        cluster = Cluster(plan.address)
        try:
            room = cluster.room(plan.cpus)
            shards = plan.shards or room * _PARTS_EACH
            self._folder = plan.parts or Path(".rehearsal", "ray", run)
            self._folder.mkdir(parents=True, exist_ok=True)
            job = Job(
                run=run,
                words=plan.words,
                shards=shards,
                version=version_of(binary),
                bundle=digest(packed),
                folder=str(here.relative_to(root)),
                environment={name: _value(name) for name in plan.pass_on},
            )
            slots = min(room, shards, plan.limits.calls or shards)
            cluster.prepare(packed, run, plan.limits, slots, (self._folder / "leases.json").resolve())
            head = _Head(plan, cluster, job, self._folder, slots)
            try:
                yield from head.cases()
            except GeneratorExit:
                head.cancel()
                raise
            except KeyboardInterrupt:
                head.cancel()
                raise Interrupted(
                    f"interrupted: {head.done} of {shards} parts came to their end\n\n"
                    f"hint: `--shards {shards} --parts {self._folder}` goes on with them"
                ) from None
            (self._folder / "leases.json").unlink(missing_ok=True)
        finally:
            cluster.close()


class _Head:
    """Starts parts and waits for them."""

    def __init__(self, plan: Plan, cluster: Cluster, job: Job, folder: Path, slots: int) -> None:
        self._plan, self._cluster, self._job, self._folder, self._slots = plan, cluster, job, folder, slots
        self._running: dict[Any, _Part] = {}
        self.done = 0

    def _published(self, shard: int) -> Path:
        """The file of a part that is whole."""
        return self._folder / f"part-{shard:05}-of-{self._job.shards:05}.db"

    def cases(self) -> Iterator[Case]:
        """What cases came to, as parts end."""
        shards = range(1, self._job.shards + 1)
        waiting = deque((shard, 1) for shard in shards if not self._published(shard).exists())
        self.done = self._job.shards - len(waiting)
        while waiting or self._running:
            # Nodes come and go; what was divided among so many stays divided.
            is_divided = self._plan.limits.is_any()
            slots = self._slots if is_divided else self._cluster.room(self._plan.cpus)
            while waiting and len(self._running) < slots:
                self._start(*waiting.popleft())
            for started in self._cluster.wait(list(self._running)):
                part = self._running[started]
                try:
                    ended = self._hear(started, part)
                except PartFailed as problem:
                    self.cancel()
                    raise PartsFailed(problem.said, problem.code) from None
                except Exception as problem:
                    if not self._is_lost(problem):
                        raise
                    waiting.append(self._again(started, part, problem))
                    continue
                if ended:
                    yield from part.cases

    def _start(self, shard: int, attempt: int) -> None:
        started = self._cluster.start(self._job, shard, attempt, self._plan.cpus)
        # No other try has this name, and what is not whole has no name that anybody reads.
        self._running[started] = _Part(shard, attempt, self._folder / f".part-{shard:05}.{attempt}")

    def _hear(self, started: Any, part: _Part) -> bool:
        """Takes what a part says; whether that was all, and it counts."""
        said = self._cluster.read(started)
        if said is None:
            raise _Cut(f"part {part.shard} ended without a word")
        kind, value = said
        if kind == "begin":
            part.node = value
        elif kind == "case":
            part.cases.append(value)
        elif kind == "store":
            with part.file.open("ab") as file:
                file.write(value)
        elif kind == "end":
            del self._running[started]
            self._cluster.give_back(f"{part.shard}.{part.attempt}", value["result"])
            part.file.rename(self._published(part.shard))
            self.done += 1
            self._tell(part, value["result"]["summary"])
            return True
        return False

    def _tell(self, part: _Part, summary: dict[str, int]) -> None:
        counts = ", ".join(f"{summary[what]} {what}" for what in ("passed", "failed", "errors") if summary.get(what))
        tries = "" if part.attempt == 1 else f", try {part.attempt}"
        self._plan.tell(
            f"[{self.done}/{self._job.shards}] part {part.shard}: {counts or 'no case'} (node {part.node}{tries})"
        )

    def _is_lost(self, problem: Exception) -> bool:
        from rehearsal.ray.cluster import Lost

        return isinstance(problem, Lost | _Cut)

    def _again(self, started: Any, part: _Part, problem: Exception) -> tuple[int, int]:
        """Puts away what is left of a lost part; the part, and the number of its next try."""
        del self._running[started]
        part.file.unlink(missing_ok=True)
        self._cluster.give_back(f"{part.shard}.{part.attempt}", None)
        shard = f"part {part.shard}/{self._job.shards}"
        self._plan.tell(f"{shard} was lost on node {part.node} and is begun again: {problem}")
        if part.attempt >= self._plan.attempts:
            self.cancel()
            raise PartsFailed(f"{shard} was begun {part.attempt} times and never came to its end; last: {problem}")
        return part.shard, part.attempt + 1

    def cancel(self) -> None:
        """Ends what runs."""
        for started, part in self._running.items():
            with suppress(Exception):
                self._cluster.cancel(started)
            part.file.unlink(missing_ok=True)
        self._running.clear()


class _Cut(Exception):
    """A part stopped speaking."""


def _check_words(words: list[str]) -> None:
    for word in words:
        hint = _NOT_FOR_PARTS.get(word.split("=", 1)[0])
        if hint is not None:
            raise SetupError(f"{word} does not go with a run on a cluster\n\nhint: {hint}")


def _value(name: str) -> str:
    if name not in environ:
        raise SetupError(f"the variable {name} is not set here\n\nhint: export {name}=…")
    return environ[name]


def run(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    repeat: int | None = None,
    shards: int | None = None,
    options: Sequence[str] = (),
    address: str | None = None,
    store: str | None = None,
    name: str | None = None,
    root: str | PathLike[str] | None = None,
    env: Sequence[str] = (),
    cpus: float = 1.0,
    parts: str | PathLike[str] | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    max_time: float | None = None,
    max_calls: int | None = None,
) -> Spread:
    """Runs scenarios on a Ray cluster. Iterate over what this gives, or ask it for its `result()`.

    A cluster that this process has joined already (`ray.init`) is used; else the one at `address` is joined.

    Args:
        paths: Scenario files and folders, relative to this folder.
        repeat: How often each case is run.
        shards: How many parts the run is cut into; four for each that can run at once when not given.
        options: Further options of `rehearse run`, such as `["--model", "agent=openai:gpt-4o"]`.
        address: The cluster, as `ray.init` takes it.
        store: Where the run is kept, as `--store` says it.
        name: What the run is called.
        root: The folder whose files are sent to the nodes; this one when not given.
        env: Variables of this machine that the nodes are to have, by name, such as keys.
        cpus: How many processors a part takes.
        parts: A folder in which parts are kept; those that are there already are not run again.
        max_tokens: The most tokens of all parts together.
        max_cost: The most US dollars.
        max_time: The longest time, in seconds.
        max_calls: The most calls of models at once, divided over the parts that run at once.
    """
    several = [paths] if isinstance(paths, str | PathLike) else list(paths)
    words = [str(path) for path in several] + [str(word) for word in options]
    if repeat is not None:
        words += ["--repeat", str(repeat)]
    return Spread(
        Plan(
            words=words,
            shards=shards,
            address=address,
            root=None if root is None else Path(root),
            store=store,
            name=name,
            cpus=cpus,
            parts=None if parts is None else Path(parts),
            pass_on=env,
            limits=Limits(max_tokens, max_cost, max_time, max_calls),
        )
    )
