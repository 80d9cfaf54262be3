"""One agent as a host runs it: a runner, its conversations, and the plugin that ties them to the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from google.adk.agents.base_agent import BaseAgent
from google.adk.apps import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from rehearsal.client import Client
from rehearsal.compat import run_config_with_tool_threads
from rehearsal.link import Link, Path, describe_error
from rehearsal.plugin import RehearsalPlugin, current_session
from rehearsal.racing import Key, Race
from rehearsal.values import json_bytes

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest

_USER = "user"


class HostPlugin(RehearsalPlugin):
    """The plugin of a host: the server made the sessions, and knows what the user said."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.url, tool_errors="return", name="rehearsal_host")
        self._client = client
        self._race = Race(current_session, self._tell_late)

    def cancel(self, session: str, call_id: str) -> bool:
        """Cancels a running tool; tells whether it was running."""
        return self._race.cancel(session, call_id)

    async def tell_failure(self, session: str, agent: str, error: BaseException) -> None:
        """Records a failure that happened around the run, where ADK tells no plugin."""
        for link in list(self._links.values()):
            if link.session == session:
                break
        else:
            link = Link(self._client, session, None, join=False)
        await self._tell_failure(link, agent, (), error)

    def _records_user_message(self, path: Path) -> bool:
        return bool(path)

    def _prepare_tools(self, link: Link, request: LlmRequest) -> None:
        for tool in request.tools_dict.values():
            self._race.wrap(tool)

    def _open_link(self, invocation: InvocationContext) -> Link:
        return Link(self._client, invocation.session.id, None, join=False)

    def _tell_late(self, key: Key, work: asyncio.Future[Any]) -> None:
        session, call_id = key
        link = next((each for each in self._links.values() if each.session == session), None)
        call = link.calls.get(call_id) if link is not None else None
        if link is None or call is None or work.cancelled():
            return
        error = work.exception()
        if error is not None:
            link.tell_late(call, None, describe_error(error, self.name))
            return
        result = work.result()
        link.tell_late(call, json_bytes(result if isinstance(result, dict) else {"result": result}), None)


class HostedAgent:
    """An agent that a host offers, with one ADK session per Rehearsal session."""

    def __init__(self, name: str, given: BaseAgent | App, client: Client) -> None:
        self.name = name
        self.plugin = HostPlugin(client)
        if isinstance(given, App):
            app = given.model_copy(update={"plugins": [*given.plugins, self.plugin]})
        else:
            app = App(name=given.name, root_agent=given, plugins=[self.plugin])
        self.agent = cast("BaseAgent", app.root_agent)
        self.runner = Runner(
            app=app,
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
            credential_service=InMemoryCredentialService(),
        )
        self._turns: dict[str, asyncio.Lock] = {}

    async def run(self, session: str, content: dict[str, Any], state: dict[str, Any] | None) -> None:
        """Lets the agent answer a message; messages of one session one after the other."""
        async with self._turns.setdefault(session, asyncio.Lock()):
            try:
                await self._run(session, types.Content.model_validate(content), state)
            except Exception as error:
                await self.plugin.tell_failure(session, self.agent.name, error)
                raise

    async def close(self) -> None:
        """Closes the agent's toolsets and sends what is left."""
        await self.runner.close()

    async def _run(self, session: str, message: types.Content, state: dict[str, Any] | None) -> None:
        service, app_name = self.runner.session_service, self.runner.app_name
        known = await service.get_session(app_name=app_name, user_id=_USER, session_id=session)
        if known is None:
            await service.create_session(app_name=app_name, user_id=_USER, session_id=session, state=state or {})
        if message.role is None:
            message.role = "user"
        events = self.runner.run_async(
            user_id=_USER, session_id=session, new_message=message, run_config=run_config_with_tool_threads()
        )
        async for _ in events:
            pass
