"""Agents from packages on disk, found where `adk eval` finds them."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from google.adk.apps import App
from google.adk.cli.utils import envs

from rehearsal.compat import is_root
from rehearsal.errors import SetupError

if TYPE_CHECKING:
    from rehearsal.compat import Root


async def load_agent(folder: Path, resources: AsyncExitStack) -> Root | App:
    """Loads an agent package: its `agent.app`, else `agent.root_agent`, else what `agent.get_agent_async()` gives.

    The package's `.env` (or one above it) is loaded first, as ADK does. What `get_agent_async()` opens belongs
    to the event loop that it runs in, which has to be the one that the agent runs in.

    Args:
        folder: The package.
        resources: Closes what the agent needs for as long as it is used.

    Raises:
        SetupError: There is no package, no agent in it, or something that it imports is missing.
    """
    try:
        return await _load(folder, resources)
    except ImportError as error:
        raise SetupError(f"{_place(error, folder)}: {error}") from error


async def _load(folder: Path, resources: AsyncExitStack) -> Root | App:
    module = _agent_module(folder)
    app = getattr(module, "app", None)
    if isinstance(app, App):
        return app
    root, found = getattr(module, "root_agent", None), "`root_agent` is"
    if root is None and hasattr(module, "get_agent_async"):
        made: Any = await module.get_agent_async()
        root, *opened = cast("tuple[Any, ...]", made) if isinstance(made, tuple) else (made,)
        found = "`get_agent_async()` gives"
        for each in opened:
            if hasattr(each, "aclose"):
                resources.push_async_callback(each.aclose)
    if is_root(root):
        return root
    place = folder / "agent.py"
    if root is None:
        raise SetupError(f"{folder} has no agent\n\nhint: define `root_agent` (or an `app`) in {place}")
    raise SetupError(f"{folder}: {found} {kind_of(root)}\n\nhint: it has to be an agent of google-adk; see {place}")


def kind_of(given: object) -> str:
    """Says what something is that should have been an agent."""
    name = type(given).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _place(error: ImportError, folder: Path) -> str:
    """Gives the line of the package at which an import failed."""
    lines = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if Path(frame.f_code.co_filename).is_relative_to(folder.resolve())
    ]
    return lines[-1] if lines else str(folder)


def _agent_module(folder: Path) -> ModuleType:
    folder = folder.resolve()
    if not folder.exists():
        raise SetupError(f"there is no folder {folder}")
    if not folder.is_dir():
        raise SetupError(f"{folder} is not a folder; give the one that the agent is in")
    if not (folder / "__init__.py").is_file():
        raise SetupError(f"{folder} is not an agent package: it has no __init__.py")
    envs.load_dotenv_for_agent(folder.name, str(folder.parent))
    package = _package(folder)
    module = getattr(package, "agent", None)
    if isinstance(module, ModuleType):
        return module
    if (folder / "agent.py").is_file():
        return importlib.import_module(f"{package.__name__}.agent")
    return package


def _package(folder: Path) -> ModuleType:
    """Imports a folder as the package of its name, with the folder around it on the path."""
    if str(folder.parent) not in sys.path:
        sys.path.insert(0, str(folder.parent))
    known = sys.modules.get(folder.name)
    if known is not None and str(folder) in [str(Path(place)) for place in getattr(known, "__path__", [])]:
        return known
    spec = importlib.util.spec_from_file_location(
        folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise SetupError(f"{folder} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = module
    spec.loader.exec_module(module)
    return module
