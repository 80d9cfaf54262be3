from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal import RehearsalPlugin
from tests.stage import Person, Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    running = Server(folder)
    yield running
    running.kill()


@pytest.fixture
def person(server: Server) -> Person:
    return Person(server)


@pytest.fixture
def plugin(server: Server) -> RehearsalPlugin:
    return RehearsalPlugin(server.url, token=server.token)


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that this machine happens to have set decides a test."""
    for name in ("REHEARSAL_SERVER", "REHEARSAL_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
