"""The pytest plugin: scenario files are collected as tests, and tests run scenarios with a fixture.

It comes with `pip install agent-rehearsal[pytest]`. Nothing else of the package is imported before a scenario file is
collected or the fixture is asked for.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from rehearsal.testing.outcome import Result
    from rehearsal.testing.running import Case, CheckedFile

_FILES = ["*.scenario.yaml", "*.scenario.yml"]
# Marks on which pytest itself acts. A tag is a word of the scenario's author for selecting, and skips nothing.
_ACTED_ON = frozenset(
    {"filterwarnings", "parametrize", "skip", "skipif", "tryfirst", "trylast", "usefixtures", "xfail"}
)


class Hooks:
    """What a conftest.py may say."""

    @pytest.hookspec(firstresult=True)
    def pytest_rehearsal_agent(self, path: Path, config: pytest.Config) -> Any:
        """Gives who plays the agent in the cases of a collected scenario file, in place of the file's own.

        A function `(message, session)`, plain or `async`, or an agent or `App` of google-adk; `None` leaves it to the
        file.
        """


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Tells pytest of the hook."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tells pytest of the options."""
    group = parser.getgroup("rehearsal", "scenarios of Rehearsal")
    group.addoption(
        "--rehearse-args", metavar="ARGS", default="",
        help="more arguments for `rehearse run`, such as '--model judge=openai:gpt-4o'; after those of the ini file",
    )  # fmt: skip
    group.addoption("--rehearse-binary", metavar="PATH", help="the `rehearse` binary")
    parser.addini("rehearse_args", "more arguments for `rehearse run`", type="args", default=[])
    parser.addini("rehearse_binary", "the `rehearse` binary", type="string", default="")
    parser.addini("rehearse_files", "patterns of scenario files to collect; none to collect none", "args", _FILES)


def pytest_configure(config: pytest.Config) -> None:
    """Names the mark that every collected case has."""
    config.addinivalue_line("markers", "rehearsal: a case of a scenario file.")
    config.stash[_SETTINGS] = Settings(config)


class Settings:
    """What the ini file and the command line say."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.root = config.rootpath
        self.args: list[str] = [*config.getini("rehearse_args"), *shlex.split(str(config.getoption("rehearse_args")))]
        self.files: list[str] = list(config.getini("rehearse_files"))
        named = config.getoption("rehearse_binary")
        # What is typed belongs to the folder it is typed in; what the ini file says, to the ini file's.
        self._typed = config.invocation_params.dir / named if named else None
        written = str(config.getini("rehearse_binary"))
        self._written = (config.inipath.parent if config.inipath else self.root) / written if written else None
        self._checked: dict[Path, CheckedFile] = {}

    @property
    def binary(self) -> Path | None:
        """The binary, where somebody names it."""
        return self._typed or self._written

    def agent_of(self, path: Path) -> Any:
        """Who plays the agent of a file's cases, where a conftest.py says so."""
        return self.config.hook.pytest_rehearsal_agent(path=path, config=self.config)

    def check(self, path: Path) -> CheckedFile:
        """A file's cases and problems. Those beside it in its folder are looked at in the same process."""
        if path not in self._checked:
            from rehearsal.testing.running import check

            beside = sorted(each for each in path.parent.iterdir() if each.is_file() and self.collects(each))
            played = [each for each in beside if self.agent_of(each) is not None]
            others = [each for each in beside if each not in played]
            for paths, more in ((played, ["--agent-socket", "elsewhere"]), (others, [])):
                if paths:
                    found = check(paths, args=more, binary=self.binary, cwd=self.root)
                    self._checked.update(zip(paths, found, strict=True))
        return self._checked[path]

    def collects(self, path: Path) -> bool:
        """Whether a file is one of those to collect."""
        return any(fnmatch.fnmatch(path.name, pattern) for pattern in self.files)


_SETTINGS = pytest.StashKey[Settings]()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collects scenario files."""
    if not parent.config.stash[_SETTINGS].collects(file_path):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


class ScenarioFile(pytest.File):
    """A scenario file: its cases are tests."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.results: dict[str, Result] = {}

    @property
    def settings(self) -> Settings:
        """What the ini file and the command line say."""
        return self.config.stash[_SETTINGS]

    def collect(self) -> Iterable[pytest.Item]:
        """Gives a test for each case.

        Raises:
            UsageError: The file cannot be used.
        """
        checked = self.settings.check(self.path)
        if not checked.usable:
            raise self.CollectError("\n".join(checked.problems))
        for case in checked.cases:
            yield ScenarioItem.from_parent(self, name=case.name, case=case)  # pyright: ignore[reportUnknownMemberType]

    def run(self, item: ScenarioItem) -> Result:
        """Gives what a case came to; runs it, and with it the chosen cases of this file that have not run."""
        from rehearsal.testing.running import run_all

        if item.name not in self.results:
            names = [item.name] if self._is_one_by_one() else self._chosen(item)
            first = ["--fail-fast"] if len(names) > 1 and self.config.getoption("maxfail") else []
            ran = run_all(
                self._shown(), self.settings.agent_of(self.path), cases=names, args=[*self.settings.args, *first],
                binary=self.settings.binary, cwd=self.settings.root,
            )  # fmt: skip
            for result in ran:
                known = self.results.get(result.name)
                # Of repeats, the first that did not pass says what the case came to.
                if known is None or known.passed:
                    self.results[result.name] = result
        if item.name not in self.results and not self._is_one_by_one():
            # Another one did not pass, and this one was not begun: it is asked for by itself.
            self._alone = True
            return self.run(item)
        return self.results[item.name]

    _alone = False

    def _is_one_by_one(self) -> bool:
        # With xdist each process has some of a file's cases, and does not know which.
        return self._alone or hasattr(self.config, "workerinput")

    def _chosen(self, item: ScenarioItem) -> list[str]:
        chosen = [each.name for each in item.session.items if each.parent is self]
        return [name for name in chosen if name not in self.results]

    def _shown(self) -> str:
        root = self.settings.root
        return str(self.path.relative_to(root) if self.path.is_relative_to(root) else self.path)


