"""Agents of this process, on a socket where `rehearse` finds them: one connection is one session.

The protocol is that of command agents (docs/reference/command-agent.md). The socket is in a folder that only this user
can enter.
"""

# A session is made, fed and ended here.
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from rehearsal.testing.session import AsyncSession, Conversation, Json, Session, SessionOver

Agent = Callable[[str, Any], Any]

# The longest path of a socket that every system takes.
_LONGEST_PATH = 100
_PATIENCE = 5.0


class Serving:
    """Serves an agent as long as it is entered.

    Attributes:
        path: The socket.
        exceptions: What the agent raised, in the order of raising.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._is_async = inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(
            getattr(agent, "__call__", None)  # noqa: B004
        )
        self._folder = Path(tempfile.mkdtemp(prefix="rehearsal-"))
        self.path = self._folder / "agent"
        if len(str(self.path)) > _LONGEST_PATH:
            self._folder.rmdir()
            self._folder = Path(tempfile.mkdtemp(prefix="rehearsal-", dir="/tmp"))
            self.path = self._folder / "agent"
        self.exceptions: list[BaseException] = []
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context = contextvars.copy_context()
        self._threads: list[threading.Thread] = []
        self._open: set[socket.socket] = set()
        self._mutex = threading.Lock()

    def __enter__(self) -> Serving:
        self._listening.bind(str(self.path))
        self._listening.listen(1024)
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        with self._mutex:
            connections, threads = list(self._open), list(self._threads)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            # An agent that does not come to its end is left: nobody waits for it any more.
            thread.join(_PATIENCE)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Runs something on the event loop of the agents, to its end."""
        return asyncio.run_coroutine_threadsafe(work, self.loop()).result()

    def loop(self) -> asyncio.AbstractEventLoop:
        """Gives the one event loop of all sessions: what an agent opens in one of them it can use in another."""
        with self._mutex:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run_forever, args=(self._loop,), daemon=True, name="rehearsal").start()
            return self._loop

    def _start(self, target: Callable[..., None], *args: Any) -> threading.Thread:
        context = self._context.copy()
        thread = threading.Thread(target=context.run, args=(target, *args), daemon=True, name="rehearsal")
        with self._mutex:
            self._threads.append(thread)
        thread.start()
        return thread

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with self._mutex:
                self._open.add(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            _Served(self, connection).read()
        except BaseException as problem:
            self.exceptions.append(problem)
        finally:
            with self._mutex:
                self._open.discard(connection)
            connection.close()

    def play(self, session: Conversation, text: str, done: Callable[[Any, BaseException | None], None]) -> None:
        """Has the agent answer a message, and says when it has."""
        if self._is_async:
            answer = cast("Callable[..., Coroutine[Any, Any, Any]]", self._agent)(text, session)
            playing = asyncio.run_coroutine_threadsafe(answer, self.loop())
            playing.add_done_callback(lambda future: done(*_outcome(future.result)))
        else:
            self._start(lambda: done(*_outcome(lambda: self._called(text, session))))

    def _called(self, text: str, session: Conversation) -> Any:
        given = self._agent(text, session)
        return self.run(_awaited(given)) if inspect.isawaitable(given) else given

    def new_session(self, start: Json, lines: _Served) -> Conversation:
        """Gives a session of the agent's kind."""
        return AsyncSession(start, lines) if self._is_async else Session(start, lines)


class _Served:
    """One connection: its lines, and the session they belong to."""

    def __init__(self, serving: Serving, connection: socket.socket) -> None:
        self._serving = serving
        self._connection = connection
        self._mutex = threading.Lock()

    def send(self, line: bytes) -> None:
        """Sends a line; says where nobody hears it any more.

        Raises:
            SessionOver: The connection is closed.
        """
        try:
            with self._mutex:
                self._connection.sendall(line)
        except OSError:
            raise SessionOver("the session is over: nobody hears what the agent says") from None

    def read(self) -> None:
        """Reads and obeys the lines, to the end of the session."""
        session: Conversation | None = None
        try:
            with self._connection.makefile("rb") as lines:
                for line in lines:
                    message: Json = json.loads(line)
                    kind = message.get("type")
                    if kind == "start":
                        session = self._serving.new_session(message, self)
                    elif session is None:
                        continue
                    elif kind == "history":
                        session.history.extend(message.get("messages", []))
                    elif kind == "message":
                        self._answer(session, message)
                    elif kind == "tool_result":
                        session._take_result(message)
                    elif kind == "end":
                        return
        except OSError:
            return  # the other side is gone
        finally:
            if session is not None:
                session._end()

    def _answer(self, session: Conversation, message: Json) -> None:
        text = str(message.get("text", ""))
        session.turn = int(message.get("turn", session.turn + 1))

        def done(given: Any, raised: BaseException | None) -> None:
            with suppress(SessionOver):
                try:
                    final = None if raised is not None else _final(given, session._take_usage())
                    if final is not None:
                        said = final.get("text", given)
                        session.history += [{"role": "user", "text": text}, {"role": "assistant", "text": said}]
                        session._send(final)
                except (TypeError, ValueError) as problem:
                    raised = problem
                if raised is not None and not isinstance(raised, SessionOver):
                    self._serving.exceptions.append(raised)
                    session._send({"type": "error", "message": f"{type(raised).__name__}: {raised}"})

        self._serving.play(session, text, done)


def _final(given: Any, usage: Json) -> Json:
    """The final message for what an agent's function gave.

    Raises:
        TypeError: It gave nothing.
    """
    if given is None:
        raise TypeError("the agent gave None; it has to return what it says, as a text, or a value that JSON has")
    final: Json = {"type": "final", "text": given} if isinstance(given, str) else {"type": "final", "output": given}
    return {**final, "usage": usage} if usage else final


def _outcome(work: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return work(), None
    except BaseException as raised:
        return None, raised


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
