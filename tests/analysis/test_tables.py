"""What DuckDB and Polars read in the tables of a run is what the run says of itself."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from stage import ROOT, TABLES, Json, ask, exported, rehearse, started

ODD = "NUL \0, quote \", back\\slash, line\nbreak, \t, é, 🌱, \u202e, \ufeff, ' OR 1=1 --"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Json]:
    """The project's examples, run and exported, and the result as JSON."""
    folder = tmp_path_factory.mktemp("examples")
    scenarios = ROOT / "examples" / "scenarios"
    rehearse(folder, "run", str(scenarios), "--repeat", "2", "--json", "result.json", "--name", "examples")
    exported(folder)
    result: Json = json.loads((folder / "result.json").read_text())
    return folder, result


def evaluations(case: Json) -> list[Json]:
    asked: list[Json] = []
    for step in case["steps"]:
        conversation = step.get("conversation") or {}
        for turn in conversation.get("turns", []):
            asked += turn["turn_evaluations"]
        asked += conversation.get("final_evaluations", [])
        asked += step["evaluations"]
    return asked


def tokens(case: Json) -> list[Json]:
    return [usage for usage in case["token_usage"].values() if usage]


def test_cases_are_those_of_the_result(examples: tuple[Path, Json]) -> None:
    folder, result = examples
    cases = result["results"]
    assert len(cases) > 40
    order = "ORDER BY place, repeat"
    rows = ask(folder, f"SELECT case_name, repeat, verdict, seed, duration_ms, turns, session FROM cases {order}")
    told = [
        (
            case["name"],
            case["repeat"],
            case["status"],
            case["seed"],
            case["duration_ms"],
            case["turns"],
            case["sessions"][0],
        )
        for case in cases
    ]
    assert rows == told
    sums = ask(folder, f"SELECT input_tokens, output_tokens FROM cases {order}")
    assert sums == [
        (sum(part["input"] for part in tokens(case)), sum(part["output"] for part in tokens(case)))
        if tokens(case)
        else (None, None)
        for case in cases
    ]
    verdicts = dict(ask(folder, "SELECT verdict, count(*) FROM cases GROUP BY verdict"))
    assert verdicts == Counter(case["status"] for case in cases)
    assert ask(folder, "SELECT DISTINCT run_name FROM cases") == [("examples",)]
    # The last column has all of it.
    whole = [json.loads(text) for (text,) in ask(folder, f"SELECT json FROM cases {order}")]
    assert [(case["name"], case["steps"]) for case in whole] == [(case["name"], case["steps"]) for case in cases]


def test_costs_are_those_of_the_evaluations(examples: tuple[Path, Json]) -> None:
    folder, result = examples
    known = {
        case["name"]: asked["value"]
        for case in result["results"]
        for asked in evaluations(case)
        if asked["type"] == "cost"
    }
    assert known == {"Referral form": pytest.approx(0.00208)}
    costs = dict(ask(folder, "SELECT case_name, cost FROM cases WHERE cost IS NOT NULL"))
    assert costs == pytest.approx(known)
    assert dict(ask(folder, "SELECT case_name, sum(cost) / 2 FROM usage WHERE cost > 0 GROUP BY ALL")) == pytest.approx(
        known
    )


def test_evaluations_are_those_of_the_result(examples: tuple[Path, Json]) -> None:
    folder, result = examples
    rows = ask(
        folder,
        "SELECT case_name, name, kind, label, status, passed, line, message FROM evaluations "
        "ORDER BY place, repeat, number",
    )
    told = [
        (case["name"], *(asked[key] for key in ("name", "type", "label", "status", "success", "line", "message")))
        for case in result["results"]
        for asked in evaluations(case)
    ]
    assert rows == told
    assert {"step", "turn", "final"} <= {scope for (scope,) in ask(folder, "SELECT DISTINCT scope FROM evaluations")}


def test_events_are_those_of_the_ledgers(examples: tuple[Path, Json]) -> None:
    folder, result = examples
    for case in result["results"][::9]:
        for session in case["sessions"]:
            ledger = [json.loads(line) for line in rehearse(folder, "sessions", session, "--ledger").splitlines()]
            rows = ask(folder, f"SELECT seq, kind, author, json FROM events WHERE session = '{session}' ORDER BY seq")
            assert [(seq, kind, author, json.loads(text)) for seq, kind, author, text in rows] == [
                (event["seq"], event["body"]["type"], event["author"], event) for event in ledger
            ]
    # Each session of each case is there, and each answer of a model.
    sessions = {session for case in result["results"] for session in case["sessions"]}
    assert {session for (session,) in ask(folder, "SELECT DISTINCT session FROM events")} == sessions
    assert ask(folder, "SELECT count(*) FROM usage") == ask(
        folder, "SELECT count(*) FROM events WHERE kind = 'model_response'"
    )
    lost = "SELECT count(*) FROM events ANTI JOIN cases USING (run, place, repeat)"
    assert ask(folder, lost) == [(0,)]
    # A failing mock is a failing call.
    failed = dict(ask(folder, "SELECT tool, error_kind FROM events WHERE kind = 'tool_result' AND failed"))
    assert failed["send_email"] == "MAIL_DOWN"


