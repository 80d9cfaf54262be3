"""What the tests of the tables share: the program, a run, and the tables of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import duckdb

Json = dict[str, Any]
ROOT = Path(__file__).parent.parent.parent
TABLES = ["cases", "evaluations", "events", "usage"]


def started(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    binary = str(Path(os.environ["REHEARSAL_BIN"]).resolve())
    environment = {**os.environ, "REHEARSAL_STORE": str(folder / "store.db")}
    return subprocess.run(
        [binary, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def rehearse(folder: Path, *words: str, code: int = 0) -> str:
    done = started(folder, *words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def exported(folder: Path, name: str = "tables", run: str = "last") -> Json:
    told: Json = json.loads(rehearse(folder, "export", run, "--parquet", name, "--format", "json"))
    return told


def ask(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Asks DuckDB, with the tables of `tables` by their names."""
    with duckdb.connect() as database:
        for table in TABLES:
            path = str(folder / "tables" / f"{table}.parquet")
            database.execute(f"CREATE VIEW {table} AS SELECT * FROM '{path}'")
        return database.execute(query).fetchall()
