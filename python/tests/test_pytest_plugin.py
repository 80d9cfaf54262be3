"""The pytest plugin, in a pytest of its own: what is collected, chosen, shown, and what is no pass."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.stage import ADK_2

# The plugin knows no ADK, and is the same with every one of them.
pytestmark = pytest.mark.skipif(not ADK_2, reason="about pytest, which is the same for every ADK")

ROOT = Path(__file__).parent.parent
HELLO = """\
# A comment, so that the case is not at the first line.
name: Says hello
description: It greets
tags: [greeting, "tier:1", skip]
environment: {type: local}
agent: {instructions: Greet.}
models: {agent: {script: [Hello!]}}
run:
  - input: hi
    evaluations: [{type: string_contains, value: Hello}]
judgment: {strategy: all_pass}
"""
FAILS = HELLO.replace("Says hello", "Says goodbye").replace("value: Hello", "value: Goodbye").replace("greeting", "end")
# Nothing of what these come to is a pass.
UNDECIDED = {
    "unjudged": HELLO.replace("[{type: string_contains, value: Hello}]", "[]"),
    "error": HELLO.replace("[Hello!]", "[]"),
    "no judge": HELLO.replace(
        "{type: string_contains, value: Hello}", "{type: llm_judge, prompt: 'Was it nice?', expected: 'yes'}"
    ).replace("{agent: {script: [Hello!]}}", "{agent: {script: [Hello!]}, judge: {script: [what?]}}"),
}


class Ran(NamedTuple):
    """What a pytest came to."""

    code: int
    text: str

    def outcomes(self) -> dict[str, str]:
        """What each test came to, as `-v` shows it."""
        found: list[tuple[str, str]] = re.findall(r"^(\S.*?) (PASSED|FAILED|ERROR|SKIPPED)", self.text, re.MULTILINE)
        return dict(found)


def run(folder: Path, *args: str, **variables: str) -> Ran:
    """Runs pytest in a folder, with nothing but our plugin and those that are asked for."""
    words = [sys.executable, "-m", "pytest", "-p", "rehearsal.pytest_plugin", "-p", "no:cacheprovider", *args]
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **plugins, **variables, "COLUMNS": "200"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout + done.stderr)


def write(folder: Path, **files: str) -> None:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    for name, text in files.items():
        (folder / f"{name}.scenario.yaml").write_text(text)


def test_cases_are_tests(tmp_path: Path) -> None:
    write(tmp_path, bye=FAILS, hello=HELLO)
    ran = run(tmp_path, "-v")
    assert ran.code == 1
    bye, hello = "bye.scenario.yaml::Says goodbye", "hello.scenario.yaml::Says hello"
    assert ran.outcomes() == {bye: "FAILED", hello: "PASSED"}
    # What was asked and found, what was said, how to repeat it; no Python.
    for said in ('failed string_contains "Goodbye", line 10', "agent: Hello!", "again: rehearse run bye.scenario.yaml"):
        assert said in ran.text
    assert "Traceback" not in ran.text
    assert "NotPassed" not in ran.text
    assert "FAILED bye.scenario.yaml::Says goodbye - failed: " in ran.text


def test_cases_are_where_editors_look_for_them(tmp_path: Path) -> None:
    write(tmp_path, hello=HELLO)
    (tmp_path / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n    print('at', [item.location for item in items])\n"
    )
    ran = run(tmp_path, "--collect-only", "-q", "-s")
    assert "at [('hello.scenario.yaml', 1, 'Says hello')]" in ran.text, ran.text  # lines count from 0 there


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        (["-k", "hello"], {"hello.scenario.yaml::Says hello"}),
        (["-k", "end"], {"bye.scenario.yaml::Says goodbye"}),
        (["-m", "greeting"], {"hello.scenario.yaml::Says hello"}),
        (["-m", "tier_1 and not greeting"], {"bye.scenario.yaml::Says goodbye"}),
        (["hello.scenario.yaml::Says hello"], {"hello.scenario.yaml::Says hello"}),
        (["-x"], {"bye.scenario.yaml::Says goodbye"}),
        (["-p", "xdist", "-n", "2"], None),
    ],
)
def test_cases_are_chosen(words: list[str], chosen: set[str] | None, tmp_path: Path) -> None:
    write(tmp_path, bye=FAILS, hello=HELLO)
    ran = run(tmp_path, "-v", *words)
    if chosen is None:
        assert "1 failed, 1 passed" in ran.text, ran.text
        assert "gw0" in ran.text
        assert "agent: Hello!" in ran.text
        return
    assert set(ran.outcomes()) == chosen, ran.text


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_is_not_decided_is_no_pass(name: str, tmp_path: Path) -> None:
    write(tmp_path, case=UNDECIDED[name])
    ran = run(tmp_path, "-v")
    assert ran.outcomes() == {"case.scenario.yaml::Says hello": "FAILED"}, ran.text
    assert ("unjudged" if name == "unjudged" else "error") in ran.text
    assert ran.code == 1


def test_what_is_stopped_is_no_pass(tmp_path: Path) -> None:
    slow = HELLO.replace("  - input: hi", "  - input: hi\n    timeout_ms: 1").replace(
        "{agent: {script: [Hello!]}}", "{agent: {script: [{call: wait}, Hello!]}}"
    )
    slow = slow.replace("{instructions: Greet.}", "{instructions: Greet., tools: [{name: wait}]}").replace(
        "run:\n", "setup: {mocks: [{method: wait, response: 1, metadata: {delay: 60000}}]}\nrun:\n"
    )
    write(tmp_path, slow=slow)
    ran = run(tmp_path, "-v", "--rehearse-args", "--timeout 50ms")
    assert ran.outcomes() == {"slow.scenario.yaml::Says hello": "FAILED"}, ran.text
    assert "- terminated: " in ran.text


def test_a_file_that_cannot_be_used_is_an_error_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, hello=HELLO, bad=HELLO.replace("judgment", "judgement"))
    ran = run(tmp_path, "-v", "--continue-on-collection-errors")
    assert "bad.scenario.yaml:11:1" in ran.text
    assert "did you mean `judgment`?" in ran.text
    assert ran.outcomes()["hello.scenario.yaml::Says hello"] == "PASSED"
    assert "1 passed, 1 error" in ran.text
    assert "Traceback" not in ran.text


def test_a_folder_is_looked_at_once_and_a_file_is_run_once(tmp_path: Path) -> None:
    write(tmp_path, **{f"case{number}": HELLO for number in range(5)})
    log = tmp_path / "log"
    binary = tmp_path / "counting"
    binary.write_text(f'#!/bin/sh\necho "$1" >> {log}\nexec {os.environ["REHEARSAL_BIN"]} "$@"\n')
    binary.chmod(0o755)
    with (tmp_path / "pytest.ini").open("a") as ini:
        ini.write("rehearse_binary = counting\nrehearse_args = --timeout 30s\n")
    ran = run(tmp_path, "-v", REHEARSAL_BIN="/nowhere")
    assert "5 passed" in ran.text, ran.text
    assert sorted(log.read_text().split()) == ["check", *["run"] * 5]


def test_files_need_not_be_collected(tmp_path: Path) -> None:
    write(tmp_path, hello=HELLO)
    with (tmp_path / "pytest.ini").open("a") as ini:
        ini.write("rehearse_files = *.case.yaml\n")
    (tmp_path / "other.case.yaml").write_text(HELLO)
    assert run(tmp_path, "-v").outcomes() == {"other.case.yaml::Says hello": "PASSED"}


def test_a_conftest_brings_the_agent(tmp_path: Path) -> None:
    write(tmp_path, hello=HELLO.replace("agent: {instructions: Greet.}\nmodels: {agent: {script: [Hello!]}}\n", ""))
    (tmp_path / "conftest.py").write_text(
        "def pytest_rehearsal_agent(path):\n"
        "    if path.name == 'hello.scenario.yaml':\n"
        "        return lambda message, session: f'Hello! {session.scenario}'\n"
    )
    ran = run(tmp_path, "-v")
    assert ran.outcomes() == {"hello.scenario.yaml::Says hello": "PASSED"}, ran.text


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    write(tmp_path, hello=HELLO)
    (tmp_path / "test_fixture.py").write_text(
        "import json, sys\n\n\n"
        "def test_fixture(rehearse):\n"
        "    assert rehearse.run('hello.scenario.yaml', agent=lambda m, s: 'Hello')\n"
        "    names = ('google.adk', 'google.genai', 'httpx')\n"
        "    print('imported', json.dumps([name for name in names if name in sys.modules]))\n"
    )
    ran = run(tmp_path, "-v", "-s")
    assert "2 passed" in ran.text, ran.text
    assert json.loads(ran.text.split("imported ")[1].splitlines()[0]) == []
