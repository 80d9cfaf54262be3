"""What a session has to tell the server, in the order it happened, kept until the server has it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from threading import Lock
from types import TracebackType
from typing import Any

from rehearsal.client import Client
from rehearsal.errors import ServerRefused, SessionEnded
from rehearsal.values import json_bytes, new_id, now

UPLOAD_ABOVE = 1024 * 1024
UPLOAD_CHUNK = 4 * 1024 * 1024
# The server takes no more of one result.
UPLOAD_MOST = 256 * 1024 * 1024
_BATCH_EVENTS = 100
_BATCH_BYTES = 1024 * 1024
# The server takes 32 MiB at once. It says so while more is still being sent, and may not be heard then.
_MOST_BYTES = 30 * 1024 * 1024

log = logging.getLogger("rehearsal")


@dataclass
class Observation:
    """One thing that happened; `output` is already JSON, because it may be large.

    Attributes:
        otherwise: Makes of an observation that the server refuses what is told in its place. It gives nothing
            where nothing needs to be told, and `None` where nothing can be.
        refused: The error that was told in place of the output.
        is_cut: Whether it was made smaller, since the server did not take it as it was.
    """

    fields: dict[str, Any]
    output: bytes | None = None
    upload: str | None = None
    otherwise: Callable[[Observation, ServerRefused], list[Observation] | None] | None = None
    refused: dict[str, Any] | None = None
    is_cut: bool = False
    event_id: str = field(default_factory=new_id)
    at: str = field(default_factory=now)

    def to_json(self) -> bytes:
        """Writes the observation as the server reads it."""
        told: dict[str, Any] = {"event_id": self.event_id, "at": self.at, **self.fields}
        if self.upload is not None:
            told["upload"] = self.upload
        text = json_bytes(told)
        if self.output is None or self.upload is not None:
            return text
        return text[:-1] + b',"output":' + self.output + b"}"

    @property
    def is_late(self) -> bool:
        """Whether it may come after the session's end."""
        return bool(self.fields.get("late"))

    @property
    def needs_upload(self) -> bool:
        """Whether the output is too large to travel with the observation."""
        return self.output is not None and len(self.output) > UPLOAD_ABOVE and self.upload is None


