"""Servers that go away, come back, or are somewhere else."""

from __future__ import annotations

import asyncio
import socket
import traceback
from pathlib import Path

import pytest
from google.adk.agents import Agent

from rehearsal import RehearsalError, RehearsalPlugin, ServerRefused
from rehearsal.address import Address, resolve_address
from rehearsal.client import Client
from rehearsal.outbox import Outbox
from tests.stage import NEVER_CALLED, Conversation, Person, Server, bodies, call, final_text, kinds, playing


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def calculator() -> Agent:
    return Agent(name="calculator", model=NEVER_CALLED, tools=[add])


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_server_that_is_killed_while_an_agent_waits(server: Server, person: Person) -> None:
    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token)

        async def play() -> None:
            await person.answer(calls=[call("add", a=1, b=1)])
            waiting = await person.cue()
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
            again = await person.answer(text="two")
            assert again["id"] == waiting["id"]

        events = await playing(Conversation(calculator(), plugin).say("1+1"), play())
        assert final_text(events) == "two"
        assert kinds(await person.history()) == ["user_query", "tool_call", "tool_output", "final_response"]

    asyncio.run(main())


def test_a_server_that_is_killed_while_a_tool_runs(server: Server, person: Person) -> None:
    """What happens while nobody listens is told in order, once, when somebody listens again."""

    async def main() -> None:
        dark = asyncio.Event()

        async def outage(word: str) -> str:
            """Goes on without the server."""
            await asyncio.to_thread(server.kill)
            dark.set()
            return word

        agent = Agent(name="survivor", model=NEVER_CALLED, tools=[outage])
        plugin = RehearsalPlugin(server.url, token=server.token)

        async def play() -> None:
            await person.answer(calls=[call("outage", word="dark")])
            await dark.wait()
            await asyncio.to_thread(server.start)
            await person.answer(text="light")

        events = await playing(Conversation(agent, plugin).say("go"), play())
        assert final_text(events) == "light"
        assert kinds(await person.history()) == ["user_query", "tool_call", "tool_output", "final_response"]

    asyncio.run(main())


def test_a_server_that_is_not_there_yet(server: Server, person: Person) -> None:
    async def main() -> None:
        plugin = RehearsalPlugin(server.url, token=server.token)
        await asyncio.to_thread(server.kill)
        run = asyncio.ensure_future(Conversation(calculator(), plugin).say("hi"))
        await asyncio.to_thread(server.start)
        assert final_text(await playing(run, person.answer(text="hello"))) == "hello"

    asyncio.run(main())


def test_several_addresses(server: Server, person: Person) -> None:
    async def main() -> None:
        nobody = f"http://127.0.0.1:{unused_port()}"
        plugin = RehearsalPlugin([nobody, server.url], token=server.token)
        events = await playing(Conversation(calculator(), plugin).say("hi"), person.answer(text="hello"))
        assert final_text(events) == "hello"

    asyncio.run(main())


