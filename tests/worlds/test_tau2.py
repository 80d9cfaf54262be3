"""tau2-bench, imported from the package that has it: all tasks of airline and of telecom's small split, some of retail.

For each task the reference actions pass. A write that is left out, one that is made with something else and one too
many each fail: not an error, and not because something else was missing too. Which changes make a difference is the
original's to say (tau2_original.py); one that makes none would stand in `EQUIVALENT`, by its task and with its reason.
"""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from stage import Json, benchmarks_python, packages, played, rehearse, verdicts

# How many tasks there are of each; of retail, these few.
DOMAINS = {"airline": 50, "telecom": 20, "retail": 3}
RETAIL = ["0", "2", "59"]

# Drops and changes every write, not only one for each task.
EVERY = bool(os.environ.get("REHEARSAL_EVERY_WRITE"))

# What was tried and leaves the original's data as the reference does, by its task. Each write of a reference matters,
# and so does the first change of it that was tried; of calls that were added, these make no difference:
EQUIVALENT = {
    # The order of both was sent back by the reference, so it is no longer delivered, and the original refuses them.
    "retail 0": ["exchange_delivered_order_items", "return_delivered_order_items"],
    "retail 2": ["exchange_delivered_order_items", "return_delivered_order_items"],
}


def original(folder: Path, domain: str, tasks: list[str]) -> dict[str, Json]:
    asked = json.dumps({"folder": str(folder), "domain": domain, "tasks": tasks, "every": EVERY})
    script = str(Path(__file__).parent / "tau2_original.py")
    done = subprocess.run([benchmarks_python(), script], input=asked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Json] = json.loads(done.stdout)
    return told


def models(calls: list[Json], communicate: list[str]) -> Json:
    """An agent and a user who make these calls, in this order, and say what has to be said."""
    agent: list[Json | str] = []
    user: list[Json | str] = ["Hello, I need your help."]
    turn = 1
    for call in calls:
        made = {"call": call["tool"], "args": call["args"]}
        if call["by"] == "agent":
            if isinstance(user[-1], dict):
                user.append(f"That is done, number {turn}.")
                agent.append(f"Please go on, number {turn}.")
                turn += 1
            agent.append(made)
        else:
            user.append(made)
    # What the user does comes after the agent has spoken.
    if isinstance(user[-1], dict):
        user.append(f"That is done, number {turn}.")
        agent.append(f"Please go on, number {turn}.")
    agent.append(" ".join(["All done:", *communicate]))
    user.append("###STOP###")
    return {"agent": {"script": agent}, "user": {"script": user}}


class Plan:
    """All scenarios of all tasks in one folder, and what has to come of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wanted: dict[str, str] = {}
        self.tasks: dict[str, Json] = {}
        imported = folder / "as-it-is"
        some = [word for name in RETAIL for word in ("--task", name)]
        tasks: list[Json] = []
        for chosen in (["--domain", "airline", "--domain", "telecom"], ["--domain", "retail", *some]):
            arguments = ["--tau2", str(packages()), "--to", str(imported), "--basis-only", "--force", *chosen]
            done = rehearse(folder, "import", *arguments)
            assert done.returncode == 0, done.stderr
            tasks += json.loads((imported / "loss-report.json").read_text())["tasks"]
        self.imported = tasks
        written = {task["task"]: task["file"] for task in tasks}
        world = (folder / "as-it-is" / "tau2_world.py").read_text()
        (folder / "all").mkdir()
        (folder / "all" / "tau2_world.py").write_text(world)
        of_domain = {
            domain: [name.split(" ", 1)[1] for name in written if name.startswith(f"{domain} ")] for domain in DOMAINS
        }
        with ThreadPoolExecutor() as threads:
            asked = {
                domain: threads.submit(original, folder / "as-it-is", domain, tasks)
                for domain, tasks in of_domain.items()
            }
            for domain, told in asked.items():
                for name, task in told.result().items():
                    self.add(domain, name, task, (folder / "as-it-is" / written[f"{domain} {name}"]).read_text())

    def add(self, domain: str, name: str, task: Json, scenario: str) -> None:
        self.tasks[f"{domain} {name}"] = task
        variants = {"reference": task["reference"], "added": task["added"]}
        for kind in ("dropped", "changed"):
            variants.update({f"{kind} {index}": calls for index, calls in task[kind].items()})
        for kind, calls in variants.items():
            if calls is None:
                continue
            case = f"{domain} {name}, {kind}"
            self.wanted[case] = "passed" if kind == "reference" else "failed"
            text = played(scenario, case, models(calls, task["communicate"]))
            (self.folder / "all" / f"{len(self.wanted)}.scenario.yaml").write_text(text)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return Plan(tmp_path_factory.mktemp("tau2"))


@pytest.fixture(scope="module")
def results(plan: Plan) -> dict[str, Json]:
    return verdicts(plan.folder / "all", "--jobs", "4")


def test_all_tasks_are_imported(plan: Plan) -> None:
    for domain, count in DOMAINS.items():
        assert sum(name.startswith(domain) for name in plan.tasks) == count
    assert [task for task in plan.imported if task["file"] is None] == []


def test_every_write_is_tried(plan: Plan) -> None:
    equivalent = {name: [call["tool"] for call in task["equivalent"]] for name, task in plan.tasks.items()}
    assert {name: calls for name, calls in equivalent.items() if calls} == EQUIVALENT
    for task in plan.tasks.values():
        assert None not in [*task["dropped"].values(), *task["changed"].values()]
    assert [name for name, task in plan.tasks.items() if task["added"] is None] == []
    assert sum(bool(task["writes"]) for task in plan.tasks.values()) == 51
    assert sum(len(task["writes"]) for task in plan.tasks.values()) == 84


def test_the_originals_assertions_hold_after_the_reference(plan: Plan) -> None:
    assert [name for name, task in plan.tasks.items() if not task["holds"]] == []


@pytest.mark.parametrize("kind", ["reference", "dropped", "changed", "added"])
def test_verdicts(kind: str, plan: Plan, results: dict[str, Json]) -> None:
    wanted = {name: verdict for name, verdict in plan.wanted.items() if f", {kind}" in name}
    assert wanted
    found = {name: results[name]["status"] for name in wanted}
    assert found == wanted


def test_what_fails_is_the_state(plan: Plan, results: dict[str, Json]) -> None:
    """It is the final state that differs; what the agent had to say, it said."""
    others = {}
    for name, wanted in plan.wanted.items():
        if wanted == "failed":
            final = results[name]["steps"][0]["conversation"]["final_evaluations"]
            failed = [each["type"] for each in final if each["status"] == "failed"]
            if "world_state" not in failed:
                others[name] = failed
    assert others == {}
