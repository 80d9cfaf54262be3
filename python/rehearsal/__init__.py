"""Rehearsal for Google ADK agents: a person plays the model, everything else is real.

`RehearsalPlugin` stops an agent at each model call and waits for a person's answer; `AgentSimulator` offers
agents to a Rehearsal server, so that people start and play them from its page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rehearsal.errors import (
    Cancelled,
    CueDismissed,
    RehearsalError,
    ServerRefused,
    SessionEnded,
    ToolExit,
)

if TYPE_CHECKING:
    from rehearsal.plugin import RehearsalPlugin
    from rehearsal.simulator import AgentSimulator, SimulatedAgentConfig

__all__ = [
    "AgentSimulator",
    "Cancelled",
    "CueDismissed",
    "RehearsalError",
    "RehearsalPlugin",
    "ServerRefused",
    "SessionEnded",
    "SimulatedAgentConfig",
    "ToolExit",
]

_FROM_ADK = {
    "AgentSimulator": "rehearsal.simulator",
    "RehearsalPlugin": "rehearsal.plugin",
    "SimulatedAgentConfig": "rehearsal.simulator",
}


def __getattr__(name: str) -> object:
    """Loads what needs google-adk only when it is asked for."""
    module = _FROM_ADK.get(name)
    if module is None:
        raise AttributeError(f"module 'rehearsal' has no attribute {name!r}")
    import importlib

    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "google":
            raise
        hint = "hint: google-adk is needed here: pip install 'agent-rehearsal[adk]'"
        raise ImportError(f"{error}\n\n{hint}", name=error.name) from None
