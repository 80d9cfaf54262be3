"""Agents offered to people: `AgentSimulator` runs them for real, and people play their model from a page."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from google.adk.apps import App

from rehearsal.address import DEFAULT_PORT, SERVER_VARIABLE, Address, check_port, resolve_address
from rehearsal.client import Client
from rehearsal.describe import describe_agent
from rehearsal.errors import NOT_SET_UP, RehearsalError, ServerRefused, SetupError
from rehearsal.exporting import export
from rehearsal.host import HostedAgent, app_of
from rehearsal.plugin import current_session
from rehearsal.racing import Key, Race
from rehearsal.server import ServerProcess, is_reachable
from rehearsal.values import json_bytes, new_id

if TYPE_CHECKING:
    from rehearsal.compat import Root

_POLL_SECONDS = 25.0
_EMPTY_POLL_PAUSE = 0.2
_LIFE_SECONDS = 15.0
_FAREWELL_SECONDS = 3.0
_LOOKED_AT = 20
# How often a server of our own is started again until it stays, and when it counts as one that does.
_STARTS = 6
_FIRST_PAUSE = 0.2
_STEADY_SECONDS = 60.0

log = logging.getLogger("rehearsal")


@dataclass(frozen=True)
class SimulatedAgentConfig:
    """An agent to simulate.

    Args:
        name: What people call it.
        agent: The agent (or, from google-adk 2.0 on, the workflow), or an App with it and its plugins.
        eval_set_path: The EvalSet file that completed sessions are exported to; relative to the folder in
            which the simulator is made.
        app_name: The folder of the agent's package, as `adk eval` knows it, for exported sessions; the App's
            or the agent's own name when not given.
    """

    name: str
    agent: Root | App
    eval_set_path: str | os.PathLike[str]
    app_name: str | None = None


class AgentSimulator:
    """Offers agents to a Rehearsal server and runs them when people want them to run.

    Tools, callbacks, sub-agents and state are the agents' own; only the model is played by a person. Without
    an address the server on `port` is used, and started when there is none.

    Args:
        agents: The agents to offer.
        port: The port of this machine's server.
        server: The address of a server elsewhere, or several addresses of the same one.
        token: The server's token; found as `RehearsalPlugin` finds it when not given.
    """

    def __init__(
        self,
        agents: Sequence[SimulatedAgentConfig],
        *,
        port: int = DEFAULT_PORT,
        server: str | Sequence[str] | None = None,
        token: str | None = None,
    ) -> None:
        names = [config.name for config in agents]
        if not names:
            raise SetupError("an AgentSimulator needs at least one agent")
        if not all(name.strip() for name in names):
            raise SetupError("an agent needs a name that is not empty")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SetupError(f"two agents are called {twice[0]!r}: people choose them by name")
        for config in agents:
            app_of(config.name, config.agent)  # what is wrong with it is said here
        self._configs = list(agents)
        self._eval_sets = {config.name: Path.cwd() / Path(config.eval_set_path) for config in agents}
        self._port = check_port(port)
        self._server = server if server is not None else os.environ.get(SERVER_VARIABLE) or None
        self._token = token
        if self._server is not None:
            resolve_address(self._server, token)  # what is wrong with it is said here
        self._host = new_id()
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._url: str | None = None

    @property
    def url(self) -> str | None:
        """The server's address, once the simulator runs."""
        return self._url

    def run(self) -> None:
        """Runs until it is interrupted.

        Raises:
            SystemExit: It cannot start, and has said why; its code is 2.
        """
        try:
            run_to_the_end(self.run_async())
        except SetupError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(NOT_SET_UP) from None

    def stop(self) -> None:
        """Ends `run_async` as an interrupt would, from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    async def run_async(self) -> None:
        """Offers the agents until it is stopped by SIGINT, SIGTERM, `stop` or cancellation."""
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(_signals(self._loop, self._stop))
            await _first(self._offer(stack), self._stop.wait())

    async def _offer(self, stack: contextlib.AsyncExitStack) -> None:
        """Finds the server and offers the agents there; `stack` ends what was begun."""
        address, own = await self._find_server(stack)
        client = Client(address)
        self._url = client.url
        hosting = _Hosting(self._host, client, self._configs, self._eval_sets)
        stack.push_async_callback(hosting.close)
        await hosting.register()
        if self._server is None:
            # Whoever started this program opens the page, for which its address needs the token.
            query = f"/?{urlencode({'token': client.token})}" if client.token else ""
            print(f"Open {self._url}{query}", flush=True)
        log.warning("%s at %s, waiting to be played", ", ".join(c.name for c in self._configs), self._url)
        await _first(hosting.work(), hosting.live(), *([own.keep()] if own is not None else []))

    async def _find_server(self, stack: contextlib.AsyncExitStack) -> tuple[Address, _OwnServer | None]:
        if self._server is not None:
            return resolve_address(self._server, self._token), None
        # Port 0, any that is free, is where no server can be yet.
        near = resolve_address(f"http://127.0.0.1:{self._port or DEFAULT_PORT}", self._token)
        if self._port and await is_reachable(near.urls[0]):
            return near, None
        own = _OwnServer(await ServerProcess.start(self._port, near.token), near.token)
        stack.push_async_callback(own.stop)
        return replace(near, urls=(own.url,)), own


class _OwnServer:
    """A server that was started here, and is started again when it ends."""

    def __init__(self, process: ServerProcess, token: str | None) -> None:
        self._process = process
        self._token = token
        self.url = process.url

    async def keep(self) -> None:
        """Starts the server again at its address whenever it ends: agents and people wait for it there.

        Raises:
            SetupError: It does not stay.
        """
        port = urlsplit(self.url).port or 0
        starts = 0
        while True:
            began = time.monotonic()
            why: str | None = f"code {await self._process.ended()}"
            if time.monotonic() - began > _STEADY_SECONDS:
                starts = 0
            while why is not None:
                if starts >= _STARTS:
                    raise SetupError(f"the server at {self.url} ended again and again; at last: {why}")
                log.warning("the server ended (%s); it is started again", why)
                await asyncio.sleep(_FIRST_PAUSE * 2**starts)
                starts += 1
                why = await self._start(port)

    async def _start(self, port: int) -> str | None:
        """Starts the server; tells why it did not come up, where it did not."""
        try:
            self._process = await ServerProcess.start(port, self._token)
        except SetupError as problem:
            return str(problem)
        return None

    async def stop(self) -> None:
        """Ends the server."""
        await self._process.stop()


class _Hosting:
    """The work of a host while it runs."""

    def __init__(
        self, host: str, client: Client, configs: Sequence[SimulatedAgentConfig], eval_sets: dict[str, Path]
    ) -> None:
        self._host = host
        self._client = client
        # Agents may share tools, which are wrapped once: so there is one race for all of them.
        self._race = Race(current_session, self._tell_late)
        self._agents = {config.name: HostedAgent(config.name, config.agent, client, self._race) for config in configs}
        self._eval_sets = eval_sets
        self._app_names = {config.name: config.app_name or config.agent.name for config in configs}
        self._sessions: dict[str, HostedAgent] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._runs: set[str] = set()
        self._busy: Counter[str] = Counter()
        self._offer = b""
        self._is_whole = False
        self._problems: set[str] = set()

    async def register(self) -> None:
        """Tells the server what can be run here; again, that it still can, and what is there only now."""
        if not self._is_whole:
            # In a task of its own: an MCP toolset cancels the task that opened its session when it is closed.
            self._offer = await asyncio.create_task(self._describe())
        await self._client.send("PUT", f"/v1/hosts/{self._host}", body=self._offer)

    async def _describe(self) -> bytes:
        described = [await describe_agent(each.name, each.agent, each.runner) for each in self._agents.values()]
        for problem in (problem for each in described for problem in each.problems):
            if problem not in self._problems:
                self._problems.add(problem)
                log.warning("%s", problem)
        self._is_whole = all(each.is_whole for each in described)
        return json_bytes({"name": ", ".join(self._agents), "agents": [each.told for each in described]})

    async def live(self) -> None:
        """Gives signs of life, which also make a restarted server know this host again."""
        while True:
            await asyncio.sleep(_LIFE_SECONDS)
            await self.register()
            # A few each time, the longest idle first: there may be many.
            for session in list(self._sessions)[:_LOOKED_AT]:
                await self._release_if_over(session)

    async def work(self) -> None:
        """Takes work and does it, each piece in a task of its own."""
        while True:
            asked = time.monotonic()
            try:
                answer = await self._client.send("GET", f"/v1/hosts/{self._host}/work", wait=_POLL_SECONDS)
            except ServerRefused as refused:
                if refused.status != 404:
                    raise
                await self.register()
                continue
            if answer.status_code == 204:
                if time.monotonic() - asked < _EMPTY_POLL_PAUSE:
                    await asyncio.sleep(_EMPTY_POLL_PAUSE)
                continue
            work: dict[str, Any] = answer.json()
            work_id = str(work["id"])
            # The same work may be handed out again by a server that was restarted in between.
            if work_id not in self._tasks:
                if work["kind"] == "run":
                    self._runs.add(work_id)
                task = self._tasks[work_id] = asyncio.create_task(self._do(work_id, work))
                task.add_done_callback(functools.partial(self._forget, work_id))

    def _forget(self, work_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.pop(work_id, None)

    async def _release_if_over(self, session: str) -> None:
        """Lets go of a session that takes no more messages; the ledger has it, should anybody ask for it."""
        agent = self._sessions.get(session)
        if agent is None:
            return
        self._sessions[session] = self._sessions.pop(session)  # it is the last to be looked at again
        if self._is_busy(session):
            return
        try:
            is_over = (await self._client.send("GET", f"/v1/sessions/{session}")).json()["status"] != "active"
        except ServerRefused as refused:
            is_over = refused.status == 404
        if is_over and not self._is_busy(session):
            self._sessions.pop(session, None)
            self._race.forget(session)
            await agent.release(session)

    def _is_busy(self, session: str) -> bool:
        return bool(self._busy[session]) or self._race.is_busy(session)

    async def _do(self, work_id: str, work: dict[str, Any]) -> None:
        session = str(work.get("session"))
        self._busy[session] += 1
        try:
            await self._finish(work_id, work)
        finally:
            self._busy[session] -= 1
            self._busy += Counter()  # drops what is not busy
        await self._release_if_over(session)

    async def _finish(self, work_id: str, work: dict[str, Any]) -> None:
        try:
            outcome: dict[str, Any] = {"done": await self._done(work)}
        except Exception as problem:
            log.warning("%s of session %s failed: %s", work.get("kind"), work.get("session"), problem)
            outcome = {"failed": f"{type(problem).__name__}: {problem}"}
        try:
            await self._client.send("POST", f"/v1/hosts/{self._host}/work/{work_id}", body=json_bytes(outcome))
        except RehearsalError as refused:
            log.warning("the outcome of %s was not taken: %s", work.get("kind"), refused)
        self._runs.discard(work_id)

    async def _done(self, work: dict[str, Any]) -> dict[str, Any]:
        kind, session = work["kind"], str(work["session"])
        if kind == "run":
            agent = self._agents.get(str(work["agent"]))
            if agent is None:
                raise RehearsalError(f"no agent is called {work['agent']!r} here; there is {', '.join(self._agents)}")
            self._sessions[session] = agent
            await agent.run(session, work["content"], work.get("state"))
            return {}
        if kind == "cancel":
            return self._cancel(session, str(work["call_id"]))
        if kind == "export":
            return await self._export(session, work.get("agent"), work)
        raise RehearsalError(f"this host does not know the work {kind!r}; a newer version of it may")

    def _cancel(self, session: str, call_id: str) -> dict[str, Any]:
        if self._race.cancel(session, call_id):
            return {}
        agent = self._sessions.get(session)
        if agent is None or not agent.plugin.awaits(session, call_id):
            raise RehearsalError(f"the call {call_id} is not running here")
        self._race.forbid(session, call_id)
        log.info("the call %s is cancelled before it begins", call_id)
        return {}

    def _tell_late(self, key: Key, work: asyncio.Future[Any]) -> None:
        agent = self._sessions.get(key[0])
        if agent is not None:
            agent.plugin.tell_late(key, work)

    async def _export(self, session: str, agent: Any, how: dict[str, Any]) -> dict[str, Any]:
        """Writes a session into its agent's EvalSet file; the file is the host's own, never a request's."""
        played = self._sessions.get(session)
        name = played.name if played is not None else str(agent) if agent is not None else await self._agent(session)
        path = self._eval_sets.get(name)
        if path is None:
            raise RehearsalError(f"no agent is called {name!r} here; there is {', '.join(self._agents)}")
        return await export(self._client, session, path, self._app_names[name], how)

    async def _agent(self, session: str) -> str:
        answer = await self._client.send("GET", f"/v1/sessions/{session}")
        return str(answer.json().get("agent"))

    async def close(self) -> None:
        """Ends what runs and says goodbye, to a server that may be gone itself."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        farewell = [
            asyncio.ensure_future(self._leave()),
            *(asyncio.ensure_future(agent.close()) for agent in self._agents.values()),
        ]
        await asyncio.wait(farewell, timeout=_FAREWELL_SECONDS)
        for each in farewell:
            if not each.done():
                each.cancel()
            elif not each.cancelled() and (problem := each.exception()) is not None:
                log.info("while closing: %s", problem)
        await self._client.close()
        for tool in self._race.left:
            log.warning("the tool %s still runs; it ends with this program", tool)

    async def _leave(self) -> None:
        """Says which runs will not come to their end: their sessions would take no more messages."""
        outcome = json_bytes({"failed": "the host was stopped"})
        for work_id in self._runs:
            await self._client.try_once("POST", f"/v1/hosts/{self._host}/work/{work_id}", body=outcome)
        await self._client.try_once("DELETE", f"/v1/hosts/{self._host}")


def run_to_the_end(main: Coroutine[Any, Any, None]) -> None:
    """Runs a simulator in an event loop of its own."""
    try:
        asyncio.run(main)
    except KeyboardInterrupt:
        return
    except SystemExit as wish:
        log.error("an agent's code ended this program: SystemExit(%s)", wish)
        raise


async def _first(*awaitables: Any) -> None:
    """Waits for the first of several to end, raises what it raised, and ends the others."""
    tasks = [asyncio.ensure_future(each) for each in awaitables]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Any:
    """Takes SIGINT and SIGTERM as the wish to end, where signals can be taken."""
    taken: list[signal.Signals] = []
    for each in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(each, stop.set)
        except (NotImplementedError, RuntimeError, ValueError):
            continue  # not the main thread, or not a system with signals
        taken.append(each)
    try:
        yield
    finally:
        for each in taken:
            loop.remove_signal_handler(each)
