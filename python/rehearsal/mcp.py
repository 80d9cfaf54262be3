"""Results of MCP tools, which say that they are errors instead of being raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool

_MODULE = "google.adk.tools.mcp_tool"


def mcp_error(tool: BaseTool, result: Any) -> dict[str, Any] | None:
    """The error that an MCP server, or ADK's way to it, gave as a result; None where it gave something else."""
    if not isinstance(result, dict) or not _is_mcp(tool):
        return None
    given = cast("dict[str, Any]", result)
    if given.get("isError", given.get("is_error")) is True:
        return {"type": "McpToolError", "message": _text(given) or "the MCP tool failed and did not say why"}
    # A server that cannot be reached: ADK gives the model its words alone.
    if set(given) == {"error"} and isinstance(given["error"], str):
        return {"type": "McpError", "message": given["error"]}
    return None


def is_of_mcp(error: dict[str, Any] | None) -> bool:
    """Tells whether an error is one that came as a result."""
    return error is not None and error.get("type") in {"McpToolError", "McpError"}


def _is_mcp(tool: BaseTool) -> bool:
    return any(kind.__module__.startswith(_MODULE) for kind in type(tool).__mro__)


def _text(result: dict[str, Any]) -> str:
    parts = result.get("content")
    if not isinstance(parts, list):
        return ""
    objects = [cast("dict[str, Any]", part) for part in cast("list[Any]", parts) if isinstance(part, dict)]
    return "\n".join(part["text"] for part in objects if isinstance(part.get("text"), str))
