"""The simulator plugin that others published, unmodified, plays a session on our server.

`cargo xtask test --only published` runs this where the published packages are installed, with `REHEARSAL_BIN` naming
the `rehearse` binary.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import re
import subprocess
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import betterproto
import httpx
import pytest
from adk_agent_sim.plugin import SimulatorPlugin
from adk_agent_sim.plugin.client_factory import SimulatorClientFactory
from adk_agent_sim.plugin.config import PluginConfig
from adk_sim_protos.adksim.v1 import (
    CreateSessionRequest,
    ListSessionsRequest,
    SessionEvent,
    SimulatorServiceStub,
    SubmitDecisionRequest,
    SubmitRequestRequest,
    SubscribeRequest,
)
from adk_sim_protos.google.ai.generativelanguage.v1beta import (
    Candidate,
    Content,
    GenerateContentRequest,
    GenerateContentResponse,
    Part,
)
from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.evaluation.eval_case import EvalCase
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from grpclib import GRPCError, Status

DEADLINE = 60.0
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Server:
    """`rehearse serve` in a folder of its own, with a port for plugins that send no token."""

    def __init__(self, folder: Path) -> None:
        binary = os.environ.get("REHEARSAL_BIN", "")
        if not Path(binary).is_file():
            raise RuntimeError(
                f"REHEARSAL_BIN has to name the `rehearse` binary, not {binary!r}; "
                "`cargo xtask test --only published` sets it"
            )
        self.folder = folder
        self._command = [binary, "serve", "--store", str(folder / "store.db")]
        self.port = self.grpc_port = 0
        self.start()

    def start(self) -> None:
        """Starts it, again on the ports it had before."""
        command = [*self._command, "--port", str(self.port), "--grpc-port", str(self.grpc_port)]
        self._process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.port = self._read_port(r"^Rehearsal listens on http://127\.0\.0\.1:(\d+)")
        self.grpc_port = self._read_port(r"^gRPC without a token on 127\.0\.0\.1:(\d+)")
        self.token = (self.folder / ".rehearsal" / "token").read_text().strip()

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self._process.kill()
        self._process.communicate()

    def _read_port(self, pattern: str) -> int:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(pattern, line):
                return int(found.group(1))
        raise RuntimeError(f"`rehearse serve` ended with {self._process.wait()} and never said {pattern!r}")

    @property
    def grpc(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"


class Person:
    """Somebody who answers over HTTP."""

    def __init__(self, server: Server) -> None:
        self._client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{server.port}",
            headers={"authorization": f"Bearer {server.token}"},
            trust_env=False,
            timeout=DEADLINE,
        )

    async def get(self, path: str, **params: str) -> Any:
        return self._body(await self._client.get(path, params=params))

    async def post(self, path: str, body: Any = None) -> Any:
        return self._body(await self._client.post(path, json=body))

    async def head(self, session: str) -> dict[str, Any]:
        """Waits for a cue of the session and gives the first, with what it asks."""

        async def look() -> dict[str, Any] | None:
            cues = (await self.get("/v1/cues", session=session))["cues"]
            return cues[0] if cues else None

        cue = await eventually(look, "cue")
        whole: dict[str, Any] = await self.get(f"/v1/cues/{cue['id']}")
        return whole

    async def answer(self, session: str, **answer: Any) -> dict[str, Any]:
        cue = await self.head(session)
        await self.post(f"/v1/cues/{cue['id']}/answer", answer)
        return cue

    async def close(self) -> None:
        await self._client.aclose()

    @staticmethod
    def _body(answer: httpx.Response) -> Any:
        assert answer.is_success, f"{answer.request.method} {answer.request.url}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


async def eventually(look: Callable[[], Awaitable[Any]], what: str) -> Any:
    """Looks until there is something to see."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if seen := await look():
            return seen
        await asyncio.sleep(0.02)
    raise AssertionError(f"no {what} within {DEADLINE:g} s")


