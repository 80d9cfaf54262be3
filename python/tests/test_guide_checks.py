"""The guide for checks of one's own, and the scenario of that for worlds, typed to the letter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stage import ADK_2

ROOT = Path(__file__).parent.parent
GUIDES = ROOT.parent / "docs" / "guides"
pytestmark = pytest.mark.skipif(not ADK_2, reason="about the binary, which is the same for every ADK")


def blocks(guide: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (GUIDES / guide).read_text(), re.DOTALL)


def rehearse(folder: Path, *words: str) -> str:
    binary = Path(os.environ["REHEARSAL_BIN"]).resolve()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = [str(binary), *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_checks(tmp_path: Path) -> None:
    (checks,) = blocks("check-it-yourself.md", "python")
    scenario, javascript, _, group = blocks("check-it-yourself.md", "yaml")
    (tmp_path / "checks.py").write_text(checks)
    (tmp_path / "refund.scenario.yaml").write_text(scenario)
    assert "paid back" in rehearse(tmp_path, "run", "refund.scenario.yaml", "--verbose")
    ask = "      - {type: python, function: 'checks:pays_back_once', args: {most: 1}}\n"
    assert ask in scenario
    for more in (javascript, group):
        indented = "".join(f"      {line}\n" for line in more.splitlines())
        (tmp_path / "more.scenario.yaml").write_text(scenario.replace(ask, indented))
        rehearse(tmp_path, "run", "more.scenario.yaml")


def test_worlds(tmp_path: Path) -> None:
    (shop,) = blocks("world-in-ten-lines.md", "python")
    (scenario,) = [block for block in blocks("world-in-ten-lines.md", "yaml") if "judgment:" in block]
    (tmp_path / "shop.py").write_text(shop)
    # Whoever follows the guide has installed the package; here it is where the sources are.
    found = "environment: {type: local, variables: [PYTHONPATH], public: [PYTHONPATH]}"
    (tmp_path / "shop.scenario.yaml").write_text(scenario.replace("environment: {type: local}", found))
    rehearse(tmp_path, "check", "shop.scenario.yaml")
    rehearse(tmp_path, "run", "shop.scenario.yaml")
