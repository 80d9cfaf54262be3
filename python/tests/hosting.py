"""A simulator for as long as a test needs it, and the sessions that it plays."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rehearsal import AgentSimulator, SimulatedAgentConfig
from tests.stage import Json, Person, Server, eventually

ROOT = Path(__file__).parent.parent


@asynccontextmanager
async def hosting(
    server: Server, *agents: Any, evalset: str = "out.evalset.json", name: str | None = None
) -> AsyncGenerator[AgentSimulator, None]:
    """Runs a simulator for as long as the test needs it."""
    os.environ["REHEARSAL_BIN"] = server.binary
    configs = [
        SimulatedAgentConfig(name=name or getattr(agent, "name", "agent"), agent=agent, eval_set_path=evalset)
        for agent in agents
    ]
    simulator = AgentSimulator(configs, server=server.url, token=server.token)
    running = asyncio.create_task(simulator.run_async())
    try:
        person = Person(server)

        async def online() -> bool:
            if running.done():
                running.result()
            known: list[Json] = (await person.call("GET", "/v1/agents"))["agents"]
            names = {agent["name"] for agent in known if agent["online"]}
            return {config.name for config in configs} <= names

        await eventually(online, "agent online")
        yield simulator
    finally:
        simulator.stop()
        await asyncio.wait_for(running, 30)


async def start(person: Person, agent: str, **opening: Any) -> str:
    made: Json = await person.call("POST", "/v1/sessions", {"agent": agent, **opening})
    return str(made["id"])


async def final(person: Person, session: str, count: int = 1) -> list[Any]:
    """Waits until a session has so many final responses, and gives them."""

    async def look() -> list[Any]:
        finals = [entry["content"] for entry in await person.history(session) if entry["type"] == "final_response"]
        return finals if len(finals) >= count else []

    return list(await eventually(look, f"final response {count}"))


async def completed(person: Person, session: str) -> None:
    """Waits until a session is complete, which is a moment after its final response."""

    async def look() -> bool:
        return (await person.call("GET", f"/v1/sessions/{session}"))["status"] == "completed"

    await eventually(look, "completed session")


async def running_call(person: Person, session: str) -> str:
    async def look() -> list[Json]:
        told: Json = await person.call("GET", f"/v1/sessions/{session}")
        return told["waiting_calls"]

    calls = await eventually(look, "running call")
    return str(calls[0]["call_id"])


def run_python(server: Server, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Runs a program of ours in a process of its own, and keeps what it says."""
    environment = {**os.environ, "REHEARSAL_TOKEN": server.token, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, *arguments], env=environment, cwd=folder, stderr=subprocess.PIPE, text=True
    )
