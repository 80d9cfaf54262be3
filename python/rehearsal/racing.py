"""Tools that can be cancelled while they run."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from google.adk.tools.function_tool import FunctionTool

from rehearsal.compat import HAS_TOOL_THREADS
from rehearsal.errors import Cancelled

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

_WRAPPED = "_rehearsal_race"
_ORIGINAL = "_rehearsal_run_async"

Key = tuple[str, str]
Late = Callable[[Key, "asyncio.Future[Any]"], None]


class Race:
    """The running tool calls of a process, each of which can be cancelled.

    ADK waits for a tool until it is done. Wrapped, a tool runs in a task of its own, and whoever cancels it
    makes `Cancelled` come out of it at once. An asynchronous tool is cancelled inside as well. A synchronous
    one cannot be stopped: it runs on in its thread, and what it gives later goes to `late`.
    """

    def __init__(self, session: Callable[[], str], late: Late) -> None:
        """Makes a race.

        Args:
            session: Tells, from within a tool's task, which session the call belongs to.
            late: Is told what a cancelled tool gave after all.
        """
        self._session = session
        self._late = late
        self._running: dict[Key, tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = {}

    def wrap(self, tool: BaseTool) -> None:
        """Wraps a tool, once."""
        if getattr(tool, _WRAPPED, None) is self:
            return
        # A tool that an earlier host has wrapped is unwrapped first.
        original = getattr(tool, _ORIGINAL, None) or tool.run_async

        async def run_async(*, args: dict[str, Any], tool_context: ToolContext) -> Any:
            return await self._run(tool, original, args, tool_context)

        try:
            setattr(tool, _WRAPPED, self)
            setattr(tool, _ORIGINAL, original)
            tool.run_async = run_async  # type: ignore[method-assign]
        except AttributeError:
            return  # a tool that takes no attributes runs as it is, and cannot be cancelled
        if not HAS_TOOL_THREADS and isinstance(tool, FunctionTool):
            setattr(tool, "_invoke_callable", _invoke_in_thread)  # noqa: B010

    def cancel(self, session: str, call_id: str) -> bool:
        """Cancels a running call; tells whether there was one."""
        running = self._running.get((session, call_id))
        if running is None:
            return False
        loop, signal = running
        loop.call_soon_threadsafe(lambda: signal.done() or signal.set_result(None))
        return True

    async def _run(
        self, tool: BaseTool, original: Callable[..., Any], args: dict[str, Any], tool_context: ToolContext
    ) -> Any:
        key = (self._session(), tool_context.function_call_id or "")
        loop = asyncio.get_running_loop()
        signal: asyncio.Future[None] = loop.create_future()
        work = loop.create_task(original(args=args, tool_context=tool_context))
        self._running[key] = (loop, signal)
        try:
            await asyncio.wait({work, signal}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            self._running.pop(key, None)
        if work.done():
            signal.cancel()
            return work.result()
        work.add_done_callback(functools.partial(self._late, key))
        if not _is_synchronous(tool):
            work.cancel()
        raise Cancelled(f"the call of {tool.name} was cancelled while it ran")


def _is_synchronous(tool: BaseTool) -> bool:
    function = getattr(tool, "func", None)
    if function is None:
        return False
    called = getattr(function, "__call__", None)  # noqa: B004
    return not any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in (function, called))


async def _invoke_in_thread(target: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Calls a function as `FunctionTool` does, a synchronous one in a thread of its own.

    For versions of ADK without a tool thread pool, where it would hold up the event loop and could not be
    cancelled.
    """
    if inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(getattr(target, "__call__", None)):  # noqa: B004
        return await target(**arguments)
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

    def work() -> None:
        result, error = None, cast("BaseException | None", None)
        try:
            result = context.run(functools.partial(target, **arguments))
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