class Outbox:
    """The ordered observations of one session that the server does not have yet.

    An observation leaves the outbox when the server has acknowledged it, not before: a task that is cancelled
    while it sends leaves it where it was, and whoever sends next sends it again under the same id. Any thread
    and any event loop may add and send; one at a time sends.
    """

    def __init__(
        self,
        client: Client,
        session: str,
        prepare: Callable[[], Awaitable[None]] | None = None,
        ended: Callable[[], None] | None = None,
    ) -> None:
        """Makes an outbox.

        Args:
            client: The way to the server.
            session: The session's id.
            prepare: What has to be done before anything is sent.
            ended: Is told when the server says that the session is over.
        """
        self._client = client
        self._tell_ended = ended
        self._path = f"/v1/sessions/{session}/events"
        self._prepare = prepare
        self._waiting: deque[Observation] = deque()
        self._mutex = Lock()
        self._turn = _Turn()
        self._sending: set[asyncio.Task[None]] = set()
        self._refused: Exception | None = None
        self._ended = False

    def add(self, **fields: Any) -> None:
        """Adds an observation and lets it be sent in the background."""
        self.add_observation(Observation(fields))

    def add_observation(self, observation: Observation) -> None:
        """Adds an observation and lets it be sent in the background."""
        if self._ended and not observation.is_late:
            return
        with self._mutex:
            self._waiting.append(observation)
        self._send_in_background()

    async def flush(self) -> None:
        """Waits until the server has everything that was added before.

        Raises:
            SessionEnded: The session takes nothing more.
            ServerRefused: The server refused an observation.
        """
        async with self._turn:
            await self._drain()
            refused = self._refused
            if refused is not None:
                if not self._ended:
                    self._refused = None
                raise refused

    async def settle(self) -> None:
        """Waits until the server has taken or refused everything that was added before; raises nothing."""
        async with self._turn:
            await self._drain()

    @property
    def ended(self) -> bool:
        """Whether the server said that the session is over."""
        return self._ended

    def _send_in_background(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if any(not task.done() and task.get_loop() is loop for task in self._sending):
            return
        task = loop.create_task(self._background())
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _background(self) -> None:
        while True:
            async with self._turn:
                await self._drain()
            # Whoever adds from here on finds this task done or starts another.
            with self._mutex:
                if not self._waiting:
                    return

    async def _drain(self) -> None:
        """Sends what there is, in order. What is refused for good is kept as an error for the next `flush`."""
        try:
            if self._prepare is not None:
                await self._prepare()
                self._prepare = None
            most = _BATCH_EVENTS
            while self._waiting:
                batch: list[Observation] = []
                try:
                    batch = await self._next_batch(most)
                    body = b'{"events":[' + b",".join(each.to_json() for each in batch) + b"]}"
                    if len(body) > _MOST_BYTES:
                        bound = f"it has {len(body)} bytes; the server takes {_MOST_BYTES} ({_MOST_BYTES >> 20} MiB)"
                        raise ServerRefused(f"POST {self._path}", 413, "too_large", bound)
                    await self._client.send("POST", self._path, body=body)
                except ServerRefused as refusal:
                    if len(batch) > 1:
                        # The server takes all of a batch or nothing: one by one, only what is wrong stays out.
                        most = 1
                        continue
                    if self._replace(refusal):
                        continue
                    # Repeating what was refused would be refused again, and hold up everything behind it.
                    log.error("an observation was refused: %s", refusal)
                    self._refused = self._refused or refusal
                self._forget(len(batch) or 1)  # none: it was the upload of the first that was refused
        except SessionEnded as ended:
            # A session that says so again, of a late result, takes not even that.
            dropped = self._forget_all(but_late=not self._ended)
            self._ended = True
            log.debug("the session has ended; %d observations were not taken: %s", dropped, ended)
            self._refused = ended
            if self._tell_ended is not None:
                self._tell_ended()
            if self._waiting:
                await self._drain()
        except Exception as refusal:
            # No observation is taken here: the token is wrong, the session cannot be made.
            self._forget_all()
            log.error("observations were refused: %s", refusal)
            self._refused = refusal

    async def _next_batch(self, most: int) -> list[Observation]:
        batch: list[Observation] = []
        size = 0
        with self._mutex:
            head = list(self._waiting)[:most]
        for observation in head:
            if observation.needs_upload:
                if batch:
                    break
                observation.upload = await self._upload(observation.output or b"")
            size += 256 if observation.upload else len(observation.output or b"")
            if batch and size > _BATCH_BYTES:
                break
            batch.append(observation)
        return batch

    async def _upload(self, value: bytes) -> str:
        """Uploads a large value in chunks; from the beginning when the server has forgotten it."""
        if len(value) > UPLOAD_MOST:
            # The server would say so too, after most of it.
            bound = f"a result has at most {UPLOAD_MOST} bytes ({UPLOAD_MOST >> 20} MiB)"
            raise ServerRefused("POST /v1/uploads", 413, "too_large", bound)
        while True:
            opened = await self._client.send("POST", "/v1/uploads")
            upload = str(opened.json()["id"])
            try:
                for offset in range(0, len(value), UPLOAD_CHUNK):
                    await self._client.send(
                        "PUT",
                        f"/v1/uploads/{upload}",
                        params={"offset": offset},
                        body=value[offset : offset + UPLOAD_CHUNK],
                        content_type="application/octet-stream",
                    )
            except ServerRefused as refused:
                if refused.status != 404:
                    raise
                continue
            return upload

    def _replace(self, refusal: ServerRefused) -> bool:
        """Puts something else in the place of the first observation, where there is something."""
        with self._mutex:
            first = self._waiting[0]
            instead = first.otherwise(first, refusal) if first.otherwise is not None else None
            if instead is None:
                return False
            self._waiting.popleft()
            self._waiting.extendleft(reversed(instead))
            return True

    def _forget(self, count: int) -> None:
        with self._mutex:
            for _ in range(count):
                self._waiting.popleft()

    def _forget_all(self, *, but_late: bool = False) -> int:
        with self._mutex:
            kept = [each for each in self._waiting if but_late and each.is_late]
            count = len(self._waiting) - len(kept)
            self._waiting.clear()
            self._waiting.extend(kept)
            return count


class _Turn:
    """A lock that tasks of different event loops and threads can wait for, first come first served."""

    def __init__(self) -> None:
        self._mutex = Lock()
        self._taken = False
        self._queue: deque[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = deque()

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        with self._mutex:
            if not self._taken:
                self._taken = True
                return
            mine: asyncio.Future[None] = loop.create_future()
            self._queue.append((loop, mine))
        try:
            await mine
        except asyncio.CancelledError:
            with self._mutex:
                waiting = (loop, mine) in self._queue
                if waiting:
                    self._queue.remove((loop, mine))
            if not waiting:
                # The turn had been handed over already: it goes on to the next.
                self._hand_over()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._hand_over()

    def _hand_over(self) -> None:
        with self._mutex:
            while self._queue:
                loop, future = self._queue.popleft()
                try:
                    loop.call_soon_threadsafe(_grant, future)
                except RuntimeError:
                    continue  # that loop is closed, and whoever waited with it
                return
            self._taken = False


def _grant(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
