"""A model request as the server reads it, and its answer as ADK reads it."""

from __future__ import annotations

import re
from typing import Any, cast

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from rehearsal.schema import any_schema_to_json_schema, declaration_parameters
from rehearsal.values import json_bytes

# ADK quotes descriptions that come from MCP servers for the model's sake; a person reads them as they were.
_FENCE = re.compile(r"<<<(?:BEGIN|END)_UNTRUSTED_TOOL_DESCRIPTION>>>\n?")
_TOLD_ELSEWHERE = {"http_options", "response_schema", "response_json_schema", "system_instruction", "tools"}
# The server takes 32 MiB; what is around the contents has to fit as well.
_MOST_BYTES = 24 * 1024 * 1024
_BEGINNING = 4096
_RESULT = ("response", "parts")
# The server takes 100 levels, those of its own around a value included.
_MOST_LEVELS = 80
_TOO_DEEP = "[not shown: nested too deep]"


def describe_request(request: LlmRequest) -> dict[str, Any]:
    """Gives a model request in the server's form.

    `http_options` stay behind: they may hold keys.
    """
    config = request.config
    tools, others = describe_tools(config)
    told: dict[str, Any] = {"contents": [describe_content(content) for content in request.contents]}
    if request.model:
        told["model"] = request.model
    instruction = _instruction(cast("Any", config).system_instruction)
    if instruction:
        told["system_instruction"] = instruction
    told["tools"] = tools
    wanted = any_schema_to_json_schema(
        config.response_json_schema if config.response_json_schema is not None else config.response_schema
    )
    if wanted is not None:
        told["output_schema"] = wanted
    rest = config.model_dump(exclude_none=True, exclude=_TOLD_ELSEWHERE)
    if others:
        rest["other_tools"] = others
    if rest:
        told["config"] = rest
    return told


def fitting(body: dict[str, Any]) -> bytes:
    """Writes the body of a model turn as JSON, with its largest parts cut where it would be too large.

    A result that is cut is whole in its own event; the person sees its size and how it begins.
    """
    whole = json_bytes(body)
    if len(whole) <= _MOST_BYTES:
        return whole
    contents = cast("list[dict[str, Any]]", body["request"]["contents"])
    parts = [part for content in contents for part in cast("list[dict[str, Any]]", content.get("parts") or [])]
    _cut_parts(parts, len(whole) - _MOST_BYTES)
    return json_bytes(body)