def test_polars_reads_the_same(examples: tuple[Path, Json]) -> None:
    folder, result = examples
    for table in TABLES:
        frame = pl.read_parquet(folder / "tables" / f"{table}.parquet")
        with duckdb.connect() as database:
            path = str(folder / "tables" / f"{table}.parquet")
            read = database.execute(f"SELECT * FROM '{path}'")
            assert frame.columns == [column[0] for column in read.description or []]
            assert frame.rows() == read.fetchall()
    cases = pl.scan_parquet(folder / "tables" / "cases.parquet")
    passed = cases.filter(pl.col("verdict") == "passed").select(pl.len()).collect().item()
    assert passed == result["summary"]["passed"]
    assert cases.collect_schema()["run_started_at"] == pl.Datetime("us")


def test_no_column_needs_quotes(examples: tuple[Path, Json]) -> None:
    folder, _ = examples
    for table in TABLES:
        for name in pl.read_parquet_schema(folder / "tables" / f"{table}.parquet"):
            ask(folder, f"SELECT {name}, t.{name} AS other FROM {table} t WHERE {name} IS NULL ORDER BY {name}")


def scenario(folder: Path, name: str, **more: Any) -> None:
    said: Json = {
        "name": name,
        "description": "Odd characters.",
        "environment": {"type": "local"},
        "agent": {"instructions": "x"},
        "models": {"agent": {"script": [ODD]}},
        "run": [{"input": ODD, "evaluations": [{"type": "equals", "value": ODD}]}],
        "judgment": {"strategy": "all_pass"},
    }
    (folder / "odd.scenario.yaml").write_text(json.dumps({**said, **more}))


def test_odd_characters_stay_what_they_are(tmp_path: Path) -> None:
    scenario(tmp_path, "Odd '\"; -- é🌱", description=ODD)
    rehearse(tmp_path, "run", "odd.scenario.yaml")
    exported(tmp_path)
    assert ask(tmp_path, "SELECT case_name, verdict FROM cases") == [("Odd '\"; -- é🌱", "passed")]
    said = {"user_message": ODD, "model_response": ODD}
    rows = ask(tmp_path, "SELECT kind, said FROM events WHERE said IS NOT NULL")
    assert dict(rows) == said
    assert (
        dict(
            pl.read_parquet(tmp_path / "tables" / "events.parquet")
            .filter(pl.col("said").is_not_null())
            .select("kind", "said")
            .rows()
        )
        == said
    )


def test_a_run_that_passed_nothing(tmp_path: Path) -> None:
    scenario(tmp_path, "Wrong", run=[{"input": "x", "evaluations": [{"type": "equals", "value": "y"}]}])
    rehearse(tmp_path, "run", "odd.scenario.yaml", code=1)
    exported(tmp_path)
    assert ask(tmp_path, "SELECT verdict, fault IS NULL OR fault = 'agent' FROM cases") == [("failed", True)]
    assert ask(tmp_path, "SELECT status, passed FROM evaluations") == [("failed", False)]


def test_two_runs_are_read_together(tmp_path: Path) -> None:
    scenario(tmp_path, "Twice")
    for name in ("one", "two"):
        rehearse(tmp_path, "run", "odd.scenario.yaml", "--name", name)
        exported(tmp_path, name)
    both = pl.read_parquet(tmp_path / "*" / "cases.parquet")
    assert sorted(both["run_name"]) == ["one", "two"]


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    scenario(tmp_path, "Kept")
    rehearse(tmp_path, "run", "odd.scenario.yaml")
    told = exported(tmp_path)
    assert [(table["name"], table["rows"]) for table in told["tables"]][:2] == [("cases", 1), ("evaluations", 1)]
    again = started(tmp_path, "export", "last", "--parquet", "tables")
    assert (again.returncode, again.stdout) == (2, "")
    assert "cases.parquet` is there already" in again.stderr
    assert "--force" in again.stderr
    rehearse(tmp_path, "export", "last", "--parquet", "tables", "--force")
    (tmp_path / "tables" / "usage.parquet").write_text("mine")
    foreign = started(tmp_path, "export", "last", "--parquet", "tables", "--force")
    assert foreign.returncode == 2
    assert "is no file of an earlier export" in foreign.stderr
    assert (tmp_path / "tables" / "usage.parquet").read_text() == "mine"
    assert not [path for path in (tmp_path / "tables").iterdir() if path.suffix == ".part"]


def test_a_session_is_no_run_and_a_run_no_session(tmp_path: Path) -> None:
    scenario(tmp_path, "Named")
    rehearse(tmp_path, "run", "odd.scenario.yaml", "--json", "result.json")
    (case,) = json.loads((tmp_path / "result.json").read_text())["results"]
    session = case["sessions"][0]
    told = started(tmp_path, "export", session, "--parquet", "tables")
    assert told.returncode == 2
    assert f"`{session[:8]}` is a session, and `--parquet` exports runs" in told.stderr
    (run,) = json.loads(rehearse(tmp_path, "runs", "--json"))
    told = started(tmp_path, "export", run["id"], "--evalset", "set.json")
    assert told.returncode == 2
    assert f"`{run['id'][:8]}` is a run" in told.stderr
    told = started(tmp_path, "export", "ffffffff", "--parquet", "tables")
    assert "there is no run `ffffffff`" in told.stderr
    assert not (tmp_path / "tables").exists()
