"""Type hints as JSON Schemas, and values that satisfy them as what the hints say."""

from __future__ import annotations

import types
import typing
from collections import abc
from collections.abc import Callable, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, NamedTuple, cast

from rehearsal.world.docstring import described
from rehearsal.world.plain import NotPlain, field_names, is_dataclass, json_text, plain
from rehearsal.world.problem import WorldProblem, WrongArgument, alternatives

Schema = dict[str, Any]
Read = Callable[[Any, str], Any]

_LISTS = (list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection)
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_QUALIFIERS = ("NotRequired", "Required", "ReadOnly")
_USABLE = (
    "write str, int, float, bool, None, list[…], tuple[…], set[…], dict[str, …], Literal[…], date, datetime, an Enum, "
    "a TypedDict, a dataclass, a pydantic model, several of them with |, or Any"
)


class Form(NamedTuple):
    """What a hint says: a schema, and how a value that satisfies it is read."""

    schema: Schema
    read: Read


class Field(NamedTuple):
    """One name of an object."""

    form: Form
    required: bool


def refuse(place: str, what: str) -> WrongArgument:
    """Makes the error for a value that is not what its hint says."""
    return WrongArgument(place, what)


class Forms:
    """Makes forms for the hints of one schema, whose shared parts are kept in its `$defs`.

    Attributes:
        defs: What a schema refers to.
    """

    def __init__(self, where: str, *, output: bool = False) -> None:
        self._where = where
        self._output = output
        self.defs: dict[str, Schema] = {}
        # Classes that are being made, and those of them that were met again inside.
        self._making: dict[type[Any], list[Form]] = {}
        self._recursive: set[type[Any]] = set()

    def of(self, hint: Any) -> Form:
        """Gives the form of a hint.

        Raises:
            WorldProblem: The hint says nothing that JSON could say.
        """
        if hint is Any or hint is object:
            return Form({}, _anything)
        if hint is None or hint is type(None):
            return Form({"type": "null"}, _nothing)
        origin = typing.get_origin(hint)
        if origin is None:
            return self._class(cast("type[Any]", hint)) if isinstance(hint, type) else self._other_name(hint)
        parts = typing.get_args(hint)
        return self._parts(hint, origin, parts) if parts else self.of(origin)

    def at(self, where: str) -> None:
        """Says where the next hint stands, for errors."""
        self._where = where

    def whole(self, schema: Schema) -> Schema:
        """Gives a schema with all that it refers to."""
        return {**schema, "$defs": self.defs} if self.defs else schema

    def object(self, fields: Mapping[str, Field], make: Callable[[dict[str, Any]], Any], what: str) -> Form:
        """Gives the form of an object that has these names and no others."""
        required = [name for name, field in fields.items() if field.required]
        schema: Schema = {"type": "object", "properties": {name: each.form.schema for name, each in fields.items()}}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False

        def read(value: Any, place: str) -> Any:
            given = _mapping(value, place)
            for name in given:
                if name not in fields:
                    raise refuse(place, f"{what} has no `{name}`; {alternatives(name, fields, 'there are')}")
            for name in required:
                if name not in given:
                    raise refuse(place, f"{what} needs `{name}`")
            return make({name: fields[name].form.read(each, _at(place, name)) for name, each in given.items()})

        return Form(schema, read)

    def _class(self, hint: type[Any]) -> Form:
        simple = _SIMPLE.get(hint)
        if simple is not None:
            return Form(dict(simple[0]), simple[1])
        if hint in _LISTS:
            return self._list([Any])
        if hint in _SETS:
            return self._set([Any])
        if hint is tuple:
            return self._tuple((Any, ...))
        if hint in _MAPPINGS:
            return self._mapping([str, Any])
        if issubclass(hint, Enum):
            return self._choice(list(hint), f"the enum `{hint.__name__}`")
        if callable(getattr(hint, "model_json_schema", None)) and callable(getattr(hint, "model_validate", None)):
            return self._pydantic(hint)
        if hasattr(hint, "__required_keys__"):
            return self._named(hint, self._typed_dict)
        if is_dataclass(hint):
            return self._named(hint, self._dataclass)
        raise self._unusable(hint)

    def _other_name(self, hint: Any) -> Form:
        # A name for a type: `NewType`, and `type X = …` of Python 3.12.
        for attribute in ("__supertype__", "__value__"):
            if hasattr(hint, attribute):
                return self.of(getattr(hint, attribute))
        raise self._unusable(hint)

    def _parts(self, hint: Any, origin: Any, parts: tuple[Any, ...]) -> Form:
        if origin is typing.Annotated:
            return self._annotated(hint)
        if origin is typing.Union or origin is types.UnionType:
            return self._union(parts)
        if origin is typing.Literal:
            return self._choice(list(parts), "a Literal")
        if origin in _LISTS:
            return self._list(parts)
        if origin in _SETS:
            return self._set(parts)
        if origin is tuple:
            return self._tuple(parts)
        if origin in _MAPPINGS:
            return self._mapping(parts)
        if _name_of(origin) in _QUALIFIERS:
            return self.of(parts[0])
        if hasattr(origin, "__value__"):
            return self.of(origin.__value__[parts])
        raise self._unusable(hint)

    def _annotated(self, hint: Any) -> Form:
        form = self.of(hint.__origin__)
        for note in hint.__metadata__:
            if isinstance(note, str):
                form = Form({**form.schema, "description": note}, form.read)
            elif type(note).__module__.split(".")[0] in ("pydantic", "annotated_types"):
                raise WorldProblem(
                    f"{self._where}: `{_shown(note)}` in an Annotated would not be heeded here",
                    "write the field in a pydantic model, and give the model as the hint",
                )
        return form

    def _union(self, parts: tuple[Any, ...]) -> Form:
        forms = [self.of(part) for part in parts]
        named = [form for form in forms if form.schema != {"type": "null"}]

        def read(value: Any, place: str) -> Any:
            if value is None and len(named) < len(forms):
                return None
            wrong: list[str] = []
            for form in named:
                try:
                    return form.read(value, place)
                except WrongArgument as error:
                    if len(named) == 1:
                        raise
                    wrong.append(error.what)
            raise refuse(place, "; or ".join(dict.fromkeys(wrong)))

        return Form({"anyOf": [form.schema for form in forms]}, read)

    def _choice(self, members: list[Any], what: str) -> Form:
        values: list[tuple[Any, Any]] = []
        for member in members:
            try:
                value = plain(member, what)
            except NotPlain:
                value = ()
            if not (value is None or isinstance(value, str | int | float)):
                raise WorldProblem(
                    f"{self._where}: {member!r} of {what} is nothing that JSON could say",
                    "give its members texts or numbers as values",
                )
            values.append((value, member))
        schema: Schema = {"enum": [value for value, _ in values]}
        kinds = {_KINDS[cast("type[Any]", type(value))] for value, _ in values}
        if len(kinds) == 1:
            schema = {"type": kinds.pop(), **schema}

        def read(value: Any, place: str) -> Any:
            for known, member in values:
                # True is no 1 here, and 1.0 is.
                if isinstance(known, bool) == isinstance(value, bool) and known == value:
                    return member
            known = ", ".join(json_text(each) for each, _ in values)
            raise refuse(place, f"{_seen(value)} is none of {known}")

        return Form(schema, read)

    def _list(self, parts: Any) -> Form:
        item = self.of(parts[0])

        def read(value: Any, place: str) -> Any:
            return [item.read(each, f"{place}[{number}]") for number, each in enumerate(_listed(value, place))]

        return Form({"type": "array", **({"items": item.schema} if item.schema else {})}, read)

    def _set(self, parts: Any) -> Form:
        form = self._list(parts)

        def read(value: Any, place: str) -> Any:
            try:
                return set(form.read(value, place))
            except TypeError:
                raise refuse(place, "these cannot be members of a Python set") from None

        return Form({**form.schema, "uniqueItems": True}, read)

    def _tuple(self, parts: tuple[Any, ...]) -> Form:
        if len(parts) == 2 and parts[1] is Ellipsis:
            form = self._list(parts)

            def read_any(value: Any, place: str) -> Any:
                return tuple(form.read(value, place))

            return Form(form.schema, read_any)
        forms = [self.of(part) for part in parts if part != ()]
        count = len(forms)
        schema: Schema = {"type": "array", "minItems": count, "maxItems": count}
        if forms:
            schema["prefixItems"] = [form.schema for form in forms]

        def read(value: Any, place: str) -> Any:
            items = _listed(value, place)
            if len(items) != count:
                raise refuse(place, f"{count} items expected, {len(items)} given")
            pairs = enumerate(zip(forms, items, strict=True))
            return tuple(form.read(each, f"{place}[{number}]") for number, (form, each) in pairs)

        return Form(schema, read)

    def _mapping(self, parts: Any) -> Form:
        keys = self.of(parts[0])
        if keys.schema.get("type", "string") != "string":
            raise WorldProblem(
                f"{self._where}: `{_shown(parts[0])}` cannot be the key of a dictionary in JSON",
                "write dict[str, …]: keys are texts",
            )
        entry = self.of(parts[1])
        schema: Schema = {"type": "object"}
        if keys.schema not in ({"type": "string"}, {}):
            schema["propertyNames"] = keys.schema
        if entry.schema:
            schema["additionalProperties"] = entry.schema

        def read(value: Any, place: str) -> Any:
            given = _mapping(value, place)
            return {keys.read(key, place): entry.read(each, _at(place, key)) for key, each in given.items()}

        return Form(schema, read)

    def _named(self, hint: type[Any], make: Callable[[type[Any]], Form]) -> Form:
        """Gives the form of a class, which may mention itself."""
        name = hint.__name__
        if hint in self._making:
            self._recursive.add(hint)
            found = self._making[hint]

            def read(value: Any, place: str) -> Any:
                return found[0].read(value, place)

            return Form({"$ref": f"#/$defs/{name}"}, read)
        self._making[hint] = []
        form = make(hint)
        self._making.pop(hint).append(form)
        if hint not in self._recursive:
            return form
        self._define(name, form.schema)
        return Form({"$ref": f"#/$defs/{name}"}, form.read)

    def _define(self, name: str, schema: Schema) -> None:
        if self.defs.setdefault(name, schema) != schema:
            raise WorldProblem(
                f"{self._where}: two different classes are called `{name}`", "give one of them another name"
            )

    def _hints(self, hint: type[Any]) -> dict[str, Any]:
        try:
            return typing.get_type_hints(hint, include_extras=True)
        except Exception as error:
            raise WorldProblem(
                f"{self._where}: a hint of the class `{hint.__name__}` cannot be found: {error}",
                "define what it names at the top of the module, not inside of a function",
            ) from error

    def _typed_dict(self, hint: type[Any]) -> Form:
        said = described(hint.__doc__)
        fields: dict[str, Field] = {}
        for name, each in self._hints(hint).items():
            # Where hints are kept as texts, `__required_keys__` has also those that are marked otherwise.
            marked = qualifier(each)
            required = marked == "Required" if marked is not None else name in cast("Any", hint).__required_keys__
            fields[name] = Field(explained(self.of(each), said.arguments.get(name)), required)
        form = self.object(fields, dict, f"`{hint.__name__}`")
        return explained(form, said.description)

    def _dataclass(self, hint: type[Any]) -> Form:
        # Without a docstring of its own, a dataclass shows how it is made.
        own = not (hint.__doc__ or "").startswith(f"{hint.__name__}(")
        said = described(hint.__doc__ if own else None)
        hints = self._hints(hint)
        known: Mapping[str, Any] = cast("Any", hint).__dataclass_fields__
        names = field_names(hint)
        if not self._output:
            extra = [name for name, field in known.items() if field._field_type.name == "_FIELD_INITVAR"]
            if extra:
                raise WorldProblem(
                    f"{self._where}: `{hint.__name__}.{extra[0]}` is an InitVar, which has no type in JSON",
                    "make it a field",
                )
            names = [name for name in names if known[name].init]
        fields: dict[str, Field] = {}
        for name in names:
            form = explained(self.of(hints[name]), said.arguments.get(name))
            default = known[name].default
            # What the world makes is all there.
            if self._output or _is_missing(default):
                fields[name] = Field(form, self._output or _is_missing(known[name].default_factory))
            else:
                fields[name] = Field(with_default(form, default), required=False)

        def make(given: dict[str, Any]) -> Any:
            return hint(**given)

        return explained(self.object(fields, make, f"`{hint.__name__}`"), said.description)

    def _pydantic(self, hint: Any) -> Form:
        mode = "serialization" if self._output else "validation"
        try:
            schema: Schema = hint.model_json_schema(mode=mode)
        except Exception as error:
            raise WorldProblem(
                f"{self._where}: pydantic has no JSON Schema for `{hint.__name__}`: {error}",
                "use fields that JSON has",
            ) from error
        for name, each in cast("dict[str, Schema]", schema.pop("$defs", {})).items():
            self._define(name, each)

        def read(value: Any, place: str) -> Any:
            try:
                return hint.model_validate(value)
            except ValueError as error:
                raise refuse(place, str(error)) from error

        return Form(schema, _anything if self._output else read)

    def _unusable(self, hint: Any) -> WorldProblem:
        shown = _shown(hint)
        return WorldProblem(f"{self._where}: the type `{shown}` is nothing that JSON could say", _USABLE)


