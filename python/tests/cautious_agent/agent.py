"""An agent that does what `adk eval` cannot do again, played by a model that always says the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

CALLS: dict[str, dict[str, Any]] = {"add": {"a": 1, "b": 2}, "fetch": {"url": "u"}, "send": {"to": "Ada"}, "start": {}}
SAID = {
    "add": "It is three.",
    "fetch": "It could not be reached.",
    "send": "It was sent.",
    "start": "The job was started and is done.",
}


class Scripted(BaseLlm):
    """Calls the tool that the user names, and says what the person said when the trace was made."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        last = parts[-1]
        if last.function_response and last.function_response.name:
            part = types.Part(text=SAID[last.function_response.name])
        else:
            name = last.text or ""
            part = types.Part(function_call=types.FunctionCall(name=name, args=CALLS[name]))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def fetch(url: str) -> str:
    """Fetches a page."""
    raise ConnectionError(f"cannot reach {url}")


def send(to: str) -> str:
    """Sends a letter, once somebody has said yes."""
    return f"sent to {to}"


def start() -> None:
    """Starts a job, whose result comes later."""


root_agent = Agent(
    name="cautious_agent",
    model=Scripted(model="scripted"),
    instruction="Do what you are told.",
    tools=[add, fetch, FunctionTool(send, require_confirmation=True), LongRunningFunctionTool(start)],
)
