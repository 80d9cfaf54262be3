"""What the `rehearsal` command says when it cannot do what it is asked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.cli import main

ROOT = Path(__file__).parent.parent


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Gives what the command says when it refuses its arguments."""
    try:
        code = main(arguments)
    except SystemExit as wish:
        code = wish.code
    assert code == 2
    return capsys.readouterr().err


def package(folder: Path, name: str, agent: str, init: str = "from . import agent\n") -> Path:
    place = folder / name
    place.mkdir()
    (place / "__init__.py").write_text(init)
    (place / "agent.py").write_text(agent)
    return place


@pytest.fixture(autouse=True)
def same_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an agent package puts on Python's path is gone after the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.mark.parametrize("init", ["from . import agent\n", ""], ids=["as adk eval wants it", "as adk web takes it"])
def test_an_import_that_fails_in_the_package(tmp_path: Path, capsys: pytest.CaptureFixture[str], init: str) -> None:
    name = "broken_with_init" if init else "broken_without"
    place = package(tmp_path, name, "import json\nimport nosuchmodule\n", init)
    told = said(capsys, "host", str(place))
    assert told == f"error: {place / 'agent.py'}:2: No module named 'nosuchmodule'\n"


def test_an_import_that_fails_further_inside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = package(tmp_path, "broken_inside", "from . import shelf\n")
    (place / "shelf.py").write_text("\n\nfrom json import nosuchname\n")
    told = said(capsys, "host", str(place))
    assert told.startswith(f"error: {place / 'shelf.py'}:3: cannot import name 'nosuchname' from 'json'")
    assert "google-adk" not in told


def test_an_import_that_fails_while_the_agent_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = package(tmp_path, "broken_later", "async def get_agent_async():\n    import nosuchmodule\n")
    assert said(capsys, "host", str(place)) == f"error: {place / 'agent.py'}:2: No module named 'nosuchmodule'\n"


@pytest.mark.parametrize("missing", ["google.adk", "google.genai"])
def test_an_adk_that_is_missing(tmp_path: Path, missing: str) -> None:
    place = package(tmp_path, "fine", "")
    program = (
        f"import sys; sys.modules[{missing!r}] = None; from rehearsal.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, "host", str(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2
    assert "hint: google-adk is needed here: pip install 'agent-rehearsal[adk]'" in told.stderr


def test_folders_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "host", str(tmp_path / "nope")) == f"error: there is no folder {tmp_path / 'nope'}\n"
    (tmp_path / "agent.py").write_text("")
    told = said(capsys, "host", str(tmp_path / "agent.py"))
    assert told.startswith(f"error: {tmp_path / 'agent.py'} is not a folder")
    (tmp_path / "bare").mkdir()
    assert "it has no __init__.py" in said(capsys, "host", str(tmp_path / "bare"))


@pytest.mark.parametrize("port", ["99999", "-1", "65536", "many"])
def test_ports_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], port: str) -> None:
    told = said(capsys, "host", str(tmp_path), f"--port={port}")
    assert f"argument --port: {port} is not a port; ports go from 0 to 65535" in told
    assert "Traceback" not in told


def test_a_server_address_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = package(
        tmp_path, "addressed", "from google.adk.agents import Agent\nroot_agent = Agent(name='a', model='m')\n"
    )
    told = said(capsys, "host", str(place), "--server", "http://127.0.0.1:99999")
    assert re.fullmatch(r"error: `http://127\.0\.0\.1:99999` is not a server address: .*99999.*\n", told)


def test_the_help_says_where_the_token_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["host", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert "REHEARSAL_TOKEN" in told
    assert ".rehearsal/token" in told
    assert "?token=" in told
