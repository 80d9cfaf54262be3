"""What differs between the versions of google-adk, in one place."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import TYPE_CHECKING, Any, cast

from google.adk.agents.base_agent import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.version import __version__ as adk_version

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.workflow import BaseNode
    from typing_extensions import TypeIs

    # What can stand at the root of an app; from 2.0 on, a workflow can too.
    Root = BaseAgent | BaseNode

# From 2.0 on, plugins are told when a run fails. Before, nobody tells them.
TELLS_RUN_ERRORS = hasattr(BasePlugin, "on_run_error_callback")

# From 2.0 on, ADK runs synchronous functions on a thread pool of its own when it is asked to.
HAS_TOOL_THREADS = int(adk_version.split(".", 1)[0]) >= 2 and "tool_thread_pool_config" in RunConfig.model_fields

_TOOL_THREADS = 64

FunctionRunner = Callable[[Callable[..., Any], dict[str, Any]], Awaitable[Any]]


def _find(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


# From 2.12 on, ADK can be told who calls the synchronous functions of tools.
_use_function_runner = _find("google.adk.utils._sync_runner", "_use_sync_callable_runner")
TAKES_FUNCTION_RUNNER = _use_function_runner is not None


def function_runner(runner: FunctionRunner | None) -> AbstractContextManager[None]:
    """Has `runner` call the synchronous functions of tools within; `None` has them called where they are.

    Does nothing where ADK cannot be told.
    """
    return _use_function_runner(runner) if TAKES_FUNCTION_RUNNER else nullcontext()


_ROOTS: tuple[Any, ...] = tuple(filter(None, (BaseAgent, _find("google.adk.workflow", "BaseNode"))))


def is_root(given: object) -> TypeIs[Root]:
    """Tells whether something can stand at the root of an app."""
    return isinstance(given, _ROOTS)


def invocation_of(context: Any) -> InvocationContext:
    """Gives the invocation behind a callback's context."""
    return cast("InvocationContext", context._invocation_context)


def isolation_scope_of(invocation: InvocationContext) -> str | None:
    """Gives the call id under which a task-mode agent runs inside its caller's session (from 2.0 on)."""
    scope = getattr(invocation, "isolation_scope", None)
    return scope if isinstance(scope, str) else None


def run_config_with_tool_threads() -> RunConfig:
    """Gives a run configuration under which synchronous tools do not block the event loop, where there is one."""
    if not HAS_TOOL_THREADS:
        return RunConfig()
    from google.adk.agents import run_config

    pool = cast("Any", run_config).ToolThreadPoolConfig(max_workers=_TOOL_THREADS)
    return RunConfig.model_validate({"tool_thread_pool_config": pool})


async def first_answer(callbacks: list[Callable[..., Any]], **arguments: Any) -> Any:
    """Calls an agent's own callbacks as ADK does: in order, until one gives something."""
    for callback in callbacks:
        given = callback(**arguments)
        if inspect.isawaitable(given):
            given = await given
        if given is not None:
            return given
    return None


def watch_run(invocation: InvocationContext, failed: Callable[[Exception], Awaitable[None]]) -> None:
    """Sees to it that a failing run is told where ADK itself does not tell it.

    The runner starts the run with `invocation.agent.run_async(…)`. A stand-in takes that one call, puts the
    agent back into its place and runs it.
    """
    invocation.agent = cast("BaseAgent", _Watched(invocation.agent, failed))


class _Watched:
    """Stands in for an agent until it is run."""

    def __init__(self, agent: Any, failed: Callable[[Exception], Awaitable[None]]) -> None:
        self._rehearsal_agent = agent
        self._rehearsal_failed = failed

    @property
    def __class__(self) -> Any:
        return cast("Any", type(self._rehearsal_agent))

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise AttributeError("a watched agent keeps its class")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rehearsal_agent, name)

    async def run_async(self, invocation: InvocationContext) -> AsyncGenerator[Event, None]:
        agent = self._rehearsal_agent
        invocation.agent = agent
        try:
            async with aclosing(agent.run_async(invocation)) as events:
                async for event in events:
                    yield event
        except Exception as error:
            await self._rehearsal_failed(error)
            raise
