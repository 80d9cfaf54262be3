"""Cases against agents of this process, by the library that tests use."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from rehearsal.errors import RehearsalError, SetupError
from rehearsal.testing import AsyncSession, Session, SessionOver, ToolFailed, cases, run, run_all
from rehearsal.testing.running import NotUsable

REFUND = """\
name: Refunds an order
description: A customer asks for their money back
tags: [billing]
environment: {type: local}
agent:
  instructions: You help the customers of a shop.
  tools:
    - name: refund
      parameters: {type: object, properties: {order: {type: integer}}, required: [order]}
    - {name: cancel}
models: {agent: {script: [Nothing.]}}
setup:
  mocks:
    - {method: refund, when: {input: {order: 7}}, response: {refunded: true}}
    - {method: refund, error: {code: NOT_FOUND, message: no such order}}
run:
  - input: I want my money back for order 7
    evaluations:
      - {type: tool_called, tool: refund, args: {order: 7}}
      - {type: string_contains, value: money}
judgment: {strategy: all_pass}
"""


@pytest.fixture
def refund(tmp_path: Path) -> Path:
    file = tmp_path / "refund.scenario.yaml"
    file.write_text(REFUND)
    return file


def good(message: str, session: Session) -> str:
    return f"Your money is back: {session.call('refund', order=7)['refunded']}"


async def also_good(message: str, session: AsyncSession) -> str:
    given = await asyncio.gather(session.call("refund", order=7), session.call("refund", order=7))
    return f"Your money is back: {given}"


def says(given: object) -> Any:
    """An agent that gives this whatever it is told."""

    def agent(message: str, session: Session) -> object:
        return given

    return agent


@pytest.mark.parametrize("agent", [good, also_good])
def test_a_function_is_the_agent(agent: Any, refund: Path) -> None:
    result = run(refund, agent)
    assert result.passed, result.report()
    assert result
    assert result.reply.startswith("Your money is back: ")
    assert [(call.tool, call.args, call.output) for call in result.calls][:1] == [
        ("refund", {"order": 7}, {"refunded": True})
    ]
    assert [one.type for one in result.evaluations] == ["tool_called", "string_contains"]
    assert "user: I want my money back for order 7\nagent calls refund" in result.transcript
    assert (result.status, result.name, result.error) == ("passed", "Refunds an order", None)


def test_what_fails_says_what_was_asked_and_found(refund: Path) -> None:
    result = run(refund, says("No."))
    assert not result
    assert result.status == "failed"
    assert [one.line for one in result.evaluations if not one.passed] == [19, 20]
    assert 'the reply does not contain "money": "No."' in result.report()
    assert "agent: No." in result.report()
    assert "tool_called refund" in repr(result)


def test_what_the_agent_raises_is_in_the_report(refund: Path) -> None:
    def raises(message: str, session: Session) -> str:
        raise KeyError("order")

    result = run(refund, raises)
    assert result.status == "error"
    assert "KeyError: 'order'" in str(result.error)
    assert 'raise KeyError("order")' in result.report()
    assert [type(each) for each in result.exceptions] == [KeyError]


@pytest.mark.parametrize("given", [None, object()])
def test_an_agent_that_gives_nothing_is_an_error(given: object, refund: Path) -> None:
    result = run(refund, says(given))
    assert result.status == "error"
    assert "TypeError" in str(result.error)


def test_outcomes_of_pytest_go_through(refund: Path) -> None:
    def skips(message: str, session: Session) -> str:
        pytest.skip("not today")

    with pytest.raises(pytest.skip.Exception, match="not today"):
        run(refund, skips)


def test_tools_can_fail(refund: Path) -> None:
    found: list[ToolFailed] = []

    def agent(message: str, session: Session) -> str:
        for tool, args in (("refund", {"order": 8}), ("refund", {"order": "x"}), ("unknown", {})):
            with pytest.raises(ToolFailed) as failed:
                session.call(tool, **args)
            found.append(failed.value)
        return good(message, session)

    result = run(refund, agent)
    assert result.passed, result.report()
    assert [each.type for each in found] == ["NOT_FOUND", "InvalidArguments", "UnknownTool"]
    assert found[0].message == "no such order"
    assert found[1].violations[0]["path"] == "$.order"


def test_a_tool_without_a_mock_ends_the_case(refund: Path) -> None:
    ended: list[BaseException] = []

    def agent(message: str, session: Session) -> str:
        try:
            session.call("cancel")
        except SessionOver as over:
            ended.append(over)
        return "done"

    result = run(refund, agent)
    assert result.status == "error"
    assert "cancel" in str(result.error)
    assert len(ended) == 1


def test_a_session_remembers(tmp_path: Path) -> None:
    file = tmp_path / "talk.scenario.yaml"
    file.write_text("""\
name: Talks
description: Three turns
environment: {type: local}
agent: {instructions: x, tools: [{name: look}]}
models: {agent: {script: [x]}}
run:
  - input: one
    conversation:
      max_turns: 3
      user: {script: [two, three]}
      final_evaluations: [{type: string_contains, value: 'three: 2 before, 3'}]
