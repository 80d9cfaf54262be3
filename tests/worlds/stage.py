"""What the tests of worlds share: where the programs are, and one run of many scenarios."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def program(variable: str, hint: str) -> str:
    path = os.environ.get(variable, "")
    if not Path(path).is_file():
        raise RuntimeError(f"{variable} has to name {hint}; `cargo xtask test --only worlds` sets it")
    return path


def benchmarks_python() -> str:
    return program(
        "REHEARSAL_BENCHMARKS_PYTHON", "the interpreter with the packages of python/requirements/benchmarks.txt"
    )


def packages() -> Path:
    """Where the benchmarks are installed."""
    asked = "import sysconfig; print(sysconfig.get_path('purelib'))"
    done = subprocess.run([benchmarks_python(), "-c", asked], capture_output=True, text=True, check=True)
    return Path(done.stdout.strip())


def rehearse(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command, with worlds started by the interpreter that has the benchmarks."""
    binary = program("REHEARSAL_BIN", "the `rehearse` program")
    path = f"{Path(benchmarks_python()).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    return subprocess.run(
        [binary, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def verdicts(folder: Path, *arguments: str) -> dict[str, Json]:
    """Runs all scenarios of a folder at once; their results by name."""
    done = rehearse(folder, "run", ".", "--no-store", "--quiet", "--json", "results.json", *arguments)
    assert done.returncode in (0, 1), done.stderr[-4000:]
    results = json.loads((folder / "results.json").read_text())
    return {result["name"]: result for result in results["results"]}


def played(scenario: str, name: str, models: Json) -> str:
    """An imported scenario as it is, under another name and with models that follow a script."""
    _, first, rest = scenario.partition("\nname: ")
    _, end, rest = rest.partition("\n")
    return f"models: {json.dumps(models)}{first}{json.dumps(name)}{end}{rest}"
