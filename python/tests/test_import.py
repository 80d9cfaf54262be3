"""`rehearse import` takes and refuses what ADK takes and refuses, and keeps what it takes."""

from __future__ import annotations

import json
import os
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest
from google.adk.evaluation.eval_case import IntermediateData
from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
from google.genai import types

from tests.shape import shape
from tests.stage import ADK_2

Json = dict[str, Any]

pytestmark = pytest.mark.skipif(not ADK_2, reason="1.21 knows fewer fields; what is read is what 2.x reads")

ROOT = Path(__file__).parents[2]


def file(case: Json | None = None, top: Json | None = None, **invocation: Any) -> Json:
    said: Json = {"user_content": {"parts": [{"text": "hi"}], "role": "user"}, **invocation}
    one: Json = {"eval_id": "a", "conversation": [said], **(case or {})}
    return {"eval_set_id": "s", "eval_cases": [one], **(top or {})}


def part(**fields: Any) -> Json:
    return file(user_content={"parts": [fields]})


def use(**fields: Any) -> Json:
    return file(intermediate_data={"tool_uses": [{"name": "f", **fields}]})


def given(**fields: Any) -> Json:
    return file(intermediate_data={"tool_responses": [{"name": "f", **fields}]})


def event(**fields: Any) -> Json:
    return file(intermediate_data={"invocation_events": [{"author": "m", **fields}]})


def scenario(**fields: Any) -> Json:
    plan = {"starting_prompt": "hi", "conversation_plan": "book", **fields}
    return {"eval_set_id": "s", "eval_cases": [{"eval_id": "a", "conversation_scenario": plan}]}


RUBRIC = {"rubric_id": "r", "rubric_content": {"text_property": "polite"}, "type": "T"}
PERSONA = {
    "id": "me",
    "description": "d",
    "behaviors": [{"name": "n", "description": "d", "behavior_instructions": ["x"], "violation_rubrics": []}],
}
BIG = 2**80 + 1