judgment: {strategy: all_pass}
""")

    def agent(message: str, session: Session) -> str:
        session.memory["turns"] = session.memory.get("turns", 0) + 1
        session.count_tokens(10, 2)
        assert session.turn == session.memory["turns"]
        assert [tool["name"] for tool in session.tools] == ["look"]
        session.log("thinking")
        said = [each["text"] for each in session.history if each["role"] == "user"]
        return f"{message}: {len(said)} before, {session.memory['turns']}"

    result = run(file, agent)
    assert result.passed, result.report()
    assert result.data["token_usage"]["agent"] == {"input": 30, "output": 6}


def test_sessions_are_side_by_side(refund: Path) -> None:
    """Four repeats meet in the agent: each waits for the others before it answers."""
    meeting = threading.Barrier(4, timeout=30)

    def agent(message: str, session: Session) -> str:
        meeting.wait()
        return good(message, session)

    results = run_all(refund, agent, args=["--repeat", "4"])
    assert [result.status for result in results] == ["passed"] * 4, results
    with pytest.raises(RehearsalError, match="gave 2 results"):
        run(refund, good, args=["--repeat", "2"])


def test_cases_are_listed_and_chosen(refund: Path) -> None:
    (case,) = cases(refund)
    assert (case.name, case.line, case.tags) == ("Refunds an order", 1, ("billing",))
    assert run(refund, good, case="Refunds an order").passed
    with pytest.raises(NotUsable, match="no scenario is called `Refund`"):
        run(refund, good, case="Refund")


def test_what_cannot_be_used_says_why(refund: Path, tmp_path: Path) -> None:
    with pytest.raises(NotUsable, match="nowhere"):
        run(tmp_path / "nowhere.scenario.yaml", good)
    with pytest.raises(RehearsalError, match="not int"):
        run(refund, 17)
    refund.write_text(REFUND.replace("judgment", "judgement"))
    with pytest.raises(NotUsable, match="did you mean `judgment`"):
        run(refund, good)
    with pytest.raises(NotUsable, match="did you mean `judgment`"):
        cases(refund)
    with pytest.raises(SetupError, match="not a file"):
        run(refund, good, binary=tmp_path / "rehearse")


def test_others_cannot_reach_the_agent(refund: Path) -> None:
    """The socket is in a folder of this user alone, and gone afterwards."""
    from rehearsal.testing.serving import Serving

    with Serving(good) as serving:
        assert serving.path.parent.stat().st_mode & 0o077 == 0
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(serving.path))
    assert not serving.path.parent.exists()


class Scripted(BaseLlm):
    """A model that asks for a refund, then says what came of it."""

    model: str = "scripted"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        given = [part.function_response.response for part in parts if part.function_response]
        if given:
            part = types.Part(text=f"Your money: {given[-1]}")
        else:
            part = types.Part(function_call=types.FunctionCall(name="refund", args={"order": 7}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


RAN: list[int] = []


def refund_for_real(order: int) -> dict[str, Any]:
    """Gives a customer their money back."""
    RAN.append(order)
    return {"refunded": "really"}


refund_for_real.__name__ = "refund"


def clerk() -> Agent:
    return Agent(name="clerk", model=Scripted(), tools=[refund_for_real])


def test_an_adk_agent_of_this_process(tmp_path: Path) -> None:
    file = tmp_path / "refund.scenario.yaml"
    lines = REFUND.splitlines(keepends=True)
    # A file without an agent: the tools are those of the agent that the test brings.
    file.write_text("".join(lines[:4] + lines[11:]).replace("models: {agent: {script: [Nothing.]}}\n", ""))
    RAN.clear()
    agent = clerk()
    for _ in range(2):
        result = run(file, agent)
        assert result.passed, result.report()
        assert result.reply == "Your money: {'refunded': True}"
        assert [(call.tool, call.args) for call in result.calls] == [("refund", {"order": 7})]
    assert RAN == [], "a tool ran that nobody let through"


def test_tools_of_an_adk_agent_are_let_through_by_name(tmp_path: Path) -> None:
    file = tmp_path / "refund.scenario.yaml"
    file.write_text("""\
name: Refunds for real
description: The tool runs
environment: {type: local}
run:
  - input: My money
    evaluations: [{type: string_contains, value: really}]
judgment: {strategy: all_pass}
""")
    RAN.clear()
    result = run(file, clerk(), passthrough=["refund"])
    assert result.passed, result.report()
    assert RAN == [7]
    with pytest.raises(SetupError, match="passthrough` names refnd"):
        run(file, clerk(), passthrough=["refnd"])
    # What runs for real is not seen by the scenario, which is told so instead of finding nothing.
    file.write_text(
        file.read_text().replace("{type: string_contains, value: really}", "{type: tool_not_called, tool: refund}")
    )
    with pytest.raises(NotUsable, match="the agent has no tool `refund`"):
        run(file, clerk(), passthrough=["refund"])


def test_plain_unittest_needs_no_pytest(refund: Path) -> None:
    program = (
        "import sys, unittest\n"
        "from rehearsal.testing import run\n"
        "class Refunds(unittest.TestCase):\n"
        "    def test_refund(self):\n"
        f"        result = run({str(refund)!r}, lambda m, s: f\"money {{s.call('refund', order=7)}}\")\n"
        "        self.assertTrue(result.passed, result.report())\n"
        "        self.assertNotIn('pytest', sys.modules)\n"
        "unittest.main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
