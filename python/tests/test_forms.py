"""Addresses, schemas and values: what needs no server."""

from __future__ import annotations

import json
import math
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from google.adk.agents import Agent
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.genai import types
from pydantic import BaseModel, Field

from rehearsal import AgentSimulator, RehearsalError, RehearsalPlugin, SimulatedAgentConfig
from rehearsal.address import read_token_file, resolve_address
from rehearsal.request import describe_content, describe_request, read_content, read_response
from rehearsal.schema import any_schema_to_json_schema, declaration_parameters, schema_to_json_schema
from rehearsal.values import json_bytes, jsonable


def test_addresses() -> None:
    address = resolve_address("http://a.test:1/?token=secret, b.test:2", None)
    assert address.urls == ("http://a.test:1", "http://b.test:2")
    assert address.token == "secret"
    assert resolve_address(None, None).urls == ("http://127.0.0.1:4200",)
    assert resolve_address("http://a.test?token=x", "mine").token == "mine"
    assert resolve_address("[::1]:4200", None).urls == ("http://[::1]:4200",)
    for wrong in ("ftp://a.test", "http://", ",", "http://:4200", "http://[::1"):
        with pytest.raises(RehearsalError, match="server address"):
            resolve_address(wrong, None)


@pytest.mark.parametrize("port", ["99999", "0", "-1", "many"])
def test_ports_that_are_none(port: str) -> None:
    address = f"http://127.0.0.1:{port}/?token=secret"
    with pytest.raises(RehearsalError, match=f"http://127.0.0.1:{port}.* 1 to 65535") as raised:
        RehearsalPlugin(address)
    assert "secret" not in str(raised.value)
    with pytest.raises(RehearsalError, match="1 to 65535"):
        AgentSimulator([SimulatedAgentConfig("a", Agent(name="a", model="m"), "x")], server=address)


@pytest.mark.parametrize("port", [99999, -1])
def test_ports_of_a_simulator_that_are_none(port: int) -> None:
    with pytest.raises(RehearsalError, match=f"{port} is not a port; ports go from 0 to 65535"):
        AgentSimulator([SimulatedAgentConfig("a", Agent(name="a", model="m"), "x")], port=port)


def test_the_token_file_of_the_nearest_folder(tmp_path: Path) -> None:
    (tmp_path / ".rehearsal").mkdir()
    (tmp_path / ".rehearsal" / "token").write_text("abc\n")
    below = tmp_path / "x" / "y"
    below.mkdir(parents=True)
    assert read_token_file(below) == ("abc", tmp_path / ".rehearsal" / "token")


def test_wrong_settings_are_named() -> None:
    with pytest.raises(TypeError, match=r"agents=\['root'\]"):
        RehearsalPlugin(agents="root")
    with pytest.raises(ValueError, match="tool_errors"):
        RehearsalPlugin(tool_errors=cast("Any", "ignore"))
    with pytest.raises(ValueError, match="complete"):
        RehearsalPlugin(complete=cast("Any", "always"))


def test_schema_of_google_genai() -> None:
    schema = types.Schema(
        type=types.Type.OBJECT,
        properties={
            "b": types.Schema(type=types.Type.INTEGER, minimum=1, maximum=9, description="a number"),
            "a": types.Schema(type=types.Type.STRING, enum=["x", "y"], nullable=True, default="x"),
            "list": types.Schema(
                type=types.Type.ARRAY, items=types.Schema(type=types.Type.NUMBER), min_items=1, max_items=3
            ),
            "either": types.Schema(
                any_of=[types.Schema(type=types.Type.STRING), types.Schema(type=types.Type.BOOLEAN)], nullable=True
            ),
        },
        property_ordering=["a", "b"],
        required=["b"],
    )
    made = schema_to_json_schema(schema)
    assert made == {
        "type": "object",
        "properties": {
            "a": {"default": "x", "anyOf": [{"type": "string", "enum": ["x", "y"]}, {"type": "null"}]},
            "b": {"type": "integer", "minimum": 1, "maximum": 9, "description": "a number"},
            "list": {"type": "array", "items": {"type": "number"}, "minItems": 1, "maxItems": 3},
            "either": {"anyOf": [{"type": "string"}, {"type": "boolean"}, {"type": "null"}]},
        },
        "required": ["b"],
    }
    assert list(made["properties"]) == ["a", "b", "list", "either"]


class Item(BaseModel):
    sku: str
    count: int = Field(default=1, ge=1, le=99)


