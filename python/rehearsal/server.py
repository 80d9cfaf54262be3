"""A server of the `rehearse` binary."""

from __future__ import annotations

import asyncio
import logging
import os
import re

import httpx

from rehearsal.address import TOKEN_VARIABLE
from rehearsal.binary import find_binary
from rehearsal.errors import SetupError

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_START_SECONDS = 30.0
_STOP_SECONDS = 5.0

log = logging.getLogger("rehearsal")


async def is_reachable(url: str) -> bool:
    """Tells whether a server answers at an address."""
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=2.0) as client:
            return (await client.get(f"{url}/healthz")).is_success
    except httpx.HTTPError:
        return False


class ServerProcess:
    """A server that was started here and ends with whoever started it."""

    def __init__(self, process: asyncio.subprocess.Process, url: str, reading: asyncio.Task[None]) -> None:
        self._process = process
        self._reading = reading
        self.url = url

    @classmethod
    async def start(cls, port: int, token: str | None = None) -> ServerProcess:
        """Starts `rehearse serve` in the current folder and waits for its address.

        Args:
            port: The port to listen on; 0 for one that is free.
            token: The token that the server is to want; its own when not given.

        Raises:
            SetupError: It ended, or said nothing in time.
        """
        environment = {**os.environ} if token is None else {**os.environ, TOKEN_VARIABLE: token}
        process = await asyncio.create_subprocess_exec(
            str(find_binary()), "serve", "--port", str(port), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, start_new_session=True, env=environment,
        )  # fmt: skip
        stdout = process.stdout
        if stdout is None:
            raise SetupError("the server's output cannot be read")
        try:
            url = await asyncio.wait_for(_address(stdout), _START_SECONDS)
        except BaseException as problem:
            # Nobody else knows of it, and it would keep the port.
            process.kill()
            await process.wait()
            if isinstance(problem, asyncio.TimeoutError):
                raise SetupError(f"`rehearse serve` did not say its address within {_START_SECONDS:g} s") from None
            raise
        if url is None:
            code = await process.wait()
            raise SetupError(
                f"`rehearse serve --port {port}` ended with code {code} before it was ready\n\n"
                "hint: its own message stands above; another program may use the port"
            )
        return cls(process, url, asyncio.create_task(_read_on(stdout)))

    async def ended(self) -> int:
        """Waits until the server has ended; gives its exit code."""
        return await self._process.wait()

    async def stop(self) -> None:
        """Asks the server to end, and ends it when it does not."""
        if self._process.returncode is None:
            self._process.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), _STOP_SECONDS)
            except asyncio.TimeoutError:
                self._process.kill()
                await self._process.wait()
        self._reading.cancel()


async def _address(stdout: asyncio.StreamReader) -> str | None:
    async for line in stdout:
        text = line.decode(errors="replace").rstrip()
        if found := _ADDRESS.search(text):
            return found.group()  # the rest of this line is the token, which goes into no log
        log.info("%s", text)
    return None


async def _read_on(stdout: asyncio.StreamReader) -> None:
    async for line in stdout:
        log.info("%s", line.decode(errors="replace").rstrip())
