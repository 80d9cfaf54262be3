"""Values of Python as the values that JSON has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Any, cast

# A reader of JSON need not follow deeper; the one of Rehearsal does not.
_MOST_LEVELS = 100
_LONGEST_PLACE = 120


class NotPlain(ValueError):
    """A value that JSON does not have.

    Attributes:
        place: Where it is, as `orders.17.due`.
        what: What is wrong with it.
        hint: What to do about it.
    """

    def __init__(self, place: str, what: str, hint: str) -> None:
        place = place if len(place) <= _LONGEST_PLACE else f"{place[: _LONGEST_PLACE - 1]}…"
        self.place = place
        self.what = what
        self.hint = hint
        super().__init__(f"{place} {what}")


def plain(value: Any, place: str) -> Any:
    """Gives a copy of a value that is made of dictionaries, lists, texts, numbers, true, false and nothing.

    Raises:
        NotPlain: There is something in it that JSON does not have.
    """
    return _plain(value, place, ())


def json_text(value: Any) -> str:
    """Writes a plain value on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def is_dataclass(value: Any) -> bool:
    """Tells whether a value or a class is a dataclass, without the module that makes them."""
    return hasattr(value if isinstance(value, type) else cast("type[Any]", type(value)), "__dataclass_fields__")


def field_names(value: Any) -> list[str]:
    """Names the fields of a dataclass; what is of its class, or only handed to its making, is none."""
    fields: Mapping[str, Any] = value.__dataclass_fields__
    return [name for name, field in fields.items() if getattr(field._field_type, "name", "") == "_FIELD"]


def _plain(value: Any, place: str, around: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return _plain(value.value, place, around)
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotPlain(
                place, f"is {value!r}, a number that JSON does not have", "use None where there is no number"
            )
        return float(value)
    if isinstance(value, date):
        return value.isoformat()
    if id(value) in around:
        raise NotPlain(place, "contains itself", "keep an id in place of the thing")
    inside = (*around, id(value))
    if len(inside) > _MOST_LEVELS:
        raise NotPlain(place, f"is nested deeper than {_MOST_LEVELS} levels", "keep it flatter")
    return _made_of_others(value, place, inside)


def _made_of_others(value: Any, place: str, inside: tuple[int, ...]) -> Any:
    if isinstance(value, Mapping):
        return _entries(cast("Mapping[Any, Any]", value), place, inside)
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        return [_plain(item, f"{place}[{number}]", inside) for number, item in enumerate(items)]
    if isinstance(value, set | frozenset):
        return _sorted([_plain(item, f"{place}{{…}}", inside) for item in cast("set[Any]", value)])
    if not isinstance(value, type):
        if is_dataclass(value):
            return {name: _plain(getattr(value, name), f"{place}.{name}", inside) for name in field_names(value)}
        if callable(dump := getattr(value, "model_dump", None)):
            return _plain(dump(mode="json", by_alias=True), place, inside)
    hint = "make it text, a number, a list, a dictionary or a dataclass"
    raise NotPlain(place, f"is of the class `{_class_of(value)}`, which JSON does not have", hint)


def _entries(value: Mapping[Any, Any], place: str, inside: tuple[int, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, entry in value.items():
        name = _key(key, place)
        if name in made:
            raise NotPlain(place, f"has two keys that are both {name!r} in JSON", "use keys of one kind")
        made[name] = _plain(entry, f"{place}.{name}", inside)
    return made


def _key(key: Any, place: str) -> str:
    bare = key.value if isinstance(key, Enum) else key
    if isinstance(bare, str):
        return _text(bare, place)
    if isinstance(bare, int) and not isinstance(bare, bool):
        return str(bare)
    if isinstance(bare, date):
        return bare.isoformat()
    raise NotPlain(place, f"has the key {key!r} of the class `{_class_of(key)}`", "keys are texts or whole numbers")


def _text(value: str, place: str) -> str:
    text = str.__str__(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotPlain(place, f"is {text!r}, half a character, which is no text", "leave it out") from None
    return text


def _sorted(items: list[Any]) -> list[Any]:
    # True is no 1 in JSON: only things of one kind have an order of their own.
    if {type(item) for item in items} in ({str}, {int}, {float}, {int, float}):
        return sorted(items)
    return sorted(items, key=json_text)


def _class_of(value: Any) -> str:
    return cast("type[Any]", type(value)).__qualname__ if not isinstance(value, type) else f"type[{value.__qualname__}]"
