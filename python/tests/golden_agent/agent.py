"""A calculator that goes on when a tool raises, played by a model that always says the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

QUERY = "What is 20 + 22, what is 6 * 7, and what does the page say?"
FINAL = "Both are 42; the page could not be reached."


class Scripted(BaseLlm):
    """Says what the person said when the trace was made."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        answered = sum(1 for content in llm_request.contents for part in content.parts or [] if part.function_response)
        if answered == 0:
            parts = [_call("add", a=20, b=22), _call("multiply", a=6, b=7)]
        elif answered == 2:
            parts = [_call("fetch", url="http://page.test")]
        else:
            parts = [types.Part(text=FINAL)]
        yield LlmResponse(content=types.Content(role="model", parts=parts))


def _call(name: str, **args: Any) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=args))


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def multiply(a: int, b: int, tool_context: ToolContext) -> dict[str, Any]:
    """Multiplies two numbers and remembers the product."""
    tool_context.state["product"] = a * b
    return {"product": a * b}


def fetch(url: str) -> str:
    """Fetches a page."""
    raise ConnectionError(f"cannot reach {url}")


def go_on(tool: BaseTool, args: dict[str, Any], tool_context: ToolContext, error: Exception) -> dict[str, Any]:
    """Tells the model what a tool raised, instead of ending the run."""
    return {"error": {"type": type(error).__name__, "message": str(error)}}


root_agent = Agent(
    name="golden_agent",
    model=Scripted(model="scripted"),
    instruction="Count for {who}.",
    tools=[add, multiply, fetch],
    on_tool_error_callback=go_on,
)
