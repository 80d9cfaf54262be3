"""Scenarios on a Ray cluster: `pip install 'agent-rehearsal[ray]'`.

```python
from rehearsal.ray import run

spread = run(["scenarios/"], repeat=5, shards=40)
for case in spread:  # as parts of the run end
    print(case["name"], case["status"])
print(spread.result()["summary"])
```

A run is cut into parts. Each is a task of Ray, in which the `rehearse` program of that node runs its cases into a store
of its own; what it kept comes back through Ray's objects, and the parts are merged into one run in one store. A part
whose node dies is run again elsewhere: one try of each case counts.
"""

from __future__ import annotations

from rehearsal.ray.spread import Interrupted, PartsFailed, Spread, run

__all__ = ["Interrupted", "PartsFailed", "Spread", "run"]