VARIANTS: dict[str, Json] = {
    "plain": file(),
    "camel case": {
        "eval_set_id": "s",
        "eval_cases": [
            {
                "evalId": "a",
                "conversation": [{"userContent": {"parts": [{"functionCall": {"name": "f", "args": {"aB": 1}}}]}}],
                "sessionInput": {"appName": "a", "userId": "u", "sessionId": "x"},
                "creationTimestamp": "1.5",
            }
        ],
    },
    "camel case at the top": {"evalSetId": "s", "eval_cases": []},
    "unknown at the top": file(top={"x": 1}),
    "unknown in a case": file(case={"x": {"y": BIG}}),
    "unknown in an invocation": file(x=1),
    "unknown in a session": file(case={"session_input": {"app_name": "a", "user_id": "u", "x": 1}}),
    "unknown in a content": file(user_content={"parts": [], "x": 1}),
    "unknown in a part": part(text="a", x=1),
    "unknown in a call": use(x=1),
    "unknown in a response": given(x=1),
    "unknown in intermediate data": file(intermediate_data={"x": 1}),
    "unknown in an event": event(x=1),
    "unknown in a rubric": file(rubrics=[{**RUBRIC, "x": 1}]),
    "unknown in app details": file(app_details={"agent_details": {}, "x": 1}),
    "unknown in a plan": scenario(x=1),
    "both spellings": file(creation_timestamp=1, creationTimestamp=2),
    "rubrics": file(case={"rubrics": [RUBRIC]}, rubrics=[RUBRIC]),
    "a rubric without its content": file(rubrics=[{"rubric_id": "r"}]),
    "app details": file(
        app_details={"agent_details": {"m": {"name": "m", "instructions": "i", "tool_declarations": [{"x": [1]}]}}}
    ),
    "durations": file(duration=1.5, model_duration=1, tool_duration="0.5"),
    "a duration that is none": file(duration="long"),
    "intermediate responses": file(intermediate_data={"intermediate_responses": [["m", [{"text": "hm"}]]]}),
    "intermediate responses of three": file(intermediate_data={"intermediate_responses": [["m", [], 1]]}),
    "intermediate responses as objects": file(intermediate_data={"intermediate_responses": [{"author": "m"}]}),
    "events": event(
        content={"parts": [{"text": "hm"}, {"function_call": {"name": "f", "args": {"n": BIG}}}]},
        usage_metadata={"prompt_token_count": "7", "total_token_count": 7.0},
        grounding_metadata={"web_search_queries": ["q"]},
        model_version="g",
    ),
    "usage that is no whole number": event(usage_metadata={"prompt_token_count": 1.5}),
    "unknown in usage": event(usage_metadata={"x": 1}),
    "an event without its author": file(intermediate_data={"invocation_events": [{}]}),
    "both forms of intermediate data": file(intermediate_data={"tool_uses": [], "invocation_events": []}),
    "no intermediate data": file(intermediate_data=None),
    "empty intermediate data": file(intermediate_data={}),
    "uses that are null": file(intermediate_data={"tool_uses": None}),
    "args": use(args={"a": None, "b": [1, {"c": BIG}], "d": -BIG, "e": 0.1, "f": 1e300}),
    "args null": use(args=None),
    "args left out": use(),
    "args as text": use(args="{}"),
    "args as a list": use(args=[1]),
    "partial args": use(partial_args=[{"json_path": "$.a", "null_value": "NULL_VALUE"}], will_continue=True),
    "partial args of another word": use(partial_args=[{"null_value": "x"}]),
    "a call without a name": file(intermediate_data={"tool_uses": [{"args": {}}]}),
    "a response": given(id="1", response={"result": [BIG]}, scheduling="SILENT", will_continue="no"),
    "a response that is a list": given(response=[1]),
    "a response that is a number": given(response=BIG),
    "a response with parts": given(response={}, parts=[{"inline_data": {"data": "aGk=", "mime_type": "a/b"}}]),
    "a part with text and a call": part(text="a", function_call={"name": "f", "args": {"x": 1}}),
    "a part with text and a picture": part(text="a", inline_data={"data": "aGk", "mime_type": "a/b"}),
    "an empty part": part(),
    "a part that is a text": file(user_content={"parts": ["hi"]}),
    "a text that is a number": part(text=1),
    "a text that is a large number": part(text=BIG),
    "a thought": part(text="a", thought=1, thought_signature="aGk="),
    "a thought that is neither": part(text="a", thought=2),
    "no base64": part(inline_data={"data": "!!", "mime_type": "a/b"}),
    "half a byte of base64": part(inline_data={"data": "a", "mime_type": "a/b"}),
    "code": part(executable_code={"code": "1", "language": "PYTHON"}, code_execution_result={"outcome": "LATER_WORD"}),
    "an outcome that is a number": part(code_execution_result={"outcome": 7}),
    "a file": part(file_data={"file_uri": "gs://x", "mime_type": "a/b", "display_name": "x"}),
    "no parts": file(user_content={}),
    "parts null": file(user_content={"parts": None}),
    "no content": file(user_content=None),
    "a final response": file(final_response={"parts": [{"text": "ho"}]}),
    "seconds as text": file(creation_timestamp=" 1.5 "),
    "seconds as a date": file(creation_timestamp="2025-01-01"),
    "seconds null": file(creation_timestamp=None),
    "seconds true": file(creation_timestamp=True),
    "an id that is a number": file(case={"eval_id": 7}),
    "a session without its user": file(case={"session_input": {"app_name": "a"}}),
    "a session": file(
        case={"session_input": {"app_name": "a", "user_id": "u", "session_id": "x", "state": {"n": BIG}}}
    ),
    "state null": file(case={"session_input": {"app_name": "a", "user_id": "u", "state": None}}),
    "final state": file(case={"final_session_state": {"a": None, "n": BIG}}),
    "final state null": file(case={"final_session_state": None}),
    "neither conversation nor plan": file(case={"conversation": None}),
    "both conversation and plan": file(
        case={"conversation_scenario": {"starting_prompt": "", "conversation_plan": ""}}
    ),
    "a plan": scenario(),
    "a persona by name": scenario(user_persona="NOVICE"),
    "a persona nobody knows": scenario(user_persona="novice"),
    "a persona of one's own": scenario(user_persona=PERSONA),
    "unknown in a persona": scenario(user_persona={**PERSONA, "x": 1}),
    "half a persona": scenario(user_persona={"id": "me"}),
    "half a behaviour": scenario(user_persona={**PERSONA, "behaviors": [{"name": "n"}]}),
    "a case by itself": {"eval_id": "a", "conversation": []},
    "a list": {"eval_set_id": "s", "eval_cases": {}},
}

DROPPED = {
    "unknown at the top": ["$.x"],
    "unknown in an event": ["$.eval_cases[0].conversation[0].intermediate_data.invocation_events[0].x"],
    "unknown in a persona": ["$.eval_cases[0].conversation_scenario.user_persona.x"],
}


def loaded(text: str) -> EvalSet | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return EvalSet.model_validate_json(text)
        except Exception:  # ADK raises what its validators happen to raise
            return None


def saved(evals: EvalSet | None) -> Json:
    """What ADK writes itself."""
    assert evals is not None
    kept: Json = json.loads(evals.model_dump_json(exclude_unset=True, exclude_defaults=True, exclude_none=True))
    return kept


