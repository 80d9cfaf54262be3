from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

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


@pytest.fixture
def database() -> Iterator[str]:
    """A database of its own on the PostgreSQL that the tests are given."""
    address = os.environ.get("REHEARSAL_TEST_POSTGRES", "")
    if not address:
        raise RuntimeError("REHEARSAL_TEST_POSTGRES has to name a PostgreSQL server; `cargo xtask test` starts one")
    name = f"tests_{uuid.uuid4().hex}"
    subprocess.run(["psql", address, "-qc", f"CREATE DATABASE {name}"], check=True)
    parts = urlsplit(address)
    # Of an address without a host, a socket's, `urlunsplit` would leave out the slashes.
    yield f"{parts.scheme}://{parts.netloc}/{name}?{parts.query}"
    subprocess.run(["psql", address, "-qc", f"DROP DATABASE {name} WITH (FORCE)"], check=True)
