"""What BFCL itself says of calls: run by an interpreter that has the package `bfcl-eval`.

Reads `{"entries"}` on standard input, ids, and writes for each entry the ground truth as calls by turn, and one way
each to drop a call and to change an argument so that BFCL's own checker does not take them. What was tried before and
is taken all the same is written too, as `equivalent`.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bfcl_eval
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker

Json = dict[str, Any]
DATA = Path(bfcl_eval.__path__[0]) / "data"


def lines(path: Path) -> dict[str, Json]:
    return {each["id"]: each for each in map(json.loads, path.read_text().splitlines())}


class Original:
    """One entry, as the original checks it."""

    def __init__(self, name: str) -> None:
        self.category = name.rsplit("_", 1)[0]
        file = f"BFCL_v4_{self.category}.json"
        self.entry = lines(DATA / file)[name]
        self.truth: list[list[str]] = lines(DATA / "possible_answer" / file)[name]["ground_truth"]
        self.checked = 0
        self.equivalent: list[Json] = []

    def takes(self, turns: list[list[str]]) -> bool:
        self.checked += 1
        # It keeps its objects by the name of the model.
        model = f"rehearsal-{self.checked}"
        steps = [[[call] for call in calls] for calls in turns]
        return bool(multi_turn_checker(steps, self.truth, self.entry, self.category, model)["valid"])

    def first(self, candidates: Iterator[tuple[str, list[list[str]]]]) -> list[list[str]] | None:
        for what, turns in candidates:
            if not self.takes(turns):
                return turns
            self.equivalent.append({"what": what, "turns": turns})
        return None

    def without(self) -> Iterator[tuple[str, list[list[str]]]]:
        # BFCL refuses a turn in which nothing is called, whatever is lost by it; so those come last.
        for is_last in (False, True):
            for turn, calls in enumerate(self.truth):
                for index in range(len(calls)):
                    if (len(calls) == 1) == is_last:
                        left = calls[:index] + calls[index + 1 :]
                        yield f"without {calls[index]}", [*self.truth[:turn], left, *self.truth[turn + 1 :]]

    def wrong(self) -> Iterator[tuple[str, list[list[str]]]]:
        for turn, calls in enumerate(self.truth):
            for index, call in enumerate(calls):
                for other in changes(call):
                    made = [*calls[:index], other, *calls[index + 1 :]]
                    yield f"{other} for {call}", [*self.truth[:turn], made, *self.truth[turn + 1 :]]


def changes(call: str) -> Iterator[str]:
    """The call with one argument changed, of the same type."""
    for number in range(20):
        tree = ast.parse(call, mode="eval")
        assert isinstance(tree.body, ast.Call)
        values = [*tree.body.args, *(each.value for each in tree.body.keywords)]
        if number >= len(values):
            return
        value = values[number]
        if isinstance(value, ast.Constant):
            old = value.value
            if isinstance(old, bool):
                value.value = not old
            elif isinstance(old, (int, float)):
                value.value = old + 1
            elif isinstance(old, str):
                value.value = old + "x"
            yield ast.unparse(tree)


def main() -> None:
    told = {}
    for name in json.load(sys.stdin)["entries"]:
        original = Original(name)
        told[name] = {
            "takes": original.takes(original.truth),
            "reference": original.truth,
            "dropped": original.first(original.without()),
            "changed": original.first(original.wrong()),
        }
        told[name]["equivalent"] = original.equivalent
    json.dump(told, sys.stdout)


main()
