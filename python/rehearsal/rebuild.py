"""A conversation made again from its ledger, for a host that was restarted."""

from __future__ import annotations

from typing import Any, cast

from google.adk.agents.invocation_context import new_invocation_context_id
from google.adk.events.event import Event
from google.genai import types

from rehearsal.client import Client
from rehearsal.link import Call
from rehearsal.request import read_content

_PAGE = 1000
_TOLD = (
    "user_message", "model_response", "tool_call", "tool_result", "repeated_result", "late_result", "agent_ended"
)  # fmt: skip
# A server of an earlier version has the later results as notes.
_NEEDED = (*_TOLD, "note")
# Calls that ADK makes itself, to ask the user for a confirmation, an input or a credential.
_ADKS_OWN = "adk_request_"

Json = dict[str, Any]


async def read_ledger(client: Client, session: str) -> list[Json]:
    """Reads what happened in the conversation itself, not in the agents that are tools of it."""
    where = f"/v1/sessions/{session}/events"
    kept: list[Json] = []
    after, last = 0, 1
    while after < last:
        page: Json = (await client.send("GET", where, params={"after": after, "limit": _PAGE})).json()
        events = cast("list[Json]", page["events"])
        if not events:
            break
        for event in events:
            if event["body"]["type"] not in _NEEDED or "/@" in str(event.get("invocation") or ""):
                continue
            if event.get("truncated"):
                event = (await client.send("GET", f"{where}/{event['seq']}")).json()
            kept.append(event)
        after, last = int(events[-1]["seq"]), int(page["last_seq"])
    return kept


class Rebuilt:
    """The events of an ADK session, and its calls, as a ledger tells them.

    The last message of the user is left out: it is the one that the agent is to answer now.
    """

    def __init__(self, ledger: list[Json]) -> None:
        self.events: list[Event] = []
        self.calls: dict[str, Call] = {}
        said = [place for place, event in enumerate(ledger) if event["body"]["type"] == "user_message"]
        self._ledger = ledger[: said[-1]] if said else []
        self._run = ""
        self._text: str | None = None
        self._given: set[str] = set()
        self._confirmed: set[str] = set()
        # The turn whose results the last event holds, where it holds any.
        self._results_of: Any = None
        self._made: dict[Any, list[Json]] = {}
        for event in self._ledger:
            if event["body"]["type"] == "tool_call":
                self._made.setdefault(event.get("turn"), []).append(event["body"])
        for event in self._ledger:
            body: Json = event["body"]
            kind = str(body["type"])
            if kind == "note":
                kind = str(body["name"])
                body = body["data"]
            if kind in _TOLD:
                getattr(self, f"_{kind}")(event, body)

    def _user_message(self, event: Json, body: Json) -> None:
        content = read_content(body["content"])
        content.role = "user"
        self._run, self._text = new_invocation_context_id(), None
        self._given = {
            part.function_response.id
            for part in content.parts or []
            if part.function_response is not None and part.function_response.id
        }
        self._append("user", content)

    def _model_response(self, event: Json, body: Json) -> None:
        """What the model said, with the calls as they were made, under their ids."""
        given = read_content(body["content"]).parts or []
        parts = [part for part in given if part.function_call is None]
        self._text = "".join(part.text or "" for part in parts if not part.thought)
        parts.extend(_call_part(call) for call in self._made.get(event["turn"], []) if not _is_adks_own(call))
        if parts:
            self._append(str(event["author"]), types.Content(role="model", parts=parts))

    def _tool_call(self, event: Json, body: Json) -> None:
        author, call_id = str(event["author"]), str(body["call"])
        self.calls[call_id] = Call(call_id, str(body["tool"]), author, (), self._run, told=True)
        if event.get("turn") is None or _is_adks_own(body):
            asked = cast("Json", cast("Json", body.get("args") or {}).get("originalFunctionCall") or {})
            self._confirmed.add(str(asked.get("id")))
            lasting = {call_id} if _is_adks_own(body) else None
            self._append(author, types.Content(role="model", parts=[_call_part(body)]), lasting)

    def _tool_result(self, event: Json, body: Json) -> None:
        call = self.calls.get(str(body["call"]))
        if call is not None:
            call.answered, call.open = True, False
        if str(body["call"]) not in self._given:  # those are in the user's message
            outcome: Json = body["outcome"]
            self._result(event, body, outcome.get("output"), outcome.get("error"))

    def _repeated_result(self, event: Json, body: Json) -> None:
        """The result of a tool that was confirmed and ran again."""
        outcome: Json = body.get("outcome") or body
        self._result(event, body, outcome.get("output"), outcome.get("error"))

    def _late_result(self, event: Json, body: Json) -> None:
        """ADK has the second result of a call that was confirmed, and none of one that was cancelled.

        Only a server that knows no repeated results has the former as a late one.
        """
        if str(body["call"]) in self._confirmed:
            outcome: Json = body.get("outcome") or body
            self._result(event, body, outcome.get("output"), outcome.get("error"))

    def _result(self, event: Json, body: Json, output: Any, error: Json | None) -> None:
        if error is not None and output is None:
            output = {"error": {"type": error.get("type"), "message": error.get("message")}}
        response = types.FunctionResponse(
            id=str(body["call"]),
            name=str(body["tool"]),
            response=cast("Json", output) if isinstance(output, dict) else {"result": output},
        )
        part = types.Part(function_response=response)
        turn = event.get("turn")
        if turn is not None and turn == self._results_of:
            content = self.events[-1].content or types.Content()
            content.parts = [*(content.parts or []), part]
            return
        self._append(str(event["author"]), types.Content(role="user", parts=[part]))
        self._results_of = turn

    def _agent_ended(self, event: Json, body: Json) -> None:
        """What no model said: the answer of a callback, or one that was given as a call."""
        output = body.get("output")
        if isinstance(output, str) and output != self._text:
            self._append(str(event["author"]), types.Content(role="model", parts=[types.Part(text=output)]))

    def _append(self, author: str, content: types.Content, lasting: set[str] | None = None) -> None:
        self._results_of = None
        self.events.append(
            Event(invocation_id=self._run, author=author, content=content, long_running_tool_ids=lasting)
        )


def _is_adks_own(call: Json) -> bool:
    return str(call["tool"]).startswith(_ADKS_OWN)


def _call_part(call: Json) -> types.Part:
    made = types.FunctionCall(id=str(call["call"]), name=str(call["tool"]), args=call.get("args") or {})
    return types.Part(function_call=made)
