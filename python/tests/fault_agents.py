"""A process of waiting agents: many sessions of a real ADK agent, each at its own pace.

`python -m tests.fault_agents COUNT ADDRESS...` runs COUNT sessions until each has its final response, and writes one
JSON line for each: what its agent was told and what it did. Every request that the server acknowledged is written
too, as it is acknowledged.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from typing import Any

from google.adk.agents import Agent

from rehearsal import RehearsalPlugin
from tests.stage import NEVER_CALLED, Conversation, final_text

_TURN = re.compile(r'PUT http://[^/]+/v1/sessions/([0-9a-f-]+)/turns/([0-9a-f-]+) "HTTP/1\.1 20[01] ')


class Acknowledged(logging.Handler):
    """Writes down the turns that the HTTP client says were acknowledged."""

    def emit(self, record: logging.LogRecord) -> None:
        if found := _TURN.search(record.getMessage()):
            tell({"session": found.group(1), "acknowledged": found.group(2)})


def tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


async def play(number: int, addresses: list[str]) -> None:
    counted: list[int] = []

    def count(n: int) -> int:
        """Counts."""
        counted.append(n)
        return n

    agent = Agent(name=f"agent_{number}", model=NEVER_CALLED, tools=[count])
    plugin = RehearsalPlugin(addresses, complete="after_run")
    events = await Conversation(agent, plugin).say(f"count, number {number}")
    tell({"agent": agent.name, "counted": counted, "final": final_text(events)})


async def main(count: int, addresses: list[str]) -> None:
    http = logging.getLogger("httpx")
    http.setLevel(logging.INFO)
    http.propagate = False
    http.addHandler(Acknowledged())
    logging.getLogger("rehearsal").setLevel(logging.ERROR)
    await asyncio.gather(*(play(number, addresses) for number in range(count)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2:]))
