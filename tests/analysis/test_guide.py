"""The guide about analysing runs, typed to the letter: what its queries say is what the runs say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from stage import ROOT, Json, rehearse

GUIDE = ROOT / "docs" / "guides" / "analyse-runs.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which somebody followed the guide to its queries."""
    folder = tmp_path_factory.mktemp("guide")
    (scenario,) = blocks("yaml")
    (folder / "stock.scenario.yaml").write_text(scenario)
    (commands,) = blocks("sh")
    for line in commands.splitlines():
        program, *words = line.split()
        assert program == "rehearse"
        # Some of the cases fail on purpose.
        rehearse(folder, *words, code=1 if words[0] == "run" else 0)
    return folder


def asked(folder: Path, title: str) -> list[dict[str, Any]]:
    (query,) = [query for query in blocks("sql") if query.startswith(f"-- {title}\n")]
    here = Path.cwd()
    os.chdir(folder)
    try:
        found = duckdb.sql(query)
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    finally:
        os.chdir(here)


def result(folder: Path, name: str) -> Json:
    (run,) = json.loads(rehearse(folder, "runs", "--search", name, "--json"))
    told: Json = json.loads(rehearse(folder, "runs", run["id"], "--json"))["result"]
    return told


def test_pass_rates_have_the_intervals_of_the_run(folder: Path) -> None:
    rows = {row["case_name"]: row for row in asked(folder, "pass rate")}
    repeats = result(folder, "before")["repeats"]
    assert {repeat["name"] for repeat in repeats} == set(rows)
    for repeat in repeats:
        row = rows[repeat["name"]]
        assert (row["runs"], row["passed"]) == (20, repeat["passed"])
        assert [row["at_least"], row["at_most"]] == pytest.approx(repeat["wilson"], abs=0.0006)
    assert any(0 < row["rate"] < 1 for row in rows.values())


def test_slow_cases(folder: Path) -> None:
    rows = asked(folder, "slowest cases")
    assert {row["case_name"] for row in rows} == {"Stock [lavender]", "Stock [roses]"}


def test_costs(folder: Path) -> None:
    (row,) = asked(folder, "cost by model and agent")
    assert (row["model"], row["answers"]) == ("script:agent", 80)
    assert (row["input_tokens"], row["output_tokens"]) == (40 * 675, 40 * 36)
    assert row["dollars"] == pytest.approx(40 * (675 * 2.5 + 36 * 10) / 1e6)


def test_failing_tools(folder: Path) -> None:
    (row,) = asked(folder, "failing tools")
    told = result(folder, "before")["summary"]
    assert (row["tool"], row["error_kind"]) == ("count_plants", "TIMEOUT")
    assert row["failures"] == told["total"] - told["passed"]
    assert row["percent_of_calls"] == pytest.approx(100 * row["failures"] / 40, abs=0.5)
    assert row["for_example"] == "the till did not answer"


def test_what_changed(folder: Path) -> None:
    rows = {row["case_name"]: row for row in asked(folder, "what changed")}
    for name, column in (("before", "old_rate"), ("after", "new_rate")):
        for repeat in result(folder, name)["repeats"]:
            assert rows[repeat["name"]][column] == pytest.approx(repeat["passed"] / 20)
    assert any(row["old_rate"] != row["new_rate"] for row in rows.values())
    assert all(row["more_dollars"] == 0 for row in rows.values())


def test_all_queries_are_tried() -> None:
    titles = [query.splitlines()[0].removeprefix("-- ") for query in blocks("sql")]
    assert titles == ["pass rate", "slowest cases", "cost by model and agent", "failing tools", "what changed"]


def test_python_of_the_guide(folder: Path) -> None:
    (folder / "ask.sql").write_text(blocks("sql")[0])
    for script in blocks("python"):
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert "lavender" in done.stdout
    path = "json ->> '$.steps[0].note'"
    assert path in GUIDE.read_text()
    with duckdb.connect() as database:
        file = folder / "before" / "cases.parquet"
        database.execute(f"SELECT {path} FROM '{file}'").fetchall()
