"""Results of MCP tools, which say that they are errors instead of being raised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool

_MODULE = "google.adk.tools.mcp_tool"


def mcp_error(tool: BaseTool, result: Any) -> dict[str, Any] | None:
    """The error that an MCP server, or ADK's way to it, gave as a result; None where it gave something else."""
    if not isinstance(result, dict) or not _is_mcp(tool):
        return None
    if result.get("isError", result.get("is_error")) is True:
        return {"type": "McpToolError", "message": _text(result) or "the MCP tool failed and did not say why"}
    # A server that cannot be reached: ADK gives the model its words alone.
    if set(result) == {"error"} and isinstance(result["error"], str):
        return {"type": "McpError", "message": result["error"]}
    return None


def is_of_mcp(error: dict[str, Any] | None) -> bool:
    """Tells whether an error is one that came as a result."""
    return error is not None and error.get("type") in {"McpToolError", "McpError"}


def _is_mcp(tool: BaseTool) -> bool:
    return any(kind.__module__.startswith(_MODULE) for kind in type(tool).__mro__)


def _text(result: dict[str, Any]) -> str:
    parts = result.get("content")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))