def test_every_form_of_a_schema() -> None:
    expected = {"type": "string"}
    assert any_schema_to_json_schema(str) == expected
    assert any_schema_to_json_schema({"type": "string"}) == expected
    assert any_schema_to_json_schema({"type": "STRING"}) == expected
    assert any_schema_to_json_schema(types.Schema(type=types.Type.STRING)) == expected
    assert any_schema_to_json_schema(None) is None
    model = any_schema_to_json_schema(Item)
    assert model is not None
    assert model["properties"]["count"]["maximum"] == 99
    listed = any_schema_to_json_schema(list[Item])
    assert listed is not None
    assert listed["type"] == "array"


def test_a_tools_parameters_in_both_forms() -> None:
    def show(text: str, form: Literal["json", "xml"] = "json") -> str:
        """Shows."""
        return text + form

    request = LlmRequest()
    request.append_tools([FunctionTool(show)])
    tool = describe_request(request)["tools"][0]
    assert tool["parameters"]["properties"]["text"]["type"] == "string"
    assert tool["parameters"]["properties"]["form"]["enum"] == ["json", "xml"]
    assert tool["parameters"]["required"] == ["text"]

    in_schema = types.FunctionDeclaration(
        name="x",
        parameters=types.Schema(type=types.Type.OBJECT, properties={"n": types.Schema(type=types.Type.INTEGER)}),
    )
    in_json = types.FunctionDeclaration(
        name="x", parameters_json_schema={"type": "object", "properties": {"n": {"type": "integer"}}}
    )
    assert declaration_parameters(in_schema) == declaration_parameters(in_json)
    assert declaration_parameters(types.FunctionDeclaration(name="x")) == {"type": "object", "properties": {}}


def test_a_request_keeps_secrets_and_says_the_rest() -> None:
    request = LlmRequest(
        model="m",
        contents=[types.UserContent("hi")],
        config=types.GenerateContentConfig(
            temperature=0.5,
            system_instruction="be kind",
            http_options=types.HttpOptions(headers={"authorization": "secret"}),
            response_schema=Item,
            response_mime_type="application/json",
            tools=[
                types.Tool(
                    function_declarations=[
                        types.FunctionDeclaration(
                            name="search",
                            description=(
                                "<<<BEGIN_UNTRUSTED_TOOL_DESCRIPTION>>>\nfinds things\n"
                                "<<<END_UNTRUSTED_TOOL_DESCRIPTION>>>"
                            ),
                        )
                    ]
                ),
                types.Tool(google_search=types.GoogleSearch()),
            ],
        ),
    )
    told: dict[str, Any] = jsonable(describe_request(request))
    assert "secret" not in json.dumps(told)
    assert told["model"] == "m"
    assert told["system_instruction"] == "be kind"
    assert told["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]
    assert told["tools"][0]["description"] == "finds things"
    assert told["output_schema"]["title"] == "Item"
    assert told["config"] == {
        "temperature": 0.5, "response_mime_type": "application/json", "other_tools": ["google_search"]
    }  # fmt: skip


def test_responses() -> None:
    response = read_response(
        {
            "content": {"role": "model", "parts": [{"function_call": {"name": "add", "args": {"a": None}}}]},
            "finish_reason": "STOP",
        }
    )
    assert response.content is not None
    assert response.content.parts is not None
    called = response.content.parts[0].function_call
    assert called is not None
    assert called.args == {"a": None}
    assert response.finish_reason == types.FinishReason.STOP
    assert read_response({"content": {"parts": [{"text": ""}]}, "finish_reason": "STOP"}).finish_reason is None


def test_values_become_json_whatever_they_are() -> None:
    around: dict[str, Any] = {"x": 1}
    around["self"] = around
    cases: list[tuple[Any, Any]] = [
        ({"a": [1, 2.5, None, True, "é"]}, {"a": [1, 2.5, None, True, "é"]}),
        (b"\xff\xfe", "__4="),
        (math.inf, None),
        (datetime(2026, 1, 1, tzinfo=timezone.utc), "2026-01-01T00:00:00Z"),
        (Item(sku="s"), {"sku": "s", "count": 1}),
        (("a", "b"), ["a", "b"]),
        ("half \ud800 pair", "half ? pair"),
        (around, {"x": 1, "self": "<dict that contains itself>"}),
        ({1: "one"}, {"1": "one"}),
    ]
    for value, expected in cases:
        assert json.loads(json_bytes(value)) == expected
    assert "object at" in json.loads(json_bytes(object()))


def test_bytes_come_back_as_they_were() -> None:
    image = types.Part(inline_data=types.Blob(mime_type="image/png", data=b"\xff\xfe not text"))
    content = types.Content(role="user", parts=[image])
    assert read_content(jsonable(describe_content(content))) == content
