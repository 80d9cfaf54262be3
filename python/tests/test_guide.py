"""The guide for the first session, typed to the letter."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosting import completed, start
from tests.stage import ADK_2, DEADLINE, Person, Server, call, eventually

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT.parent / "docs" / "guides" / "first-session.md").read_text()

SCRIPTED = """
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        given = [part for content in llm_request.contents for part in content.parts if part.function_response]
        parts = [
            types.Part(function_call=types.FunctionCall(name="multiply", args={"a": 5, "b": 5})),
            types.Part(function_call=types.FunctionCall(name="add", args={"a": 25, "b": 10})),
            types.Part(text="The answer is 35"),
        ]
        yield LlmResponse(content=types.Content(role="model", parts=[parts[len(given)]]))
"""


def write_files(folder: Path) -> list[str]:
    """Saves the files of the guide where it says."""
    files: list[tuple[str, str]] = re.findall(r"`([\w./]+\.py)`[^\n]*:\n\n```python\n(.*?)```", GUIDE, re.DOTALL)
    for name, text in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return [name for name, _ in files]


def commands(word: str) -> list[list[str]]:
    """Gives the commands of the guide that begin with a word."""
    blocks: list[str] = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and line[0] == word]


def test_the_first_session(server: Server, person: Person, tmp_path: Path) -> None:
    assert write_files(tmp_path) == ["calculator/__init__.py", "calculator/agent.py"]
    (host,) = commands("rehearsal")
    (evaluate,) = commands("adk")
    # The server is the tests' own, for the guide's may run on this machine.
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "REHEARSAL_SERVER": server.url, "REHEARSAL_TOKEN": server.token,
        "ADK_DISABLE_LOAD_DOTENV": "1",
    }  # fmt: skip
    program = subprocess.Popen([sys.executable, "-m", *host], cwd=tmp_path, env=environment)

    async def main() -> None:
        async def online() -> bool:
            assert program.poll() is None, "the host ended"
            return any(agent["name"] == "calculator" for agent in (await person.call("GET", "/v1/agents"))["agents"])

        await eventually(online, "calculator online")
        session = await start(person, "calculator", query={"text": "Calculate 5 * 5 + 10"})
        await person.answer(session, calls=[call("multiply", a=5, b=5)])
        await person.answer(session, calls=[call("add", a=25, b=10)])
        await person.answer(session, text="The answer is 35")
        await completed(person, session)
        await person.call("POST", f"/v1/sessions/{session}/export", {})

    try:
        asyncio.run(main())
        program.terminate()
        assert program.wait(DEADLINE) == 0
    finally:
        program.kill()
        program.wait()
    assert (tmp_path / evaluate[-1]).is_file()
    if not ADK_2:
        pytest.skip("`adk eval` of 1.21 exits 0 even for failures, so it cannot decide")
    source = tmp_path / "calculator" / "agent.py"
    offline = source.read_text().replace('model="gemini-2.5-flash"', 'model=Scripted(model="scripted")')
    source.write_text(SCRIPTED + offline)
    adk = str(Path(sys.executable).with_name("adk"))
    assert subprocess.run([adk, *evaluate[1:]], cwd=tmp_path, env=environment, check=False).returncode == 0


def test_the_extras_that_the_guides_install() -> None:
    """Whoever installs what a guide says has what its commands need."""
    project = (ROOT / "pyproject.toml").read_text()
    for guide in (GUIDE, (ROOT / "README.md").read_text()):
        named = {extra for extras in re.findall(r"agent-rehearsal\[([\w,]+)\]", guide) for extra in extras.split(",")}
        assert "eval" in named or "adk eval" not in guide
        for extra in named:
            assert re.search(rf"^{extra} = \[", project, re.MULTILINE), extra
    assert re.search(r'^eval = \["google-adk\[eval\]', project, re.MULTILINE)