def rehearse(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [os.environ["REHEARSAL_BIN"], *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", VARIANTS)
def test_it_is_taken_or_refused_as_adk_does(name: str, tmp_path: Path) -> None:
    source, out = tmp_path / "in.evalset.json", tmp_path / "out.evalset.json"
    source.write_text(json.dumps(VARIANTS[name]))
    expected = loaded(source.read_text())
    done = rehearse("import", str(source), "--evalset", str(out), "--json")
    if expected is None:
        assert done.returncode == 2, f"ADK refuses it: {done.stdout}"
        assert "hint: " in done.stderr
        assert not out.exists()
        return
    assert done.returncode == 0, f"ADK takes it: {done.stderr}"
    # What is not called dropped is there, to the last digit.
    told = json.loads(done.stdout)
    assert saved(loaded(out.read_text())) == saved(expected)
    assert [note["path"] for note in told["dropped"]] == DROPPED.get(name, [])


def test_there_are_both_kinds() -> None:
    taken = sum(loaded(json.dumps(variant)) is not None for variant in VARIANTS.values())
    assert taken >= 35
    assert len(VARIANTS) - taken >= 25


def test_the_models_are_those_of_adk() -> None:
    known = json.loads((ROOT / "crates/rehearsal-adk/src/import/shape.json").read_text())
    assert known == shape(), "write shape.json anew: see tests/shape.py"


LEGACY: dict[str, list[Json]] = {
    "cases": [
        {
            "name": "dice",
            "data": [
                {
                    "query": "roll",
                    "expected_tool_use": [
                        {"tool_name": "roll", "tool_input": {"sides": BIG}},
                        {"tool_name": "roll", "tool_input": None},
                    ],
                    "expected_intermediate_agent_responses": [{"author": "m", "text": "rolling"}],
                    "reference": "13",
                }
            ],
            "initial_session": {"app_name": "hello", "user_id": "u", "state": {"a": 1}},
        }
    ],
    "without a tool's input": [{"name": "a", "data": [{"query": "x", "expected_tool_use": [{"tool_name": "f"}]}]}],
    "a response without its author": [
        {"name": "a", "data": [{"query": "x", "expected_intermediate_agent_responses": [{"text": "y"}]}]}
    ],
    "without a query": [{"name": "a", "data": [{"reference": "y"}]}],
}


@pytest.mark.parametrize("name", LEGACY)
def test_older_lists_become_what_adk_makes_of_them(name: str, tmp_path: Path) -> None:
    source, out = tmp_path / "old.json", tmp_path / "out.evalset.json"
    source.write_text(json.dumps(LEGACY[name]))
    done = rehearse("import", str(source), "--evalset", str(out))
    try:
        expected = saved(load_eval_set_from_file(str(source), "old"))
    except (KeyError, ValueError):
        assert done.returncode == 2, done.stdout
        return
    assert done.returncode == 0, done.stderr
    found = saved(loaded(out.read_text()))
    for case in [*expected["eval_cases"], *found["eval_cases"]]:
        case.pop("creation_timestamp", None)
        for invocation in case["conversation"]:
            # ADK makes these up.
            invocation.pop("creation_timestamp", None)
            invocation.pop("invocation_id", None)
    assert found["eval_cases"] == expected["eval_cases"]


GOLDEN_ARGS: dict[str, Json] = {
    "none": {"args": {}},
    "null": {"args": None},
    "left out": {},
    "other": {"args": {"a": 1}},
}


@pytest.mark.parametrize("kind", ["EXACT", "IN_ORDER", "ANY_ORDER"])
@pytest.mark.parametrize("name", GOLDEN_ARGS)
def test_golden_arguments_are_compared_as_adk_does(name: str, kind: str, tmp_path: Path) -> None:
    golden = file(
        intermediate_data={
            "tool_uses": [{"name": "ping", **GOLDEN_ARGS[name]}],
            "tool_responses": [{"name": "ping", "response": {"result": 1}}],
        }
    )
    made = types.FunctionCall(name="ping", args={})
    criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=ToolTrajectoryCriterion.MatchType[kind])
    metric = EvalMetric(metric_name="tool_trajectory_avg_score", threshold=1.0, criterion=criterion)
    evals = loaded(json.dumps(golden))
    assert evals is not None
    assert evals.eval_cases[0].conversation is not None
    (expected,) = evals.eval_cases[0].conversation
    actual = expected.model_copy(update={"intermediate_data": IntermediateData(tool_uses=[made])})
    score = TrajectoryEvaluator(eval_metric=metric).evaluate_invocations([actual], [expected]).overall_score
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    criteria = {"criteria": {"tool_trajectory_avg_score": {"threshold": 1.0, "match_type": kind}}}
    (tmp_path / "criteria.json").write_text(json.dumps(criteria))
    (tmp_path / "agent.yaml").write_text(
        "agent: {instructions: x, tools: [{name: ping, description: Pings}]}\n"
        "models: {agent: {script: [{call: ping, args: {}}, done]}}\n"
    )
    files = [str(tmp_path / one) for one in ("golden.json", "agent.yaml", "criteria.json")]
    options = ["--golden-tools", "--no-store", "--json", "-"]
    done = rehearse("eval", files[0], "--agent", files[1], "--criteria", files[2], *options)
    metrics = json.loads(done.stdout)["results"][0]["metrics"]
    assert metrics["tool_trajectory_avg_score"]["score"] == score
