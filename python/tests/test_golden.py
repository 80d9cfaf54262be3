"""From a person at the model's place to a file that `adk eval` runs."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_set import EvalSet

from rehearsal import RehearsalPlugin
from tests.golden_agent.agent import FINAL, QUERY, root_agent
from tests.stage import ADK_2, Conversation, Person, Server, call, playing

AGENT = Path(__file__).parent / "golden_agent"


def record(server: Server, person: Person) -> str:
    """Plays the model of the agent and completes the session."""

    async def main() -> str:
        async def play() -> None:
            await person.answer(calls=[call("add", a=20, b=22), call("multiply", a=6, b=7)])
            await person.answer(calls=[call("fetch", url="http://page.test")])
            await person.answer(text=FINAL)

        plugin = RehearsalPlugin(server.url, token=server.token)
        await playing(Conversation(root_agent, plugin, state={"who": "Ada"}).say(QUERY), play())
        session = await person.only_session()
        await person.call("POST", f"/v1/sessions/{session}/complete", {})
        return session

    return asyncio.run(main())


def export(server: Server, session: str, evalset: Path, *options: str) -> dict[str, Any]:
    command = [server.binary, "export", session, "--evalset", str(evalset), "--server", server.url, "--format", "json"]
    done = subprocess.run(
        [*command, *options],
        env={**os.environ, "REHEARSAL_TOKEN": server.token},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written: dict[str, Any] = json.loads(done.stdout)
    return written


def strictly_loaded(evalset: Path) -> EvalSet:
    """Loads a file without the fallback of ADK that hides what is wrong with it; nothing may get lost on the way."""
    text = evalset.read_text()
    loaded = EvalSet.model_validate_json(text)
    again = loaded.model_dump_json(indent=2, exclude_unset=True, exclude_defaults=True, exclude_none=True)
    assert json.loads(again) == json.loads(text)
    assert EvalSet.model_validate_json(again) == loaded
    return loaded


def test_the_trace_is_what_happened(server: Server, person: Person, tmp_path: Path) -> None:
    session = record(server, person)
    evalset = tmp_path / "golden.evalset.json"
    first = export(server, session, evalset)
    assert export(server, session, evalset)["repeated"] is True
    second = export(server, session, evalset, "--no-colons", "--again")
    loaded = strictly_loaded(evalset)
    assert [case.eval_id for case in loaded.eval_cases] == [first["eval_id"], second["eval_id"]]
    case = json.loads(evalset.read_text())["eval_cases"][0]
    assert case["session_input"]["state"] == {"who": "Ada"}
    (invocation,) = case["conversation"]
    assert invocation["user_content"]["parts"] == [{"text": QUERY}]
    assert invocation["final_response"]["parts"] == [{"text": FINAL}]
    data = invocation["intermediate_data"]
    assert [(use["name"], use["args"]) for use in data["tool_uses"]] == [
        ("add", {"a": 20, "b": 22}),
        ("multiply", {"a": 6, "b": 7}),
        ("fetch", {"url": "http://page.test"}),
    ]
    assert [response["response"] for response in data["tool_responses"]] == [
        {"result": 42},
        {"product": 42},
        {"error": {"type": "ConnectionError", "message": "cannot reach http://page.test"}},
    ]


@pytest.mark.skipif(not ADK_2, reason="`adk eval` of 1.21 exits 0 even for failures, so it cannot decide")
def test_adk_eval_runs_the_trace(server: Server, person: Person, tmp_path: Path) -> None:
    session = record(server, person)
    agent = tmp_path / "golden_agent"
    shutil.copytree(AGENT, agent, ignore=shutil.ignore_patterns("__pycache__"))
    good = tmp_path / "golden.evalset.json"
    export(server, session, good)
    assert adk_eval(agent, good) == 0, "the trace that was recorded passes"
    # The check can fail: another trace does not pass.
    bad = tmp_path / "other.evalset.json"
    bad.write_text(good.read_text().replace('"b": 22', '"b": 23'))
    assert adk_eval(agent, bad) == 1


def adk_eval(agent: Path, evalset: Path) -> int:
    adk = Path(sys.executable).with_name("adk")
    environment = {**os.environ, "ADK_DISABLE_LOAD_DOTENV": "1"}
    done = subprocess.run(
        [str(adk), "eval", str(agent), str(evalset)],
        cwd=agent.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout + done.stderr)
    return done.returncode
