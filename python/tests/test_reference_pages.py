"""The pages of reference that say what the program and the package take are what these take."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.stage import ADK_2

TOP = Path(__file__).parent.parent.parent
REFERENCE = TOP / "docs" / "reference"
HEAD = """\
# The command line

What `rehearse --help` and `rehearse COMMAND --help` print. `rehearse man` has the same as manual pages, and
`rehearse completions` lets your shell complete all of it.

"""


def said(*args: str) -> str:
    """Gives what the program prints, at a width of its own and with nothing of this environment in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REHEARSAL_")}
    environment = {**kept, "COLUMNS": "100", "NO_COLOR": "1"}
    binary = Path(os.environ["REHEARSAL_BIN"]).resolve()
    done = subprocess.run(
        [binary, *args], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def command_line() -> str:
    own = said("--help")
    listed = own.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    commands = [line.split()[0] for line in listed.splitlines()]
    blocks = [f"```text\n{own}\n```\n"]
    blocks += [f"## rehearse {name}\n\n```text\n{said(name, '--help')}\n```\n" for name in commands]
    return HEAD + "\n".join(blocks)


@pytest.mark.skipif(not ADK_2, reason="about the binary, which is the same for every ADK")
def test_the_command_line() -> None:
    page = REFERENCE / "command-line.md"
    if os.environ.get("UPDATE_EXPECT"):
        page.write_text(command_line(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == command_line(), "run again with UPDATE_EXPECT=1, and read the diff"


OURS = re.compile(r"\"((?:REHEARSAL|OPENAI|ANTHROPIC|GEMINI|GOOGLE)_[A-Z_]+)\"")
SOURCES = (
    "crates/rehearsal-cli/src",
    "crates/rehearsal-models/src",
    "crates/rehearsal-scenario/src",
    "python/rehearsal",
)


def test_the_environment_variables() -> None:
    files = [file for folder in SOURCES for file in (TOP / folder).rglob("*") if file.suffix in {".rs", ".py"}]
    read = {name for file in files for name in OURS.findall(file.read_text(encoding="utf-8"))}
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\b(?:REHEARSAL|OPENAI|ANTHROPIC|GEMINI|GOOGLE)_[A-Z_]+", page))
    assert named == read
