"""Sessions written into EvalSet files by `rehearse export`."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from rehearsal.address import TOKEN_VARIABLE
from rehearsal.binary import find_binary
from rehearsal.client import Client
from rehearsal.errors import RehearsalError


async def export(client: Client, session: str, path: Path, app_name: str, how: dict[str, Any]) -> dict[str, Any]:
    """Writes a session into an EvalSet file.

    Args:
        client: The way to the server.
        session: The session's id.
        path: The file.
        app_name: The app that the exported case names.
        how: What was asked for: `again`, `runnable`.

    Raises:
        RehearsalError: It could not be written.
    """
    environment = {**os.environ}
    if client.token is not None:
        environment[TOKEN_VARIABLE] = client.token
    flags = [f"--{word}" for word in ("again", "runnable") if how.get(word) is True]
    process = await asyncio.create_subprocess_exec(
        str(find_binary()), "export", session, "--evalset", str(path), "--server", client.url,
        "--app-name", app_name, "--format", "json", *flags, env=environment,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    stdout, stderr = await process.communicate()
    if process.returncode != 0:
        raise RehearsalError(stderr.decode(errors="replace").strip() or f"export ended with {process.returncode}")
    told: dict[str, Any] = json.loads(stdout)
    return told
