"""An agent package as `adk eval` takes it."""

from . import agent as agent
