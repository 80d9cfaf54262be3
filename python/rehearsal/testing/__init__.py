"""Scenarios in tests: run a case, against a function or an agent of this process where one is given.

```python
from rehearsal.testing import run


def test_refund():
    result = run("refund.scenario.yaml", agent=my_agent)
    assert result.passed, result.report()
```

Nothing but the standard library and the `rehearse` binary is needed here; google-adk only for agents of it.
"""

from __future__ import annotations

from rehearsal.testing.outcome import Call, Evaluation, Result
from rehearsal.testing.running import Case, cases, run, run_all
from rehearsal.testing.session import AsyncSession, Session, SessionOver, ToolFailed

__all__ = [
    "AsyncSession",
    "Call",
    "Case",
    "Evaluation",
    "Result",
    "Session",
    "SessionOver",
    "ToolFailed",
    "cases",
    "run",
    "run_all",
]
