"""A small MCP server over stdio, as a process of its own: one JSON-RPC message per line.

Written out, because the servers of the MCP SDK's first and second version are not the same.
"""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "double",
    "description": "Doubles a number.",
    "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "numbers", "version": "1"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        if params["arguments"]["number"] < 0:
            return {"content": [{"type": "text", "text": "no negative numbers"}], "isError": True}
        doubled = str(params["arguments"]["number"] * 2)
        return {"content": [{"type": "text", "text": doubled}], "isError": False}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = answer(message["method"], message.get("params") or {})
    outcome = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}) + "\n")
    sys.stdout.flush()