def test_requests_that_fail_together_go_on_to_the_next_address_once(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        nobody = f"http://127.0.0.1:{unused_port()}"
        client = Client(resolve_address([nobody, server.url], server.token))
        await asyncio.gather(*(client.send("GET", "/v1/sessions") for _ in range(2)))
        assert client.url == server.url
        said = [record.getMessage() for record in caplog.records if "cannot reach" in record.getMessage()]
        assert said
        assert all(f"cannot reach {nobody}" in message for message in said)

    asyncio.run(main())


def test_the_address_and_the_token_from_the_surroundings(
    server: Server, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main(plugin: RehearsalPlugin) -> None:
        session_count = len(await person.sessions())
        events = await playing(Conversation(calculator(), plugin).say("hi"), person.answer(text="hello"))
        assert final_text(events) == "hello"
        assert len(await person.sessions()) == session_count + 1

    monkeypatch.setenv("REHEARSAL_SERVER", f"{server.url}/?token={server.token}")
    asyncio.run(main(RehearsalPlugin(name="built.by.Name")))

    monkeypatch.setenv("REHEARSAL_SERVER", server.url)
    below = server.folder / "some" / "folder"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    asyncio.run(main(RehearsalPlugin()))

    monkeypatch.setenv("REHEARSAL_TOKEN", server.token)
    monkeypatch.chdir(Path("/"))
    asyncio.run(main(RehearsalPlugin()))


def test_a_folder_s_token_is_not_sent_to_other_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / ".rehearsal"
    folder.mkdir()
    (folder / "token").write_text("the-token-of-this-folder")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REHEARSAL_TOKEN", raising=False)
    for url, sent in [("http://127.0.0.1:1", "the-token-of-this-folder"), ("http://rehearsal.test:1", None)]:
        assert Client(resolve_address(url, None)).token == sent
    assert Client(resolve_address("http://rehearsal.test:1", "given")).token == "given"


def test_a_wrong_token_is_said_clearly(server: Server) -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="REHEARSAL_TOKEN") as raised:
            await Conversation(calculator(), RehearsalPlugin(server.url, token="wrong")).say("hi")
        assert isinstance(raised.value.__cause__, RehearsalError)

    asyncio.run(main())


def test_which_token_is_wrong(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path("/"))

    def told(address: str, token: str | None = None) -> str:
        async def main() -> str:
            with pytest.raises(RehearsalError) as raised:
                await Client(resolve_address(address, token)).send("GET", "/v1/sessions")
            return str(raised.value)

        return asyncio.run(main())

    missing = told(server.url)
    assert missing.startswith(f"the Rehearsal server at {server.url} wants its token, and none was given")
    assert "REHEARSAL_TOKEN" in missing
    assert ".rehearsal/token" in missing

    monkeypatch.chdir(tmp_path)
    place = tmp_path / ".rehearsal" / "token"
    place.parent.mkdir()
    place.write_text("s3cret-of-a-file\n")
    by_file = told(server.url)
    assert by_file.startswith(f"the token in {place} is not that of the Rehearsal server at {server.url}")
    by_address = told(f"{server.url}?token=s3cret-of-an-address")
    assert by_address.startswith("the token in `?token=` of the address is not that of")
    monkeypatch.setenv("REHEARSAL_TOKEN", "s3cret-of-a-variable")
    by_variable = told(server.url)
    assert by_variable.startswith("the token in the environment variable REHEARSAL_TOKEN is not that of")
    by_argument = told(server.url, "s3cret-of-an-argument")
    assert by_argument.startswith("the token in the argument `token` is not that of")
    for each in (by_file, by_address, by_variable, by_argument):
        assert "s3cret" not in each
        assert ".rehearsal/token of the folder in which the server was started" in each


def test_what_is_refused_is_raised_and_does_not_hold_up_the_rest(server: Server, person: Person) -> None:
    async def main() -> None:
        client = Client(resolve_address(server.url, server.token))
        session = (await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"]
        outbox = Outbox(client, session)
        outbox.add(type="tool_result", agent="a", call_id="never-called", tool="t", duration_ms=1, output={})
        with pytest.raises(ServerRefused):
            await outbox.flush()
        outbox.add(type="user_message", agent="a", content={"role": "user", "parts": [{"text": "hi"}]})
        await outbox.flush()
        assert len(bodies(await person.events(session), "user_message")) == 1

    asyncio.run(main())


def test_what_is_refused_takes_nothing_else_with_it(server: Server, person: Person) -> None:
    async def main() -> None:
        client = Client(resolve_address(server.url, server.token))
        session = (await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"]
        outbox = Outbox(client, session)

        def say(text: str) -> None:
            outbox.add(type="user_message", agent="a", content={"role": "user", "parts": [{"text": text}]})

        say("before")
        outbox.add(type="tool_result", agent="a", call_id="never-called", tool="t", duration_ms=1, output={})
        outbox.add(type="tool_result", agent="a", call_id="nor-this-one", tool="t", duration_ms=1, output={})
        say("between")
        say("after")
        with pytest.raises(ServerRefused, match="never-called"):
            await outbox.flush()
        await outbox.flush()
        said = [body["content"]["parts"][0]["text"] for body in bodies(await person.events(session), "user_message")]
        assert said == ["before", "between", "after"]

    asyncio.run(main())


def test_a_token_with_a_line_end(server: Server, person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(plugin: RehearsalPlugin) -> None:
        events = await playing(Conversation(calculator(), plugin).say("hi"), person.answer(text="hello"))
        assert final_text(events) == "hello"

    asyncio.run(main(RehearsalPlugin(server.url, token=f"{server.token}\n")))
    monkeypatch.setenv("REHEARSAL_TOKEN", f" {server.token}\r\n")
    asyncio.run(main(RehearsalPlugin(server.url)))


def test_a_token_that_cannot_be_sent_is_not_shown(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    for token in ("s3\ncret", "s3ćret"):
        with pytest.raises(RehearsalError) as raised:
            RehearsalPlugin(server.url, token=token)
        assert "s3" not in str(raised.value)

    async def main() -> None:
        # As one that a token file would have to hold.
        client = Client(Address((server.url,), "s3\ncret"))
        with pytest.raises(RehearsalError) as raised:
            await asyncio.wait_for(client.send("GET", "/v1/sessions"), 10)
        assert "s3" not in "".join(traceback.format_exception(raised.value))

    asyncio.run(main())
    assert "s3" not in caplog.text


def test_observations_arrive_in_order_and_once_from_many_tasks(server: Server, person: Person) -> None:
    async def main() -> None:
        client = Client(resolve_address(server.url, server.token))
        session = (await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"]
        outbox = Outbox(client, session)

        async def speak_and_be_cancelled() -> None:
            await outbox.flush()

        for number in range(250):
            outbox.add(type="user_message", agent="a", content={"role": "user", "parts": [{"text": str(number)}]})
            if number % 10 == 0:
                task = asyncio.create_task(speak_and_be_cancelled())
                await asyncio.sleep(0)
                task.cancel()
        await asyncio.gather(*(outbox.flush() for _ in range(5)))
        said = [body["content"]["parts"][0]["text"] for body in bodies(await person.events(session), "user_message")]
        assert said == [str(number) for number in range(250)]

    asyncio.run(main())


def test_outboxes_are_shared_by_event_loops(server: Server, person: Person) -> None:
    async def opened() -> str:
        return str((await person.call("POST", "/v1/sessions", {"agent": "a"}))["id"])

    session = asyncio.run(opened())
    outbox = Outbox(Client(resolve_address(server.url, server.token)), session)

    def speak(name: str) -> None:
        async def main() -> None:
            for number in range(20):
                content = {"role": "user", "parts": [{"text": f"{name}{number}"}]}
                outbox.add(type="user_message", agent="a", content=content)
                await outbox.flush()

        asyncio.run(main())

    async def both() -> None:
        await asyncio.gather(*(asyncio.to_thread(speak, name) for name in "xyz"))
        said = [body["content"]["parts"][0]["text"] for body in bodies(await person.events(session), "user_message")]
        assert sorted(said) == sorted(f"{name}{number}" for name in "xyz" for number in range(20))
        for name in "xyz":
            mine = [int(text[1:]) for text in said if text.startswith(name)]
            assert mine == sorted(mine)

    asyncio.run(both())
