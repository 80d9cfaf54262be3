"""The calculator as `adk eval` loads it."""

from . import agent

__all__ = ["agent"]
