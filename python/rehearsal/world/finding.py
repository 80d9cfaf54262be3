"""Finds the class that is a world, by what a person typed: `shop:Shop`, `shop.py`, `shop.py:Shop`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from rehearsal.world.base import World
from rehearsal.world.problem import WorldProblem, alternatives, in_words, named, place_of


def find(written: str) -> type[World]:
    """Gives the world.

    Raises:
        WorldProblem: There is none.
    """
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    place, _, name = written.partition(":")
    if not place:
        raise WorldProblem(f"`{written}` names no module", "write shop:Shop, shop.py or shop.py:Shop")
    module = _file(Path(place)) if place.endswith(".py") or "/" in place else _module(place)
    return _of_name(module, place, name) if name else _only_one(module, place)


def _file(path: Path) -> ModuleType:
    if path.is_dir() or not path.exists():
        there = [each.name for each in sorted(path.parent.glob("*.py"))] if path.parent.is_dir() else []
        what = "is a folder" if path.is_dir() else "is not there"
        raise WorldProblem(f"`{path}` {what}", alternatives(path.name, there, f"files of Python in {path.parent} are"))
    sys.path.insert(0, str(path.parent.resolve()))
    # A file may be called like a module that is in use; that one stays what it is.
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_of_{path.parent.resolve().name}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise WorldProblem(f"`{path}` is no file of Python", "name a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(str(path), error) from error
    return module


def _module(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name != missing and not name.startswith(f"{missing}."):
            raise _broken(name, error) from error
        there = [each.stem for each in sorted(Path.cwd().glob("*.py"))]
        hint = alternatives(name, there, f"files of Python in {Path.cwd()} are")
        raise WorldProblem(f"there is no module `{missing}`", hint) from None
    except BaseException as error:
        raise _broken(name, error) from error


def _broken(what: str, error: BaseException) -> WorldProblem:
    traceback.print_exception(error, file=sys.stderr)
    place = place_of(error)
    at = f" ({place})" if place else ""
    return WorldProblem(
        f"`{what}` could not be imported: {type(error).__name__}: {in_words(error)}{at}",
        "the whole traceback stands on standard error",
    )


def _of_name(module: ModuleType, place: str, name: str) -> type[World]:
    found: Any = getattr(module, name, None)
    if found is None:
        worlds = [each.__name__ for each in _worlds(module)]
        raise WorldProblem(f"`{place}` has no `{name}`", alternatives(name, worlds, "its worlds are"))
    if not isinstance(found, type) or not issubclass(found, World) or found is World:
        raise WorldProblem(f"`{place}:{name}` is no world", f"write `class {name}(World)`")
    return found


def _only_one(module: ModuleType, place: str) -> type[World]:
    worlds = _worlds(module)
    own = [each for each in worlds if each.__module__ == module.__name__] or worlds
    # A class that others of them are made from is what they have in common, and not meant itself.
    meant = [each for each in own if not any(each is not other and issubclass(other, each) for other in own)]
    if len(meant) == 1:
        return meant[0]
    if not meant:
        raise WorldProblem(f"`{place}` has no world", "write `class Shop(World)` there, with methods that are @tool")
    names = [each.__name__ for each in meant]
    raise WorldProblem(f"`{place}` has several worlds: {named(names)}", f"name one: {place}:{names[0]}")


def _worlds(module: ModuleType) -> list[type[World]]:
    found: list[type[World]] = []
    for each in list(vars(module).values()):
        if isinstance(each, type) and issubclass(each, World) and each is not World and each not in found:
            found.append(each)
    return found
