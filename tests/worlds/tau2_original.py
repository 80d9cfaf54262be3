"""What tau2-bench itself says of calls: run by an interpreter that has the package `inspect-evals`.

Reads `{"folder", "domain", "tasks", "every"}` on standard input, and writes for each task the reference calls, whether
the task's assertions hold after them, and one way each to drop the first write (or every one), to change the last (or
every one) and to add one, so that the data of the original, all of which its hash is made of, are others in the end.
Where there is no such way, it says so. The calls are made as the original's scorer makes them: on the stores, one
after the other, and what fails is passed over. What was tried before and leaves the same data is written too, as
`equivalent`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

Json = dict[str, Any]
# The only calls that the original's scorer does not make.
NO_WRITES = ("calculate", "transfer_to_human_agents")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tau2_world", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Original:
    """One domain, set up once; every play has a process of its own, so that none sees what another did."""

    def __init__(self, world: ModuleType, domain: str, tasks: list[str]) -> None:
        begin = world.Task.begin
        world.Task.begin = lambda self: None
        self.task = world.Task(domain, tasks[0])
        world.Task.begin = begin
        self.error = sys.modules["inspect_ai.tool"].ToolError
        self.records = {name: self.task.find(name) for name in tasks}

    def play(self, name: str, calls: list[Json], every: bool = False) -> Json:
        """The data at the end or after every call, which calls failed, and whether the assertions hold."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            with os.fdopen(theirs, "w") as out:
                try:
                    json.dump(self.played(name, calls, every), out)
                finally:
                    out.flush()
                    os._exit(0)
        os.close(theirs)
        with os.fdopen(ours) as told:
            text = told.read()
        os.waitpid(child, 0)
        return json.loads(text)

    def played(self, name: str, calls: list[Json], every: bool) -> Json:
        task = self.task
        task.record = self.records[name]
        task.begin()
        after, failed = [self.data()] if every else [], []
        for index, call in enumerate(calls):
            if call["tool"] not in NO_WRITES:
                try:
                    getattr(task.stores[call["by"]], call["tool"])(**call["args"])
                except (self.error, ValueError, KeyError, AttributeError, TypeError):
                    failed.append(index)
                task.settle()
            if every or index == len(calls) - 1:
                after.append(self.data())
        criteria = task.record["evaluation_criteria"] or {}
        asserted = criteria.get("env_assertions") or []
        holds = [
            getattr(task.stores["user" if each["env_type"] == "user" else "agent"], each["func_name"])(
                **each["arguments"]
            )
            == each["assert_value"]
            for each in asserted
        ]
        return {"after": after or [self.data()], "failed": failed, "holds": all(holds)}

    def data(self) -> str:
        """A digest of all data: that of the original is of the same fields, and takes twice the time."""
        text = "".join(store.db.model_dump_json() for store in self.task.stores.values())
        return hashlib.sha256(text.encode()).hexdigest()

    def reference(self, name: str) -> list[Json]:
        actions = (self.records[name]["evaluation_criteria"] or {}).get("actions") or []
        return [
            {
                "tool": each["name"],
                "args": each["arguments"],
                "by": "user" if each.get("requestor") == "user" else "agent",
            }
            for each in actions
        ]


def changed(value: Any, others: list[Any]) -> list[Any]:
    """Other values for an argument: those that other calls have in its place first."""
    found = [other for other in others if other != value and type(other) is type(value)]
    if isinstance(value, bool):
        found.append(not value)
    elif isinstance(value, (int, float)):
        found.append(value + 1)
    elif isinstance(value, list) and value:
        found.append(value[:-1])
    elif isinstance(value, str):
        found.append(value + "x")
    return found


def main() -> None:
    asked = json.load(sys.stdin)
    world = load(Path(asked["folder"]) / "tau2_world.py")
    original = Original(world, asked["domain"], asked["tasks"])
    references = {name: original.reference(name) for name in asked["tasks"]}
    plays = {name: original.play(name, calls, every=True) for name, calls in references.items()}

    # The calls that change something, and the values that arguments have anywhere.
    writes: list[Json] = []
    places: dict[str, list[int]] = {}
    values: dict[tuple[str, str], list[Any]] = {}
    for name, calls in references.items():
        after = plays[name]["after"]
        for call in calls:
            for argument, value in call["args"].items():
                values.setdefault((call["tool"], argument), []).append(value)
        places[name] = [index for index in range(len(calls)) if after[index] != after[index + 1]]
        writes.extend(calls[index] for index in places[name] if calls[index] not in writes)

    def first(name: str, candidates: Iterator[tuple[list[Json], int | None]]) -> list[Json] | None:
        """The first calls that leave other data. A call that works is worth more than one that fails."""
        fallback = None
        for calls, made in candidates:
            play = original.play(name, calls)
            if play["after"][-1] != plays[name]["after"][-1]:
                if made not in play["failed"]:
                    return calls
                fallback = fallback or calls
            else:
                equivalent.setdefault(name, []).append(calls if made is None else calls[made])
        return fallback

    def changes(calls: list[Json], index: int) -> Iterator[tuple[list[Json], int | None]]:
        for argument, value in calls[index]["args"].items():
            for other in changed(value, values[calls[index]["tool"], argument])[:12]:
                made = {**calls[index], "args": {**calls[index]["args"], argument: other}}
                yield [*calls[:index], made, *calls[index + 1 :]], index
        # A call without arguments, such as of a switch of the phone, becomes one of another switch.
        if not calls[index]["args"]:
            for write in writes:
                if write["by"] == calls[index]["by"] and write["tool"] != calls[index]["tool"]:
                    yield [*calls[:index], write, *calls[index + 1 :]], index

    equivalent: dict[str, list[Any]] = {}
    told = {}
    for name, calls in references.items():
        chosen = places[name] if asked["every"] else places[name][:1]
        changed_ones = places[name] if asked["every"] else places[name][-1:]
        told[name] = {
            "reference": calls,
            "holds": plays[name]["holds"],
            "failed": plays[name]["failed"],
            "writes": places[name],
            "communicate": (original.records[name]["evaluation_criteria"] or {}).get("communicate_info") or [],
            "dropped": {index: first(name, iter([(calls[:index] + calls[index + 1 :], None)])) for index in chosen},
            "changed": {index: first(name, changes(calls, index)) for index in changed_ones},
            "added": first(name, (([*calls, write], len(calls)) for write in writes)),
        }
        told[name]["equivalent"] = equivalent.get(name, [])
    json.dump(told, sys.stdout)


main()