class Unplugged(BaseLlm):
    """A model that nobody may ask: the plugin stands before it."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        raise AssertionError("the real model was called")
        yield


def weather(city: str) -> dict[str, Any]:
    """Says how the weather is."""
    return {"city": city, "degrees": {"Oslo": -3, "Rome": 18}[city]}


def convert(celsius: float) -> dict[str, Any]:
    """Converts degrees to Fahrenheit."""
    return {"fahrenheit": celsius * 9 / 5 + 32}


def agent() -> LlmAgent:
    return LlmAgent(
        name="forecaster",
        model=Unplugged(model="unplugged"),
        instruction="You answer questions about the weather.",
        tools=[weather, convert],
    )


class Play:
    """An agent that runs with the published plugin until it has answered one message."""

    def __init__(self, server: Server, message: str) -> None:
        self.plugin = SimulatorPlugin(server_url=server.grpc)
        self._message = message

    async def start(self) -> str:
        """Starts the agent and gives the session that the plugin made."""
        await self.plugin.initialize("a session of the published plugin")
        self._run = asyncio.create_task(self._say())
        assert self.plugin.session_id is not None
        return self.plugin.session_id

    async def _say(self) -> list[types.Part]:
        runner = InMemoryRunner(app=App(name="published", root_agent=agent(), plugins=[self.plugin]))
        session = await runner.session_service.create_session(app_name="published", user_id="u")
        message = types.UserContent(self._message)
        parts: list[types.Part] = []
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message):
            parts += event.content.parts or [] if event.content else []
        return parts

    async def ended(self) -> list[types.Part]:
        """Waits for the agent's end and gives all that it said."""
        return await asyncio.wait_for(self._run, DEADLINE)

    async def close(self) -> None:
        self._run.cancel()
        await asyncio.gather(self._run, return_exceptions=True)
        await self.plugin.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.kill()


class Subscriber:
    """Another client of the published kind, which sees what the plugin sees."""

    def __init__(self, stub: SimulatorServiceStub, session: str) -> None:
        request = SubscribeRequest(session_id=session, client_id="second")
        self._events: AsyncIterator[Any] = aiter(stub.subscribe(request))

    async def next(self) -> tuple[str, SessionEvent]:
        event = (await asyncio.wait_for(anext(self._events), DEADLINE)).event
        return betterproto.which_one_of(event, "payload")[0], event


def run(scene: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 3 * DEADLINE))  # type: ignore[arg-type]


def call_of(parts: list[types.Part]) -> list[tuple[str | None, Any]]:
    return [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]


def test_the_packages_are_those_that_were_published() -> None:
    for name in ("adk-agent-sim", "adk-sim-protos"):
        assert importlib.metadata.version(name) == "0.1.22"


def test_a_session_from_the_first_message_to_the_golden_trace(server: Server) -> None:
    async def scene() -> None:
        person, play = Person(server), Play(server, "How is the weather in Oslo and in Rome?")
        session = await play.start()
        try:
            asked = await person.answer(
                session,
                calls=[{"tool": "weather", "args": {"city": "Oslo"}}, {"tool": "weather", "args": {"city": "Rome"}}],
            )
            request = asked.get("prompt", asked)["request"]
            assert {tool["name"] for tool in request["tools"]} == {"weather", "convert"}
            assert "You answer questions about the weather." in str(request)

            asked = await person.head(session)
            told = str(asked.get("prompt", asked)["request"]["contents"])
            assert "-3" in told, "the agent's next request has the first result"
            assert "18" in told, "the agent's next request has the second result"
            await person.answer(session, text="Cold in Oslo, mild in Rome.")

            parts = await play.ended()
            assert call_of(parts) == [("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"})]
            assert parts[-1].text == "Cold in Oslo, mild in Rome."

            await person.post(f"/v1/sessions/{session}/complete")
            assert (await person.get(f"/v1/sessions/{session}"))["status"] == "completed"
            await check_history(person, session)
            await check_golden_trace(person, session)
        finally:
            await play.close()
            await person.close()

    run(scene)


async def check_history(person: Person, session: str) -> None:
    entries = (await person.get(f"/v1/sessions/{session}/history"))["entries"]
    assert sorted(entry["type"] for entry in entries) == sorted(
        ["user_query", "tool_call", "tool_call", "tool_output", "tool_output", "final_response"]
    )
    assert entries[0]["content"] == "How is the weather in Oslo and in Rome?"
    assert entries[-1]["content"] == "Cold in Oslo, mild in Rome."
    calls = [entry for entry in entries if entry["type"] == "tool_call"]
    assert [(call["tool_name"], call["arguments"]) for call in calls] == [
        ("weather", {"city": "Oslo"}),
        ("weather", {"city": "Rome"}),
    ]
    results = {entry["call_id"]: entry["result"] for entry in entries if entry["type"] == "tool_output"}
    assert [results[call["call_id"]] for call in calls] == [
        {"city": "Oslo", "degrees": -3},
        {"city": "Rome", "degrees": 18},
    ]
    numbers = [entry["seq"] for entry in entries]
    assert numbers == sorted(numbers)


