"""The pages of reference that say what the program and the package take are what these take."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.schema_page import Schema, SchemaPage
from tests.stage import ADK_2

TOP = Path(__file__).parent.parent.parent
REFERENCE = TOP / "docs" / "reference"
COMMAND_LINE = """\
# The command line

What `rehearse --help` and `rehearse COMMAND --help` print. `rehearse man` has the same as manual pages, and
`rehearse completions` lets your shell complete all of it.

"""
SCENARIO_KEYS = """\
# The keys of a scenario file

Every key that a scenario file may have, from the JSON Schema that `rehearse schema` prints. [The scenario
file](scenario-file.md) says what they mean together, with examples, and [the evaluators](evaluators.md) have a page of
their own. Keys in **bold** must be there. A dot leads into a map, and `[]` into each item of a list.

"""
RESULTS = """\
# Results

What `rehearse run --json FILE`, `rehearse eval --json FILE` and `rehearse score --json FILE` write, what is kept with a
run and what the server gives, from the JSON Schema that `rehearse schema result` prints. Keys in **bold** are always
there; the others only where there is something to say. Programs that read results take a key that they do not know for
something new, not for an error.

This is version 2. Version 1 had `scenarios` or `cases` in place of `results`, and keys in camel case; runs that are
kept in it are given in the form of today.

"""
current = pytest.mark.skipif(not ADK_2, reason="about the binary, which is the same for every ADK")


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
    return COMMAND_LINE + "\n".join(blocks)


def schema(of: str) -> Schema:
    return json.loads(said("schema", of))


def evaluator(name: str, of: Schema) -> str | None:
    """Gives the place of what has a page of its own."""
    return f"evaluators.md#{name}" if "const" in of.get("properties", {}).get("type", {}) else None


def check(name: str, text: str) -> None:
    page = REFERENCE / name
    if os.environ.get("UPDATE_EXPECT"):
        page.write_text(text, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text, "run again with UPDATE_EXPECT=1, and read the diff"


@current
def test_the_command_line() -> None:
    check("command-line.md", command_line())


@current
def test_the_keys_of_a_scenario_file() -> None:
    check("scenario-keys.md", SCENARIO_KEYS + SchemaPage(schema("file"), evaluator).render("The file"))


@current
def test_the_results() -> None:
    check("results.md", RESULTS + SchemaPage(schema("result")).render("A run"))


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
