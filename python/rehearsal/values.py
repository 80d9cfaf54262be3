"""Python values as JSON, the way ADK writes them into its own events."""

from __future__ import annotations

import json
import math
import uuid
from datetime import datetime, timezone
from typing import Any, cast

from pydantic_core import to_json

# Deeper than what any server takes, and not so deep that writing it exhausts the stack.
_MOST_LEVELS = 200


def json_bytes(value: Any) -> bytes:
    """Writes a value as JSON.

    Bytes become base64, models their fields, dates ISO text: as in ADK's event JSON. What has no form in JSON
    (an open file, a value that contains itself, half of a surrogate pair) becomes its description instead of
    an error, because a record of what happened must not change what happens.
    """
    try:
        return to_json(value, bytes_mode="base64", inf_nan_mode="null", by_alias=False, fallback=repr)
    except Exception:
        return json.dumps(_plain(value, ()), ensure_ascii=True, allow_nan=False).encode()


def jsonable(value: Any) -> Any:
    """Gives a value as plain dictionaries, lists, texts and numbers."""
    return json.loads(json_bytes(value))


def new_id() -> str:
    """Makes a random id for a session, a turn, an event."""
    return str(uuid.uuid4())


def now() -> str:
    """Gives the time as the server writes it."""
    return datetime.now(timezone.utc).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _plain(value: Any, around: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if id(value) in around:
        return _plain(f"<{type(value).__name__} that contains itself>", ())
    inside = (*around, id(value))
    if len(inside) > _MOST_LEVELS:
        return f"<{type(value).__name__} that is nested too deep>"
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value)
        return {_plain(str(key), ()): _plain(entry, inside) for key, entry in entries.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry, inside) for entry in cast("list[Any]", value)]
    try:
        return json.loads(to_json(value, bytes_mode="base64", inf_nan_mode="null"))
    except Exception:
        return _plain(repr(value), ())
