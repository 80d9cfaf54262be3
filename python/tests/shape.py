"""What the models of an ADK eval set take, as `rehearse import` knows it.

`python -m tests.shape > ../crates/rehearsal-adk/src/import/shape.json` writes it anew, for a newer ADK.
"""

from __future__ import annotations

import collections.abc
import enum
import json
import sys
import types
import typing
from typing import Any

from google.adk.evaluation.eval_set import EvalSet
from pydantic import BaseModel

Json = dict[str, Any]

PLAIN = {str: "text", float: "number", int: "whole", bool: "flag", bytes: "bytes", Any: "any"}
EXTRA = {"forbid": "refused", "ignore": "dropped", "allow": "kept"}


def shape() -> Json:
    models: Json = {}
    _model(EvalSet, models)
    return models


def _model(model: type[BaseModel], models: Json) -> Json:
    if model.__name__ not in models:
        models[model.__name__] = described = {}
        described["extra"] = EXTRA[model.model_config.get("extra") or "ignore"]
        described["camel"] = bool(model.model_config.get("alias_generator"))
        described["fields"] = {name: _field(field, models) for name, field in model.model_fields.items()}
    return {"model": model.__name__}


def _field(field: Any, models: Json) -> Json:
    kind, nullable = _kind(field.annotation, models)
    described: Json = {"kind": kind}
    if nullable:
        described["nullable"] = True
    if field.is_required():
        described["required"] = True
    return described


def _kind(annotation: Any, models: Json) -> tuple[Any, bool]:
    if type(annotation).__name__ == "TypeAliasType":
        return _kind(annotation.__value__, models)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _kind(inner[0], models)
    if origin in (typing.Union, types.UnionType):
        kinds = [_kind(one, models)[0] for one in inner if one is not type(None)]
        kind = kinds[0] if len(kinds) == 1 else {"one_of": [one["model"] for one in kinds]}
        return kind, type(None) in inner
    if origin is typing.Literal:
        return {"words": list(inner)}, False
    if origin in (list, collections.abc.Sequence):
        return {"list": _kind(inner[0], models)[0]}, False
    if origin is dict:
        return {"map": _kind(inner[1], models)[0]}, False
    if origin is tuple:
        return {"tuple": [_kind(one, models)[0] for one in inner]}, False
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _model(annotation, models), False
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        # These take words of later versions too.
        return "text", False
    return PLAIN[annotation], False


if __name__ == "__main__":
    json.dump(shape(), sys.stdout, separators=(",", ":"), sort_keys=False)
    sys.stdout.write("\n")
