"""The `rehearsal` command."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rehearsal.address import DEFAULT_PORT, check_port
from rehearsal.errors import NOT_SET_UP, RehearsalError, SetupError

if TYPE_CHECKING:
    from rehearsal.simulator import AgentSimulator

_TOKEN = (
    "The server's token is taken from the environment variable REHEARSAL_TOKEN, else from `?token=` in the address, "
    "else from the file .rehearsal/token in this folder or one above, where `rehearse serve` keeps it. "
    "REHEARSAL_SERVER can name the address."
)


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
        return NOT_SET_UP
    except ImportError as error:
        if not any(_is_missing(each) for each in ("google.adk", "google.genai")):
            raise
        print(f"error: {error}\n\nhint: google-adk is needed here: pip install 'agent-rehearsal[adk]'", file=sys.stderr)
        return NOT_SET_UP
    return 0


def _is_missing(module: str) -> bool:
    try:
        return find_spec(module) is None
    except (ImportError, ValueError):
        return True


def _port(text: str) -> int:
    try:
        return check_port(int(text))
    except (ValueError, SetupError):
        raise argparse.ArgumentTypeError(f"{text} is not a port; ports go from 0 to 65535") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rehearsal", description="Offer ADK agents to a Rehearsal server, where people play their model."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    host = commands.add_parser(
        "host",
        help="run an agent package for the people at a server",
        description="Run an agent package for the people at a server.",
        epilog=_TOKEN,
    )
    host.add_argument("package", type=Path, help="the agent's folder, as `adk eval` takes it")
    host.add_argument("--name", help="what people call the agent (default: its own name)")
    host.add_argument(
        "--evalset", help="the EvalSet file that sessions are exported to (default: NAME.evalset.json in the package)"
    )
    place = host.add_mutually_exclusive_group()
    place.add_argument("--server", help="the server's address (default: this machine's, started when there is none)")
    place.add_argument("--port", type=_port, default=DEFAULT_PORT, help="the port of this machine's server")
    return parser


def _host(parsed: argparse.Namespace) -> None:
    from rehearsal.simulator import run_to_the_end

    run_to_the_end(_load_and_host(parsed))


async def _load_and_host(parsed: argparse.Namespace) -> None:
    async with AsyncExitStack() as resources:
        await (await _simulator(parsed, resources)).run_async()


async def _simulator(parsed: argparse.Namespace, resources: AsyncExitStack) -> AgentSimulator:
    from google.adk.apps import App

    from rehearsal.loading import load_agent
    from rehearsal.simulator import AgentSimulator, SimulatedAgentConfig

    loaded = await load_agent(parsed.package, resources)
    agent = loaded.root_agent if isinstance(loaded, App) else loaded
    name = str(parsed.name or getattr(agent, "name", parsed.package.name))
    evalset = Path(parsed.evalset) if parsed.evalset else parsed.package / f"{name}.evalset.json"
    # The package's folder is the app that `adk eval` will run the exported sessions with.
    config = SimulatedAgentConfig(
        name=name, agent=loaded, eval_set_path=evalset, app_name=parsed.package.resolve().name
    )
    return AgentSimulator([config], port=parsed.port, server=parsed.server)