async def check_golden_trace(person: Person, session: str) -> None:
    case = EvalCase.model_validate(await person.get(f"/v1/sessions/{session}/eval-case"))
    assert case.conversation is not None
    (invocation,) = case.conversation
    assert invocation.invocation_id == f"{session}_inv_0"
    assert text_of(invocation.user_content) == "How is the weather in Oslo and in Rome?"
    assert invocation.final_response is not None
    assert text_of(invocation.final_response) == "Cold in Oslo, mild in Rome."
    data = invocation.intermediate_data
    assert data is not None
    assert [(use.name, use.args) for use in data.tool_uses] == [
        ("weather", {"city": "Oslo"}),
        ("weather", {"city": "Rome"}),
    ]
    assert [response.response for response in data.tool_responses] == [
        {"city": "Oslo", "degrees": -3},
        {"city": "Rome", "degrees": 18},
    ]
    assert case.eval_id.startswith("forecaster_")


def text_of(content: types.Content) -> str:
    return "".join(part.text or "" for part in content.parts or [])


def test_a_second_subscriber_gets_history_then_its_end_then_what_happens(server: Server) -> None:
    async def scene() -> None:
        person, play = Person(server), Play(server, "How is the weather in Oslo?")
        session = await play.start()
        factory = SimulatorClientFactory(PluginConfig(server_url=server.grpc))
        try:
            stub = await factory.get_simulator_stub()
            await person.answer(session, calls=[{"tool": "weather", "args": {"city": "Oslo"}}])
            await person.head(session)

            subscriber = Subscriber(stub, session)
            seen = [await subscriber.next() for _ in range(4)]
            kinds = [kind for kind, _ in seen]
            assert kinds == ["llm_request", "llm_response", "llm_request", "history_complete"]
            assert seen[3][1].history_complete.event_count == 3

            await person.answer(session, text="Cold.")
            kind, live = await subscriber.next()
            assert kind == "llm_response"
            assert live.llm_response.candidates[0].content.parts[0].text == "Cold."
            await play.ended()

            first, answer, second = (event for _, event in seen[:3])
            assert first.agent_name == second.agent_name == "forecaster"
            assert first.turn_id == answer.turn_id != second.turn_id == live.turn_id
            ids = [event.event_id for _, event in seen[:3]] + [live.event_id]
            assert len(set(ids)) == 4
            assert all(UUID.fullmatch(each) for each in ids)
            assert all(event.session_id == session for _, event in seen)
            times = [event.timestamp for event in (first, answer, second, live)]
            assert times == sorted(times)
        finally:
            await play.close()
            await person.close()
            await factory.close()

    run(scene)


def test_the_plugin_gets_its_answer_from_a_server_that_was_killed_and_started_again(server: Server) -> None:
    async def scene() -> None:
        person, play = Person(server), Play(server, "How is the weather in Oslo?")
        session = await play.start()
        try:
            before = await person.head(session)
            server.kill()
            server.start()
            after = await person.answer(session, text="Cold.")
            assert after["id"] == before["id"]
            assert text_of(types.Content(parts=await play.ended())) == "Cold."
        finally:
            await play.close()
            await person.close()

    run(scene)


def test_decisions_sent_by_a_published_client_are_answers(server: Server) -> None:
    async def scene() -> None:
        person = Person(server)
        factory = SimulatorClientFactory(PluginConfig(server_url=server.grpc))
        try:
            stub = await factory.get_simulator_stub()
            session = (await stub.create_session(CreateSessionRequest(description="by hand"))).session
            assert UUID.fullmatch(session.id)
            assert session.description == "by hand"
            listed = await stub.list_sessions(ListSessionsRequest(page_size=10))
            assert session.id in [each.id for each in listed.sessions]

            turn = "7f1d2a35-9a56-4a8e-8a9b-0d6a4f6e3c11"
            asked = SubmitRequestRequest(
                session_id=session.id, turn_id=turn, agent_name="forecaster", request=request_of("Hello?")
            )
            first = await stub.submit_request(asked)
            again = await stub.submit_request(asked)
            assert first.event_id == again.event_id, "the same turn with the same payload is the same event"
            asked.request = request_of("Something else?")
            with pytest.raises(GRPCError) as refused:
                await stub.submit_request(asked)
            assert refused.value.status == Status.ALREADY_EXISTS

            decision = GenerateContentResponse(
                candidates=[Candidate(content=Content(role="model", parts=[Part(text="Hello.")]))]
            )
            await stub.submit_decision(SubmitDecisionRequest(session_id=session.id, turn_id=turn, response=decision))
            assert (await person.get("/v1/cues", session=session.id))["cues"] == []
            subscriber = Subscriber(stub, session.id)
            kinds = [(await subscriber.next())[0] for _ in range(3)]
            assert kinds == ["llm_request", "llm_response", "history_complete"]
        finally:
            await person.close()
            await factory.close()

    run(scene)


def request_of(text: str) -> GenerateContentRequest:
    return GenerateContentRequest(model="models/unplugged", contents=[Content(role="user", parts=[Part(text=text)])])
