"""The agents of the browser tests: real ADK agents with real tools. Only their model is played by a person."""

from __future__ import annotations

import asyncio
import base64
import sys
import time
from typing import Any, Literal

from google.adk.agents import Agent
from google.adk.tools import FunctionTool, ToolContext
from google.genai import types
from pydantic import BaseModel, Field

from rehearsal import AgentSimulator, SimulatedAgentConfig

MODEL = "gemini-2.5-flash"


def add(a: int, b: int) -> int:
    """Adds two whole numbers.

    Args:
        a: The first number.
        b: The second number.
    """
    return a + b


def multiply(a: float, b: float) -> float:
    """Multiplies two numbers."""
    return a * b


def pay(amount: int) -> str:
    """Pays something, once somebody has confirmed it."""
    return f"paid {amount}"


def search(query: str, limit: int = 10, format: Literal["json", "xml"] = "json") -> dict[str, Any]:
    """Searches the catalogue of the library.

    Args:
        query: What to look for.
        limit: How many hits to give at most.
        format: How the hits are written.
    """
    titles = [f"{query.title()}, volume {n + 1}" for n in range(min(limit, 12))]
    return {"query": query, "limit": limit, "format": format, "hits": titles}


def convert(text: str, format: Literal["json", "xml"]) -> str:
    """Writes a text in another format."""
    return f'{{"text": "{text}"}}' if format == "json" else f"<text>{text}</text>"


def fetch_data(url: str) -> str:
    """Fetches something from elsewhere."""
    raise ConnectionError(f"cannot reach {url}")


async def wait_forever() -> str:
    """Never comes back by itself."""
    await asyncio.Event().wait()
    return "never"


def sleep(seconds: float) -> str:
    """Holds a thread up and then says so."""
    time.sleep(seconds)
    return f"slept for {seconds} s"


def big(megabytes: int) -> dict[str, Any]:
    """Gives a lot."""
    rows = [{"id": n, "text": f"row {n} " + "x" * 985} for n in range(megabytes * 1000)]
    return {"rows": rows, "last": "the very end"}


def page_source() -> dict[str, Any]:
    """Gives what an attacker would put into a page."""
    return {
        "html": "<script>document.title = 'owned'; window.owned = true</script>"
        "<img src=x onerror=\"window.owned = true\"><iframe src='https://evil.example/'></iframe>",
        "markdown": "![pixel](https://evil.example/pixel.png) [link](javascript:window.owned=true)",
    }


def page_text() -> str:
    """Gives the same as one text, which is laid out as Markdown."""
    return (
        "# A heading\n\n<script>window.owned = true</script>\n\n<img src=x onerror='window.owned = true'>\n\n"
        "![pixel](https://evil.example/pixel.png)\n\n[a link](javascript:window.owned=true)\n\n"
        "<svg onload='window.owned = true'></svg>\n\n<style>body { display: none }</style>\n"
    )


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="


def paint(colour: str, tool_context: ToolContext) -> dict[str, Any]:
    """Paints a picture and remembers its colour."""
    tool_context.state["colour"] = colour
    tool_context.state["user:pictures"] = tool_context.state.get("user:pictures", 0) + 1
    return {
        "content": [
            {"type": "image", "mimeType": "image/png", "data": PIXEL},
            {"type": "image", "mimeType": "image/svg+xml", "data": PIXEL},
            {"type": "audio", "mimeType": "audio/wav", "data": SILENCE},
#DELRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="},
        ],
        "link": "https://example.com/pictures/1",
        "trap": "javascript:window.owned=true",
        "remote": {"mimeType": "image/png", "data": "https://evil.example/pixel.png"},
    }


async def exhibit(title: str, tool_context: ToolContext) -> str:
    """Saves what it makes as artifacts."""
    kept = {
        "picture.png": types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png"),
        "sound.wav": types.Part.from_bytes(data=base64.b64decode(SILENCE), mime_type="audio/wav"),
        "user:notes.md": types.Part(text=f"# {title}"),
        "long.csv": types.Part.from_bytes(data=b"first\n" + b"row\n" * 50_000 + b"last", mime_type="text/csv"),
        "page.html": types.Part.from_bytes(data=b"<script>window.owned = true</script>", mime_type="text/html"),
        "data.bin": types.Part.from_bytes(data=bytes(300), mime_type="application/octet-stream"),
        "film.mp4": types.Part.from_bytes(data=bytes(2 << 20), mime_type="video/mp4"),
    }
    for name, part in kept.items():
        await tool_context.save_artifact(name, part)
    return "kept"


