"""The guide for pytest, typed to the letter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stage import ADK_2

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT.parent / "docs" / "guides" / "pytest.md").read_text()
pytestmark = pytest.mark.skipif(not ADK_2, reason="about pytest, which is the same for every ADK")


def files() -> dict[str, str]:
    """Gives the files of the guide, by the names under which it has them saved."""
    found: list[tuple[str, str]] = re.findall(r"`([\w.]+\.(?:py|yaml))`[^\n]*:\n\n```\w+\n(.*?)```", GUIDE, re.DOTALL)
    return dict(found)


def test_the_guide(tmp_path: Path) -> None:
    written = files()
    (same,) = re.findall(r"```python\n(def test_refund.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert same in written["test_refund.py"]
    assert list(written) == ["refund.scenario.yaml", "test_refund.py", "conftest.py"]
    binary = Path(os.environ["REHEARSAL_BIN"]).resolve()
    first = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    assert [block.splitlines()[-1] for block in first] == ["pytest -v", "pytest -v"]
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "rehearsal.pytest_plugin", "REHEARSAL_BIN": str(binary), "COLUMNS": "200",
    }  # fmt: skip
    subprocess.run([binary, "init", "scenarios"], cwd=tmp_path, check=True, capture_output=True)

    def pytest_v() -> str:
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (shown,) = re.findall(r"```text\n(.*?)\n```", GUIDE, re.DOTALL)
    assert shown in pytest_v()
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    told = pytest_v()
    assert "refund.scenario.yaml::Refunds an order PASSED" in told
    assert "test_refund.py::test_refund PASSED" in told
    shutil.rmtree(tmp_path / "scenarios")


def test_the_extra_that_the_guide_installs() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert "pip install 'agent-rehearsal[pytest]'" in GUIDE
    assert re.search(r'^pytest = \["pytest>=', project, re.MULTILINE)
    assert '[project.entry-points.pytest11]\nrehearsal = "rehearsal.pytest_plugin"\n' in project
