"""The `rehearse` binary: where it is."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from rehearsal.errors import SetupError

BINARY_VARIABLE = "REHEARSAL_BIN"
_NAME = "rehearse.exe" if os.name == "nt" else "rehearse"


def find_binary() -> Path:
    """Finds `rehearse`: `REHEARSAL_BIN`, the one that was installed with this package, else the one on PATH.

    Raises:
        SetupError: There is none.
    """
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise SetupError(f"{BINARY_VARIABLE} names {named}, which is not a file")
        return Path(named)
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        if folder and (candidate := Path(folder) / _NAME).is_file():
            return candidate
    on_path = shutil.which(_NAME)
    if on_path is not None:
        return Path(on_path)
    raise SetupError(
        "the `rehearse` binary was not found\n\n"
        "hint: install the package as a wheel (pip install agent-rehearsal), put `rehearse` on PATH, "
        f"or name it in {BINARY_VARIABLE}"
    )
