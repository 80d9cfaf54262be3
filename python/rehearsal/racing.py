"""Tools that can be cancelled while they run."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext
from signal import SIGINT, default_int_handler, getsignal
from typing import TYPE_CHECKING, Any, cast

from google.adk.tools.function_tool import FunctionTool

from rehearsal.compat import TAKES_FUNCTION_RUNNER, function_runner
from rehearsal.errors import Cancelled, ToolExit
from rehearsal.wrapping import Run, wrap

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

Key = tuple[str, str]
Late = Callable[[Key, "asyncio.Future[Any]"], None]
Inside = Callable[["BaseTool", Run, dict[str, Any], "ToolContext"], Coroutine[Any, Any, Any]]


class Race:
    """The running tool calls of a process, each of which can be cancelled.

    ADK waits for a tool until it is done. Wrapped, a tool runs in a task of its own, and whoever cancels it
    makes `Cancelled` come out of it at once. An asynchronous tool is cancelled inside as well. A synchronous
    one cannot be stopped: it runs on in a thread of its own, and what it gives later goes to `late`. A program
    that ends does not wait for it. A tool that wants to end the program fails with `ToolExit` instead.
    """

    def __init__(
        self, session: Callable[[], str], late: Late, *, run: Inside | None = None, threads: bool = True
    ) -> None:
        """Makes a race.

        Args:
            session: Tells, from within a tool's task, which session the call belongs to.
            late: Is told what a cancelled tool gave after all.
            run: Runs a tool in a program that is not ours to keep alive: what ends it, ends it. Synchronous tools
                run one at a time there, as they do without us.
            threads: Whether synchronous tools run in threads. On an event loop they cannot be cancelled.
        """
        self._session = session
        self._late = late
        self._inside: Inside = run or _contained
        self._is_guest = run is not None
        self._threads = threads
        self._turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()
        self._running: dict[Key, tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = {}
        self._forbidden: set[Key] = set()
        self._ended: set[str] = set()
        self._left: dict[asyncio.Task[Any], tuple[str, str]] = {}

    @property
    def left(self) -> list[str]:
        """The tools that nobody waits for any more, and that still run."""
        return sorted({tool for _, tool in self._left.values()})

    def is_busy(self, session: str) -> bool:
        """Tells whether a tool runs for a session, waited for or not."""
        return any(key[0] == session for key in self._running) or any(of == session for of, _ in self._left.values())

    def forget(self, session: str) -> None:
        """Forgets a session that is over, and that nothing runs for."""
        self._ended.discard(session)
        self._forbidden = {key for key in self._forbidden if key[0] != session}

    def wrap(self, tool: BaseTool) -> None:
        """Wraps a tool, once."""
        is_ours = wrap(tool, self, self._run) and self._threads
        if is_ours and not TAKES_FUNCTION_RUNNER and isinstance(tool, FunctionTool):
            setattr(tool, "_invoke_callable", _invoke_in_thread)  # noqa: B010

    def cancel(self, session: str, call_id: str) -> bool:
        """Cancels a running call; tells whether there was one."""
        running = self._running.get((session, call_id))
        if running is None:
            return False
        loop, signal = running
        loop.call_soon_threadsafe(lambda: signal.done() or signal.set_result(None))
        return True

    def forbid(self, session: str, call_id: str) -> None:
        """Cancels a call that has not begun yet."""
        self._forbidden.add((session, call_id))

    def end(self, session: str) -> None:
        """Cancels the calls of a session that is over, those that run and those that are to begin."""
        self._ended.add(session)
        for call_session, call_id in list(self._running):
            if call_session == session:
                self.cancel(session, call_id)

    async def _run(self, tool: BaseTool, original: Run, args: dict[str, Any], tool_context: ToolContext) -> Any:
        key = (self._session(), tool_context.function_call_id or "")
        if key[0] in self._ended or key in self._forbidden:
            self._forbidden.discard(key)
            raise Cancelled(f"the call of {tool.name} was cancelled before it began")
        loop = asyncio.get_running_loop()
        signal: asyncio.Future[None] = loop.create_future()
        self._running[key] = (loop, signal)
        try:
            async with self._turn(tool, signal):
                return await self._race(key, tool, signal, original, args, tool_context)
        finally:
            self._running.pop(key, None)
            signal.cancel()

    async def _race(
        self,
        key: Key,
        tool: BaseTool,
        signal: asyncio.Future[None],
        original: Run,
        args: dict[str, Any],
        tool_context: ToolContext,
    ) -> Any:
        with function_runner(_call_in_thread) if self._threads else nullcontext():
            work = asyncio.get_running_loop().create_task(self._inside(tool, original, args, tool_context))
        try:
            await asyncio.wait({work, signal}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # The agent around this tool was cancelled, or the host is stopped.
            if self._is_guest and not _is_synchronous(tool):
                # Whoever cancelled it goes on when the tool has come to its end.
                work.cancel()
                await asyncio.wait({work})
                return work.result()
            self._leave(key, tool, work)
            raise
        if work.done():
            return work.result()
        self._leave(key, tool, work)
        raise Cancelled(f"the call of {tool.name} was cancelled while it ran")

    @asynccontextmanager
    async def _turn(self, tool: BaseTool, signal: asyncio.Future[None]) -> AsyncGenerator[None, None]:
        """Waits until a tool may run; one that is cancelled waits no more."""
        if not (self._is_guest and self._threads and _is_synchronous(tool)):
            yield
            return
        lock = self._turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        turn = asyncio.ensure_future(lock.acquire())
        try:
            await asyncio.wait({turn, signal}, return_when=asyncio.FIRST_COMPLETED)
            if not turn.done():
                raise Cancelled(f"the call of {tool.name} was cancelled before it began")
            yield
        finally:
            if not turn.cancel() and not turn.cancelled():
                lock.release()

    def _leave(self, key: Key, tool: BaseTool, work: asyncio.Task[Any]) -> None:
        """Stops waiting for a tool: ends it where that can be done, else lets it run on."""
        work.add_done_callback(functools.partial(self._late, key))
        if _is_synchronous(tool):
            self._left[work] = (key[0], tool.name)
            work.add_done_callback(lambda done: self._left.pop(done, None))
        else:
            work.cancel()


async def _contained(tool: BaseTool, run: Run, args: dict[str, Any], tool_context: ToolContext) -> Any:
    """Runs a tool; what would end the event loop, and every other session with it, is an error like any other."""
    try:
        return await run(args=args, tool_context=tool_context)
    except SystemExit as wish:
        raise ToolExit(f"the tool wanted to end the program: {wish}") from wish
    except KeyboardInterrupt as wish:
        if _may_be_ctrl_c():
            raise
        raise ToolExit("the tool raised KeyboardInterrupt") from wish


def _may_be_ctrl_c() -> bool:
    """Tells whether Ctrl-C raises `KeyboardInterrupt` here: where nobody else takes the signal."""
    here = threading.current_thread() is threading.main_thread()
    return here and getsignal(SIGINT) is default_int_handler


def _is_synchronous(tool: BaseTool) -> bool:
    function = getattr(tool, "func", None)
    if function is None:
        return False
    called = getattr(function, "__call__", None)  # noqa: B004
    return not any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in (function, called))


async def _invoke_in_thread(target: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a function as `FunctionTool` does, a synchronous one in a thread.

    For versions of ADK that cannot be told who calls it.
    """
    if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None)):  # noqa: B004
        return await target(**arguments)
    return await _call_in_thread(target, arguments)


async def _call_in_thread(target: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a synchronous function in a thread of its own.

    On the event loop it would hold up everything, and could not be cancelled. In a thread of ADK's pool, Python
    would wait for it when the program ends, for ever where it hangs.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)

    def call() -> Any:
        with function_runner(None):
            return target(**arguments)

    def work() -> None:
        result, error = None, cast("BaseException | None", None)
        try:
            result = context.run(call)
        except StopIteration as stop:
            error = RuntimeError(f"the tool raised StopIteration: {stop}")
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            return  # the loop is closed; nobody waits any more

    threading.Thread(target=work, name="rehearsal_tool", daemon=True).start()
    return await done
