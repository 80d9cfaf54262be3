"""A program that runs its agent by itself, and lives on until it is killed."""

from __future__ import annotations

import asyncio
import sys

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner
from google.genai import types
from rehearsal import RehearsalPlugin


async def wait_long() -> str:
    """Waits for ever."""
    await asyncio.Event().wait()
    return "never"


async def main(server: str, token: str) -> None:
    agent = Agent(name="waiter", model="gemini-2.5-flash", instruction="Wait.", tools=[wait_long])
    plugin = RehearsalPlugin(server, token=token, complete="after_run", eval_set_path="waiter.evalset.json")
    runner = InMemoryRunner(app=App(name="waiter", root_agent=agent, plugins=[plugin]))
    await runner.session_service.create_session(app_name="waiter", user_id="me", session_id="s")
    async for _ in runner.run_async(user_id="me", session_id="s", new_message=types.UserContent("Wait for me")):
        pass
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], sys.argv[2]))
