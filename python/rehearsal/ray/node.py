"""What runs on a node: one part of a run, by the `rehearse` program that is there."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.binary import find_binary
from rehearsal.errors import SetupError
from rehearsal.ray.bundle import unpack

# So much of a store is sent at once.
_CHUNK = 1 << 20
# The exit codes of a part that came to its end.
_ENDED = {0, 1}


@dataclass
class Job:
    """What all parts of a run have in common."""

    run: str
    words: list[str]
    shards: int
    version: str
    bundle: str
    folder: str
    environment: dict[str, str]


class PartFailed(Exception):
    """A part could not be run, and would fail elsewhere too."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(code, said)
        self.code = code
        self.said = said


def version_of(binary: Path) -> str:
    """What a `rehearse` program says of itself."""
    return subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def home() -> Path:
    """Where parts of runs are kept on a node until they are sent."""
    return Path(tempfile.gettempdir(), f"rehearse-ray-{os.getuid()}")


def play(
    job: Job, shard: int, attempt: int, node: str, packed: Callable[[], bytes], lease: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Runs a part, and gives what its cases came to, then its store in pieces, then how it ended.

    Raises:
        PartFailed: The program refused to run it.
        ChildProcessError: The program was killed.
    """
    try:
        binary = find_binary()
        found = version_of(binary)
    except (SetupError, OSError, subprocess.SubprocessError) as problem:
        raise PartFailed(2, f"node {node}: {problem}") from problem
    if found != job.version:
        raise PartFailed(2, f"node {node} has `{found}`, and this machine has `{job.version}`: install the same there")
    files = home() / job.bundle
    folder = files if files.is_dir() else unpack(packed(), home())
    work = Path(tempfile.mkdtemp(dir=home(), prefix=f"{job.run}-{shard}-{attempt}-"))
    try:
        store, result = work / "part.db", work / "result.json"
        words = [
            *job.words,
            *(["--shard", f"{shard}/{job.shards}", "--store", str(store), "--json", str(result), "--quiet"]),
            *_limits(lease),
        ]
        environment = {**os.environ, **job.environment, "REHEARSE_NODE": node, "REHEARSE_ATTEMPT": str(attempt)}
        environment.pop("REHEARSE_SHARD", None)
        code, said = _run([str(binary), "run", *words], folder / job.folder, environment)
        if code == 2:
            raise PartFailed(code, said)
        if code not in _ENDED:
            raise ChildProcessError(f"`rehearse` ended with {code} on node {node}: {said[-2000:]}")
        ended = json.loads(result.read_text())
        for case in ended.pop("results"):
            yield "case", case
        with store.open("rb") as file:
            while chunk := file.read(_CHUNK):
                yield "store", chunk
        yield "end", {"node": node, "code": code, "said": said, "result": ended}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _limits(lease: dict[str, Any]) -> list[str]:
    """A share as options. Where nothing is left it is the least there is, for which no call can be reserved."""
    words: list[str] = []
    if lease.get("tokens") is not None:
        words += ["--max-tokens", str(max(1, lease["tokens"]))]
    if lease.get("cost") is not None:
        words += ["--max-cost", f"{max(0.000001, lease['cost']):.6f}"]
    if lease.get("seconds") is not None:
        words += ["--max-time", f"{max(1, int(lease['seconds'] * 1000))}ms"]
    if lease.get("calls") is not None:
        words += ["--max-calls", str(lease["calls"])]
    return words


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Runs the program; it goes with this process, however that ends."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            preexec_fn=_go_with_parent if sys.platform == "linux" else None,
        )
        try:
            code = process.wait()
        except BaseException:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
        said.seek(0)
        return code, said.read().strip()


def _go_with_parent() -> None:
    """Has the kernel end this process when the one that started it is gone: nobody would take what comes of it."""
    set_pdeathsig = 1
    ctypes.CDLL(None).prctl(set_pdeathsig, signal.SIGKILL)
