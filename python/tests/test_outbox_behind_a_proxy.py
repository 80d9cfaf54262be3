"""What somebody between us and the server says is not the server's word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from google.adk.agents import Agent

from rehearsal import RehearsalError, RehearsalPlugin
from rehearsal.address import resolve_address
from rehearsal.client import Client
from rehearsal.errors import SetupError
from tests.hosting import running_call
from tests.stage import NEVER_CALLED, Conversation, Person, Server, call, eventually, final_text, kinds, playing


class Front:
    """A proxy that can be told to answer by itself."""

    def __init__(self, port: int) -> None:
        self.url = ""
        self.says: str | None = None
        self.asked = 0
        self._port = port
        self._open: list[asyncio.StreamWriter] = []

    def say(self, status: str | None) -> None:
        self.says = status
        for writer in self._open:
            writer.close()
        self._open.clear()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.says is not None:
            await reader.readuntil(b"\r\n\r\n")
            self.asked += 1
            kind, _, status = self.says.rpartition("|")
            body = '{"type":"about:blank"}' if kind else "<html>nothing here</html>"
            head = f"HTTP/1.1 {status}\r\ncontent-type: {kind or 'text/html'}\r\nconnection: close"
            writer.write(f"{head}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
            writer.close()
            return
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._port)
        self._open += [writer, to_server]
        await asyncio.gather(pass_on(reader, to_server), pass_on(from_server, writer))


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def front_of(server: Server) -> AsyncGenerator[Front, None]:
    front = Front(server.port)
    listening = await asyncio.start_server(front.take, "127.0.0.1", 0)
    front.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield front
    finally:
        front.say(None)
        listening.close()


@pytest.mark.parametrize(
    "status",
    [
        "404 Not Found", "403 Forbidden", "401 Unauthorized", "408 Request Timeout", "421 Misdirected Request",
        "425 Too Early", "429 Too Many Requests", "302 Found", "200 OK", "application/problem+json|409 Conflict",
    ],
)  # fmt: skip
def test_what_a_proxy_says_is_waited_out(
    server: Server, person: Person, status: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def slow() -> str:
            """Waits."""
            await gate.wait()
            return "ok"

        async with front_of(server) as front:
            plugin = RehearsalPlugin(front.url, token=server.token)

            async def play() -> None:
                session = (await person.answer(calls=[call("slow")]))["session"]
                await running_call(person, session)
                front.say(status)
                gate.set()

                async def asked() -> bool:
                    return front.asked > 1

                await eventually(asked, "request to the proxy")
                front.say(None)
                await person.answer(text="done")

            agent = Agent(name="waiter", model=NEVER_CALLED, tools=[slow])
            assert final_text(await playing(Conversation(agent, plugin).say("go"), play())) == "done"
            assert kinds(await person.history()) == ["user_query", "tool_call", "tool_output", "final_response"]
            said = f"{front.url} answered {status.rpartition('|')[2][:3]}"
            assert said in caplog.text

    asyncio.run(main())


def test_a_wrong_address_is_said(server: Server) -> None:
    async def main() -> None:
        async with front_of(server) as front:
            front.say("404 Not Found")
            client = Client(resolve_address(front.url, server.token))
            with pytest.raises(SetupError, match=f"{front.url} answered GET /v1/sessions with 404"):
                await asyncio.wait_for(client.send("GET", "/v1/sessions"), 10)
            agent = Agent(name="waiter", model=NEVER_CALLED)
            with pytest.raises(RuntimeError, match="404") as raised:
                await Conversation(agent, RehearsalPlugin(front.url, token=server.token)).say("hi")
            assert isinstance(raised.value.__cause__, RehearsalError)

    asyncio.run(main())
