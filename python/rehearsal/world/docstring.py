"""What a docstring in Google's style says: a description, and a sentence for each argument."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_ARGUMENTS = {"args", "arguments", "attributes", "parameters"}
_SECTION = re.compile(
    r"(args|arguments|attributes|parameters|returns?|yields?|raises|examples?|notes?|todo|warnings?|see also)"
    r":\s*$",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"(\*{0,2}\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


class Described(NamedTuple):
    """What a docstring says."""

    description: str
    arguments: dict[str, str]


def described(docstring: str | None) -> Described:
    """Reads a docstring. The description is all before the first section, a line for each paragraph."""
    if not docstring:
        return Described("", {})
    lines = inspect.cleandoc(docstring).splitlines()
    begins = [number for number, line in enumerate(lines) if _SECTION.match(line)]
    first = begins[0] if begins else len(lines)
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines[:first]).strip())
    description = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    arguments: dict[str, str] = {}
    for begin, end in zip(begins, [*begins, len(lines)][1:], strict=True):
        if lines[begin].rstrip().rstrip(":").lower() in _ARGUMENTS:
            arguments.update(_entries(lines[begin + 1 : end]))
    return Described(description, arguments)


def _entries(lines: list[str]) -> dict[str, str]:
    """Reads the entries of a section; what is further in belongs to the entry above, and what is not ends it."""
    found: dict[str, str] = {}
    indent: int | None = None
    name = ""
    for line in lines:
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if depth == 0:
            break
        indent = depth if indent is None else indent
        entry = _ENTRY.match(line.strip()) if depth <= indent else None
        if entry is not None:
            name = entry[1].lstrip("*")
            found[name] = entry[2].strip()
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
