"""Where the server is and what opens its door."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

from rehearsal.errors import SetupError

DEFAULT_PORT = 4200
SERVER_VARIABLE = "REHEARSAL_SERVER"
TOKEN_VARIABLE = "REHEARSAL_TOKEN"
TOKEN_FILE = Path(".rehearsal") / "token"
_LAST_PORT = 65535


@dataclass(frozen=True)
class Address:
    """One or more addresses of the same server, and the token given with them.

    Attributes:
        urls: The addresses.
        token: The token, where one was given.
        token_from: Where the token was given, in words.
    """

    urls: tuple[str, ...]
    token: str | None = None
    token_from: str = "the argument `token`"


def resolve_address(server: str | Sequence[str] | None, token: str | None) -> Address:
    """Finds the server's addresses: the argument, else `REHEARSAL_SERVER`, else this machine's port 4200.

    Several addresses in the variable are separated by commas. A `?token=` in an address is taken as the token
    where no token is given otherwise.
    """
    given = server if server is not None else os.environ.get(SERVER_VARIABLE) or None
    if given is None:
        listed: Sequence[str] = [f"http://127.0.0.1:{DEFAULT_PORT}"]
    elif isinstance(given, str):
        listed = [part for part in (text.strip() for text in given.split(",")) if part]
    else:
        listed = list(given)
    if not listed:
        raise SetupError("no server address was given; give one such as http://127.0.0.1:4200")
    split = [_split_token(url) for url in listed]
    in_url = next((found for _, found in split if found), None)
    urls = tuple(url for url, _ in split)
    for place, found in (
        ("the argument `token`", token),
        (f"the environment variable {TOKEN_VARIABLE}", os.environ.get(TOKEN_VARIABLE)),
        ("`?token=` of the address", in_url),
    ):
        if checked := _checked(found):
            return Address(urls, checked, place)
    return Address(urls)


def check_port(port: int) -> int:
    """Gives a port back that a server can listen on; 0 stands for one that is free.

    Raises:
        SetupError: There is no such port.
    """
    if not 0 <= port <= _LAST_PORT:
        raise SetupError(f"{port} is not a port; ports go from 0 to {_LAST_PORT}")
    return port


def _checked(token: str | None) -> str | None:
    """Takes the line end off a token that was read from a file; one that no header can hold is named, not shown."""
    bare = (token or "").strip()
    if not (bare.isascii() and bare.isprintable()):
        raise SetupError("the token has characters that no token of a server has; copy it again")
    return bare or None


def find_token_file(start: Path | None = None) -> Path | None:
    """Finds `.rehearsal/token` in a folder or the nearest folder above it."""
    folder = (start or Path.cwd()).resolve()
    for place in (folder, *folder.parents):
        candidate = place / TOKEN_FILE
        if candidate.is_file():
            return candidate
    return None


def read_token_file(start: Path | None = None) -> tuple[str, Path] | None:
    """Reads the token that a server wrote into its state folder, where there is one; tells the file as well."""
    found = find_token_file(start)
    if found is None:
        return None
    try:
        token = found.read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return (token, found) if token else None


def _split_token(url: str) -> tuple[str, str | None]:
    """Takes the token out of an address, so that it is in no log and no message."""
    shown = url.split("?", 1)[0].rstrip("/")
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError as problem:
        raise SetupError(f"`{shown}` is not a server address: {problem}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError(f"`{shown}` is not a server address; write one such as http://127.0.0.1:4200")
    _check_port_of(parts, shown)
    query = parse_qsl(parts.query, keep_blank_values=True)
    token = next((value for key, value in query if key == "token" and value), None)
    rest = urlencode([(key, value) for key, value in query if key != "token"])
    bare = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), rest, ""))
    return bare, token


def _check_port_of(parts: SplitResult, shown: str) -> None:
    try:
        port = parts.port
    except ValueError:
        port = 0
    if port == 0:
        last = parts.netloc.rsplit(":", 1)[-1]
        raise SetupError(f"`{shown}` is not a server address: {last} is not a port; ports go from 1 to {_LAST_PORT}")
