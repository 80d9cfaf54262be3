"""Leases: how parts that run at the same time share what the whole run may use.

A part that starts is handed a share of what nobody has, and gives back what it did not use. So the parts together
never use more than the run may, without a question for each call. What a part had whose node died counts as used:
nobody knows.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Limits:
    """What a run may use: tokens, US dollars, seconds, and calls of models at once; nothing where there is no limit."""

    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None
    calls: int | None = None

    def is_any(self) -> bool:
        """Whether anything is limited."""
        return any(value is not None for value in (self.tokens, self.cost, self.seconds, self.calls))


@dataclass
class _State:
    """What is left, and who has what."""

    tokens: int | None
    cost: float | None
    ends_at: float | None
    leases: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


class Leases:
    """Hands out shares: an actor on the head's node; what it knows is in a file there, in case it is restarted."""

    def __init__(self, limits: dict[str, Any], slots: int, file: str) -> None:
        """Begins with all that may be used, or goes on where it was."""
        self._limits, self._slots, self._file = Limits(**limits), max(1, slots), Path(file)
        if self._file.exists():
            self._state = _State(**json.loads(self._file.read_text()))
            return
        seconds = self._limits.seconds
        ends_at = None if seconds is None else time.time() + seconds
        self._state = _State(self._limits.tokens, self._limits.cost, ends_at)
        self._keep()

    def _keep(self) -> None:
        """Writes down what is known, before anybody is told."""
        made = self._file.with_suffix(".tmp")
        made.write_text(json.dumps(asdict(self._state)))
        made.replace(self._file)

    def take(self, holder: str) -> dict[str, Any]:
        """The share of a part that starts; one that asks again has the same."""
        state = self._state
        if holder not in state.leases:
            # Whoever comes last in this round may have all that is left of it.
            others = max(1, self._slots - len(state.leases))
            tokens = None if state.tokens is None else state.tokens // others
            cost = None if state.cost is None else math.floor(state.cost / others * 1e6) / 1e6
            calls = None if self._limits.calls is None else max(1, self._limits.calls // self._slots)
            state.leases[holder] = {"tokens": tokens, "cost": cost, "calls": calls}
            if tokens is not None and state.tokens is not None:
                state.tokens -= tokens
            if cost is not None and state.cost is not None:
                state.cost -= cost
            self._keep()
        seconds = None if state.ends_at is None else max(0.0, state.ends_at - time.time())
        return {**state.leases[holder], "seconds": seconds}

    def give_back(self, holder: str, tokens: int | None, cost: float | None) -> None:
        """Takes back what a part did not use. What is not known counts as used."""
        state = self._state
        lease = state.leases.pop(holder, None)
        if lease is None:
            return
        if state.tokens is not None and tokens is not None:
            state.tokens += max(0, lease["tokens"] - tokens)
        if state.cost is not None and cost is not None:
            state.cost += max(0.0, lease["cost"] - cost)
        self._keep()

    def lose(self, holder: str) -> None:
        """Notes that a part is gone with its share."""
        if self._state.leases.pop(holder, None) is not None:
            self._keep()
