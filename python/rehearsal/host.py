"""One agent as a host runs it: a runner, its conversations, and the plugin that ties them to the server."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Any, cast

from google.adk.apps import App
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.auth.credential_service.in_memory_credential_service import InMemoryCredentialService
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types

from rehearsal.client import Client
from rehearsal.compat import is_root, run_config_with_tool_threads
from rehearsal.errors import CueDismissed, SessionEnded, SetupError
from rehearsal.link import Call, Link, Path, unwrapped
from rehearsal.loading import kind_of
from rehearsal.plugin import RehearsalPlugin, ToldResult, current_session
from rehearsal.quiet import expect, no_credential_warnings
from rehearsal.racing import Race
from rehearsal.rebuild import Rebuilt, read_ledger
from rehearsal.request import read_content

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse

    from rehearsal.compat import Root

USER = "user"

log = logging.getLogger("rehearsal")


def app_of(name: str, given: Root | App) -> App:
    """Gives the app that runs what was given.

    Raises:
        SetupError: It is nothing that can be run.
    """
    if isinstance(given, App):
        return given
    if not is_root(given):
        raise SetupError(f"the agent {name!r} is {kind_of(given)}; give an agent of google-adk, or an App")
    # Apps are named more strictly than agents are. This one is in nobody's sight.
    plain = re.sub(r"\W", "_", given.name, flags=re.ASCII)
    return App(name=plain if plain[:1].isalpha() else f"app{plain}", root_agent=cast("Any", given))


class HostPlugin(RehearsalPlugin):
    """The plugin of a host: the server made the sessions, and knows what the user said."""

    def __init__(self, client: Client, race: Race) -> None:
        super().__init__(client.url, tool_errors="return", name="rehearsal_host")
        self._client = client
        self._race = race

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Waits for a person's answer. That none will come is said by the host, and not by ADK's loggers."""
        try:
            return await super().before_model_callback(callback_context=callback_context, llm_request=llm_request)
        except (CueDismissed, SessionEnded) as end:
            expect(end)
            raise

    async def close(self) -> None:
        """Sends what is left; the connections are the host's."""
        if not current_session():
            await self._finish()

    def remember(self, app_name: str, session: str, calls: dict[str, Call]) -> None:
        """Takes up a session that a host before this one has played."""
        link = self._new_link(session)
        link.calls.update(calls)
        with self._mutex:
            self._links[app_name, USER, session] = link

    def forget(self, session: str) -> None:
        """Lets go of a session that is over."""
        with self._mutex:
            for key in [key for key, link in self._links.items() if link.session == session]:
                del self._links[key]

    def tell_stopped(self, session: str) -> None:
        """Records that the calls of a session's runs came to nothing, because the host was stopped."""
        link = self._known(session)
        while link is not None and link.runs:
            invocation, _ = link.runs.popitem()
            self._close_calls(link, invocation, failed=True)

    async def tell_failure(self, session: str, agent: str, error: BaseException) -> bool:
        """Records a failure that happened around the run, where ADK tells no plugin; tells whether it is recorded."""
        link = self._known(session) or self._new_link(session)
        return await self._tell_failure(link, agent, (), error)

    def _records_user_message(self, path: Path) -> bool:
        return bool(path)

    async def _results_told(self, link: Link, told: list[ToldResult]) -> None:
        """Gives the model, in place of a result that the server did not take, the error that is on the ledger."""
        await link.outbox.settle()
        for response, observation in told:
            if observation.refused is not None:
                response.response = {"error": observation.refused}

    def _open_link(self, invocation: InvocationContext) -> Link:
        return self._new_link(invocation.session.id)

    def _new_link(self, session: str) -> Link:
        return Link(self._client, session, None, join=False, ended=self._race.end)


class HostedAgent:
    """An agent that a host offers, with one ADK session per Rehearsal session."""

    def __init__(self, name: str, given: Root | App, client: Client, race: Race) -> None:
        self.name = name
        self._client = client
        self.plugin = HostPlugin(client, race)
        app = app_of(name, given)
        app = app.model_copy(update={"plugins": [*app.plugins, self.plugin]})
        self.agent = cast("Root", app.root_agent)
        with no_credential_warnings():
            credentials = InMemoryCredentialService()
        self.runner = Runner(
            app=app,
            session_service=InMemorySessionService(),
            artifact_service=InMemoryArtifactService(),
            memory_service=InMemoryMemoryService(),
            credential_service=credentials,
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
                cause = unwrapped(error, self.plugin.name)
                if isinstance(cause, SessionEnded):
                    log.warning("the run of session %s is over: %s", session, cause)
                    return
                log.warning("a run of session %s failed: %s", session, cause)
                # What is on the ledger is not told a second time as the outcome of the work.
                if not await self.plugin.tell_failure(session, self.agent.name, error):
                    raise

    async def release(self, session: str) -> None:
        """Lets go of a session that is over: its conversation and its artifacts."""
        whose = {"app_name": self.runner.app_name, "user_id": USER, "session_id": session}
        artifacts = self.runner.artifact_service
        for name in await artifacts.list_artifact_keys(**whose) if artifacts is not None else []:
            if artifacts is not None and not name.startswith("user:"):  # those are there for other sessions too
                await artifacts.delete_artifact(**whose, filename=name)
        await self.runner.session_service.delete_session(**whose)
        self.plugin.forget(session)
        self._turns.pop(session, None)

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
