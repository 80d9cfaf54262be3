"""Whether the types of the official SDKs accept what we write.

Reads a list of {"name", "api", "kind", "json"} from standard input and writes a list of {"name", "problems"}.
`kind` is `request`, `response` or `event`. A problem is a type error, a field that the SDK does not know, or, for
what the SDK writes itself again, a difference.
"""

import json
import sys
import typing

import anthropic.types
import openai.types.chat
import pydantic
from google.genai import types as genai

OPENAI_REQUEST = pydantic.TypeAdapter(openai.types.chat.completion_create_params.CompletionCreateParams)
ANTHROPIC_REQUEST = pydantic.TypeAdapter(anthropic.types.message_create_params.MessageCreateParams)
ANTHROPIC_EVENT = pydantic.TypeAdapter(anthropic.types.RawMessageStreamEvent)


def exhaust(value):
    """Walks through a validated value: lists declared as iterables are only checked when they are read.

    Keys that the SDK does not know are left out by the validation, so comparing with the original finds them.
    """
    if isinstance(value, dict):
        return {key: exhaust(member) for key, member in value.items()}
    if isinstance(value, (str, bytes, int, float, bool)) or value is None:
        return value
    if isinstance(value, typing.Iterable) and not isinstance(value, pydantic.BaseModel):
        return [exhaust(member) for member in value]
    return value


def unknown_fields(model, path=""):
    """The fields that a model kept without knowing them."""
    found = [f"{path}.{name}" for name in (model.model_extra or {})]
    for name in type(model).model_fields:
        value = getattr(model, name, None)
        for number, member in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(member, pydantic.BaseModel):
                found += unknown_fields(member, f"{path}.{name}[{number}]")
    return found


def check_model(model, original):
    problems = [f"unknown field {field}" for field in unknown_fields(model)]
    written = model.model_dump(mode="json", exclude_unset=True, by_alias=True)
    if written != original:
        problems.append(f"the SDK writes it differently: {json.dumps(written)} instead of {json.dumps(original)}")
    return problems


def check_openai(kind, value):
    if kind == "request":
        written = exhaust(OPENAI_REQUEST.validate_python(value, strict=True))
        return [] if written == value else [f"the SDK reads it as {json.dumps(written)}"]
    model = openai.types.chat.ChatCompletion if kind == "response" else openai.types.chat.ChatCompletionChunk
    return check_model(model.model_validate(value, strict=True), value)


def check_anthropic(kind, value):
    if kind == "request":
        written = exhaust(ANTHROPIC_REQUEST.validate_python(value, strict=True))
        return [] if written == value else [f"the SDK reads it as {json.dumps(written)}"]
    if kind == "response":
        return check_model(anthropic.types.Message.model_validate(value, strict=True), value)
    return check_model(ANTHROPIC_EVENT.validate_python(value, strict=True), value)


GEMINI_REQUEST = {
    "contents": genai.Content,
    "systemInstruction": genai.Content,
    "tools": genai.Tool,
    "toolConfig": genai.ToolConfig,
    "generationConfig": genai.GenerationConfig,
    "safetySettings": genai.SafetySetting,
}


def check_gemini(kind, value):
    def check(model, original):
        parsed = model.model_validate_json(json.dumps(original))
        written = json.loads(parsed.model_dump_json(exclude_unset=True, by_alias=True))
        return [] if same(written, original) else [f"the SDK writes {json.dumps(written)} for {json.dumps(original)}"]

    if kind != "request":
        return check(genai.GenerateContentResponse, value)
    problems = []
    for key, member in value.items():
        if key not in GEMINI_REQUEST:
            problems.append(f"unknown field {key}")
            continue
        for item in member if isinstance(member, list) else [member]:
            problems += check(GEMINI_REQUEST[key], item)
    return problems


def same(written, original):
    """Equal, but for the alphabet that bytes are written in."""
    if isinstance(written, dict) and isinstance(original, dict):
        return written.keys() == original.keys() and all(same(written[key], original[key]) for key in written)
    if isinstance(written, list) and isinstance(original, list):
        return len(written) == len(original) and all(map(same, written, original))
    if isinstance(written, str) and isinstance(original, str):
        return written == original or written == original.replace("+", "-").replace("/", "_")
    return written == original


CHECKS = {"openai": check_openai, "anthropic": check_anthropic, "gemini": check_gemini}


def main():
    report = []
    for item in json.load(sys.stdin):
        try:
            problems = CHECKS[item["api"]](item["kind"], item["json"])
        except pydantic.ValidationError as error:
            problems = [str(error)]
        report.append({"name": item["name"], "problems": problems})
    json.dump(report, sys.stdout)


main()
