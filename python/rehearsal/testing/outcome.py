"""What a run of a case came to, as tests ask it."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

Json = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A call of a tool.

    Attributes:
        tool: The tool.
        args: Its arguments.
        output: What it gave; nothing where it failed.
        error: What went wrong, with a `type` and a `message`; nothing where it did not fail.
        event: The number of the call's event.
    """

    tool: str
    args: Json
    output: Any = None
    error: Json | None = None
    event: int = 0


@dataclass(frozen=True)
class Evaluation:
    """Something that was asked of the case.

    Attributes:
        label: What was asked.
        type: The evaluator, such as `tool_called`.
        status: `passed`, `failed`, `error` (it could not be evaluated) or `unscored`.
        message: What was looked for and what was found.
        line: The line of the scenario file.
        score: How good, from 0 to 1, where there are degrees.
        data: All that the results say of it.
    """

    label: str
    type: str
    status: str
    message: str
    line: int
    score: float | None
    data: Json

    @property
    def passed(self) -> bool:
        """Whether it passed. What could not be decided has not."""
        return self.status == "passed"


class Result:
    """What a run of a case came to. It is true where the case passed.

    Attributes:
        data: The case as `rehearse run --json --events` gives it.
        exceptions: What the agent of this process raised.
    """

    def __init__(self, data: Json, exceptions: Iterable[BaseException] = ()) -> None:
        self.data = data
        self.exceptions = list(exceptions)

    @property
    def name(self) -> str:
        """The case."""
        return str(self.data["name"])

    @property
    def file(self) -> str:
        """Its file."""
        return str(self.data.get("file", ""))

    @property
    def status(self) -> str:
        """What it came to: `passed`, `failed`, `error`, `terminated` or `unjudged`."""
        return str(self.data["status"])

    @property
    def passed(self) -> bool:
        """Whether everything that was asked of it holds. What could not be decided, or was not asked, is no pass."""
        return self.status == "passed"

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return f"<Result {self.name!r} {self.headline}>"

    @property
    def headline(self) -> str:
        """The verdict, and the first reason for it, in a line."""
        reasons = [f"{one.label}: {one.message}" for one in self.evaluations if not one.passed]
        if self.error is not None:
            # Of what could not be decided the evaluation tells more; of all else the error is the reason.
            reasons.insert(len(reasons) if self.status == "failed" else 0, self.error)
        if self.status == "terminated" and self.data.get("termination_detail"):
            reasons.insert(0, str(self.data["termination_detail"]))
        first = next((line for reason in reasons for line in reason.splitlines() if line.strip()), "")
        return f"{self.status}: {first}" if first and not self.passed else self.status

    @property
    def error(self) -> str | None:
        """What went wrong, where something did."""
        error = self.data.get("error")
        return str(error["message"]) if error else None

    @property
    def seed(self) -> int:
        """The seed that repeats it."""
        return int(self.data["seed"])

    @property
    def duration(self) -> float:
        """How long it took, in seconds."""
        return float(self.data["duration_ms"]) / 1000

    @property
    def evaluations(self) -> list[Evaluation]:
        """What was asked of the case and of its steps, turns and conversations, in the order of the file."""
        found: list[Evaluation] = []
        for step in cast("list[Json]", self.data.get("steps", [])):
            found += map(_evaluation, step.get("evaluations", []))
            conversation: Json = step.get("conversation") or {}
            for turn in conversation.get("turns", []):
                found += map(_evaluation, turn.get("turn_evaluations", []))
            found += map(_evaluation, conversation.get("final_evaluations", []))
        for name, metric in cast("Json", self.data.get("metrics") or {}).items():
            evidence = cast("list[Json]", metric.get("evidence") or [{"text": ""}])
            found.append(_evaluation({"label": name, "type": "metric", "message": evidence[0]["text"], **metric}))
        return found

    @property
    def events(self) -> list[Json]:
        """The events of the agent's session, in order."""
        session = self.data["sessions"][0] if self.data.get("sessions") else None
        return [event for event in self.data.get("events", []) if event.get("session") == session]

    @property
    def calls(self) -> list[Call]:
        """The agent's calls of its tools, in order, with what came of them."""
        events = self.events
        outcomes: dict[str, Json] = {
            event["body"]["call"]: event["body"] for event in events if event["body"]["type"] == "tool_result"
        }
        found: list[Call] = []
        for event in events:
            body: Json = event["body"]
            if body["type"] == "tool_call":
                outcome: Json = outcomes.get(body["call"], {}).get("outcome", {})
                output, error = outcome.get("output"), outcome.get("error")
                found.append(Call(body["tool"], body.get("args", {}), output, error, event["seq"]))
        return found

    @property
    def reply(self) -> str:
        """What the agent said last; nothing where it said nothing."""
        said = [text for event in self.events for text in _texts(event["body"])]
        return said[-1] if said else ""

    @property
    def transcript(self) -> str:
        """The agent's session line by line, as people read it."""
        return str(self.data.get("transcript", ""))

    def report(self) -> str:
        """Everything that there is to say to people: what was asked and found, the transcript, what was raised."""
        text = str(self.data.get("report", "")).rstrip("\n")
        for raised in self.exceptions:
            text += "\n\nthe agent raised:\n" + "".join(traceback.format_exception(raised)).rstrip("\n")
        return text + "\n"


def _evaluation(data: Json) -> Evaluation:
    return Evaluation(
        label=str(data.get("label", data.get("name", ""))),
        type=str(data.get("type", "")),
        status=str(data["status"]),
        message=str(data.get("message", "")),
        line=int(data.get("line", 0)),
        score=data.get("score"),
        data=data,
    )


def _texts(body: Json) -> list[str]:
    if body["type"] != "model_response":
        return []
    content = cast("Json", body.get("content") or {})
    parts = cast("list[Json]", content.get("parts", []))
    text = "".join(str(part["text"]) for part in parts if "text" in part and not part.get("thought"))
    return [text] if text else []
