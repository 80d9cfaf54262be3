"""A calculator whose model does what the person on the page did, for `adk eval` to compare with the exported trace."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from google.adk.agents import Agent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types


class Scripted(BaseLlm):
    """Adds 2 and 2, then answers."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Says the next line of the script."""
        parts = [part for content in llm_request.contents for part in content.parts or []]
        if any(part.function_response for part in parts):
            part = types.Part(text="The answer is 4")
        else:
            part = types.Part(function_call=types.FunctionCall(name="add", args={"a": 2, "b": 2}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def add(a: int, b: int) -> int:
    """Adds two whole numbers."""
    return a + b


root_agent = Agent(name="calculator", model=Scripted(model="scripted"), tools=[add])
