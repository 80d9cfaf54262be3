"""Agents of google-adk in this process: their models are their own, their tools are played by the scenario."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from rehearsal.compat import invocation_of
from rehearsal.describe import describe_agent
from rehearsal.errors import SetupError
from rehearsal.host import app_of
from rehearsal.testing.session import AsyncSession, Json, ToolFailed
from rehearsal.wrapping import owner_of, unwrap, wrap

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from rehearsal.compat import Root
    from rehearsal.wrapping import Run

_USER = "user"
# What ADK itself puts among the tools to steer an agent: it acts on nothing but the conversation.
_STEERING = ("transfer_to_agent", "exit_loop", "set_model_response")


class AdkAgent:
    """An agent of google-adk whose tool calls go to a session's scenario.

    Its own callbacks and plugins run as they always do; in place of a tool's work stands the scenario's answer.
    """

    def __init__(self, given: Root | App, passthrough: Sequence[str] = ()) -> None:
        app = app_of("agent", given)
        self._passthrough = frozenset(passthrough)
        self._sessions: dict[str, AsyncSession] = {}
        self._wrapped: list[BaseTool] = []
        app = app.model_copy(update={"plugins": [*app.plugins, _Between(self)]})
        self._agent = cast("Root", app.root_agent)
        self._runner = Runner(app=app, session_service=InMemorySessionService())

    async def description(self) -> Json:
        """The agent as `rehearse` reads it: its name, and the tools that the scenario plays.

        Raises:
            SetupError: A tool cannot be described, or one that is to run for real is not there.
        """
        tools: dict[str, Json] = {}
        for agent in _all_agents(self._agent):
            described = await describe_agent(agent.name, agent, self._runner)
            if not described.is_whole:
                raise SetupError("; ".join(described.problems))
            for tool in cast("list[Json]", described.told["tools"]):
                tools.setdefault(tool["name"], _declared(tool))
        unknown = sorted(self._passthrough - tools.keys())
        if unknown:
            known = ", ".join(sorted(tools)) or "none"
            raise SetupError(f"`passthrough` names {', '.join(unknown)}, and the agent's tools are: {known}")
        # What runs for real is not on the ledger; a scenario that asks about it is told so before it runs.
        played = [tool for name, tool in tools.items() if name not in self._passthrough and name not in _STEERING]
        return {"name": self._agent.name, "instructions": "", "tools": played}

    async def answer(self, message: str, session: AsyncSession) -> str:
        """Lets the agent answer a message."""
        app = self._runner.app_name
        if session.id not in self._sessions:
            self._sessions[session.id] = session
            await self._runner.session_service.create_session(app_name=app, user_id=_USER, session_id=session.id)
        said = ""
        content = types.Content(role="user", parts=[types.Part(text=message)])
        async for event in self._runner.run_async(user_id=_USER, session_id=session.id, new_message=content):
            usage = event.usage_metadata
            if usage is not None:
                session.count_tokens(usage.prompt_token_count or 0, usage.candidates_token_count or 0)
            if event.error_code:
                raise RuntimeError(f"{event.error_code}: {event.error_message or 'the model gave no answer'}")
            parts = (event.content.parts if event.content else None) or []
            text = "".join(part.text for part in parts if part.text and not part.thought)
            if text and event.is_final_response() and not event.partial:
                said = text
        return said

    async def close(self) -> None:
        """Gives the tools back as they were, and closes what they hold open."""
        for tool in self._wrapped:
            unwrap(tool, self)
        await self._runner.close()

    def take(self, tool: BaseTool) -> None:
        """Sees to it that the scenario answers a tool's calls.

        Raises:
            SetupError: It cannot be kept from running.
        """
        if tool.name in self._passthrough or _steers(tool):
            return
        if wrap(tool, self, self._instead):
            self._wrapped.append(tool)
        if owner_of(tool) is not self:
            raise SetupError(f"the tool {tool.name} cannot be kept from running: {type(tool).__name__} is closed")

    async def _instead(self, tool: BaseTool, _run: Run, args: dict[str, Any], context: ToolContext) -> Any:
        session = self._sessions[invocation_of(context).session.id]
        try:
            return await session.call(tool.name, **args)
        except ToolFailed as failed:
            return {"error": failed.message, "error_type": failed.type}


class _Between(BasePlugin):
    """Comes before each tool."""

    def __init__(self, agent: AdkAgent) -> None:
        super().__init__(name="rehearsal_testing")
        self._of = agent

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Puts the scenario in the place of the tool's work."""
        self._of.take(tool)
        return None


def _steers(tool: BaseTool) -> bool:
    own = getattr(tool, "func", None)
    module = str(getattr(own, "__module__", None) or type(tool).__module__)
    return tool.name in _STEERING and module.startswith("google.adk.")


def _all_agents(root: Root) -> list[Any]:
    found: list[Any] = []
    waiting: list[Any] = [root]
    while waiting:
        agent = waiting.pop(0)
        if isinstance(agent, LlmAgent):
            found.append(agent)
        waiting += getattr(agent, "sub_agents", [])
    return found


def _declared(tool: Json) -> Json:
    kept = {key: tool[key] for key in ("name", "description", "parameters") if tool.get(key)}
    if not re.search(r"\S", str(kept.get("description", ""))):
        kept.pop("description", None)
    return kept
