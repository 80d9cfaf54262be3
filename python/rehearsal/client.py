"""HTTP to the server, patient with one that is being restarted."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
import weakref
from collections.abc import Mapping
from threading import Lock
from typing import Any, cast
from urllib.parse import urlsplit

import httpx

from rehearsal.address import Address, read_token_file
from rehearsal.errors import CueDismissed, ServerRefused, SessionEnded, SetupError

_LONGEST_PAUSE = 2.0
_FIRST_PAUSE = 0.05
_SAY_AGAIN = 30.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PROBLEM = "application/problem+json"
_KIND = re.compile(r"[a-z][a-z0-9_]*")
# What these say is about the moment, whoever says it.
_MOMENTARY = (408, 421, 425, 429)

log = logging.getLogger("rehearsal")


class Client:
    """Sends requests until the server has taken them.

    A server that cannot be reached, answers 429 or answers 5xx is asked again, at each of its addresses in
    turn, for as long as it takes. Every request of the contract can be repeated. What the server refuses
    (4xx) is raised at once. It counts as the server's word only in the form that the server gives it: what a
    proxy in between says is waited out, once the server itself has spoken there. Before that the address may
    be wrong, and is raised.
    """

    def __init__(self, address: Address) -> None:
        self._urls = address.urls
        self._given_token = address.token
        self._token_from = address.token_from
        self._file_token: str | None = None
        self._at = 0
        self._has_spoken = False
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )
        self._mutex = Lock()

    @property
    def url(self) -> str:
        """The address that is in use."""
        return self._urls[self._at % len(self._urls)]

    @property
    def token(self) -> str | None:
        """The token that was given, else, for a server on this machine, the one of the nearest `.rehearsal/token`."""
        if self._given_token is not None:
            return self._given_token
        # A folder's token opens what runs here. Another machine is told one only when somebody says so.
        if urlsplit(self.url).hostname not in _LOOPBACK:
            return None
        if self._file_token is None:
            self._read_token_file()
        return self._file_token

    async def send(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        wait: float = 0.0,
        content_type: str = "application/json",
        is_quiet: bool = False,
    ) -> httpx.Response:
        """Sends a request until it is answered.

        Args:
            method: The HTTP method.
            path: The path, beginning with `/v1`.
            body: The body, as it goes over the wire.
            params: The query.
            wait: How many seconds the server may hold the request.
            content_type: What the body is.
            is_quiet: Whether nobody needs to know how long it takes.

        Raises:
            CueDismissed: The cue that is asked for was put away.
            SessionEnded: The session is over.
            ServerRefused: The server refused the request for another reason.
            SetupError: No such request can be sent, the token is missing or wrong, or it is not a Rehearsal
                server that answers.
        """
        patience = _Patience(f"{method} {path}", logging.DEBUG if is_quiet else logging.WARNING)
        while True:
            at, url = self._at, self.url
            try:
                response = await self.try_once(
                    method, path, body=body, params=params, wait=wait, content_type=content_type
                )
            except (httpx.LocalProtocolError, httpx.UnsupportedProtocol):
                # What such an error says holds the header, and with it the token.
                raise SetupError(f"a request to {url} cannot be sent: its address or its token is not valid") from None
            except httpx.TransportError as problem:
                self._leave(at)
                await patience.pause(f"cannot reach {url}: {problem or type(problem).__name__}")
                continue
            status, retry_after = response.status_code, response.headers.get("retry-after")
            if status == 429 or (status >= 500 and status not in (501, 505)):
                self._leave(at)
                await patience.pause(f"{url} answered {status}", retry_after)
                continue
            if _is_of_another(response):
                if not self._has_spoken and status not in _MOMENTARY:
                    raise _no_server(url, f"{method} {path}", response)
                self._leave(at)
                await patience.pause(f"{url} answered {status}, and not as a Rehearsal server does", retry_after)
                continue
            self._has_spoken = True
            if status == 401:
                if self._renew_token(response):
                    continue
                raise self._locked(url, response)
            patience.succeeded()
            raise_refusal(response, f"{method} {path}")
            return response

    async def try_once(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        wait: float = 0.0,
        content_type: str = "application/json",
    ) -> httpx.Response:
        """Sends a request once, whatever comes of it."""
        headers: dict[str, str] = {}
        if body is not None:
            headers["content-type"] = content_type
        if self.token is not None:
            headers["authorization"] = f"Bearer {self.token}"
        query = dict(params or {})
        if wait:
            query["wait"] = f"{wait:g}"
        return await self._client().request(
            method,
            self.url + path,
            content=body,
            params=query or None,
            headers=headers,
            timeout=httpx.Timeout(60.0 + wait, connect=10.0),
        )

    def _leave(self, at: int) -> None:
        """Goes on to the next address, unless another request that failed did so before."""
        if self._at == at:
            self._at += 1

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        with self._mutex:
            client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        with self._mutex:
            client = self._clients.get(loop)
            if client is None or client.is_closed:
                # A proxy from the environment is for other machines; this one is reached directly.
                near = all(urlsplit(url).hostname in _LOOPBACK for url in self._urls)
                client = httpx.AsyncClient(
                    trust_env=not near,
                    limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
                )
                self._clients[loop] = client
            return client

    def _renew_token(self, response: httpx.Response) -> bool:
        """Reads the token file again: a server that was started anew may have made a new token."""
        if self._given_token is not None:
            return False
        used = response.request.headers.get("authorization")
        self._read_token_file()
        return self.token is not None and used != f"Bearer {self._file_token}"

    def _read_token_file(self) -> None:
        self._file_token = None
        if found := read_token_file():
            self._file_token, self._token_from = found[0], str(found[1])

    def _locked(self, url: str, response: httpx.Response) -> SetupError:
        """Says which token the server did not take, never what it is."""
        if "authorization" not in response.request.headers:
            return SetupError(
                f"the Rehearsal server at {url} wants its token, and none was given\n\n"
                "hint: give it as `token=` or in REHEARSAL_TOKEN; for a server on this machine, running where its "
                ".rehearsal/token is does the same"
            )
        return SetupError(
            f"the token in {self._token_from} is not that of the Rehearsal server at {url}\n\n"
            "hint: its own is in the file .rehearsal/token of the folder in which the server was started, unless it "
            "was given one; give that one as `token=` or in REHEARSAL_TOKEN, or run in that folder"
        )


class _Patience:
    """Growing pauses, and a word to the log when they begin, for another reason, when they go on and when they end."""

    def __init__(self, what: str, level: int) -> None:
        self._what = what
        self._level = level
        self._pause = _FIRST_PAUSE
        self._since: float | None = None
        self._said = 0.0
        self._told: str = ""

    async def pause(self, why: str, retry_after: str | None = None) -> None:
        moment = time.monotonic()
        if self._since is None:
            self._since = moment
        # A new reason is news: first a connection breaks, then somebody else answers in the server's place.
        if moment - self._said >= _SAY_AGAIN or why != self._told:
            self._said, self._told = moment, why
            log.log(self._level, "waiting for the Rehearsal server (%s): %s", self._what, why)
        seconds = self._pause * random.uniform(0.5, 1.0)
        if retry_after is not None and retry_after.isdigit():
            seconds = min(max(seconds, float(retry_after)), 60.0)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        await asyncio.sleep(seconds)

    def succeeded(self) -> None:
        if self._since is not None:
            log.log(
                self._level,
                "the Rehearsal server is back after %.1f s (%s)",
                time.monotonic() - self._since,
                self._what,
            )


def _is_of_another(response: httpx.Response) -> bool:
    """Tells whether somebody in between answered, a proxy or a portal, and not the server itself."""
    told = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if response.is_success:
        return told == "text/html"
    return told != _PROBLEM or _KIND.fullmatch(_problem(response)[0]) is None


def _no_server(url: str, request: str, response: httpx.Response) -> SetupError:
    said = " ".join(response.text[:200].split())
    return SetupError(
        f"what is at {url} answered {request} with {response.status_code}, and not as a Rehearsal server does: {said}"
        "\n\nhint: give the address that `rehearse serve` prints, as `server=` or in REHEARSAL_SERVER"
    )


def raise_refusal(response: httpx.Response, request: str) -> None:
    """Raises what a refusal means; an answer that is none passes."""
    if not response.is_error:
        return
    kind, detail = _problem(response)
    if kind == "dismissed":
        raise CueDismissed(detail)
    if kind == "session_ended":
        raise SessionEnded(detail)
    raise ServerRefused(request, response.status_code, kind, detail)


def _problem(response: httpx.Response) -> tuple[str, str]:
    try:
        told: Any = response.json()
    except ValueError:
        told = None
    if not isinstance(told, dict):
        return "unknown", response.text[:500] or response.reason_phrase
    problem = cast("dict[str, Any]", told)
    kind = str(problem.get("type", "unknown"))
    detail = str(problem.get("detail") or problem.get("title") or response.reason_phrase)
    return kind, detail
