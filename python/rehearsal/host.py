"""One agent as a host runs it: a runner, its conversations, and the plugin that ties them to the server."""

from __future__ import annotations

import asyncio
import logging
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
from rehearsal.link import Call, Link, Path, describe_error
from rehearsal.plugin import RehearsalPlugin, current_session
from rehearsal.racing import Key, Race
from rehearsal.rebuild import Rebuilt, read_ledger
from rehearsal.request import read_content
from rehearsal.values import json_bytes

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

USER = "user"

log = logging.getLogger("rehearsal")


class HostPlugin(RehearsalPlugin):
    """The plugin of a host: the server made the sessions, and knows what the user said."""

    def __init__(self, client: Client, race: Race) -> None:
        super().__init__(client.url, tool_errors="return", name="rehearsal_host")
        self._client = client
        self._race = race

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Wraps a tool that was made anew since the model was asked, so that it can be cancelled as well."""
        self._race.wrap(tool)
        return await super().before_tool_callback(tool=tool, tool_args=tool_args, tool_context=tool_context)

    async def close(self) -> None:
        """Sends what is left; the connections are the host's."""
        if not current_session():
            await self._finish()

    def remember(self, app_name: str, session: str, calls: dict[str, Call]) -> None:
        """Takes up a session that a host before this one has played."""
        link = Link(self._client, session, None, join=False)
        link.calls.update(calls)
        with self._mutex:
            self._links[app_name, USER, session] = link

    def tell_late(self, key: Key, work: asyncio.Future[Any]) -> None:
        """Records what a cancelled tool gave after all."""
        session, call_id = key
        link = self._known(session)
        call = link.calls.get(call_id) if link is not None else None
        if link is None or call is None or work.cancelled():
            return
        error = work.exception()
        if error is not None:
            link.tell_late(call, None, describe_error(error, self.name))
            return
        result = work.result()
        link.tell_late(call, json_bytes(result if isinstance(result, dict) else {"result": result}), None)

    def tell_stopped(self, session: str) -> None:
        """Records that the calls of a session's runs came to nothing, because the host was stopped."""
        link = self._known(session)
        while link is not None and link.runs:
            invocation, _ = link.runs.popitem()
            self._close_calls(link, invocation, failed=True)

    async def tell_failure(self, session: str, agent: str, error: BaseException) -> bool:
        """Records a failure that happened around the run, where ADK tells no plugin; tells whether it is recorded."""
        link = self._known(session) or Link(self._client, session, None, join=False)
        return await self._tell_failure(link, agent, (), error)

    def _known(self, session: str) -> Link | None:
        with self._mutex:
            return next((link for link in self._links.values() if link.session == session), None)

    def _records_user_message(self, path: Path) -> bool:
        return bool(path)

    def _prepare_tools(self, link: Link, request: LlmRequest) -> None:
        for tool in request.tools_dict.values():
            self._race.wrap(tool)

    def _open_link(self, invocation: InvocationContext) -> Link:
        return Link(self._client, invocation.session.id, None, join=False)


class HostedAgent:
    """An agent that a host offers, with one ADK session per Rehearsal session."""

    def __init__(self, name: str, given: BaseAgent | App, client: Client, race: Race) -> None:
        self.name = name
        self._client = client
        self.plugin = HostPlugin(client, race)
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
                await self._run(session, read_content(content), state)
            except asyncio.CancelledError:
                self.plugin.tell_stopped(session)
                raise
            except Exception as error:
                log.warning("a run of session %s failed: %s", session, error)
                # What is on the ledger is not told a second time as the outcome of the work.
                if not await self.plugin.tell_failure(session, self.agent.name, error):
                    raise

    async def close(self) -> None:
        """Closes the agent's toolsets and sends what is left."""
        await self.runner.close()

    async def _run(self, session: str, message: types.Content, state: dict[str, Any] | None) -> None:
        service, app_name = self.runner.session_service, self.runner.app_name
        known = await service.get_session(app_name=app_name, user_id=USER, session_id=session)
        if known is None:
            # Of a session that a host before this one has played, the ledger knows all that was said.
            rebuilt = Rebuilt(await read_ledger(self._client, session))
            made = await service.create_session(app_name=app_name, user_id=USER, session_id=session, state=state or {})
            self.plugin.remember(app_name, session, rebuilt.calls)
            for event in rebuilt.events:
                await service.append_event(made, event)
        if message.role is None:
            message.role = "user"
        events = self.runner.run_async(
            user_id=USER, session_id=session, new_message=message, run_config=run_config_with_tool_threads()
        )
        async for _ in events:
            pass
