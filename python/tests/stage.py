"""A real server and the person in front of it, as the tests use them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import httpx
from google.adk.agents.base_agent import BaseAgent
from google.adk.apps import App
from google.adk.events.event import Event
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner
from google.adk.version import __version__ as adk_version
from google.genai import types

ADK_2 = int(adk_version.split(".", 1)[0]) >= 2
DEADLINE = 60.0
NEVER_CALLED = "gemini-2.5-flash"

Json = dict[str, Any]
T = TypeVar("T")


class Server:
    """`rehearse serve` in a folder of its own."""

    _token: str | None = None

    def __init__(self, folder: Path, *options: str, store: str | None = None, token: str | None = None) -> None:
        binary = os.environ.get("REHEARSAL_BIN", "")
        if not Path(binary).is_file():
            raise RuntimeError(
                f"these tests run the real server: REHEARSAL_BIN has to name the `rehearse` binary, not {binary!r} "
                "(cargo build -p rehearsal-cli makes it)"
            )
        self.binary = binary
        self.folder = folder
        self.port = 0
        self._options = options
        self._store = store or str(folder / "store.db")
        self._token = token
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return self._token or (self.folder / ".rehearsal" / "token").read_text().strip()

    def command(self, *words: str) -> str:
        """What a command of the program prints of this server's store."""
        command = [self.binary, *words, "--store", self._store]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def start(self) -> None:
        """Starts the server, again on the port it had before."""
        command = [self.binary, "serve", "--port", str(self.port), "--store", self._store, *self._options]
        given = {"REHEARSAL_TOKEN": self._token} if self._token else {}
        self._process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, text=True, env={**os.environ, **given}
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found.group(1))
                return
        raise RuntimeError(f"{' '.join(command)} ended with {self._process.wait()} before it said its address")

    def kill(self) -> None:
        """Ends the server as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stdout is not None:
                self._process.stdout.close()
            self._process = None


class Person:
    """Somebody who answers cues over HTTP."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def call(self, method: str, path: str, body: Json | None = None, **params: str) -> Any:
        async with httpx.AsyncClient(trust_env=False, timeout=90.0) as client:
            answer = await client.request(
                method,
                self.server.url + path,
                json=body,
                params=params or None,
                headers={"authorization": f"Bearer {self.server.token}"},
            )
        if answer.is_error:
            raise AssertionError(f"{method} {path} gave {answer.status_code}: {answer.text}")
        return answer.json() if answer.content else None

    async def sessions(self) -> list[Json]:
        return cast("list[Json]", (await self.call("GET", "/v1/sessions"))["sessions"])

    async def only_session(self) -> str:
        sessions = await self.sessions()
        assert len(sessions) == 1, sessions
        return str(sessions[0]["id"])

    async def cue(self, session: str | None = None) -> Json:
        """Waits for the head cue and gives it with its prompt."""

        async def look() -> Json | None:
            found = self.call("GET", "/v1/cues", session=session) if session else self.call("GET", "/v1/cues")
            cues: list[Json] = (await found)["cues"]
            return cues[0] if cues else None

        head = await eventually(look, "a cue")
        whole: Json = await self.call("GET", f"/v1/cues/{head['id']}")
        return {**whole, "id": head["id"], "session": head["session"], "request": request_of(whole)}

    async def answer(self, session: str | None = None, **answer: Any) -> Json:
        """Waits for the head cue, answers it, and gives it."""
        cue = await self.cue(session)
        await self.call("POST", f"/v1/cues/{cue['id']}/answer", answer)
        return cue

    async def events(self, session: str | None = None) -> list[Json]:
        session = session or await self.only_session()
        events: list[Json] = (await self.call("GET", f"/v1/sessions/{session}/events", limit="1000"))["events"]
        return events

    async def history(self, session: str | None = None) -> list[Json]:
        session = session or await self.only_session()
        entries: list[Json] = (await self.call("GET", f"/v1/sessions/{session}/history"))["entries"]
        return entries


