"""Schemas in the forms ADK knows them, as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from google.genai import types
from pydantic import BaseModel, TypeAdapter

from rehearsal.values import jsonable

_RENAMED = {
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "minimum": "minimum",
    "maximum": "maximum",
    "pattern": "pattern",
    "format": "format",
    "enum": "enum",
    "default": "default",
    "title": "title",
    "description": "description",
    "required": "required",
    "ref": "$ref",
}
_ANNOTATIONS = ("title", "description", "default", "examples")


def schema_to_json_schema(schema: types.Schema) -> dict[str, Any]:
    """Turns the Schema of google-genai into JSON Schema: `INTEGER` becomes `integer`, `nullable` an `anyOf`."""
    made: dict[str, Any] = {}
    kind = schema.type.value if schema.type is not None else None
    if kind is not None and kind != "TYPE_UNSPECIFIED":
        made["type"] = kind.lower()
    for name, key in _RENAMED.items():
        value = getattr(schema, name, None)
        if value is not None:
            made[key] = jsonable(value)
    if schema.example is not None:
        made["examples"] = [jsonable(schema.example)]
    if schema.properties is not None:
        made["properties"] = {name: schema_to_json_schema(inner) for name, inner in _ordered(schema.properties, schema)}
    if schema.items is not None:
        made["items"] = schema_to_json_schema(schema.items)
    if schema.any_of is not None:
        made["anyOf"] = [schema_to_json_schema(inner) for inner in schema.any_of]
    defs = cast("Mapping[str, types.Schema] | None", getattr(schema, "defs", None))
    if defs is not None:
        made["$defs"] = {name: schema_to_json_schema(inner) for name, inner in defs.items()}
    additional = getattr(schema, "additional_properties", None)
    if additional is not None:
        made["additionalProperties"] = _additional(additional)
    return _nullable(made) if schema.nullable else made


def any_schema_to_json_schema(schema: Any) -> dict[str, Any] | None:
    """Turns whatever ADK takes as a schema (a class, a type, a Schema, a dictionary) into JSON Schema."""
    if schema is None:
        return None
    if isinstance(schema, types.Schema):
        return schema_to_json_schema(schema)
    if isinstance(schema, dict):
        given = cast("dict[str, Any]", schema)
        if _looks_like_genai(given):
            return schema_to_json_schema(types.Schema.model_validate(given))
        return cast("dict[str, Any]", jsonable(given))
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_json_schema()
    if isinstance(schema, BaseModel):
        return type(schema).model_json_schema()
    return TypeAdapter[Any](cast("Any", schema)).json_schema()


def declaration_parameters(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    """Gives a function declaration's parameters as JSON Schema, in whichever of the two forms they are."""
    in_json_schema = declaration.parameters_json_schema
    if in_json_schema is not None:
        return any_schema_to_json_schema(in_json_schema) or {}
    if declaration.parameters is not None:
        return schema_to_json_schema(declaration.parameters)
    return {"type": "object", "properties": {}}


def _ordered(properties: Mapping[str, types.Schema], schema: types.Schema) -> list[tuple[str, types.Schema]]:
    order = [name for name in schema.property_ordering or [] if name in properties]
    return [(name, properties[name]) for name in [*order, *(n for n in properties if n not in order)]]


def _additional(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, types.Schema):
        return schema_to_json_schema(value)
    return any_schema_to_json_schema(value)


def _nullable(made: dict[str, Any]) -> dict[str, Any]:
    outside = {key: made.pop(key) for key in _ANNOTATIONS if key in made}
    choices = made.pop("anyOf", None)
    if choices is None:
        options: list[Any] = [made]
    else:
        options = [*choices] if not made else [{**made, "anyOf": choices}]
    if {"type": "null"} not in options:
        options.append({"type": "null"})
    return {**outside, "anyOf": options}


def _looks_like_genai(schema: dict[str, Any]) -> bool:
    kind = schema.get("type")
    return isinstance(kind, types.Type) or (isinstance(kind, str) and kind.isupper())
