"""Multi-turn entries of BFCL, imported from the package that has them: five of each of the four kinds.

The ground truth passes; a call that is left out and a wrong argument fail. Which changes make a difference is BFCL's
own checker's to say (bfcl_original.py); those that it takes all the same stand in `EQUIVALENT`, and are taken here too.
"""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest
from stage import Json, benchmarks_python, packages, played, rehearse, verdicts

FIRST = {"multi_turn_base": 0, "multi_turn_miss_func": 7, "multi_turn_miss_param": 13, "multi_turn_long_context": 21}
ENTRIES = [f"{kind}_{first + place}" for kind, first in FIRST.items() for place in range(0, 200, 40)]

# Changes that BFCL's own checker takes as the ground truth, by their entry.
EQUIVALENT = {
    # There are no hidden files in the folder, so both list the same.
    "multi_turn_base_40": ["ls(a=False) for ls(a=True)"],
}


def original() -> dict[str, Json]:
    script = str(Path(__file__).parent / "bfcl_original.py")
    asked = json.dumps({"entries": ENTRIES})
    done = subprocess.run([benchmarks_python(), script], input=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Json] = json.loads(done.stdout)
    return told


def parameters() -> dict[str, list[str]]:
    found = {}
    for file in (packages() / "bfcl_eval" / "data" / "multi_turn_func_doc").glob("*.json"):
        for line in file.read_text().splitlines():
            document = json.loads(line)
            found[document["name"]] = list(document["parameters"]["properties"])
    return found


def models(turns: list[list[str]], names: dict[str, list[str]]) -> Json:
    """An agent that makes these calls, turn by turn."""
    script: list[Json | str] = []
    for turn in turns:
        for text in turn:
            call = ast.parse(text, mode="eval").body
            assert isinstance(call, ast.Call)
            assert isinstance(call.func, ast.Name)
            given = dict(zip(names[call.func.id], call.args, strict=False))
            given.update({each.arg: each.value for each in call.keywords if each.arg is not None})
            script.append(
                {"call": call.func.id, "args": {name: ast.literal_eval(value) for name, value in given.items()}}
            )
        script.append("Done.")
    return {"agent": {"script": script}}


class Plan:
    """All scenarios of all entries in one folder, and what has to come of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "all"
        self.wanted: dict[str, str] = {}
        self.entries = original()
        chosen = [word for name in ENTRIES for word in ("--entry", name)]
        imported = folder / "as-it-is"
        done = rehearse(folder, "import", "--bfcl", str(packages()), "--to", str(imported), *chosen)
        assert done.returncode == 0, done.stderr
        self.folder.mkdir()
        (self.folder / "bfcl_world.py").write_text((imported / "bfcl_world.py").read_text())
        names = parameters()
        for name, entry in self.entries.items():
            scenario = (imported / f"{name}.scenario.yaml").read_text()
            variants = {"reference": entry["reference"], "dropped": entry["dropped"], "changed": entry["changed"]}
            for number, turns in enumerate(entry["equivalent"]):
                variants[f"equivalent {number}"] = turns["turns"]
            for kind, turns in variants.items():
                case = f"{name}, {kind}"
                self.wanted[case] = "failed" if kind in ("dropped", "changed") else "passed"
                text = played(scenario, case, models(turns, names))
                (self.folder / f"{len(self.wanted)}.scenario.yaml").write_text(text)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(tmp_path_factory.mktemp("bfcl"))


@pytest.fixture(scope="module")
def results(plan: Plan) -> dict[str, Json]:
    return verdicts(plan.folder, "--jobs", "4")


def test_each_entry_can_be_tried(plan: Plan) -> None:
    assert len(plan.entries) == 20
    assert [name for name, entry in plan.entries.items() if not entry["takes"]] == []
    assert [name for name, entry in plan.entries.items() if not (entry["dropped"] and entry["changed"])] == []
    equivalent = {name: [each["what"] for each in entry["equivalent"]] for name, entry in plan.entries.items()}
    assert {name: what for name, what in equivalent.items() if what} == EQUIVALENT


def test_functions_appear_later(plan: Plan) -> None:
    given = [path for path in plan.folder.glob("*.yaml") if "more_functions" in path.read_text()]
    assert len(given) == 15


@pytest.mark.parametrize("kind", ["reference", "equivalent", "dropped", "changed"])
def test_verdicts(kind: str, plan: Plan, results: dict[str, Json]) -> None:
    wanted = {name: verdict for name, verdict in plan.wanted.items() if f", {kind}" in name}
    assert wanted
    assert {name: results[name]["status"] for name in wanted} == wanted
