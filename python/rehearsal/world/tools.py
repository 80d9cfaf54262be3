"""The tools of a world, read from its methods."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.world.base import MARK, TAKEN, Marked, Side, World, marked
from rehearsal.world.docstring import described
from rehearsal.world.forms import Field, Form, Forms, Schema, explained, with_default
from rehearsal.world.problem import WorldProblem, alternatives

_SAYS_NOTHING: tuple[Schema, ...] = ({}, {"type": "null"})


class Tool:
    """A tool: a method, how it is shown, and how its arguments are read.

    Attributes:
        name: What it is called.
        by: Who may call it.
        offered: Whether it is there from the beginning.
        attribute: The method.
        parameters: The forms of its arguments.
        output: The form of what it gives, where its hint says anything of it.
        listed: The tool as the protocol has it.
    """

    def __init__(self, world: type[World], name: str, tool: Marked) -> None:
        method = tool.method
        self.name = name
        self.by: Side = tool.mark.by
        self.offered = tool.mark.offered
        self.attribute = tool.attribute
        self._where = f"{world.__name__}.{self.attribute}"
        if not name:
            raise WorldProblem(f'{self._where} has name=""', "leave `name` out, or give the tool a name")
        hints = self._hints(world, method)
        said = described(method.__doc__)
        self.parameters = self._parameters(method, hints, said.arguments)
        forms = Forms(self._where)
        fields = {
            each: Field(self._parameter(forms, each, one, hints, said.arguments), one.default is one.empty)
            for each, one in self.parameters.items()
        }
        self.arguments: Form = forms.object(fields, dict, f"`{name}`")
        self.fields = {each: field.form for each, field in fields.items()}
        self.output = self._given(hints)
        self.listed: dict[str, Any] = {"name": name}
        if said.description:
            self.listed["description"] = said.description
        self.listed["parameters"] = forms.whole(self.arguments.schema)
        if self.output is not None:
            self.listed["output"] = self.output.schema
        if self.by != "agent":
            self.listed["by"] = self.by

    def _hints(self, world: type[World], method: Callable[..., Any]) -> dict[str, Any]:
        # Classes inside of the world are known to its methods by their bare names, too.
        inside = {name: each for one in reversed(world.__mro__) for name, each in vars(one).items()}
        try:
            return typing.get_type_hints(
                method, localns={name: each for name, each in inside.items() if isinstance(each, type)},
                include_extras=True,
            )  # fmt: skip
        except Exception as error:
            missing = getattr(error, "name", None) if isinstance(error, NameError) else None
            raise WorldProblem(
                f"{self._where}: a type hint{_of_parameter(method, missing)} cannot be read: {error}",
                "define or import what it names at the top of the module, not inside of a function, and not only "
                "under `if TYPE_CHECKING`",
            ) from error

    def _parameters(
        self, method: Callable[..., Any], hints: Mapping[str, Any], said: Mapping[str, str]
    ) -> dict[str, inspect.Parameter]:
        each = list(inspect.signature(method).parameters.values())
        if not each:
            raise WorldProblem(f"{self._where} has no `self`", f"write `def {self.attribute}(self)`")
        found: dict[str, inspect.Parameter] = {}
        for parameter in each[1:]:
            name = parameter.name
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
                raise WorldProblem(
                    f"{self._where}: `{stars}{name}` is of no form that a schema could have",
                    f"name the parameters, or take one of them as `{name}: {'list' if stars == '*' else 'dict'}`",
                )
            if parameter.kind is parameter.POSITIONAL_ONLY:
                raise WorldProblem(
                    f"{self._where}: `{name}` has no name for callers", "take the `/` out: tools are called by name"
                )
            if name not in hints:
                raise WorldProblem(
                    f"{self._where}: the parameter `{name}` has no type hint",
                    f"write one, such as `{name}: str`; `{name}: Any` takes anything",
                )
            found[name] = parameter
        for name in said:
            if name not in found:
                raise WorldProblem(
                    f"{self._where}: its docstring describes `{name}`, which is no parameter",
                    alternatives(name, found, "its parameters are"),
                )
        return found

    def _parameter(
        self, forms: Forms, name: str, one: inspect.Parameter, hints: Mapping[str, Any], said: Mapping[str, str]
    ) -> Form:
        forms.at(f"{self._where}, parameter `{name}`")
        form = explained(forms.of(hints[name]), said.get(name))
        return form if one.default is one.empty else with_default(form, one.default)

    def _given(self, hints: Mapping[str, Any]) -> Form | None:
        if "return" not in hints:
            return None
        forms = Forms(f"{self._where}, what it returns", output=True)
        form = forms.of(hints["return"])
        schema: Schema = forms.whole(form.schema)
        return None if schema in _SAYS_NOTHING else Form(schema, form.read)


def tools_of(world: type[World]) -> dict[str, Tool]:
    """Gives the tools of a class by their names.

    Raises:
        WorldProblem: A method cannot be a tool as it is written.
    """
    _check_names(world)
    found = {name: Tool(world, name, each) for name, each in marked(world).items()}
    if not found:
        raise WorldProblem(f"{world.__name__} has no tools", "write @tool before a method that is one")
    return found


def _check_names(world: type[World]) -> None:
    """Refuses a class that has something else under a name that the framework needs."""
    for each in world.__mro__[: world.__mro__.index(World)]:
        for name in TAKEN.keys() & vars(each).keys():
            own = vars(each)[name]
            if hasattr(own, MARK):
                raise WorldProblem(
                    f"{each.__name__}.{name} is a tool, and of a World this is {TAKEN[name]}",
                    f'call the method otherwise: @tool(name="{name}") before `def {name}_(self, …)`',
                )
            if name not in ("start", "state") or not callable(own):
                raise WorldProblem(f"{each.__name__}.{name} is {TAKEN[name]} of a World", "give yours another name")


def _of_parameter(method: Callable[..., Any], missing: str | None) -> str:
    try:
        hints = dict(method.__annotations__)
    except NameError:  # since Python 3.14 they are worked out when they are asked for
        return ""
    names = [name for name, hint in hints.items() if missing and isinstance(hint, str) and missing in hint]
    if not names:
        return ""
    return " of what it returns" if names[0] == "return" else f" of the parameter `{names[0]}`"
