"""The program that an agent runs in, as the server knows it: what people ask of it while it runs its agent."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Protocol

import httpx

from rehearsal.client import Client
from rehearsal.errors import RehearsalError, ServerRefused
from rehearsal.exporting import export
from rehearsal.values import json_bytes, new_id

_POLL_SECONDS = 25.0
_EMPTY_POLL_PAUSE = 0.2

log = logging.getLogger("rehearsal")


class Owner(Protocol):
    """Whoever plays a program's sessions."""

    def cancel_call(self, session: str, call_id: str) -> bool:
        """Cancels a call of a session, from any thread; tells whether it was running."""
        ...


class Program:
    """Takes what people ask of a program that runs its agent by itself: to cancel a tool, to export a session.

    It waits in a thread of its own, since the program's event loops come and go and may be held up by a tool.
    That it waits also tells the server that the program lives, and its broken connection that it does not.
    """

    def __init__(self, owner: Owner, client: Client, eval_set_path: str | os.PathLike[str] | None) -> None:
        """Makes a program; nothing is sent before it plays a session.

        Args:
            owner: Whoever plays the sessions. With it, the program goes.
            client: The way to the server.
            eval_set_path: The file that sessions are exported to; one named after the app when not given.
        """
        self._owner = weakref.ref(owner)
        self._client = client
        self._eval_set_path = eval_set_path
        self._folder = Path.cwd()
        self._apps: dict[str, str] = {}
        self._mutex = Lock()
        self._thread: Thread | None = None
        self._process = os.getpid()
        self._host = new_id()

    async def play(self, session: str, app_name: str) -> None:
        """Says that this program plays a session."""
        with self._mutex:
            self._apps[session] = app_name
            if self._process != os.getpid():
                # A copy of the process is another program: it does not answer for what the first one runs.
                self._process, self._host, self._thread = os.getpid(), new_id(), None
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, args=(self._host,), name="rehearsal_program", daemon=True)
                self._thread.start()
            body = json_bytes({"program": self._host})
        # A session that is over, and a server that does not know of programs, are none the worse for it.
        with suppress(RehearsalError):
            await self._client.send("PATCH", f"/v1/sessions/{session}", body=body)

    async def leave(self) -> None:
        """Says goodbye, to a server that may be gone itself. Playing another session brings the program back."""
        with self._mutex:
            is_known, self._thread = self._thread is not None, None
        if is_known:
            with suppress(RehearsalError, httpx.HTTPError):
                await self._client.try_once("DELETE", f"/v1/hosts/{self._host}")

    def _run(self, host: str) -> None:
        try:
            asyncio.run(self._work(host))
        except Exception as problem:
            # The agent goes on without it.
            log.debug("nothing more is taken from the server's people: %s", problem)

    def _is_here(self) -> bool:
        return self._thread is not None and self._owner() is not None

    async def _work(self, host: str) -> None:
        """Takes work and does it, one piece after the other, until the program leaves."""
        offer = json_bytes({"name": Path(sys.argv[0]).name or "python", "agents": []})
        try:
            while self._is_here():
                asked = time.monotonic()
                try:
                    answer = await self._client.send("GET", f"/v1/hosts/{host}/work", wait=_POLL_SECONDS, is_quiet=True)
                except ServerRefused as refused:
                    if refused.status != 404 or not self._is_here():
                        raise
                    await self._client.send("PUT", f"/v1/hosts/{host}", body=offer, is_quiet=True)
                    continue
                if answer.status_code != 204:
                    await self._finish(host, answer.json())
                elif time.monotonic() - asked < _EMPTY_POLL_PAUSE:
                    await asyncio.sleep(_EMPTY_POLL_PAUSE)
        finally:
            await self._client.close()

    async def _finish(self, host: str, work: dict[str, Any]) -> None:
        try:
            outcome: dict[str, Any] = {"done": await self._done(work)}
        except Exception as problem:
            log.warning("%s of session %s failed: %s", work.get("kind"), work.get("session"), problem)
            outcome = {"failed": f"{type(problem).__name__}: {problem}"}
        with suppress(RehearsalError):
            await self._client.send("POST", f"/v1/hosts/{host}/work/{work['id']}", body=json_bytes(outcome))

    async def _done(self, work: dict[str, Any]) -> dict[str, Any]:
        kind, session = work["kind"], str(work["session"])
        if kind == "cancel":
            owner = self._owner()
            if owner is None or not owner.cancel_call(session, str(work["call_id"])):
                raise RehearsalError(f"the call {work['call_id']} is not running here")
            return {}
        if kind == "export":
            app_name = self._apps.get(session)
            if app_name is None:
                raise RehearsalError("this program does not play the session")
            return await export(self._client, session, self._file(app_name), app_name, work)
        raise RehearsalError(f"this program does not know the work {kind!r}; a newer version of it may")

    def _file(self, app_name: str) -> Path:
        """The file is the program's own, never a request's."""
        return self._folder / (self._eval_set_path or f"{app_name}.evalset.json")
