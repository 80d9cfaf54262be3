"""What an export says that `adk eval` cannot do, tried with the real `adk eval`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.eval_set import EvalSet
from google.adk.events.event import Event
from google.genai import types

from rehearsal import RehearsalPlugin
from tests.cautious_agent.agent import CALLS, SAID, root_agent
from tests.stage import ADK_2, Conversation, Person, Server, call, playing

pytestmark = pytest.mark.skipif(not ADK_2, reason="`adk eval` of 1.21 exits 0 even for failures, so it cannot decide")

AGENT = Path(__file__).parent / "cautious_agent"


def later(events: list[Event], name: str, response: dict[str, Any]) -> types.Content:
    """What the user gives later for a call."""
    asked = next(asked for event in events for asked in event.get_function_calls() if asked.name == name)
    given = types.FunctionResponse(id=asked.id, name=asked.name, response=response)
    return types.Content(role="user", parts=[types.Part(function_response=given)])


def approve(events: list[Event]) -> types.Content:
    return later(events, "adk_request_confirmation", {"confirmed": True})


def finish(events: list[Event]) -> types.Content:
    return later(events, "start", {"result": "done"})


Resume = Callable[[list[Event]], types.Content]


def record(server: Server, person: Person, *messages: tuple[str, Resume | None]) -> str:
    """Plays the model of the agent, message by message, and completes the session."""

    async def main() -> str:
        plugin = RehearsalPlugin(server.url, token=server.token, tool_errors="return")
        conversation = Conversation(root_agent, plugin)
        for tool, resume in messages:
            asked = person.answer(calls=[call(tool, **CALLS[tool])])
            if resume is None:
                await playing(conversation.say(tool), asked, person.answer(text=SAID[tool]))
            else:
                events = await playing(conversation.say(tool), asked)
                await playing(conversation.say(resume(events)), person.answer(text=SAID[tool]))
        session = await person.only_session()
        await person.call("POST", f"/v1/sessions/{session}/complete", {})
        return session

    return asyncio.run(main())


def export(server: Server, session: str, evalset: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [server.binary, "export", session, "--evalset", str(evalset), "--server", server.url, "--format", "json"]
    environment = {**os.environ, "REHEARSAL_TOKEN": server.token}
    return subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)


def adk_eval(folder: Path, evalset: Path) -> tuple[int, str]:
    agent = folder / "cautious_agent"
    if not agent.exists():
        shutil.copytree(AGENT, agent, ignore=shutil.ignore_patterns("__pycache__"))
    adk = Path(sys.executable).with_name("adk")
    done = subprocess.run(
        [str(adk), "eval", str(agent), str(evalset), "--print_detailed_results"],
        cwd=folder,
        env={**os.environ, "ADK_DISABLE_LOAD_DOTENV": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode, done.stdout


@pytest.mark.parametrize("answer", ["👍", "...", "…!"])
def test_an_answer_without_words_is_cautioned(answer: str, server: Server, person: Person, tmp_path: Path) -> None:
    """ADK's comparison of words gives 0 for it, even against itself."""
    from google.adk.evaluation.final_response_match_v1 import RougeEvaluator  # needs what only 2.x has here

    async def main() -> str:
        plugin = RehearsalPlugin(server.url, token=server.token)
        await playing(Conversation(root_agent, plugin).say("hello"), person.answer(text=answer))
        session = await person.only_session()
        await person.call("POST", f"/v1/sessions/{session}/complete", {})
        return session

    evalset = tmp_path / "wordless.evalset.json"
    done = export(server, asyncio.run(main()), evalset)
    (caution,) = json.loads(done.stdout)["cautions"]
    assert "scores the answer to message 1" in caution
    loaded = EvalSet.model_validate_json(evalset.read_text())
    invocations = loaded.eval_cases[0].conversation
    assert invocations is not None
    metric = EvalMetric(metric_name="response_match_score", threshold=0.8)
    score = RougeEvaluator(eval_metric=metric).evaluate_invocations(invocations, invocations).overall_score
    assert score == 0.0


OBSTACLES: dict[str, tuple[tuple[str, Resume | None], str]] = {
    "a tool that raises": (("fetch", None), "raises ConnectionError again"),
    "a confirmation": (("send", approve), "the agent asks a person there"),
    "a long-running call that is resumed": (("start", finish), "the later result of `start`"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_what_is_cautioned_fails_and_what_is_runnable_runs(
    name: str, server: Server, person: Person, tmp_path: Path
) -> None:
    message, caution = OBSTACLES[name]
    session = record(server, person, ("add", None), message)
    whole, runnable = tmp_path / "whole.evalset.json", tmp_path / "runnable.evalset.json"
    done = export(server, session, whole)
    assert done.returncode == 0, done.stderr
    assert caution in " ".join(json.loads(done.stdout)["cautions"])
    assert f"warning: {json.loads(done.stdout)['cautions'][0]}" in done.stderr
    code, _ = adk_eval(tmp_path, whole)
    assert code == 1, "`adk eval` ran what was said to fail"
    done = export(server, session, runnable, "--runnable")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cautions"] == []
    code, told = adk_eval(tmp_path, runnable)
    assert code == 0, told
    assert "Tests passed: 1" in told


def test_nothing_is_written_where_nothing_can_be_run(server: Server, person: Person, tmp_path: Path) -> None:
    session = record(server, person, ("fetch", None))
    evalset = tmp_path / "none.evalset.json"
    done = export(server, session, evalset, "--runnable")
    assert done.returncode == 2
    assert "raises ConnectionError again" in done.stderr
    assert not evalset.exists()
