"""A page of reference from a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]
WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "map",
    "array": "list",
    "null": "nothing",
}
BOUNDS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most", "exclusiveMaximum": "less than"}


class SchemaPage:
    """Sections for the root of a schema and for each definition, in the order they are first spoken of."""

    def __init__(
        self, schema: Schema, elsewhere: Callable[[str, Schema], str | None] = lambda _name, _of: None
    ) -> None:
        self._root = schema
        self._definitions: dict[str, Schema] = schema.get("$defs", {})
        self._elsewhere = elsewhere
        self._spoken_of: list[str] = []

    def render(self, title: str) -> str:
        root = self._section(title, self._root)
        # Sections speak of further ones: the list grows while it is read.
        return "\n".join([root, *(self._section(name, self._definitions[name]) for name in self._spoken_of)])

    def _section(self, title: str, schema: Schema) -> str:
        blocks = [f"## {title}", self._said(schema)]
        among = alternatives(schema)
        plain = [each for each in among if "properties" not in each]
        if plain:
            rows = [f"| {self._form(each)} | {cell(each.get('description', ''))} |" for each in plain]
            blocks.append("\n".join(["| form | |", "|---|---|", *rows]))
        for each in [schema, *among]:
            if rows := list(self._rows("", each)):
                blocks += [] if each is schema else [f"*{self._said(each)}*"]
                blocks.append("\n".join(["| key | form | |", "|---|---|---|", *rows]))
        if not among and "properties" not in schema:
            blocks.append(f"Form: {self._form(schema)}.")
        return "\n\n".join(block for block in blocks if block) + "\n"

    def _said(self, schema: Schema) -> str:
        return schema.get("description", "").replace("\n", " ")

    def _rows(self, before: str, schema: Schema) -> Iterator[str]:
        required: list[str] = schema.get("required", [])
        of: dict[str, Schema] = schema.get("properties", {})
        for key, value in of.items():
            path = f"{before}{key}"
            shown = f"**`{path}`**" if key in required else f"`{path}`"
            yield f"| {shown} | {self._form(value)} | {cell(value.get('description', ''))} |"
            yield from self._inner(path, value)

    def _inner(self, path: str, schema: Schema) -> Iterator[str]:
        """The rows of maps that are written out inside of a key."""
        for each in alternatives(schema) or [schema]:
            if "properties" in each:
                yield from self._rows(f"{path}.", each)
            elif isinstance(each.get("items"), dict):
                yield from self._inner(f"{path}[]", each["items"])

    def _form(self, schema: Schema) -> str:
        if "$ref" in schema:
            return self._link(schema["$ref"].removeprefix("#/$defs/"))
        if "const" in schema:
            return f"`{written(schema['const'])}`"
        if "enum" in schema:
            return joined([f"`{each}`" for each in schema["enum"]])
        if among := alternatives(schema):
            return joined([form for each in among if (form := self._form(each)) != WORDS["null"]])
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else [each for each in kinds if each != "null"]
        return (joined([self._kind(kind, schema) for kind in kinds]) or "anything") + extent(schema)

    def _kind(self, kind: str, schema: Schema) -> str:
        of: Schema | bool | None = schema.get({"array": "items", "object": "additionalProperties"}.get(kind, ""))
        if isinstance(of, dict):
            return f"{WORDS[kind]} of {self._form(of)}"
        return WORDS[kind]

    def _link(self, name: str) -> str:
        schema = self._definitions[name]
        if "$ref" in schema:
            return self._form(schema)
        if address := self._elsewhere(name, schema):
            return f"[`{name}`]({address})"
        if name not in self._spoken_of:
            self._spoken_of.append(name)
        return f"[{name}](#{name.lower()})"


def alternatives(schema: Schema) -> list[Schema]:
    return schema.get("oneOf") or schema.get("anyOf") or []


def extent(schema: Schema) -> str:
    said = [f"{word} {schema[key]}" for key, word in BOUNDS.items() if schema.get(key) not in {None, 0}]
    if "default" in schema:
        said.append(f"else `{written(schema['default'])}`")
    return "".join(f", {each}" for each in said)


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def joined(words: list[str]) -> str:
    words = list(dict.fromkeys(words))
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|")
