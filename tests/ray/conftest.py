"""A cluster of Ray on this machine: a head, and two nodes of which one may die."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Nobody counts what we do, and nobody is asked over the network.
os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0", RAY_ENABLE_UV_RUN_RUNTIME_ENV="0")
# A node that is gone is noticed in a second or two.
HEALTH = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
NODE = {"object_store_memory": 80 << 20, "include_dashboard": False}


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": HEALTH, **NODE}, shutdown_at_exit=True
    )
    for _ in range(2):
        made.add_node(num_cpus=2, **NODE)
    made.wait_for_nodes()
    yield made
    made.shutdown()


def processes_below(pid: int) -> list[int]:
    """A process and all that came of it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it ended just now
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += parents.get(found[-1], [])
    return found


def kill_node(node: Any) -> None:
    """Kills a whole node at once: what keeps it, its workers, and what these have started."""
    own = [info.process.pid for several in node.all_processes.values() for info in several]
    for pid in {found for each in own for found in processes_below(each)}:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
