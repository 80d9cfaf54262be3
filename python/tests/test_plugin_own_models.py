"""Agents that keep their model: what it does is recorded, and the record changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from rehearsal import RehearsalPlugin
from tests.stage import Conversation, Json, Person, Server, bodies, final_text

Answers = Callable[[LlmRequest], list[LlmResponse]]


class OwnModel(BaseLlm):
    """A model that plays itself, as a function says."""

    model: str = "own"
    answers: Answers

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        for answer in self.answers(llm_request):
            yield answer


def says(*parts: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=list(parts)))


def text(words: str) -> types.Part:
    return types.Part(text=words)


def asks(tool: str, call_id: str | None = None, **args: object) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=tool, args=dict(args)))


def results_in(request: LlmRequest) -> int:
    return sum(part.function_response is not None for content in request.contents for part in content.parts or [])


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def recording(server: Server) -> RehearsalPlugin:
    return RehearsalPlugin(server.url, token=server.token, agents=[])


def test_call_ids_that_a_model_repeats(server: Server, person: Person) -> None:
    def twice(request: LlmRequest) -> list[LlmResponse]:
        count = results_in(request)
        return [says(asks("add", "call_0", a=count, b=1) if count < 2 else text("done"))]

    async def main() -> None:
        agent = Agent(name="counter", model=OwnModel(answers=twice), tools=[add])
        conversation = Conversation(agent, recording(server))
        assert final_text(await conversation.say("go")) == "done"
        ledger = await person.events()
        assert [body["call"] for body in bodies(ledger, "tool_call")] == ["call_0", "call_0~2"]
        results = {body["call"]: body["outcome"] for body in bodies(ledger, "tool_result")}
        assert results == {"call_0": {"output": {"result": 1}}, "call_0~2": {"output": {"result": 2}}}

    asyncio.run(main())


def test_call_ids_that_models_share_inside_of_each_other(server: Server, person: Person) -> None:
    def deeper(tool: str, **args: object) -> Answers:
        return lambda request: [says(text("done") if results_in(request) else asks(tool, "call_0", **args))]

    async def main() -> None:
        inner = Agent(name="inner", model=OwnModel(answers=deeper("add", a=1, b=1)), description="digs", tools=[add])
        root = Agent(name="root", model=OwnModel(answers=deeper("inner", request="dig")), tools=[AgentTool(inner)])
        assert final_text(await Conversation(root, recording(server)).say("go")) == "done"
        ledger = await person.events()
        calls = {body["call"]: body["tool"] for body in bodies(ledger, "tool_call")}
        assert calls == {"call_0": "inner", "call_0~2": "add"}
        results: dict[str, Json] = {body["call"]: body["outcome"] for body in bodies(ledger, "tool_result")}
        assert results == {"call_0": {"output": {"result": "done"}}, "call_0~2": {"output": {"result": 2}}}

    asyncio.run(main())
