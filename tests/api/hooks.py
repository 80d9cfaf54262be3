"""Gives schemathesis things to ask about: sessions that wait, sessions that ended, cues, a host and its work.

Made-up ids lead to 404 and no further. So where a case is valid, all but every fourth asks about something that is
there. Phases that follow links of their own, and cases that are wrong on purpose, stay as they are.
"""

from __future__ import annotations

import itertools
import json
import os
import uuid
from typing import Any

import httpx
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation import GenerationMode
from schemathesis.generation.meta import TestPhase

AGENT = "adder"
TOOL = {
    "name": "add",
    "description": "Adds two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}
REQUEST = {"model": "none", "contents": [{"role": "user", "parts": [{"text": "2 + 2?"}]}], "tools": [TOOL]}


@schemathesis.serializer("application/jsonl")
def lines(_context: Any, value: Any) -> bytes:
    """Sends JSON Lines as they are, and anything else as JSON."""
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="surrogatepass")


class World:
    """A server with something on it."""

    def __init__(self) -> None:
        self._client = httpx.Client(
            base_url=os.environ["REHEARSAL_URL"],
            headers={"authorization": f"Bearer {os.environ['REHEARSAL_TOKEN']}"},
            trust_env=False,
        )
        self._number = itertools.count()
        self.host = self._id()

    def fill(self, method: str, path: str, asked: dict[str, Any]) -> None:
        """Replaces ids that lead nowhere."""
        number = next(self._number)
        if number % 4 == 3:
            return
        if path.startswith("/v1/sessions/"):
            session, turn = self.ended() if number % 2 else self.waiting()
            asked["id"] = session
            self._fill(asked, turn_id=turn, call_id="c1", seq=1 + number % 3)
            if method == "PUT":
                asked["turn_id"] = self._id()
        elif path.startswith("/v1/cues/"):
            asked["id"] = self.waiting()[1]
        elif path.startswith("/v1/hosts/"):
            self._fill(asked, host_id=self.host, work_id=self.work())
        elif path.startswith("/v1/agents/"):
            self.work()
            asked["name"] = AGENT
        elif path.startswith("/v1/runs/"):
            for run in self._call("GET", "/v1/runs")["runs"]:
                asked["id"] = run["id"]
        elif path.startswith("/v1/uploads/"):
            asked["id"] = self._call("POST", "/v1/uploads")["id"]

    def waiting(self) -> tuple[str, str]:
        """A session with a cue at its head, whose id is the turn's."""
        session, turn = self._id(), self._id()
        self._call("POST", "/v1/sessions", {"id": session})
        self._call("PUT", f"/v1/sessions/{session}/turns/{turn}", {"agent": AGENT, "request": REQUEST})
        return session, turn

    def ended(self) -> tuple[str, str]:
        """A session in which a tool was called and that was completed."""
        session, first = self.waiting()
        call = {"tool": TOOL["name"], "args": {"a": 2, "b": 2}}
        self._call("POST", f"/v1/cues/{first}/answer", {"calls": [call]})
        observed = [
            {"type": "tool_call", "call_id": "c1", "turn_id": first, **call},
            {"type": "tool_result", "call_id": "c1", "tool": TOOL["name"], "duration_ms": 1.5, "output": {"sum": 4}},
        ]
        self._observe(session, observed)
        turn = self._id()
        self._call("PUT", f"/v1/sessions/{session}/turns/{turn}", {"agent": AGENT, "request": REQUEST})
        self._call("POST", f"/v1/cues/{turn}/answer", {"text": "4"})
        self._observe(session, [{"type": "agent_ended", "output": "4"}])
        self._call("POST", f"/v1/sessions/{session}/complete")
        return session, turn

    def work(self) -> str:
        """A message for the host to run, which it was given."""
        agent = {"name": AGENT, "description": "Adds.", "instruction": "Add.", "tools": [TOOL]}
        self._call("PUT", f"/v1/hosts/{self.host}", {"name": "schemathesis", "agents": [agent]})
        self._call("POST", "/v1/sessions", {"agent": AGENT, "query": {"text": "2 + 2?"}})
        work: str = self._call("GET", f"/v1/hosts/{self.host}/work")["id"]
        return work

    def ledger(self) -> str:
        """A ledger that can be imported."""
        session, _ = self.ended()
        return self._client.get(f"/v1/sessions/{session}/ledger").raise_for_status().text

    def _observe(self, session: str, events: list[dict[str, Any]]) -> None:
        named = [{"event_id": self._id(), "agent": AGENT, **event} for event in events]
        self._call("POST", f"/v1/sessions/{session}/events", {"events": named})

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._client.request(method, path, json=body)
        if answer.is_error:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    @staticmethod
    def _id() -> str:
        return str(uuid.uuid4())

    @staticmethod
    def _fill(asked: dict[str, Any], **known: Any) -> None:
        asked.update({name: value for name, value in known.items() if name in asked})


world = World()


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: dict[str, Any]) -> None:
    """Asks about what is there."""
    meta = case.meta
    if meta is None or meta.phase.name == TestPhase.STATEFUL:
        return
    path = meta.components.get(ParameterLocation.PATH)
    if case.path_parameters and path is not None and path.mode == GenerationMode.POSITIVE:
        world.fill(case.method.upper(), case.path, case.path_parameters)
    if case.path == "/v1/ledgers" and meta.generation.mode == GenerationMode.POSITIVE:
        case.body = world.ledger()