class Place(BaseModel):
    street: str = Field(description="Street and number")
    city: str


class Person(BaseModel):
    name: str
    age: int
    place: Place


class Parcel(BaseModel):
    """Three levels of objects, with lists of objects inside."""

    sender: Person
    receivers: list[Person]
    labels: dict[str, str] | None = None


def record(
    text: str,
    whole: int,
    real: float,
    yes: bool,
    colour: Literal["red", "green", "blue"],
    words: list[str],
    numbers: list[int],
    place: Place,
    note: str | None = None,
    loud: bool = False,
) -> dict[str, Any]:
    """Says exactly what arrived.

    Args:
        text: Any text.
        whole: A whole number.
        real: Any number.
        yes: Yes or no.
        colour: One of three.
        words: A list of texts.
        numbers: A list of whole numbers.
        place: An object.
        note: May be null.
        loud: Left alone, it is no.
    """
    arrived = {
        "text": text,
        "whole": whole,
        "real": real,
        "yes": yes,
        "colour": colour,
        "words": words,
        "numbers": numbers,
        "place": place.model_dump(),
        "note": note,
        "loud": loud,
    }
    return {"arrived": arrived, "types": {name: type(value).__name__ for name, value in arrived.items()}}


def move(start: Place, end: Place) -> str:
    """Moves something from one place to another."""
    return f"from {start.city} to {end.city}"


def sort(words: list[str]) -> list[str]:
    """Sorts words."""
    return sorted(words)


def keep(anything: Any, name: str) -> dict[str, Any]:
    """Keeps anything under a name."""
    return {name: anything}


def label(
    code: int | str,
    counts: dict[str, int],
    note: str | None = "as usual",
    target: Person | Place | None = None,
) -> dict[str, Any]:
    """Writes a label, and says exactly what arrived.

    Args:
        code: A number, or a text.
        counts: How many of what.
        note: May be null.
        target: Who or where.
    """
    seen = target.model_dump() if isinstance(target, BaseModel) else target
    return {"code": code, "counts": counts, "note": note, "target": seen}


def ship(parcel: Parcel) -> dict[str, Any]:
    """Ships a parcel, and says what is in it."""
    return {"shipped": parcel.model_dump(exclude_none=True)}


class Question(BaseModel):
    query: str
    max_results: int


class Answer(BaseModel):
    answer: str
    confidence: float = Field(ge=0, le=1, description="How sure you are, from 0 to 1")


CAST = [
    Agent(
        name="calculator",
        model=MODEL,
        description="Counts, slowly and surely",
        instruction=(
            "You are a careful calculator.\n\n"
            "Use **add** and **multiply** for every step. Never count in your head."
        ),
        tools=[add, multiply],
    ),
    Agent(
        name="librarian",
        model=MODEL,
        description="Finds books",
        instruction="You help people find books.",
        tools=[search, convert],
    ),
    Agent(
        name="researcher",
        model=MODEL,
        description="Asked and answered with forms",
        instruction="Answer with how sure you are.",
        input_schema=Question,
        output_schema=Answer,
    ),
    Agent(
        name="trouble",
        model=MODEL,
        description="Nothing goes as it should",
        instruction="Try your tools. Expect the worst.",
        tools=[fetch_data, wait_forever, sleep, big, page_source, page_text, add],
    ),
    Agent(
        name="clerk",
        model=MODEL,
        description="Fills in long forms",
        instruction="Fill in everything.",
        tools=[record, ship, move, sort, keep, label],
    ),
    Agent(
        name="payer",
        model=MODEL,
        description="Pays what somebody confirms",
        instruction="You pay.",
        tools=[FunctionTool(pay, require_confirmation=True)],
    ),
    Agent(
        name="painter",
        model=MODEL,
        description="Paints, and remembers",
        instruction="You paint.",
        tools=[paint, exhibit],
    ),
    Agent(name="poet", model=MODEL, description="Has no tools", instruction="You have no tools. Rhyme."),
]


def main() -> None:
    server, token = sys.argv[1:3]
    configs = [SimulatedAgentConfig(agent.name, agent, f"{agent.name}.evalset.json") for agent in CAST]
    AgentSimulator(configs, server=server, token=token).run()


if __name__ == "__main__":
    main()
