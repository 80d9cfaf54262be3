"""What other libraries say because of us, where it is no news to anybody."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress

_ADK_LOGGERS = "google_adk"
_EXPECTED = "_rehearsal_expected"


def expect(error: BaseException) -> None:
    """Marks an error as one that the host says itself, in a line: ADK logs its traceback at every step up."""
    with suppress(AttributeError):
        setattr(error, _EXPECTED, True)
    # ADK makes a logger per module, and a filter sees only what its own logger is given.
    for name in list(logging.root.manager.loggerDict):
        if name.startswith(_ADK_LOGGERS):
            logging.getLogger(name).addFilter(_leave_out)


@contextmanager
def no_credential_warnings() -> Generator[None, None, None]:
    """Keeps ADK from warning that its credential services are experimental, which is nobody's choice here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\[EXPERIMENTAL\] \w*CredentialService", category=UserWarning)
        yield


def _leave_out(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    while error is not None:
        if getattr(error, _EXPECTED, False):
            return False
        error = error.__cause__
    return True
