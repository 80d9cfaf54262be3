"""What the plugin does in a real runner, in front of a real server."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from google.adk import agents as adk_agents
from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from pydantic import BaseModel

from rehearsal import CueDismissed, RehearsalPlugin, SessionEnded
from rehearsal.address import resolve_address
from rehearsal.client import Client
from rehearsal.link import Call, Link
from tests.stage import (
    ADK_2,
    NEVER_CALLED,
    Conversation,
    Json,
    Parrot,
    Person,
    Server,
    bodies,
    call,
    eventually,
    failures,
    final_text,
    kinds,
    playing,
    state_of,
)


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def remember(key: str, value: str, tool_context: ToolContext) -> str:
    """Writes into the state."""
    tool_context.state[key] = value
    return "kept"


def fetch(url: str) -> str:
    """Fails."""
    raise ConnectionError(f"cannot reach {url}")


def calculator(**more: Any) -> Agent:
    return Agent(name="calculator", model=NEVER_CALLED, instruction="Count.", tools=[add, remember, fetch], **more)


def test_parallel_calls_an_error_and_a_final_response(server: Server, person: Person) -> None:
    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, tool_errors="return", description="sums")
        conversation = Conversation(calculator(), plugin, state={"seen": 1, "user:name": "Ada"})
        events = await playing(
            conversation.say("2+2 and 3+3?"),
            person.answer(calls=[call("add", a=2, b=2), call("add", a=3, b=3)]),
            person.answer(calls=[call("fetch", url="http://x.test")]),
            person.answer(text="4 and 6"),
        )
        assert final_text(events) == "4 and 6"

        history = await person.history()
        assert kinds(history) == [
            "user_query",
            "tool_call",
            "tool_call",
            "tool_output",
            "tool_output",
            "tool_call",
            "tool_error",
            "final_response",
        ]
        assert history[0]["content"] == "2+2 and 3+3?"
        assert [entry["arguments"] for entry in history[1:3]] == [{"a": 2, "b": 2}, {"a": 3, "b": 3}]
        assert [entry["call_id"] for entry in history[1:3]] == [entry["call_id"] for entry in history[3:5]]
        assert [entry["result"] for entry in history[3:5]] == [{"result": 4}, {"result": 6}]
        assert history[3]["duration_ms"] >= 0
        error = history[6]
        assert (error["error_type"], error["error_message"]) == ("ConnectionError", "cannot reach http://x.test")
        assert "in fetch" in error["traceback"]
        assert history[7]["content"] == "4 and 6"

        ledger = await person.events()
        assert state_of(ledger) == {"session": {"seen": 1}, "user": {"name": "Ada"}}
        session = await person.call("GET", f"/v1/sessions/{await person.only_session()}")
        assert (session["description"], session["agent"], session["status"]) == ("sums", "calculator", "active")

    asyncio.run(main())


def test_what_the_person_sees(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        seen: list[Json] = []

        async def play() -> None:
            seen.append(await person.answer(calls=[call("add", a=1, b=2)]))
            seen.append(await person.answer(text="3"))

        await playing(Conversation(calculator(), plugin).say("1+2?"), play())
        first, second = (cue["request"] for cue in seen)
        assert first["model"] == NEVER_CALLED
        assert first["system"].startswith("Count.")
        assert first["contents"] == [{"role": "user", "parts": [{"text": "1+2?"}]}]
        tool = next(tool for tool in first["tools"] if tool["name"] == "add")
        assert tool["description"] == "Adds two numbers."
        assert {name: field["type"] for name, field in tool["parameters"]["properties"].items()} == {
            "a": "integer",
            "b": "integer",
        }
        assert sorted(tool["parameters"]["required"]) == ["a", "b"]
        response = second["contents"][-1]["parts"][0]["function_response"]
        assert (response["name"], response["response"]) == ("add", {"result": 3})

    asyncio.run(main())


def test_agents_are_selected_by_name(server: Server, person: Person) -> None:
    async def main() -> None:
        parrot = Agent(name="parrot", model=Parrot(), description="repeats")
        root = Agent(name="root", model=NEVER_CALLED, sub_agents=[parrot])
        plugin = RehearsalPlugin(server.url, token=server.token, agents=["root"])
        events = await playing(
            Conversation(root, plugin).say("hello"),
            person.answer(calls=[call("transfer_to_agent", agent_name="parrot")]),
        )
        assert final_text(events).startswith("parrot: ")

        ledger = await person.events()
        turns = [(event["author"], event["turn"]) for event in ledger if event["body"]["type"] == "model_request"]
        answers = [event["turn"] for event in ledger if event["body"]["type"] == "model_response"]
        assert [author for author, _ in turns] == ["root", "parrot"]
        assert answers == [turn for _, turn in turns]
        said = bodies(ledger, "model_response")[-1]["content"]["parts"][0]["text"]
        assert said == final_text(events)
        assert (await person.history())[-1]["content"] == final_text(events)

    asyncio.run(main())


def test_that_an_agent_waits_is_said_once(server: Server, person: Person, caplog: pytest.LogCaptureFixture) -> None:
    def said() -> list[tuple[str, str]]:
        found = [record for record in caplog.records if "waits for a person" in record.getMessage()]
        return [(record.levelname, record.getMessage()) for record in found]

    async def main() -> None:
        nobody = RehearsalPlugin(server.url, token=server.token, agents=[])
        await Conversation(Agent(name="parrot", model=Parrot()), nobody).say("hello")
        assert said() == []
        parrot = Agent(name="parrot", model=Parrot(), description="repeats")
        root = Agent(name="root", model=NEVER_CALLED, sub_agents=[parrot])
        plugin = RehearsalPlugin(server.url, token=server.token, agents=["root"])
        conversation = Conversation(root, plugin)
        cues: list[Json] = []

        async def play() -> None:
            cues.append(await person.answer(text="hi"))

        await playing(conversation.say("hello"), play())
        await playing(conversation.say("again"), person.answer(text="hi"))
        assert said() == [("WARNING", f"root waits for a person: {server.url}/sessions/{cues[0]['session']}")]

    asyncio.run(main())


def test_transfer_to_a_sub_agent(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        helper = Agent(name="helper", model=NEVER_CALLED, description="helps", tools=[add])
        root = Agent(name="root", model=NEVER_CALLED, sub_agents=[helper])
        events = await playing(
            Conversation(root, plugin).say("help"),
            person.answer(calls=[call("transfer_to_agent", agent_name="helper")]),
            person.answer(calls=[call("add", a=1, b=1)]),
            person.answer(text="two"),
        )
        assert final_text(events) == "two"
        calls = [entry["tool_name"] for entry in await person.history() if entry["type"] == "tool_call"]
        assert calls == ["transfer_to_agent", "add"]
        authors = [event["author"] for event in await person.events() if event["body"]["type"] == "model_request"]
        assert authors == ["root", "helper", "helper"]

    asyncio.run(main())


def test_an_agent_as_a_tool_writes_to_its_callers_session(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        inner = Agent(name="inner", model=NEVER_CALLED, description="digs", tools=[add, remember])
        root = Agent(name="root", model=NEVER_CALLED, tools=[AgentTool(inner), add])
        conversation = Conversation(root, plugin)
        events = await playing(
            conversation.say("dig"),
            person.answer(calls=[call("inner", request="deeper")]),
            person.answer(calls=[call("add", a=4, b=4), call("remember", key="depth", value="8")]),
            person.answer(text="eight deep"),
            person.answer(text="found"),
        )
        assert final_text(events) == "found"
        ledger = await person.events()
        outer = next(event["body"]["call"] for event in ledger if event["body"].get("tool") == "inner")
        inside = [event for event in ledger if outer in str(event.get("invocation"))]
        assert [event["author"] for event in inside if event["body"]["type"] == "model_request"] == ["inner"] * 2
        assert [body["tool"] for body in bodies(inside, "tool_call")] == ["add", "remember"]
        around = [event for event in ledger if event not in inside]
        assert [body["tool"] for body in bodies(around, "tool_call")] == ["inner"]
        assert bodies(around, "tool_result")[0]["outcome"] == {"output": {"result": "eight deep"}}
        assert state_of(around)["session"] == {"depth": "8"}
        assert (await conversation.state())["depth"] == "8"

    asyncio.run(main())


def test_state_changes(plugin: RehearsalPlugin, person: Person) -> None:
    def before(callback_context: Any) -> None:
        callback_context.state["begun"] = True
        callback_context.state["temp:scratch"] = "gone with the run"

    async def main() -> None:
        conversation = Conversation(
            calculator(before_agent_callback=before, output_key="answer"), plugin, state={"app:house": "ours"}
        )
        await playing(
            conversation.say("remember", state_delta={"from": "outside"}),
            person.answer(calls=[call("remember", key="a", value="1"), call("remember", key="user:b", value="2")]),
            person.answer(text="done"),
        )
        assert state_of(await person.events()) == {
            "session": {"from": "outside", "begun": True, "a": "1", "answer": "done"},
            "user": {"b": "2"},
            "app": {"house": "ours"},
        }
        kept = {key: value for key, value in (await conversation.state()).items() if not key.startswith("temp:")}
        assert kept == {
            "app:house": "ours", "from": "outside", "begun": True, "a": "1", "user:b": "2", "answer": "done"
        }  # fmt: skip
        results = bodies(await person.events(), "tool_result")
        assert [result["changes"] for result in results] == [[{"session": {"a": "1"}}], [{"user": {"b": "2"}}]]

    asyncio.run(main())


def test_an_exception_ends_the_run_as_it_would_without_us(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        with pytest.raises(ConnectionError, match=r"cannot reach http://x\.test"):
            await playing(
                Conversation(calculator(), plugin).say("fetch"),
                person.answer(calls=[call("fetch", url="http://x.test")]),
            )
        history = await person.history()
        assert [entry["error_type"] for entry in history if entry["type"] == "tool_error"] == ["ConnectionError"]
        assert "Traceback" in next(entry["traceback"] for entry in history if entry["type"] == "tool_error")
        told = failures(await person.events())
        assert [(failure["type"], failure["message"]) for failure in told] == [
            ("ConnectionError", "cannot reach http://x.test")
        ]

    asyncio.run(main())


def test_what_ran_beside_a_failing_call_is_on_the_record(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        with pytest.raises(ConnectionError):
            await playing(
                Conversation(calculator(), plugin).say("both"),
                person.answer(calls=[call("add", a=1, b=1), call("fetch", url="http://x.test")]),
            )
        history = await person.history()
        ids = [entry["call_id"] for entry in history if entry["type"] == "tool_call"]
        outputs = {entry["call_id"]: entry["result"] for entry in history if entry["type"] == "tool_output"}
        errors = {entry["call_id"]: entry["error_type"] for entry in history if entry["type"] == "tool_error"}
        assert outputs == {ids[0]: {"result": 2}}
        assert errors == {ids[1]: "ConnectionError"}

    asyncio.run(main())


def test_the_agents_own_callbacks_have_their_say(server: Server, person: Person) -> None:
    happened: list[str] = []

    def before_model(callback_context: Any, llm_request: LlmRequest) -> None:
        happened.append("before_model")
        llm_request.append_instructions(["Be brief."])

    def after_model(callback_context: Any, llm_response: LlmResponse) -> None:
        happened.append("after_model")

    def before_tool(tool: BaseTool, args: Json, tool_context: ToolContext) -> Json | None:
        happened.append(f"before {tool.name}")
        return {"result": "not really"} if args.get("a") == 0 else None

    def after_tool(tool: BaseTool, args: Json, tool_context: ToolContext, tool_response: Any) -> Json | None:
        happened.append(f"after {tool.name}")
        return {"result": "altered"} if args.get("a") == 1 else None

    def on_error(tool: BaseTool, args: Json, tool_context: ToolContext, error: Exception) -> Json:
        happened.append(f"error {tool.name}")
        return {"instead": str(error)}

    async def main() -> None:
        agent = calculator(
            before_model_callback=before_model,
            after_model_callback=after_model,
            before_tool_callback=before_tool,
            after_tool_callback=after_tool,
            on_tool_error_callback=on_error,
        )
        cues: list[Json] = []

        async def play() -> None:
            cues.append(
                await person.answer(
                    calls=[call("add", a=0, b=0), call("add", a=1, b=1), call("fetch", url="http://x.test")]
                )
            )
            cues.append(await person.answer(text="done"))

        plugin = RehearsalPlugin(server.url, token=server.token, tool_errors="return")
        await playing(Conversation(agent, plugin).say("go"), play())
        assert "Be brief." in cues[0]["request"]["system"]
        responses = [part["function_response"]["response"] for part in cues[1]["request"]["contents"][-1]["parts"]]
        assert responses == [
            {"result": "not really"},
            {"result": "altered"},
            {"instead": "cannot reach http://x.test"},
        ]
        assert sorted(set(happened)) == [
            "after add", "after fetch", "after_model", "before add", "before fetch", "before_model", "error fetch"
        ]  # fmt: skip
        assert happened.count("before_model") == happened.count("after_model") == 2
        # What the agent's own callback gave counts as the result; that there was an exception is kept beside it.
        outputs = [entry["result"] for entry in await person.history() if entry["type"] == "tool_output"]
        assert {"instead": "cannot reach http://x.test"} in outputs
        raised = bodies(await person.events(), "tool_exception")
        assert [body["error"]["type"] for body in raised] == ["ConnectionError"]

    asyncio.run(main())


class Verdict(BaseModel):
    answer: str
    confidence: float


@pytest.mark.parametrize("tools", [[], [add]], ids=["without tools", "with tools"])
def test_output_schema(plugin: RehearsalPlugin, person: Person, tools: list[Any]) -> None:
    async def main() -> None:
        agent = Agent(name="judge", model=NEVER_CALLED, output_schema=Verdict, output_key="verdict", tools=tools)
        conversation = Conversation(agent, plugin)
        cues: list[Json] = []

        async def play() -> None:
            if tools:
                cues.append(await person.answer(calls=[call("add", a=1, b=1)]))
            cues.append(await person.answer(final={"answer": "two", "confidence": 0.5}))

        events = await playing(conversation.say("1+1?"), play())
        assert json.loads(final_text(events)) == {"answer": "two", "confidence": 0.5}
        assert (await conversation.state())["verdict"] == {"answer": "two", "confidence": 0.5}
        names = [tool["name"] for tool in cues[0]["request"]["tools"]]
        if tools:
            # With tools ADK asks for the structured answer as a call, which is part of the trace.
            assert "set_model_response" in names
            calls = [entry["tool_name"] for entry in await person.history() if entry["type"] == "tool_call"]
            assert calls == ["add", "set_model_response"]
        else:
            assert names == []
            assert sorted(cues[0]["request"]["output_schema"]["properties"]) == ["answer", "confidence"]
        final = (await person.history())[-1]
        assert final["type"] == "final_response"
        content = final["content"]
        assert (json.loads(content) if isinstance(content, str) else content) == {"answer": "two", "confidence": 0.5}

    asyncio.run(main())


class Query(BaseModel):
    query: str
    limit: int


def test_input_schema(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        agent = Agent(name="search", model=NEVER_CALLED, input_schema=Query)
        events = await playing(
            Conversation(agent, plugin).say('{"query": "cats", "limit": 2}'), person.answer(text="two cats")
        )
        assert final_text(events) == "two cats"
        said = bodies(await person.events(), "user_message")[0]["content"]["parts"][0]["text"]
        assert json.loads(said) == {"query": "cats", "limit": 2}

    asyncio.run(main())


def test_an_agent_without_tools(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        conversation = Conversation(Agent(name="talker", model=NEVER_CALLED), plugin)
        assert final_text(await playing(conversation.say("hi"), person.answer(text="hello"))) == "hello"
        assert final_text(await playing(conversation.say("and?"), person.answer(text="bye"))) == "bye"
        assert kinds(await person.history()) == ["user_query", "final_response"] * 2

    asyncio.run(main())


def test_a_large_result(plugin: RehearsalPlugin, person: Person) -> None:
    size = 20_000_000

    def dump() -> str:
        """Gives a lot."""
        return "é" + "x" * size

    async def main() -> None:
        agent = Agent(name="dumper", model=NEVER_CALLED, tools=[dump])
        await playing(
            Conversation(agent, plugin).say("dump"), person.answer(calls=[call("dump")]), person.answer(text="big")
        )
        result = next(event for event in await person.events() if event["body"]["type"] == "tool_result")
        session = await person.only_session()
        whole = await person.call("GET", f"/v1/sessions/{session}/events/{result['seq']}")
        assert whole["body"]["outcome"] == {"output": {"result": "é" + "x" * size}}

    asyncio.run(main())


def test_a_result_that_is_larger_than_a_request_may_be(plugin: RehearsalPlugin, person: Person) -> None:
    size = 40_000_000

    def dump() -> str:
        """Gives more than the server takes at once."""
        return "é" + "x" * size

    async def main() -> None:
        agent = Agent(name="dumper", model=NEVER_CALLED, tools=[dump, add])
        cues: list[Json] = []

        async def play() -> None:
            await person.answer(calls=[call("dump"), call("add", a=1, b=1)])
            cues.append(await person.answer(text="too big to read"))

        events = await playing(Conversation(agent, plugin).say("dump"), play())
        assert final_text(events) == "too big to read"
        cut, small = [part["function_response"]["response"] for part in cues[0]["request"]["contents"][-1]["parts"]]
        assert small == {"result": 2}
        assert (cut["truncated"], cut["bytes"]) == (True, size + len('{"response":{"result":"é"}}'.encode()))
        assert cut["beginning"].startswith('{"result":"éxxx')
        # What the agent has is whole, and so is what is on the ledger.
        given = [response for event in events for response in event.get_function_responses()]
        assert len(str(cast("Json", given[0].response)["result"])) == size + 1
        result = next(event for event in await person.events() if event["body"]["type"] == "tool_result")
        whole = await person.call("GET", f"/v1/sessions/{await person.only_session()}/events/{result['seq']}")
        assert len(whole["body"]["outcome"]["output"]["result"]) == size + 1

    asyncio.run(main())


def test_results_are_not_kept_when_they_are_told(server: Server, person: Person) -> None:
    async def main() -> None:
        session = str((await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"])
        link = Link(Client(resolve_address(server.url, server.token)), session, None, join=False)
        told = Call("c", "dump", "a", (), "i", returned=b'{"result":"large"}', actions=object(), told=True)
        link.tell("user_message", "a", (), content={"role": "user", "parts": [{"text": "dump"}]})
        link.tell("tool_call", "a", (), call_id="c", tool="dump", args={})
        link.tell_result(told, told.returned)
        await link.outbox.flush()
        assert (told.returned, told.actions) == (None, None)

    asyncio.run(main())


def test_one_more_result_of_a_call_and_a_late_one(server: Server, person: Person) -> None:
    async def main() -> None:
        session = str((await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"])
        link = Link(Client(resolve_address(server.url, server.token)), session, None, join=False)
        link.tell("user_message", "a", (), content={"role": "user", "parts": [{"text": "pay"}]})
        link.tell("tool_call", "a", (), call_id="c", tool="pay", args={})
        paid = Call("c", "pay", "a", (), "i", told=True, ended=1.0, started=1.0)
        first = link.tell_result(paid, b'{"error":"requires confirmation"}')
        again = link.tell_result(paid, b'{"result":"paid"}', state_delta={"paid": True})
        late = link.tell_result(paid, b'{"result":"paid"}', late=True)
        kept = {"type": "tool_result", "agent": "a", "call_id": "c", "tool": "pay", "duration_ms": 0}
        told = [json.loads(each.to_json()) for each in (first, again, late)]
        for each in told:
            del each["event_id"], each["at"]
        assert told == [
            {**kept, "output": {"error": "requires confirmation"}},
            {**kept, "output": {"result": "paid"}, "state_delta": {"paid": True}, "again": True},
            {**kept, "output": {"result": "paid"}, "late": True},
        ]
        # Whatever the server makes of the second one, it is on the ledger, and so is the state.
        await link.outbox.flush()
        ledger = await person.events(session)
        assert json.dumps(ledger).count('{"result": "paid"}') == 2
        assert state_of(ledger) == {"session": {"paid": True}}

    asyncio.run(main())


def test_values_that_json_does_not_have(plugin: RehearsalPlugin, person: Person) -> None:
    def odd() -> Json:
        """Gives odd things."""
        return {"bytes": b"\xff\xfe", "nan": float("nan"), "nothing": None, "set": {1}, "object": ValueError}

    async def main() -> None:
        agent = Agent(name="odd", model=NEVER_CALLED, tools=[odd])
        await playing(
            Conversation(agent, plugin).say("?"), person.answer(calls=[call("odd")]), person.answer(text="odd")
        )
        output = bodies(await person.events(), "tool_result")[0]["outcome"]["output"]
        assert output == {
            "bytes": "__4=", "nan": None, "nothing": None, "set": [1], "object": "<class 'ValueError'>"
        }  # fmt: skip

    asyncio.run(main())


def approval(events: list[Event]) -> types.Content:
    """The user's yes to what an agent wants to have confirmed."""
    asked = next(
        asked for event in events for asked in event.get_function_calls() if asked.name == "adk_request_confirmation"
    )
    given = types.FunctionResponse(id=asked.id, name=asked.name, response={"confirmed": True})
    return types.Content(role="user", parts=[types.Part(function_response=given)])


