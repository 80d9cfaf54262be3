"""Processes die, disks fill up, databases are locked: what was acknowledged is there, and agents finish."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.stage import ADK_2, DEADLINE, Json, Server

pytestmark = pytest.mark.skipif(not ADK_2, reason="about the server, which is the same for every ADK")

KILLS = 100
SESSIONS = 200
PROCESSES = 4
SEED = 20_261_116


class Agents:
    """Processes of waiting agents."""

    def __init__(self, count: int, processes: int, token: str, addresses: list[str]) -> None:
        self.lines: list[Json] = []
        command = [sys.executable, "-m", "tests.fault_agents", str(count // processes), *addresses]
        environment = {**os.environ, "REHEARSAL_TOKEN": token}
        self.processes = [
            subprocess.Popen(
                command, cwd=Path(__file__).parent.parent, env=environment, stdout=subprocess.PIPE, text=True
            )
            for _ in range(processes)
        ]
        self._readers = [threading.Thread(target=self._read, args=(each,), daemon=True) for each in self.processes]
        for reader in self._readers:
            reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(json.loads(line))

    def finish(self, seconds: float) -> None:
        """Waits for all agents to come to their ends."""
        end = time.monotonic() + seconds
        for process in self.processes:
            assert process.wait(timeout=max(end - time.monotonic(), 1)) == 0
        for reader in self._readers:
            reader.join()

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


class Answering:
    """Somebody who answers every cue there is: with a call while `goes_on` says so, then with a final text."""

    def __init__(self, server: Server, goes_on: Callable[[], bool]) -> None:
        self.server = server
        self.acknowledged: list[tuple[str, str]] = []
        self.failure: BaseException | None = None
        self._goes_on = goes_on
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with httpx.Client(trust_env=False, timeout=10.0) as client:
                while not self._stop.is_set():
                    self._round(client)
        except BaseException as failure:
            self.failure = failure

    def _round(self, client: httpx.Client) -> None:
        headers = {"authorization": f"Bearer {self.server.token}"}
        try:
            found = client.get(f"{self.server.url}/v1/cues", params={"limit": 1000}, headers=headers)
            found.raise_for_status()
        except httpx.TransportError:
            self._stop.wait(0.005)
            return
        heads = [cue for cue in found.json()["cues"] if cue["head"]]
        if not heads:
            self._stop.wait(0.02)
        for cue in heads:
            self._answer(client, cue, headers)

    def _answer(self, client: httpx.Client, cue: Json, headers: dict[str, str]) -> None:
        going = self._goes_on()
        answer = {"calls": [{"tool": "count", "args": {"n": cue["position"]}}]} if going else {"text": "enough"}
        key = f"{cue['id']}-{going}"
        while not self._stop.is_set():
            try:
                given = client.post(
                    f"{self.server.url}/v1/cues/{cue['id']}/answer",
                    json=answer,
                    headers={**headers, "idempotency-key": key},
                )
            except httpx.TransportError:
                self._stop.wait(0.005)
                continue
            assert given.status_code == 200, given.text
            self.acknowledged.append((cue["session"], given.json()["event_id"]))
            return

    def has(self, answers: int) -> bool:
        """Whether so many answers were acknowledged."""
        if self.failure is not None:
            raise self.failure
        return len(self.acknowledged) >= answers

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def finish(self) -> None:
        self.stop()
        if self.failure is not None:
            raise self.failure


def get(server: Server, path: str, **params: Any) -> Json:
    headers = {"authorization": f"Bearer {server.token}"}
    answer = httpx.get(f"{server.url}{path}", params=params, headers=headers, trust_env=False, timeout=30.0)
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    return told


def post(server: Server, path: str, body: Json) -> httpx.Response:
    headers = {"authorization": f"Bearer {server.token}"}
    return httpx.post(f"{server.url}{path}", json=body, headers=headers, trust_env=False, timeout=30.0)


def events_of(server: Server, session: str) -> list[Json]:
    events: list[Json] = []
    while True:
        page = get(server, f"/v1/sessions/{session}/events", after=len(events), limit=1000)
        events += page["events"]
        if len(events) == page["last_seq"]:
            return events


def sessions_of(server: Server) -> list[Json]:
    sessions: list[Json] = get(server, "/v1/sessions", page_size=1000)["sessions"]
    return sessions


def check_everything(server: Server, agents: Agents, answering: Answering, count: int) -> None:
    """Every acknowledged event is there exactly once, and every agent did exactly what it was told."""
    sessions = sessions_of(server)
    assert Counter(session["status"] for session in sessions) == {"completed": count}
    told = [line for line in agents.lines if "agent" in line]
    assert len(told) == count
    by_session: dict[str, Counter[str]] = {}
    counted: list[list[int]] = []
    for session in sessions:
        events = events_of(server, session["id"])
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        ids = Counter(event["event_id"] for event in events)
        assert max(ids.values()) == 1
        turns = Counter(event["turn"] for event in events if event["body"]["type"] == "model_request")
        answered = Counter(event["turn"] for event in events if event["body"]["type"] == "model_response")
        assert turns == answered
        assert max(turns.values()) == 1
        calls = [event["body"] for event in events if event["body"]["type"] == "tool_call"]
        results = [event["body"] for event in events if event["body"]["type"] == "tool_result"]
        assert [body["call"] for body in calls] == [body["call"] for body in results]
        assert [body["args"]["n"] for body in calls] == list(range(1, len(turns)))
        counted.append([body["args"]["n"] for body in calls])
        by_session[session["id"]] = ids + turns
    assert sorted(counted) == sorted(line["counted"] for line in told)
    assert {line["final"] for line in told} == {"enough"}
    acknowledged = [(line["session"], line["acknowledged"]) for line in agents.lines if "acknowledged" in line]
    for session, thing in [*acknowledged, *answering.acknowledged]:
        assert by_session[session][thing] == 1


def given_more_than(answering: Answering, answers: int) -> Callable[[], bool]:
    return lambda: answering.has(answers + 1)


def test_the_server_is_killed_a_hundred_times(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    server = Server(tmp_path)
    kills = 0
    agents = Agents(SESSIONS, PROCESSES, server.token, [server.url])
    answering: Answering | None = None
    try:
        wait_for(lambda: len(sessions_of(server)) == SESSIONS, "sessions of all agents")
        answering = Answering(server, lambda: kills < KILLS)
        while kills < KILLS:
            # Every other server dies wherever it has come to, even while it starts; the others had answers to lose.
            if kills % 2:
                wait_for(given_more_than(answering, len(answering.acknowledged) + 2), "answers")
            time.sleep(chance.uniform(0.0, 0.3))
            server.kill()
            server.start()
            kills += 1
        agents.finish(4 * DEADLINE)
        answering.finish()
        check_everything(server, agents, answering, SESSIONS)
        assert len(answering.acknowledged) > KILLS + SESSIONS
    finally:
        if answering is not None:
            answering.stop()
        agents.kill()
        server.kill()


def test_agents_that_die_are_missed_by_nobody(tmp_path: Path) -> None:
    server = Server(tmp_path, "--grace", "1")
    dying = Agents(3, 1, server.token, [server.url])
    living: Agents | None = None
    answering: Answering | None = None
    try:
        wait_for(lambda: len(get(server, "/v1/cues", status="open")["cues"]) == 3, "cues")
        dying.kill()
        wait_for(lambda: len(get(server, "/v1/cues", status="abandoned")["cues"]) == 3, "abandoned cues")
        living = Agents(3, 1, server.token, [server.url])
        answering = Answering(server, lambda: False)
        living.finish(DEADLINE)
        answering.finish()
        for cue in get(server, "/v1/cues", status="abandoned")["cues"]:
            assert post(server, f"/v1/cues/{cue['id']}/dismiss", {}).status_code == 200
        assert get(server, "/v1/cues")["cues"] == []
        assert Counter(each["status"] for each in sessions_of(server)) == {"completed": 3, "active": 3}
    finally:
        if answering is not None:
            answering.stop()
        if living is not None:
            living.kill()
        dying.kill()
        server.kill()


def test_another_server_takes_over(tmp_path: Path, database: str) -> None:
    count, token = 20, "a-token-for-both-servers"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    a = Server(tmp_path / "a", store=database, token=token)
    b = Server(tmp_path / "b", store=database, token=token)
    agents = Agents(count, 1, token, [a.url, b.url])
    answers_wanted = 3 * count
    answering: Answering | None = None
    try:
        wait_for(lambda: len(get(b, "/v1/cues")["cues"]) == count, "cues on the other server")
        # Agents wait at A and are answered at B; when A is gone they come to B.
        answering = Answering(b, lambda: answering is None or len(answering.acknowledged) < answers_wanted)
        given = answering
        wait_for(lambda: given.has(count + 1), "answers")
        a.kill()
        agents.finish(2 * DEADLINE)
        answering.finish()
        check_everything(b, agents, answering, count)
    finally:
        if answering is not None:
            answering.stop()
        agents.kill()
        a.kill()
        b.kill()


def wait_for(look: Callable[[], bool], what: str) -> None:
    """Looks until it is so. Python processes with the ADK take their time to start on a busy machine."""
    end = time.monotonic() + 3 * DEADLINE
    while not look():
        assert time.monotonic() < end, f"there were no {what}"
        time.sleep(0.05)


def submit(server: Server, session: str, size: int) -> tuple[str, httpx.Response]:
    turn = str(uuid.uuid4())
    said = {"role": "user", "parts": [{"text": "x" * size}]}
    headers = {"authorization": f"Bearer {server.token}"}
    answer = httpx.put(
        f"{server.url}/v1/sessions/{session}/turns/{turn}",
        json={"agent": "writer", "request": {"contents": [said]}},
        headers=headers,
        trust_env=False,
        timeout=60.0,
    )
    return turn, answer


def test_a_locked_database(tmp_path: Path) -> None:
    server = Server(tmp_path)
    try:
        session = post(server, "/v1/sessions", {"agent": "writer"}).json()["id"]
        kept, answer = submit(server, session, 10)
        assert answer.status_code == 201
        with sqlite3.connect(tmp_path / "store.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            _, answer = submit(server, session, 10)
            assert answer.status_code == 503
            assert answer.json()["type"] == "store_locked"
            assert "locked by another program" in answer.json()["detail"]
            # What only reads goes on.
            assert [cue["id"] for cue in get(server, "/v1/cues")["cues"]] == [kept]
            other.execute("ROLLBACK")
        again, answer = submit(server, session, 10)
        assert answer.status_code == 201
        assert [cue["id"] for cue in get(server, "/v1/cues")["cues"]] == [kept, again]
    finally:
        server.kill()


class SmallDisk(Server):
    """A server whose store is on a disk of four MiB, half of which can be freed."""

    SCRIPT = """
        mount -t tmpfs -o size=4m tmpfs "$1" || exit 9
        cd "$1" || exit 9
        dd if=/dev/zero of=ballast bs=1M count=2 2>/dev/null
        shift
        "$@" &
        trap 'rm -f ballast' USR1
        trap 'kill -9 $!' TERM
        while kill -0 $! 2>/dev/null; do wait $!; done
    """

    def start(self) -> None:
        token = "a-token-for-a-small-disk"
        self._token = token
        serve = [self.binary, "serve", "--port", "0", "--store", "store.db"]
        command = ["unshare", "--mount", "--map-root-user", "sh", "-c", self.SCRIPT, "sh", str(self.folder), *serve]
        environment = {**os.environ, "REHEARSAL_TOKEN": token}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        assert "http://127.0.0.1:" in first, f"the server did not start: {first!r}"
        self.port = int(first.split("http://127.0.0.1:")[1].split("/")[0])

    def free_space(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR1)

    def kill(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def test_a_full_disk(tmp_path: Path) -> None:
    server = SmallDisk(tmp_path)
    try:
        session = post(server, "/v1/sessions", {"agent": "writer"}).json()["id"]
        kept: list[str] = []
        turn, answer = submit(server, session, 64 * 1024)
        while answer.status_code == 201 and len(kept) < 200:
            kept.append(turn)
            turn, answer = submit(server, session, 64 * 1024)
        assert answer.status_code == 503, answer.text
        assert answer.json()["type"] == "disk_full"
        assert kept, "nothing fitted"

        def is_kept() -> bool:
            cues = get(server, "/v1/cues", limit=1000)["cues"]
            return [cue["id"] for cue in cues] == kept

        assert is_kept(), "what was acknowledged is there"
        server.free_space()
        written: list[httpx.Response] = []

        def fits() -> bool:
            turn, again = submit(server, session, 10)
            written.append(again)
            if again.status_code == 201:
                kept.append(turn)
            return again.status_code == 201

        wait_for(fits, "space")
        assert is_kept()
    finally:
        server.kill()
