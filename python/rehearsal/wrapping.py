"""Tools whose running somebody stands around."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

Run = Callable[..., Awaitable[Any]]
Around = Callable[["BaseTool", Run, dict[str, Any], "ToolContext"], Awaitable[Any]]

_OWNER = "_rehearsal_owner"
_ORIGINAL = "_rehearsal_run_async"


def wrap(tool: BaseTool, owner: object, around: Around) -> bool:
    """Lets `around` run a tool from now on; tells whether that is new.

    A tool is wrapped once: one that another owner has wrapped is unwrapped first. A tool that takes no
    attributes runs as it is.
    """
    if getattr(tool, _OWNER, None) is owner:
        return False
    original: Run = getattr(tool, _ORIGINAL, None) or tool.run_async

    async def run_async(*, args: dict[str, Any], tool_context: ToolContext) -> Any:
        return await around(tool, original, args, tool_context)

    try:
        setattr(tool, _OWNER, owner)
        setattr(tool, _ORIGINAL, original)
        tool.run_async = run_async  # type: ignore[method-assign]
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def owner_of(tool: BaseTool) -> object:
    """Gives who has wrapped a tool; nothing where nobody has."""
    return getattr(tool, _OWNER, None)


def unwrap(tool: BaseTool, owner: object) -> None:
    """Has a tool run as before, unless somebody else has wrapped it since."""
    if owner_of(tool) is owner:
        for name in ("run_async", _OWNER, _ORIGINAL):
            delattr(tool, name)