class NotPassed(Exception):
    """A case that did not pass."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.headline)
        self.result = result


class ScenarioItem(pytest.Item):
    """A case of a scenario file."""

    def __init__(self, *, case: Case, **given: Any) -> None:
        super().__init__(**given)  # pyright: ignore[reportUnknownMemberType]
        self.case = case
        self.result: Result | None = None
        self.add_marker("rehearsal")
        for tag in case.tags:
            self.extra_keyword_matches.add(tag)
            mark = re.sub(r"\W+", "_", tag).strip("_")
            if mark and mark not in _ACTED_ON:
                self.config.addinivalue_line("markers", f"{mark}: a tag of a scenario.")
                self.add_marker(mark)

    def runtest(self) -> None:
        """Runs the case.

        Raises:
            NotPassed: It did not pass.
        """
        self.result = cast("ScenarioFile", self.parent).run(self)
        if not self.result.passed:
            raise NotPassed(self.result)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case stands: the line counts from 0 here, as pytest wants it."""
        return self.path, max(self.case.line - 1, 0), self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Gives what people read of a failure: of a case that did not pass, its report."""
        from rehearsal.errors import RehearsalError

        if isinstance(excinfo.value, NotPassed):
            return Told(excinfo.value.result.report(), excinfo.value.result.headline, self)
        if isinstance(excinfo.value, RehearsalError):
            return Told(f"error: {excinfo.value}", str(excinfo.value).split("\n", 1)[0], self)
        return super().repr_failure(excinfo, style)


class Told:
    """A failure in words, without a traceback."""

    def __init__(self, text: str, headline: str, item: ScenarioItem) -> None:
        self.text = text
        self.reprcrash = _Crash(headline, str(item.path), item.case.line)

    def __str__(self) -> str:
        return self.text

    def toterminal(self, tw: Any) -> None:
        """Writes it as pytest's terminal wants it."""
        for line in self.text.rstrip("\n").splitlines():
            tw.line(line)


class _Crash:
    """What pytest shows of a failure in one line."""

    def __init__(self, message: str, path: str, lineno: int) -> None:
        self.message = message
        self.path = path
        self.lineno = lineno

    def __str__(self) -> str:
        return f"{self.path}:{self.lineno}: {self.message}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Says how long a case took, and not the file whose cases ran with it."""
    report = yield
    if isinstance(item, ScenarioItem) and call.when == "call" and item.result is not None:
        report.duration = item.result.duration
    return report


class Rehearse:
    """The fixture: `run` and `run_all`, with paths beside the test's file and with what the ini file says."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings = settings
        self._folder = folder

    def run(
        self,
        path: str | os.PathLike[str],
        agent: Any = None,
        *,
        case: str | None = None,
        passthrough: Sequence[str] = (),
        args: Sequence[str] = (),
    ) -> Result:
        """Runs a case and gives what it came to; see `rehearsal.testing.run`."""
        from rehearsal.testing.running import run

        return self._with(run)(path, agent, args, case=case, passthrough=passthrough)

    def run_all(
        self,
        path: str | os.PathLike[str],
        agent: Any = None,
        *,
        cases: Sequence[str] = (),
        passthrough: Sequence[str] = (),
        args: Sequence[str] = (),
    ) -> list[Result]:
        """Runs the cases of a file or a folder side by side; see `rehearsal.testing.run_all`."""
        from rehearsal.testing.running import run_all

        return self._with(run_all)(path, agent, args, cases=cases, passthrough=passthrough)

    def _with(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: str | os.PathLike[str], agent: Any, args: Sequence[str], **more: Any) -> Any:
            settings = self._settings
            return function(
                self._folder / path, agent, args=[*settings.args, *args], binary=settings.binary, cwd=settings.root,
                **more,
            )  # fmt: skip

        return called


@pytest.fixture
def rehearse(request: pytest.FixtureRequest) -> Rehearse:
    """Runs scenarios: `rehearse.run("refund.scenario.yaml", agent=my_agent)` gives what the case came to."""
    return Rehearse(request.config.stash[_SETTINGS], request.path.parent)