def shallow(value: Any, levels: int = _MOST_LEVELS) -> Any:
    """Gives a value of JSON without what is nested deeper than the server takes."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return {key: shallow(entry, levels - 1) for key, entry in entries.items()} if levels else _TOO_DEEP
    if isinstance(value, list):
        return [shallow(entry, levels - 1) for entry in cast("list[Any]", value)] if levels else _TOO_DEEP
    return value


def cut(fields: dict[str, Any]) -> dict[str, Any]:
    """Makes an observation that the server takes of one that is too large or nested too deep."""
    content = fields.get("content")
    if isinstance(content, dict):
        parts: list[Any] = cast("dict[str, Any]", content).get("parts") or []
        _cut_parts(parts, sum(len(json_bytes(part)) for part in parts))
    for name in ("args", "state_delta", "error"):
        if isinstance(values := fields.get(name), dict):
            entries = cast("dict[str, Any]", values)
            fields[name] = {key: _cut_value(value) for key, value in entries.items()}
    if "output" in fields:
        fields["output"] = _cut_value(fields["output"])
    return shallow(fields)


def _cut_parts(parts: list[dict[str, Any]], excess: int) -> None:
    """Cuts the largest parts of contents until so many bytes less are left."""
    sized = [(len(json_bytes(_inside(part))), part) for part in parts]
    for size, part in sorted(sized, key=lambda each: each[0], reverse=True):
        if excess <= 0 or size <= 2 * _BEGINNING:
            break
        _cut_part(part, size)
        excess -= size - 2 * _BEGINNING


def _inside(part: dict[str, Any]) -> Any:
    result = part.get("function_response")
    return {key: result[key] for key in _RESULT if key in result} if result is not None else part


def _cut_part(part: dict[str, Any], size: int) -> None:
    if (result := part.get("function_response")) is not None:
        result["response"] = _cut_value(result.get("response") or {}, size)
        result.pop("parts", None)
    elif (call := part.get("function_call")) is not None:
        call["args"] = _cut_value(call.get("args") or {}, size)
    elif isinstance(part.get("text"), str):
        part["text"] = _cut_value(part["text"])
    else:
        blob: dict[str, Any] = part.get("inline_data") or {}
        what = f"{blob.get('mime_type')}, {_length(blob.get('data'))} bytes" if blob else f"a part of {size} bytes"
        part.clear()
        part["text"] = f"[not shown: {what}]"


def _length(data: Any) -> int:
    """Gives the number of bytes, also of those that are base64 already."""
    return len(data) if isinstance(data, bytes) else len(str(data).rstrip("=")) * 3 // 4


def _cut_value(value: Any, size: int | None = None) -> Any:
    """Gives how a value begins and its size, where it is large; of a text a text."""
    text = value.encode("utf-8", "replace") if isinstance(value, str) else json_bytes(value)
    if len(text) <= 2 * _BEGINNING and size is None:
        return value
    beginning = text[:_BEGINNING].decode("utf-8", "ignore")
    if isinstance(value, str):
        return f"{beginning} [… {len(text)} bytes in all]"
    return {"truncated": True, "bytes": size or len(text), "beginning": beginning}


def describe_content(content: types.Content) -> dict[str, Any]:
    """Gives a content with the names and the nesting of google-genai, without what is not set."""
    return content.model_dump(exclude_none=True)


def describe_tools(config: types.GenerateContentConfig) -> tuple[list[dict[str, Any]], list[str]]:
    """Gives the functions that can be called, and the names of the tools that are none (built-in search …)."""
    functions: list[dict[str, Any]] = []
    others: list[str] = []
    for entry in cast("list[Any]", config.tools or []):
        if not isinstance(entry, types.Tool):
            others.append(str(getattr(entry, "name", None) or getattr(entry, "__name__", type(entry).__name__)))
            continue
        functions.extend(_function(declaration) for declaration in entry.function_declarations or [])
        others.extend(name for name in entry.model_dump(exclude_none=True) if name != "function_declarations")
    return functions, others


def read_content(content: dict[str, Any]) -> types.Content:
    """Makes a content of what the server gives: read as JSON, in which bytes are base64."""
    return types.Content.model_validate_json(json_bytes(content))


def read_response(response: dict[str, Any]) -> LlmResponse:
    """Makes ADK's response of a person's answer."""
    content = read_content(response["content"])
    if content.role is None:
        content.role = "model"
    # ADK takes a finished response without anything in it for a model's failure; a person may mean it.
    finish = response.get("finish_reason") if _says_something(content) else None
    return LlmResponse(content=content, finish_reason=types.FinishReason(finish) if finish is not None else None)


def _function(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    told: dict[str, Any] = {"name": declaration.name or "", "parameters": declaration_parameters(declaration)}
    if declaration.description:
        told["description"] = _FENCE.sub("", declaration.description).strip()
    return told


def _instruction(given: Any) -> str | None:
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, types.Content):
        return "\n\n".join(part.text for part in given.parts or [] if part.text) or None
    if isinstance(given, types.Part):
        return given.text
    if isinstance(given, list):
        texts = (_instruction(entry) for entry in cast("list[Any]", given))
        return "\n\n".join(text for text in texts if text) or None
    return str(given)


def _says_something(content: types.Content) -> bool:
    return any(
        (part.text or "").strip() if part.text is not None else part.model_dump(exclude_none=True)
        for part in content.parts or []
    )