def request_of(cue: Json) -> Json:
    return cast("Json", cue.get("prompt", cue)["request"])


def call(tool: str, **args: Any) -> Json:
    return {"tool": tool, "args": args}


def bodies(events: list[Json], kind: str) -> list[Json]:
    return [event["body"] for event in events if event["body"]["type"] == kind]


def failures(events: list[Json]) -> list[Json]:
    """Why runs ended without a final response."""
    return [body["error"] for body in bodies(events, "run_failed")]


def kinds(entries: list[Json]) -> list[str]:
    return [entry["type"] for entry in entries]


def state_of(events: list[Json]) -> Json:
    """Folds a ledger's state as the ledger does: initial state, then every change in order."""
    state: Json = {}
    for event in events:
        body = event["body"]
        if body["type"] == "session_started":
            state = json.loads(json.dumps(body.get("state", {})))
        given: Any = body.get("changes", [])
        patches = cast("list[Json]", given if isinstance(given, list) else [given])
        for patch in patches:
            for scope, values in patch.items():
                for key, value in cast("Json", values).items():
                    if value is None:
                        state.setdefault(scope, {}).pop(key, None)
                    else:
                        state.setdefault(scope, {})[key] = value
    return state


async def eventually(look: Callable[[], Any], what: str) -> Any:
    """Looks until there is something to see."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        seen = await look()
        if seen:
            return seen
        await asyncio.sleep(0.02)
    raise AssertionError(f"there was no {what} within {DEADLINE:g} s")


class Conversation:
    """An ADK session with an agent, in a real runner."""

    def __init__(self, agent: BaseAgent, *plugins: BasePlugin, state: Json | None = None) -> None:
        self.runner = InMemoryRunner(app=App(name="tests", root_agent=agent, plugins=list(plugins)))
        self._state = state
        self._session: str | None = None

    async def say(self, message: str | types.Content, **options: Any) -> list[Event]:
        """Says something and gives every event that came of it."""
        service = self.runner.session_service
        if self._session is None:
            made = await service.create_session(app_name="tests", user_id="u", state=self._state or {})
            self._session = made.id
        content = message if isinstance(message, types.Content) else types.UserContent(message)
        return [
            event
            async for event in self.runner.run_async(
                user_id="u", session_id=self._session, new_message=content, **options
            )
        ]

    async def state(self) -> Json:
        assert self._session is not None
        session = await self.runner.session_service.get_session(app_name="tests", user_id="u", session_id=self._session)
        assert session is not None
        return dict(session.state)


def final_text(events: list[Event]) -> str:
    finals = [event for event in events if event.is_final_response() and event.content]
    return "".join(part.text or "" for part in (finals[-1].content.parts or [])) if finals[-1].content else ""


class Parrot(BaseLlm):
    """A model that plays itself: it says what its agent was told last."""

    model: str = "parrot"

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        said = [part.text for content in llm_request.contents for part in content.parts or [] if part.text]
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=f"parrot: {said[-1]}")]))


async def playing(run: Any, *acts: Any) -> Any:
    """Runs an agent and a person beside it; whatever fails on either side fails the test."""
    task = asyncio.ensure_future(run)
    person = asyncio.ensure_future(_one_by_one(acts))
    done, _ = await asyncio.wait({task, person}, timeout=DEADLINE * 2, return_when=asyncio.FIRST_COMPLETED)
    if person in done:
        person.result()
        return await asyncio.wait_for(task, DEADLINE)
    result = None
    try:
        assert task in done, "neither the agent nor the person came to an end"
        result = task.result()
        await asyncio.wait_for(person, DEADLINE)
    finally:
        person.cancel()
        if not task.done():
            task.cancel()
    return result


async def _one_by_one(acts: tuple[Any, ...]) -> None:
    for act in acts:
        await act
