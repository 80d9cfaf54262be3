"""The artifacts that an agent saves, as the server reads them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rehearsal.request import describe_content
from rehearsal.values import json_bytes

if TYPE_CHECKING:
    from google.adk.agents.invocation_context import InvocationContext

from google.genai import types

# The content of a larger one is not kept on the ledger; the server takes no more either.
MOST_BYTES = 1024 * 1024
# An artifact may lie in a store elsewhere, and the run goes on without its content.
_LOAD_SECONDS = 10.0


async def describe_artifact(invocation: InvocationContext, name: str, version: int) -> dict[str, Any]:
    """Gives an artifact with its content, or with a word on why the content is left out."""
    told: dict[str, Any] = {"name": name, "version": version}
    try:
        part = await asyncio.wait_for(_load(invocation, name, version), _LOAD_SECONDS)
    except Exception as error:
        return {**told, "left_out": f"it could not be read: {type(error).__name__}: {error}"}
    if part is None:
        return {**told, "left_out": "the artifact service does not have it any more"}
    size = _size(part)
    if size is not None:
        told["size"] = size
    if (kind := _mime_type(part)) is not None:
        told["mime_type"] = kind
    if size is not None and size > MOST_BYTES:
        return {**told, "left_out": f"only artifacts of at most {MOST_BYTES} bytes are kept with their content"}
    content: list[Any] = describe_content(types.Content(parts=[part])).get("parts") or []
    if not content or len(json_bytes(content[0])) > 2 * MOST_BYTES:
        return {**told, "left_out": "it is of a kind that is not kept with its content"}
    return {**told, "part": content[0]}


async def _load(invocation: InvocationContext, name: str, version: int) -> types.Part | None:
    service, session = invocation.artifact_service, invocation.session
    if service is None:
        return None
    return await service.load_artifact(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id, filename=name, version=version
    )


def _size(part: types.Part) -> int | None:
    if part.inline_data is not None:
        return len(part.inline_data.data or b"")
    return None if part.text is None else len(part.text.encode())


def _mime_type(part: types.Part) -> str | None:
    if part.inline_data is not None:
        return part.inline_data.mime_type
    if part.file_data is not None:
        return part.file_data.mime_type
    return None if part.text is None else "text/plain"
