"""Where the server is and what opens its door."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from rehearsal.errors import SetupError

DEFAULT_PORT = 4200
SERVER_VARIABLE = "REHEARSAL_SERVER"
TOKEN_VARIABLE = "REHEARSAL_TOKEN"
TOKEN_FILE = Path(".rehearsal") / "token"


@dataclass(frozen=True)
class Address:
    """One or more addresses of the same server, and the token given with them."""

    urls: tuple[str, ...]
    token: str | None = None


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
    return Address(
        urls=tuple(url for url, _ in split),
        token=_checked(token) or _checked(os.environ.get(TOKEN_VARIABLE)) or _checked(in_url),
    )


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


def read_token_file(start: Path | None = None) -> str | None:
    """Reads the token that a server wrote into its state folder, where there is one."""
    found = find_token_file(start)
    if found is None:
        return None
    try:
        return found.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def _split_token(url: str) -> tuple[str, str | None]:
    """Takes the token out of an address, so that it is in no log and no message."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise SetupError(f"`{url}` is not a server address; write one such as http://127.0.0.1:4200")
    query = parse_qsl(parts.query, keep_blank_values=True)
    token = next((value for key, value in query if key == "token" and value), None)
    rest = urlencode([(key, value) for key, value in query if key != "token"])
    bare = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), rest, ""))
    return bare, token
