"""Agents that keep their model: what it does is recorded, and the record changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

import pytest
from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.agent_tool import AgentTool
from google.genai import types

from rehearsal import RehearsalPlugin
from rehearsal.errors import SetupError
from tests.stage import Conversation, Json, Person, Server, bodies, failures, final_text

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


def turns_of(ledger: list[Json]) -> list[tuple[str, list[Json]]]:
    """The turns of a ledger, each with what was answered."""
    answers = {event["turn"]: event["body"]["content"] for event in ledger if event["body"]["type"] == "model_response"}
    asked = [event["turn"] for event in ledger if event["body"]["type"] == "model_request"]
    return [(turn, answers[turn].get("parts", [])) for turn in asked]


def test_a_turn_is_recorded_as_the_model_was_asked(server: Server, person: Person) -> None:
    def before_model(callback_context: object, llm_request: LlmRequest) -> None:
        llm_request.append_instructions(["Be brief."])

    async def main() -> None:
        model = OwnModel(answers=lambda request: [says(text("brief"))])
        agent = Agent(name="talker", model=model, before_model_callback=before_model)
        assert final_text(await Conversation(agent, recording(server)).say("go")) == "brief"
        ledger = await person.events()
        ((turn, answer),) = turns_of(ledger)
        assert answer == [{"text": "brief"}]
        asked: Json = await person.call("GET", f"/v1/sessions/{await person.only_session()}/turns/{turn}")
        assert "Be brief." in asked["request"]["system"]

    asyncio.run(main())


def test_a_turn_that_a_callback_answers_asked_no_model(server: Server, person: Person) -> None:
    def before_model(callback_context: object, llm_request: LlmRequest) -> LlmResponse:
        return says(text("cached"))

    async def main() -> None:
        model = OwnModel(answers=lambda request: [])
        agent = Agent(name="talker", model=model, before_model_callback=before_model)
        assert final_text(await Conversation(agent, recording(server)).say("go")) == "cached"
        assert turns_of(await person.events()) == []
        assert (await person.history())[-1]["content"] == "cached"

    asyncio.run(main())


def test_a_model_that_fails(server: Server, person: Person) -> None:
    def down(request: LlmRequest) -> list[LlmResponse]:
        raise ConnectionError("model down")

    async def main() -> None:
        agent = Agent(name="talker", model=OwnModel(answers=down))
        with pytest.raises(ConnectionError, match="model down"):
            await Conversation(agent, recording(server)).say("go")
        ledger = await person.events()
        assert [answer for _, answer in turns_of(ledger)] == [[]]
        assert [error["type"] for error in failures(ledger)] == ["ConnectionError"]

    asyncio.run(main())


def test_a_model_that_answers_in_several_responses(server: Server, person: Person) -> None:
    def twice(request: LlmRequest) -> list[LlmResponse]:
        if results_in(request):
            return [says(text("done"))]
        return [says(text("let me add")), says(asks("add", a=1, b=1))]

    async def main() -> None:
        agent = Agent(name="counter", model=OwnModel(answers=twice), tools=[add])
        assert final_text(await Conversation(agent, recording(server)).say("go")) == "done"
        ledger = await person.events()
        (turn, first), (_, second) = turns_of(ledger)
        assert first[0] == {"text": "let me add"}
        assert [part["function_call"]["name"] for part in first[1:]] == ["add"]
        assert second == [{"text": "done"}]
        assert [event.get("turn") for event in ledger if event["body"]["type"] == "tool_call"] == [turn]

    asyncio.run(main())


def test_names_of_agents_that_do_not_exist(server: Server, person: Person) -> None:
    def plugin(*names: str) -> RehearsalPlugin:
        return RehearsalPlugin(server.url, token=server.token, agents=names)

    def family() -> Agent:
        model = OwnModel(answers=lambda request: [says(text("my own words"))])
        helper = Agent(name="helper", model=model, description="helps")
        tool = Agent(name="tool", model=model, description="digs", sub_agents=[Agent(name="deep", model=model)])
        return Agent(name="root", model=model, sub_agents=[helper], tools=[AgentTool(tool), add])

    async def main() -> None:
        for names in (["rot"], ["root", "halper"]):
            with pytest.raises(RuntimeError, match=f"'{names[-1]}'.*no such agent") as raised:
                await Conversation(family(), plugin(*names)).say("go")
            assert isinstance(raised.value.__cause__, SetupError)
            assert "there is deep, helper, root, tool" in str(raised.value.__cause__)
        assert await person.sessions() == []
        events = await Conversation(family(), plugin("helper", "tool", "deep")).say("go")
        assert final_text(events) == "my own words"

    asyncio.run(main())