def explained(form: Form, description: str | None) -> Form:
    """Gives a form with a description; what it had stays where there is no other."""
    return Form({**form.schema, "description": description}, form.read) if description else form


def with_default(form: Form, default: Any) -> Form:
    """Gives a form with the value that is taken where none is given, if JSON has it."""
    try:
        return Form({**form.schema, "default": plain(default, "")}, form.read)
    except NotPlain:
        return form


def qualifier(hint: Any) -> str | None:
    """Tells whether a hint of a TypedDict says that its key may be left out, or has to be there."""
    origin: Any = typing.get_origin(hint)
    name = _name_of(origin)
    if name in ("NotRequired", "Required"):
        return name
    return qualifier(typing.get_args(hint)[0]) if name == "ReadOnly" or origin is typing.Annotated else None


def _name_of(origin: Any) -> str | None:
    # The module `typing` has these only in later versions; those of `typing_extensions` have the same names.
    return None if isinstance(origin, type) else getattr(origin, "_name", None) or getattr(origin, "__name__", None)


def _shown(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _is_missing(default: Any) -> bool:
    # What stands for "no default" is a value of the module `dataclasses`, known by its class.
    return type(default).__name__ == "_MISSING_TYPE"


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _seen(value: Any) -> str:
    kind = cast("type[Any]", type(value))
    text = json_text(value) if value is None or isinstance(value, str | int | float) else f"an {_KINDS[kind]}"
    return text if len(text) <= 80 else f"{text[:79]}…"


def _mapping(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise refuse(place, f"an object expected, {_seen(value)} given")
    return cast("dict[str, Any]", value)


def _listed(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise refuse(place, f"a list expected, {_seen(value)} given")
    return cast("list[Any]", value)


def _anything(value: Any, place: str) -> Any:
    del place
    return value


def _nothing(value: Any, place: str) -> Any:
    if value is not None:
        raise refuse(place, f"null expected, {_seen(value)} given")


def _text(value: Any, place: str) -> Any:
    if not isinstance(value, str):
        raise refuse(place, f"text expected, {_seen(value)} given")
    return value


def _truth(value: Any, place: str) -> Any:
    if not isinstance(value, bool):
        raise refuse(place, f"true or false expected, {_seen(value)} given")
    return value


def _whole(value: Any, place: str) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise refuse(place, f"a whole number expected, {_seen(value)} given")
    return value


def _number(value: Any, place: str) -> Any:
    # A whole number stays one: nothing is lost of a large one, and Python takes it wherever it takes a float.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(place, f"a number expected, {_seen(value)} given")
    return value


def _time(value: Any, place: str) -> Any:
    try:
        # Python 3.10 does not read the `Z` of what most programs write.
        return datetime.fromisoformat(f"{value[:-1]}+00:00" if value[-1:] in ("Z", "z") else value)
    except (ValueError, TypeError):
        raise refuse(place, f"a time such as 2026-01-31T12:00:00Z expected, {_seen(value)} given") from None


def _day(value: Any, place: str) -> Any:
    try:
        return date.fromisoformat(value)
    except (ValueError, TypeError):
        raise refuse(place, f"a day such as 2026-01-31 expected, {_seen(value)} given") from None


_SIMPLE: dict[type[Any], tuple[Schema, Read]] = {
    str: ({"type": "string"}, _text),
    bool: ({"type": "boolean"}, _truth),
    int: ({"type": "integer"}, _whole),
    float: ({"type": "number"}, _number),
    datetime: ({"type": "string", "format": "date-time"}, _time),
    date: ({"type": "string", "format": "date"}, _day),
}

_KINDS: dict[type[Any], str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
    list: "array",
    dict: "object",
}
