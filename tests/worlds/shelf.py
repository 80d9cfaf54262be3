"""A server of the MCP SDK, second version, with nothing in it but what it is told: over stdio, or at a port."""

import sys

from mcp.server import MCPServer

server = MCPServer("shelf")
kept: list[str] = []


@server.tool()
def put(thing: str) -> list[str]:
    """Puts a thing on the shelf."""
    kept.append(thing)
    return kept


@server.tool()
def count() -> int:
    """Counts what is on the shelf."""
    return len(kept)


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]), stateless_http=True)
else:
    server.run()
