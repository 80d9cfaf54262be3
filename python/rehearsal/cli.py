"""The `rehearsal` command."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from rehearsal.address import DEFAULT_PORT
from rehearsal.errors import RehearsalError

_NOT_SET_UP = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; gives its exit code: 0 when it was stopped, 2 when it could not start."""
    parsed = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("rehearsal").setLevel(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        _host(parsed)
    except RehearsalError as error:
        print(f"error: {error}", file=sys.stderr)
        return _NOT_SET_UP
    except ImportError as error:
        print(f"error: {error}\n\nhint: google-adk is needed here: pip install 'agent-rehearsal[adk]'", file=sys.stderr)
        return _NOT_SET_UP
    if any(thread.name.startswith("adk_tool_executor") for thread in threading.enumerate()):
        # A synchronous tool that was cancelled may run on for ever, and Python would wait for it.
        sys.stderr.flush()
        os._exit(0)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rehearsal", description="Offer ADK agents to a Rehearsal server, where people play their model."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    host = commands.add_parser("host", help="run an agent package for the people at a server")
    host.add_argument("package", type=Path, help="the agent's folder, as `adk eval` takes it")
    host.add_argument("--name", help="what people call the agent (default: its own name)")
    host.add_argument(
        "--evalset", help="the EvalSet file that sessions are exported to (default: NAME.evalset.json in the package)"
    )
    place = host.add_mutually_exclusive_group()
    place.add_argument("--server", help="the server's address (default: this machine's, started when there is none)")
    place.add_argument("--port", type=int, default=DEFAULT_PORT, help="the port of this machine's server")
    return parser


def _host(parsed: argparse.Namespace) -> None:
    from google.adk.apps import App

    from rehearsal.loading import load_agent
    from rehearsal.simulator import AgentSimulator, SimulatedAgentConfig

    loaded = asyncio.run(load_agent(parsed.package))
    agent = loaded.root_agent if isinstance(loaded, App) else loaded
    name = str(parsed.name or getattr(agent, "name", parsed.package.name))
    evalset = Path(parsed.evalset) if parsed.evalset else parsed.package / f"{name}.evalset.json"
    config = SimulatedAgentConfig(name=name, agent=loaded, eval_set_path=evalset)
    AgentSimulator([config], port=parsed.port, server=parsed.server).run()