def test_state_that_a_confirmed_tool_writes(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        agent = Agent(name="careful", model=NEVER_CALLED, tools=[FunctionTool(remember, require_confirmation=True)])
        conversation = Conversation(agent, plugin)
        events = await playing(
            conversation.say("pay"), person.answer(calls=[call("remember", key="paid", value="yes")])
        )
        await playing(conversation.say(approval(events)), person.answer(text="paid"))
        assert (await conversation.state())["paid"] == "yes"
        assert state_of(await person.events())["session"] == {"paid": "yes"}

    asyncio.run(main())


@pytest.mark.parametrize("joined", [False, True], ids=["in a session of its own", "in the same session"])
def test_a_confirmation_after_a_restart(server: Server, person: Person, joined: bool) -> None:
    """A program that keeps its ADK sessions is started again between the question and the user's yes."""
    session = "11111111-2222-4333-8444-555555555555" if joined else None

    async def main() -> None:
        service = InMemorySessionService()
        await service.create_session(app_name="tests", user_id="u", session_id="s")

        async def say(message: types.Content) -> list[Event]:
            plugin = RehearsalPlugin(server.url, token=server.token, session=session)
            agent = Agent(name="careful", model=NEVER_CALLED, tools=[FunctionTool(add, require_confirmation=True)])
            app = App(name="tests", root_agent=agent, plugins=[plugin])
            runner = Runner(app=app, session_service=service)
            return [e async for e in runner.run_async(user_id="u", session_id="s", new_message=message)]

        events = await playing(say(types.UserContent("1+1")), person.answer(calls=[call("add", a=1, b=1)]))
        events = await playing(say(approval(events)), person.answer(text="two"))
        assert final_text(events) == "two"
        sessions = await person.sessions()
        assert len(sessions) == (1 if joined else 2)
        ledger = await person.events(sessions[0]["id"])
        assert '{"result": 2}' in json.dumps(ledger)
        assert [body["tool"] for body in bodies(ledger, "tool_call")][-1] == (
            "adk_request_confirmation" if joined else "add"
        )

    asyncio.run(main())


def test_a_tool_that_wants_confirmation(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        agent = Agent(name="careful", model=NEVER_CALLED, tools=[FunctionTool(add, require_confirmation=True)])
        conversation = Conversation(agent, plugin)
        events = await playing(conversation.say("1+1"), person.answer(calls=[call("add", a=1, b=1)]))
        events = await playing(conversation.say(approval(events)), person.answer(text="two"))
        assert final_text(events) == "two"
        ledger = await person.events()
        assert [body["tool"] for body in bodies(ledger, "tool_call")] == ["add", "adk_request_confirmation"]
        text = json.dumps(ledger)
        assert "requires confirmation" in text
        assert '{"result": 2}' in text
        assert len(bodies(ledger, "user_message")) == 2
        # What the user said is the result of the question, and what the tool gave then is no late result.
        answers = [body["outcome"] for body in bodies(ledger, "tool_result") if body["tool"] != "add"]
        assert answers == [{"output": {"confirmed": True}}]
        assert [body["outcome"] for body in bodies(ledger, "repeated_result")] == [{"output": {"result": 2}}]
        assert bodies(ledger, "late_result") == []

    asyncio.run(main())


# Deprecated in ADK 2, and in use all the same.
parallel_agent: Any = adk_agents.ParallelAgent  # pyright: ignore[reportDeprecated]


def test_agents_side_by_side(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        both = parallel_agent(
            name="both",
            sub_agents=[Agent(name=name, model=NEVER_CALLED, tools=[add]) for name in ("left", "right")],
        )

        async def play() -> None:
            for _ in range(2):
                cue = await person.cue()
                await person.call("POST", f"/v1/cues/{cue['id']}/answer", {"calls": [call("add", a=1, b=1)]})
            for _ in range(2):
                await person.answer(text="two")

        await playing(Conversation(both, plugin).say("go"), play())
        ledger = await person.events()
        turns = {event["turn"]: event["author"] for event in ledger if event["body"]["type"] == "model_request"}
        called = [event for event in ledger if event["body"]["type"] == "tool_call"]
        assert sorted(event["author"] for event in called) == ["left", "right"]
        assert all(turns[event["turn"]] == event["author"] for event in called)

    asyncio.run(main())


def test_a_dismissed_cue_ends_the_run(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        async def dismiss() -> None:
            cue = await person.cue()
            await person.call("POST", f"/v1/cues/{cue['id']}/dismiss", {})

        with pytest.raises(RuntimeError) as raised:
            await playing(Conversation(calculator(), plugin).say("hi"), dismiss())
        assert isinstance(raised.value.__cause__, CueDismissed)
        assert [error["type"] for error in failures(await person.events())] == ["CueDismissed"]

    asyncio.run(main())


def test_a_cancelled_session_ends_the_run(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        async def cancel() -> None:
            cue = await person.cue()
            await person.call("POST", f"/v1/sessions/{cue['session']}/cancel", {"reason": "enough"})

        with pytest.raises(RuntimeError) as raised:
            await playing(Conversation(calculator(), plugin).say("hi"), cancel())
        assert isinstance(raised.value.__cause__, SessionEnded)

    asyncio.run(main())


def test_completing_after_the_run(server: Server, person: Person) -> None:
    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token, complete="after_run")
        await playing(Conversation(calculator(), plugin).say("hi"), person.answer(text="hello"))
        assert [session["status"] for session in await person.sessions()] == ["completed"]

    asyncio.run(main())


def test_a_session_of_ones_own(server: Server, person: Person) -> None:
    session = "11111111-2222-4333-8444-555555555555"

    async def main() -> None:
        for answer in ("one", "two"):
            plugin = RehearsalPlugin(server.url, token=server.token, session=session)
            await playing(Conversation(calculator(), plugin).say("hi"), person.answer(session, text=answer))
        finals = [e["content"] for e in await person.history(session) if e["type"] == "final_response"]
        assert finals == ["one", "two"]

    asyncio.run(main())


def test_a_runner_in_a_thread_and_a_loop_of_its_own(plugin: RehearsalPlugin, person: Person) -> None:
    """`Runner.run` makes a new event loop for every message; the plugin stays the same."""

    async def main() -> None:
        conversation = Conversation(calculator(), plugin)
        runner = conversation.runner
        await runner.session_service.create_session(app_name="tests", user_id="u", session_id="s")

        def speak(text: str) -> list[Any]:
            return list(runner.run(user_id="u", session_id="s", new_message=types.UserContent(text)))

        for text in ("first", "second"):
            events = await playing(asyncio.to_thread(speak, text), person.answer(text=f"answer to {text}"))
            assert final_text(events) == f"answer to {text}"
        assert kinds(await person.history()) == ["user_query", "final_response"] * 2

    asyncio.run(main())


def test_a_cancelled_run_leaves_nothing_half_said(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        conversation = Conversation(calculator(), plugin)
        run = asyncio.ensure_future(conversation.say("first"))
        await person.answer(calls=[call("add", a=1, b=1)])
        await person.cue()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

        async def away() -> bool:
            return not (await person.call("GET", "/v1/cues"))["cues"]

        # Nobody is asked what nobody will hear.
        await eventually(away, "cue put away")
        events = await playing(conversation.say("second"), person.answer(text="fine"))
        assert final_text(events) == "fine"
        said = [body["content"]["parts"][0]["text"] for body in bodies(await person.events(), "user_message")]
        assert said == ["first", "second"]

    asyncio.run(main())


@pytest.mark.skipif(not ADK_2, reason="agents that run as tools inside their caller's session came with ADK 2.0")
def test_an_inline_agent_is_linked_to_its_call(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        inner = Agent(name="inner", model=NEVER_CALLED, description="digs", mode="single_turn", tools=[add])
        root = Agent(name="root", model=NEVER_CALLED, sub_agents=[inner])
        events = await playing(
            Conversation(root, plugin).say("dig"),
            person.answer(calls=[call("inner", request="deeper")]),
            person.answer(calls=[call("add", a=4, b=4)]),
            person.answer(text="eight"),
            person.answer(text="found"),
        )
        assert final_text(events) == "found"
        ledger = await person.events()
        outer = next(event["body"]["call"] for event in ledger if event["body"].get("tool") == "inner")
        inside = [event for event in ledger if outer in str(event.get("invocation"))]
        assert [event["author"] for event in inside if event["body"]["type"] == "model_request"] == ["inner"] * 2
        assert [body["tool"] for body in bodies(inside, "tool_call")] == ["add"]
        assert (await person.history())[-1]["content"] == "found"

    asyncio.run(main())


def test_a_tool_is_seen_while_it_runs(plugin: RehearsalPlugin, person: Person) -> None:
    async def main() -> None:
        release = asyncio.Event()

        async def wait(word: str) -> str:
            """Waits."""
            await release.wait()
            return word

        async def look() -> None:
            cue = await person.answer(calls=[call("wait", word="now")])

            async def running() -> list[Json]:
                session: Json = await person.call("GET", f"/v1/sessions/{cue['session']}")
                return session["waiting_calls"]

            calls = await eventually(running, "running call")
            assert [(each["tool"], each["args"]) for each in calls] == [("wait", {"word": "now"})]
            release.set()
            await person.answer(text="over")
            assert await running() == []

        agent = Agent(name="waiter", model=NEVER_CALLED, tools=[wait])
        await playing(Conversation(agent, plugin).say("wait"), look())

    asyncio.run(main())


def test_an_agents_own_exception_is_recorded_as_it_was(plugin: RehearsalPlugin, person: Person) -> None:
    def broken(callback_context: Any, llm_request: LlmRequest) -> None:
        raise ValueError("boom")

    async def main() -> None:
        with pytest.raises(RuntimeError, match="boom"):
            await Conversation(calculator(before_model_callback=broken), plugin).say("hi")
        told = failures(await person.events())
        assert [(failure["type"], failure["message"]) for failure in told] == [("ValueError", "boom")]
        assert "in broken" in told[0]["traceback"]

    asyncio.run(main())


def test_calls_that_a_callback_makes_belong_to_no_turn(plugin: RehearsalPlugin, person: Person) -> None:
    asked: list[int] = []

    def before_model(callback_context: Any, llm_request: LlmRequest) -> LlmResponse | None:
        asked.append(1)
        if len(asked) != 2:
            return None
        made = types.Part(function_call=types.FunctionCall(name="add", args={"a": 2, "b": 2}))
        return LlmResponse(content=types.Content(role="model", parts=[made]))

    async def main() -> None:
        await playing(
            Conversation(calculator(before_model_callback=before_model), plugin).say("go"),
            person.answer(calls=[call("add", a=1, b=1)]),
            person.answer(text="done"),
        )
        ledger = await person.events()
        turns = [event["turn"] for event in ledger if event["body"]["type"] == "model_request"]
        called = [event.get("turn") for event in ledger if event["body"]["type"] == "tool_call"]
        assert called == [turns[0], None]

    asyncio.run(main())
