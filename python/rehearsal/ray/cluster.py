"""The cluster: the one file that speaks to Ray."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as missing:
    from rehearsal.errors import SetupError

    raise SetupError("Ray is not installed here\n\nhint: pip install 'agent-rehearsal[ray]'") from missing

from rehearsal.ray.leases import Leases, Limits
from rehearsal.ray.node import Job, PartFailed, play

# How long to wait for something to happen before the nodes are counted again.
_LOOK_SECONDS = 2.0


class Lost(Exception):
    """A part did not come to its end; elsewhere it may."""


class Cluster:
    """A Ray cluster, joined for as long as this is open."""

    def __init__(self, address: str | None) -> None:
        """Joins the cluster; one that this process has joined already is used as it is."""
        self._is_own = not ray.is_initialized()
        if self._is_own:
            ray.init(address=address, log_to_driver=False, logging_level="warning")
        self._bundle: Any = None
        self._leases: Any = None

    def close(self) -> None:
        """Leaves the cluster, if this has joined it."""
        if self._leases is not None:
            ray.kill(self._leases)
            self._leases = None
        if self._is_own:
            ray.shutdown()

    def room(self, cpus: float) -> int:
        """How many parts can run at once, each on so many processors."""
        alive = (node for node in ray.nodes() if node["Alive"])
        return max(1, sum(int(node["Resources"].get("CPU", 0) // cpus) for node in alive))

    def prepare(self, packed: bytes, run: str, limits: Limits, slots: int, file: Path) -> None:
        """Makes ready what all parts need: the files, and whoever hands out shares of the limits."""
        self._bundle = ray.put(packed)
        if not limits.is_any():
            return
        # A node that dies must not take it along: it lives where whoever waits for the run does.
        here = NodeAffinitySchedulingStrategy(node_id=ray.get_runtime_context().get_node_id(), soft=False)
        actor = ray.remote(Leases).options(
            name=f"rehearse-leases-{run}",
            num_cpus=0,
            max_restarts=-1,
            max_task_retries=-1,
            scheduling_strategy=here,
        )
        self._leases = actor.remote(asdict(limits), slots, str(file))

    def start(self, job: Job, shard: int, attempt: int, cpus: float) -> Any:
        """Starts a part somewhere; gives what it is waited for with."""
        part = _part.options(num_cpus=cpus, scheduling_strategy="SPREAD")
        # In a list, the files are a reference: a node that has them does not ask for them.
        return part.remote(job, shard, attempt, [self._bundle], self._leases)

    def wait(self, parts: list[Any]) -> list[Any]:
        """Those of these parts of which something is there, as soon as there is one."""
        ready, _ = ray.wait(parts, num_returns=1, timeout=_LOOK_SECONDS, fetch_local=True)
        return ready

    def read(self, part: Any) -> tuple[str, Any] | None:
        """What a part says next; nothing when it has said everything.

        Raises:
            Lost: Its node, or its process, is gone.
            PartFailed: It would fail elsewhere too.
        """
        try:
            return ray.get(next(part))
        except StopIteration:
            return None
        except RayTaskError as problem:
            if isinstance(problem.cause, PartFailed):
                raise problem.cause from None
            if isinstance(problem.cause, ChildProcessError):
                raise Lost(str(problem.cause)) from problem
            raise Lost(f"{type(problem.cause).__name__}: {problem.cause}") from problem
        except RayError as problem:
            raise Lost(f"{type(problem).__name__}: its node or its process is gone") from problem

    def cancel(self, part: Any) -> None:
        """Ends a part."""
        ray.cancel(part, force=False)

    def give_back(self, holder: str, result: dict[str, Any] | None) -> None:
        """Says what a part used of its share; nothing where it is gone."""
        if self._leases is None:
            return
        if result is None:
            ray.get(self._leases.lose.remote(holder))
            return
        spent = (result.get("budget") or {}).get("spent") or {}
        ray.get(self._leases.give_back.remote(holder, spent.get("tokens"), spent.get("cost")))


@ray.remote(max_retries=0, num_returns="streaming")
def _part(job: Job, shard: int, attempt: int, files: list[Any], leases: Any) -> Iterator[tuple[str, Any]]:
    """One part of a run."""
    here = ray.get_runtime_context().get_node_id()[:8]
    lease = {} if leases is None else ray.get(leases.take.remote(f"{shard}.{attempt}"))
    yield "begin", here
    yield from play(job, shard, attempt, f"{ray.util.get_node_ip_address()} {here}", lambda: ray.get(files[0]), lease)
