"""A class is a world: its methods are the tools of a scenario, its attributes the state that they change.

```python
from rehearsal.world import ToolFailed, World, tool


class Shop(World):
    def __init__(self):
        self.orders = {"17": {"status": "paid"}}

    @tool
    def refund(self, order: str) -> dict:
        '''Pays an order back.'''
        if order not in self.orders:
            raise ToolFailed(f"there is no order {order}", type="NOT_FOUND")
        self.orders[order]["status"] = "refunded"
        return self.orders[order]


if __name__ == "__main__":
    Shop.serve()
```

`python -m rehearsal.world shop.py` tries it by hand. Needs nothing but Python.
"""

from rehearsal.world.base import World, tool
from rehearsal.world.problem import ToolFailed, WorldProblem

__all__ = ["ToolFailed", "World", "WorldProblem", "tool"]
