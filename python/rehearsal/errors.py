"""What can go wrong, each as a class of its own."""

from __future__ import annotations

# The exit code of a program that could not start.
NOT_SET_UP = 2


class RehearsalError(Exception):
    """Anything that Rehearsal itself reports."""


class ServerRefused(RehearsalError):
    """The server understood a request and refused it.

    Attributes:
        status: The HTTP status.
        kind: The problem's word, such as `other_payload`.
        detail: What was wrong and what to do.
    """

    def __init__(self, request: str, status: int, kind: str, detail: str) -> None:
        super().__init__(f"the Rehearsal server refused {request}: {kind} ({status}): {detail}")
        self.status = status
        self.kind = kind
        self.detail = detail


class CueDismissed(RehearsalError):
    """The person put the cue away that the agent was waiting for."""


class SessionEnded(RehearsalError):
    """The session was completed or cancelled while the agent was still playing it."""


class Cancelled(RehearsalError):
    """A person cancelled a running tool call."""


class ToolExit(RehearsalError):
    """A tool raised what would have ended the program; its cause is what it raised."""


class SetupError(RehearsalError):
    """Something that has to be there before anything can start is missing."""
