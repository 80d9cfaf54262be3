"""Classes that are worlds, as the program starts them and as people try them by hand."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.world import ToolFailed, World, WorldProblem, tool
from rehearsal.world.base import Occasion
from rehearsal.world.playing import Play

ROOT = Path(__file__).parent.parent

SHOP = '''\
import subprocess
import sys
from rehearsal.world import ToolFailed, World, tool

print("printed while it is imported")


class Shop(World):
    def __init__(self):
        self.orders = {"17": {"status": "paid"}, "18": {"status": "refunded"}}
        self._secret = object()

    def start(self):
        self.luck = self.random.randint(1, 10**6)

    @tool
    def refund(self, order: str, note: str = "") -> dict:
        """Pays an order back.

        Args:
            order: The number of the order.
        """
        print("refunding")
        subprocess.run(["echo", "a child"])
        if self.orders[order]["status"] == "refunded":
            raise ToolFailed("it was paid back before", type="REFUSED")
        self.orders[order]["status"] = "refunded"
        self.offer("send_parcels")
        self.log("paid back")
        return self.orders[order]

    @tool(by="user")
    async def look_outside(self) -> bool:
        """Looks whether the courier is there."""
        return False

    @tool(offered=False)
    def send_parcels(self) -> None:
        """Sends what is packed."""
        self.withdraw("send_parcels")

    @tool
    def leave(self) -> None:
        sys.exit(3)

    @tool
    def spoil(self, how: str) -> None:
        if how == "state":
            self.orders["17"]["due"] = object()
        if how == "read":
            input()
        if how == "same":
            self.orders["17"]["status"] = str("paid")
        if how == "half":
            raise ValueError("half \\ud800 a letter")

    @tool
    def about(self) -> list:
        return [self.seed, self.session, self.scenario, str(self.folder), self.row]


if __name__ == "__main__":
    Shop.serve()
'''

START: dict[str, Any] = {
    "type": "start", "version": 1, "session": "s-1", "scenario": "refund", "folder": "/tmp/r-1", "seed": 7,
}  # fmt: skip


class Process:
    """A world whose process runs."""

    def __init__(self, folder: Path, *command: str) -> None:
        self.folder = folder
        self.errors = (folder / "errors").open("w+")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=folder, env=environment(), stdin=pipe, stdout=pipe, stderr=self.errors
        )

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.told()
        return json.loads(line)

    def send(self, message: dict[str, Any]) -> Any:
        self.write(json.dumps(message).encode())
        return self.read()

    def call(self, name: str, **args: Any) -> dict[str, Any]:
        answer = self.send({"type": "call", "id": "1", "tool": name, "args": args, "by": "agent"})
        if answer["type"] == "result":
            assert answer.pop("id") == "1"
        return answer

    def state(self) -> Any:
        answer = self.send({"type": "state"})
        assert list(answer) == ["type", "state"]
        return answer["state"]

    def told(self) -> str:
        return (self.folder / "errors").read_text()

    def end(self, *, ask: bool = True) -> int:
        if ask:
            self.write(b'{"type":"end"}')
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.stdout.read() == b""
        self.process.stdout.close()
        self.errors.close()
        return self.process.wait(10)


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "TERM": "dumb"}


Started = Callable[..., Process]


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    there: list[Process] = []

    def start(text: str, *command: str) -> Process:
        (tmp_path / "shop.py").write_text(text)
        there.append(Process(tmp_path, *(command or ("-m", "rehearsal.world", "shop.py"))))
        return there[-1]

    yield start
    for each in there:
        if each.process.poll() is None:
            each.process.kill()
            each.process.wait()
        for stream in (each.process.stdin, each.process.stdout, each.errors):
            if stream is not None and not stream.closed:
                stream.close()


def by_hand(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rehearsal.world", *arguments],
        cwd=folder, env={**environment(), "PYTHONIOENCODING": "utf-8"}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def schema(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


@pytest.mark.parametrize(
    "command",
    [("shop.py",), ("-m", "rehearsal.world", "shop:Shop"), ("-m", "rehearsal.world", "shop"),
     ("-m", "rehearsal.world", "shop.py"), ("-m", "rehearsal.world", "./shop.py:Shop")],
)  # fmt: skip
def test_a_world_to_its_end(started: Started, command: tuple[str, ...]) -> None:
    shop = started(SHOP, *command)
    listed = shop.send(START)
    assert list(listed) == ["type", "tools"]
    order = schema("string", description="The number of the order.")
    refund = {
        "name": "refund",
        "description": "Pays an order back.",
        "parameters": {
            "type": "object",
            "properties": {"order": order, "note": schema("string", default="")},
            "required": ["order"],
            "additionalProperties": False,
        },
        "output": {"type": "object"},
    }
    nothing: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    look: dict[str, Any] = {
        "name": "look_outside", "description": "Looks whether the courier is there.", "parameters": nothing,
        "output": {"type": "boolean"}, "by": "user",
    }  # fmt: skip
    assert listed["tools"][:2] == [refund, look]
    assert [each["name"] for each in listed["tools"]] == ["refund", "look_outside", "leave", "spoil", "about"]
    state = shop.state()
    assert state["orders"] == {"17": {"status": "paid"}, "18": {"status": "refunded"}}
    assert list(state) == ["orders", "luck"]

    shop.write(b'{"type":"call","id":"1","tool":"refund","args":{"order":"17"},"by":"agent","later":"versions"}')
    assert shop.read() == {"type": "log", "text": "paid back"}
    answer = shop.read()
    assert answer["id"] == "1"
    assert answer["output"] == {"status": "refunded"}
    assert answer["state"] == {**state, "orders": {"17": {"status": "refunded"}, "18": {"status": "refunded"}}}
    assert [each["name"] for each in answer["tools"]] == [
        "refund", "look_outside", "send_parcels", "leave", "spoil", "about",
    ]  # fmt: skip
    # What did not change is not sent again.
    refused = {"type": "REFUSED", "message": "it was paid back before"}
    assert shop.call("refund", order="17") == {"type": "result", "error": refused}
    assert shop.call("look_outside") == {"type": "result", "output": False}
    sent = shop.call("send_parcels")
    assert [*sent] == ["type", "output", "tools"]
    assert sent["output"] is None
    gone = shop.call("send_parcels")["error"]
    assert gone["type"] == "UnknownTool"
    assert gone["message"].startswith("`send_parcels` is not offered now; there are: `refund`, ")
    assert shop.end() == 0
    told = shop.told()
    assert "printed while it is imported" in told
    assert "refunding\n" in told
    assert "a child\n" in told


def test_what_a_tool_raises(started: Started) -> None:
    shop = started(SHOP)
    shop.send(START)
    missing = {"type": "KeyError", "message": "not found: '99'"}
    assert shop.call("refund", order="99") == {"type": "result", "error": missing}
    assert shop.call("leave")["error"] == {"type": "SystemExit", "message": "3"}
    assert shop.call("spoil", how="read")["error"]["type"] == "EOFError"
    assert shop.call("spoil", how="half")["error"]["message"] == "half ? a letter"
    assert shop.call("spoil", how="same") == {"type": "result", "output": None}
    unknown = shop.call("refnud")["error"]
    assert unknown == {"type": "UnknownTool", "message": "there is no tool `refnud`; did you mean `refund`?"}
    assert shop.call("refund", order=17)["error"] == {
        "type": "InvalidArguments", "message": "order: text expected, 17 given",
    }  # fmt: skip
    assert shop.call("refund")["error"]["message"] == "`refund` needs `order`"
    assert "did you mean `order`?" in shop.call("refund", oder="17")["error"]["message"]
    assert "KeyError: '99'" in shop.told()
    assert shop.end(ask=False) == 0


def test_what_it_is_played_for(started: Started) -> None:
    shop = started(SHOP)
    shop.send({**START, "seed": 2**64 - 1, "row": {"order": 17}, "later": 1})
    about = [2**64 - 1, "s-1", "refund", "/tmp/r-1", {"order": 17}]
    assert shop.call("about") == {"type": "result", "output": about}
    luck = shop.state()["luck"]
    assert shop.end() == 0
    again = started(SHOP)
    again.send({**START, "seed": 2**64 - 1})
    assert again.state()["luck"] == luck
    assert again.call("about")["output"][-1] is None
    assert again.end() == 0
    other = started(SHOP)
    other.send({**START, "scenario": None})
    assert other.state()["luck"] != luck
    assert other.call("about")["output"][2] is None
    assert other.end() == 0


def test_types_that_are_unknown_are_skipped(started: Started) -> None:
    shop = started(SHOP)
    shop.write(b'{"type":"weather"}')
    assert shop.send(START)["type"] == "tools"
    shop.write(b'{"type":"weather"}')
    assert shop.state()["orders"]
    assert shop.end() == 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["nonsense"], "the line 'nonsense' is no message"),
        (["[]"], "an object with a `type` expected"),
        (['{"type":"start","seed":NaN}'], "NaN is no number of JSON"),
        (['{"type":"state"}'], "`state` came before `start`"),
        (['{"type":"call","id":"1","tool":"refund"}'], "`call` came before `start`"),
        (['{"type":"start","version":2}'], "the protocol's version 2 is spoken, and this is a world of version 1"),
        (['{"type":"start","seed":"x"}'], 'the seed of `start` is "x"'),
        (['{"type":"start","row":[]}'], "the row of `start` is []"),
        (['{"type":"start"}', '{"type":"start"}'], "a second `start` came"),
        (['{"type":"start"}', '{"type":"call","tool":"refund"}'], "a `call` came without its `id` or `tool`"),
        (['{"type":"start"}', '{"type":"call","id":"1","tool":"spoil","args":{"how":"state"}}'],
         "`self.orders.17.due` is of the class `object`, which JSON does not have\n\nhint: call it `self._orders`"),
    ],
)  # fmt: skip
def test_what_ends_a_world(started: Started, lines: list[str], said: str) -> None:
    shop = started(SHOP)
    for line in lines[:-1]:
        shop.write(line.encode())
        assert shop.read()["type"] == "tools"
    shop.write(lines[-1].encode())
    answer = shop.read()
    assert answer["type"] == "error"
    assert said in answer["message"]
    assert "\n\nhint: " in answer["message"]
    assert shop.end(ask=False) == 1
    assert said in shop.told()


def test_an_error_in_start(started: Started) -> None:
    text = SHOP.replace("self.luck = ", "self.luck = self.orders['x'] or ")
    line = text[: text.index("self.orders['x']")].count("\n") + 1
    shop = started(text)
    answer = shop.send(START)
    said = f"Shop.start raised KeyError: not found: 'x' (shop.py:{line})"
    assert answer == {"type": "error", "message": f"{said}\n\nhint: the whole traceback stands on standard error"}
    assert shop.end(ask=False) == 1
    assert "Traceback" in shop.told()


def test_the_line_of_an_error_is_the_authors_own(started: Started) -> None:
    shop = started(SHOP.replace("self.luck = ", "__import__('json').loads('x')  # "))
    line = SHOP[: SHOP.index("self.luck = ")].count("\n") + 1
    assert f"JSONDecodeError: Expecting value: line 1 column 1 (char 0) (shop.py:{line})" in shop.send(START)["message"]
    assert shop.end(ask=False) == 1


def test_nobody_is_there_any_more(started: Started) -> None:
    shop = started(SHOP)
    assert shop.process.stdout is not None
    shop.process.stdout.close()
    shop.write(json.dumps(START).encode())
    assert shop.process.wait(10) == 1
    assert "Traceback" not in shop.told()


HINTS = '''\
from __future__ import annotations
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum, IntEnum
from typing import Annotated, Any, Dict, List, Literal, NewType, Optional, Tuple, TypedDict, Union
from typing_extensions import NotRequired
from rehearsal.world import World, tool

Number = NewType("Number", str)

class Status(Enum):
    PAID = "paid"
    LOST = "lost"

class Level(IntEnum):
    LOW = 1
    HIGH = 2

@dataclass
class Item:
    """A thing.

    Attributes:
        name: What it is called.
    """
    name: str
    count: int = 1
    parts: list[Item] = field(default_factory=list)
    status: Status = Status.PAID

class Address(TypedDict):
    street: str
    note: NotRequired[str]

class Hints(World):
    @tool
    def take(self, value: HINT) -> Any:
        self.kind = repr(value)
        return value
'''

ITEM = {
    "type": "object",
    "properties": {
        "name": schema("string", description="What it is called."),
        "count": schema("integer", default=1),
        "parts": schema("array", items={"$ref": "#/$defs/Item"}),
        "status": schema("string", enum=["paid", "lost"], default="paid"),
    },
    "required": ["name"],
    "additionalProperties": False,
    "description": "A thing.",
}
ADDRESS = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "note": {"type": "string"}},
    "required": ["street"],
    "additionalProperties": False,
}
STRINGS = schema("array", items={"type": "string"})
MAYBE = {"anyOf": [{"type": "integer"}, {"type": "null"}]}


HINTED: list[tuple[str, dict[str, Any], list[tuple[Any, str]], list[Any]]] = [
    ("str", schema("string"), [("x", "'x'")], [1, None]),
    ("int", schema("integer"), [(3, "3"), (3.0, "3"), (10**30, f"1{'0' * 30}")], [True, 1.5, "1"]),
    ("float", schema("number"), [(3, "3"), (0.5, "0.5")], [True, "1"]),
    ("bool", schema("boolean"), [(True, "True")], [1, "true"]),
    ("None", schema("null"), [(None, "None")], [0]),
    ("Any", {}, [({"a": [1]}, "{'a': [1]}")], []),
    ("list", schema("array"), [([1, "a"], "[1, 'a']")], [{}]),
    ("list[str]", STRINGS, [(["a"], "['a']")], [[1], "a"]),
    ("List[str]", STRINGS, [(["a"], "['a']")], [[1]]),
    ("List", schema("array"), [([1], "[1]")], [{}]),
    ("tuple[str, int]",
     schema("array", minItems=2, maxItems=2, prefixItems=[{"type": "string"}, {"type": "integer"}]),
     [(["a", 1], "('a', 1)")], [["a"], ["a", "b"]]),
    ("tuple[int, ...]", schema("array", items={"type": "integer"}), [([1, 2], "(1, 2)")], [["a"]]),
    ("Tuple", schema("array"), [([1], "(1,)")], [{}]),
    ("set[str]", {**STRINGS, "uniqueItems": True}, [(["a"], "{'a'}")], [["a", 1]]),
    ("set", schema("array", uniqueItems=True), [([1], "{1}")], [[{}]]),
    ("dict", schema("object"), [({"a": 1}, "{'a': 1}")], [[]]),
    ("dict[str, int]", schema("object", additionalProperties={"type": "integer"}),
     [({"a": 1}, "{'a': 1}")], [{"a": "b"}]),
    ("Dict[str, Any]", schema("object"), [({"a": 1}, "{'a': 1}")], []),
    ("dict[Status, int]",
     schema("object", propertyNames=schema("string", enum=["paid", "lost"]),
            additionalProperties={"type": "integer"}),
     [({"paid": 1}, "{<Status.PAID: 'paid'>: 1}")], [{"x": 1}]),
    ("Optional[int]", MAYBE, [(None, "None"), (1, "1")], ["a"]),
    ("int | None", MAYBE, [(None, "None"), (1, "1")], ["a"]),
    ("Union[int, str]", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, [(1, "1"), ("1", "'1'")], [[]]),
    ("date | str", {"anyOf": [schema("string", format="date"), {"type": "string"}]},
     [("2026-01-31", "datetime.date(2026, 1, 31)"), ("soon", "'soon'")], [1]),
    ("Literal['a', 1, None]", {"enum": ["a", 1, None]}, [("a", "'a'"), (1, "1"), (None, "None")], [True, "b"]),
    ("Literal['a', 'b']", schema("string", enum=["a", "b"]), [("b", "'b'")], ["c"]),
    ("Status", schema("string", enum=["paid", "lost"]), [("paid", "<Status.PAID: 'paid'>")], ["PAID"]),
    ("Level", schema("integer", enum=[1, 2]), [(2, "<Level.HIGH: 2>")], [3, True]),
    ("Annotated[str, 'A text.']", schema("string", description="A text."), [("x", "'x'")], [1]),
    ("Number", schema("string"), [("x", "'x'")], [1]),
    ("date", schema("string", format="date"), [("2026-01-31", "datetime.date(2026, 1, 31)")], ["soon", 1]),
    ("datetime", schema("string", format="date-time"),
     [("2026-01-31T12:00:00Z", "datetime.datetime(2026, 1, 31, 12, 0, tzinfo=datetime.timezone.utc)")],
     ["soon", 1]),
    ("Address", ADDRESS, [({"street": "x"}, "{'street': 'x'}")], [{}, {"street": "x", "no": 1}]),
    ("Item", {"$ref": "#/$defs/Item"},
     [({"name": "a", "parts": [{"name": "b", "count": 2}]},
       "Item(name='a', count=1, parts=[Item(name='b', count=2, parts=[], status=<Status.PAID: 'paid'>)], "
       "status=<Status.PAID: 'paid'>)")],
     [{}, {"name": "a", "parts": [{}]}]),
]  # fmt: skip


@pytest.mark.parametrize(("hint", "expected", "good", "bad"), HINTED)
def test_hints(
    tmp_path: Path, hint: str, expected: dict[str, Any], good: list[tuple[Any, str]], bad: list[Any]
) -> None:
    played = Play(world_of(tmp_path, HINTS.replace("HINT", hint)), Occasion())
    parameters = played.listed()[0]["parameters"]
    if hint == "Item":
        assert parameters["$defs"] == {"Item": ITEM}
    assert parameters["properties"]["value"] == expected
    assert "output" not in played.listed()[0]
    for value, kind in good:
        answer = played.call("take", {"value": value})
        assert answer.error is None
        assert played.state() == {"kind": kind}
        if hint not in ("Item", "datetime"):
            assert answer.output == value
    for value in bad:
        answer = played.call("take", {"value": value})
        assert answer.error is not None
        assert answer.error["type"] == "InvalidArguments"
        assert answer.error["message"].startswith("value")


def world_of(folder: Path, text: str) -> type[World]:
    """Gives the world of a file, under a name that no other test has."""
    from rehearsal.world.finding import find

    file = folder / f"w{abs(hash((text, str(folder))))}.py"
    file.write_text(textwrap.dedent(text))
    try:
        return find(str(file))
    finally:
        sys.path.remove(str(folder))


def test_what_tools_give(tmp_path: Path) -> None:
    text = HINTS.replace("HINT", "int").replace(
        "-> Any:\n        self.kind", "-> Item:\n        return Item('a', parts=[Item('b')])\n        self.kind"
    )
    played = Play(world_of(tmp_path, text), Occasion())
    output = played.listed()[0]["output"]
    assert output["$ref"] == "#/$defs/Item"
    # It is made by the world, so all of it is there.
    assert output["$defs"]["Item"]["required"] == ["name", "count", "parts", "status"]
    inner: dict[str, Any] = {"name": "b", "count": 1, "parts": [], "status": "paid"}
    assert played.call("take", {"value": 1}).output == {"name": "a", "count": 1, "parts": [inner], "status": "paid"}


def test_pydantic(tmp_path: Path) -> None:
    pytest.importorskip("pydantic")
    played = Play(
        world_of(
            tmp_path,
            """\
            from pydantic import BaseModel, Field
            from rehearsal.world import World, tool

            class Line(BaseModel):
                count: int = Field(gt=0, alias="howMany")

            class Order(BaseModel):
                lines: list[Line]

            class Shop(World):
                def __init__(self):
                    self.order = None

                @tool
                def take(self, order: Order) -> Order:
                    self.order = order
                    return order
            """,
        ),
        Occasion(),
    )
    listed = played.listed()[0]
    assert listed["parameters"]["$defs"]["Line"]["properties"]["howMany"]["exclusiveMinimum"] == 0
    assert listed["parameters"]["properties"]["order"]["properties"]["lines"]["items"] == {"$ref": "#/$defs/Line"}
    assert set(listed["output"]["$defs"]) == {"Line"}
    order = {"lines": [{"howMany": 2}]}
    answer = played.call("take", {"order": order})
    assert answer.output == order
    assert answer.changed == {"state": {"order": order}}
    wrong = played.call("take", {"order": {"lines": [{"howMany": 0}]}}).error
    assert wrong is not None
    assert wrong["type"] == "InvalidArguments"
    assert "greater than 0" in wrong["message"]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("def t(self, a): ...", "Shop.t: the parameter `a` has no type hint\n\nhint: write one, such as `a: str`"),
        ("def t(self, *a: str): ...", "Shop.t: `*a` is of no form that a schema could have"),
        ("def t(self, **a: str): ...", "Shop.t: `**a` is of no form"),
        ("def t(self, a: str, /): ...", "Shop.t: `a` has no name for callers"),
        ("def t(): ...", "Shop.t has no `self`"),
        ("def t(self, a: bytes): ...", "Shop.t, parameter `a`: the type `bytes` is nothing that JSON could say\n\n"
         "hint: write str, int"),
        ("def t(self, a: list[complex]): ...", "Shop.t, parameter `a`: the type `complex`"),
        ("def t(self) -> bytes: ...", "Shop.t, what it returns: the type `bytes`"),
        ("def t(self, a: dict[int, str]): ...", "`int` cannot be the key of a dictionary in JSON"),
        ("def t(self, a: 'Missing'): ...", "Shop.t: a type hint of the parameter `a` cannot be read: name 'Missing'"),
        ("def t(self, a: str):\n        '''T.\n\n        Args:\n            aa: x\n        '''",
         "Shop.t: its docstring describes `aa`, which is no parameter\n\nhint: did you mean `a`?"),
        ("def state(self): ...", "Shop.state is a tool, and of a World this is the method that gives the state\n\n"
         'hint: call the method otherwise: @tool(name="state") before `def state_(self, …)`'),
        ("def t(self): ...\n    seed = 3", "Shop.seed is the case's seed of a World\n\nhint: give yours another name"),
        ("def t(self): ...\n    state = {}", "Shop.state is the method that gives the state of a World"),
        ("def t(self): ...\n    @tool(name='t')\n    def u(self): ...", "Shop has two tools called `t`: `t` and `u`"),
        ("def t(self): ...\n    def __init__(self, a): ...", "Shop.__init__ raised TypeError: "),
        ("def t(self): ...\n    def __init__(self):\n        self.row = 1", "`self.row` of a World is the row that the "
         "case was made of, and cannot be set; give your attribute another name (shop.py:6)"),
        ("start: self.offer('tt')", "Shop.start raised ValueError: self.offer('tt'): did "
         "you mean `t`? (shop.py:6)"),
        ("start: self.db = object()", "the state of Shop cannot be shown: `self.db` "
         "is of the class `object`, which JSON does not have\n\nhint: call it `self._db`, and it is no part of the "
         "state; or define `state()`"),
        ("start: self.x = [float('nan')]", "`self.x[0]` is nan, a number that JSON"),
        ("start: self.x = {1: 2, '1': 3}", "`self.x` has two keys that are both '1'"),
        ("start: self.x = []; self.x.append(self.x)", "contains itself"),
        ("start: self.x = []\n        for _ in range(5000): self.x = [self.x]", "…` is nested deeper than 100"),
        ("start: self.x = {(1, 2): 3}", "`self.x` has the key (1, 2) of the class"),
        ("start: self.x = chr(0xd800)", "half a character"),
        ("def t(self): ...\n    def state(self): return []", "Shop.state gave a value of the class `list`"),
        ("def t(self): ...\n    def state(self): return {'a': object()}", "Shop.state: the state.a is of the class"),
    ],
)  # fmt: skip
def test_worlds_that_cannot_be_played(started: Started, method: str, said: str) -> None:
    if method.startswith("start: "):
        method = f"def t(self): ...\n    def start(self):\n        {method.removeprefix('start: ')}"
    text = f"from rehearsal.world import World, tool\nclass Shop(World):\n    @tool\n    {method}\n"
    shop = started(text)
    answer = shop.send(START)
    assert answer["type"] == "error"
    assert said in answer["message"]
    assert "\n\nhint: " in answer["message"]
    assert shop.end(ask=False) == 1


def test_decorators_that_are_wrong() -> None:
    with pytest.raises(ValueError, match='by="user"'):
        tool(by="usr")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="directly before a `def`"):
        tool(staticmethod(len))


def test_a_world_without_tools(started: Started) -> None:
    shop = started("from rehearsal.world import World\nclass Shop(World): ...\n")
    assert shop.send(START)["message"].startswith("Shop has no tools\n\nhint: write @tool before")
    assert shop.end(ask=False) == 1


def test_states(tmp_path: Path) -> None:
    played = Play(
        world_of(
            tmp_path,
            """\
            from dataclasses import dataclass
            from datetime import date
            from enum import Enum
            from typing import ClassVar
            from rehearsal.world import World, tool

            class Color(Enum):
                RED = "red"

            @dataclass
            class Point:
                x: int
                plane: ClassVar[str] = "p"

            class Shop(World):
                unseen = "of the class"

                def __init__(self):
                    self.sets = {"s": {"b", "a"}, "n": frozenset({10, 9}), "mixed": {1, "a"}}
                    self.things = (Point(1), Color.RED, date(2026, 1, 31), 10**30, None)
                    self.keys = {7: 1, Color.RED: 2, date(2026, 1, 31): 3}
                    self.flag = 1
                    self._private = object()

                @tool
                def flip(self) -> None:
                    self.flag = True

                @tool
                def flop(self) -> None:
                    self.flag = 1.0
            """,
        ),
        Occasion(),
    )
    state = {
        "sets": {"s": ["a", "b"], "n": [9, 10], "mixed": ["a", 1]},
        "things": [{"x": 1}, "red", "2026-01-31", 10**30, None],
        "keys": {"7": 1, "red": 2, "2026-01-31": 3},
        "flag": 1,
    }
    assert played.state() == state
    # 1, True and 1.0 are the same for Python, and not for JSON.
    assert played.call("flip", {}).changed["state"]["flag"] is True
    assert isinstance(played.call("flop", {}).changed["state"]["flag"], float)
    assert played.call("flop", {}).changed == {}


def test_a_state_of_ones_own() -> None:
    class Shop(World):
        def __init__(self) -> None:
            self.db = object()
            self.shown: dict[str, Any] | None = {"a": 1}

        def state(self) -> dict[str, Any] | None:
            return self.shown

        @tool
        def hide(self) -> None:
            self.shown = None

    played = Play(Shop, Occasion())
    assert played.state() == {"a": 1}
    assert played.call("hide", {}).changed == {"state": {}}
    assert played.state() is None


def test_an_output_that_json_does_not_have() -> None:
    class Shop(World):
        @tool
        def give(self) -> Any:
            return {"a": [object()]}

    with pytest.raises(WorldProblem, match=r"Shop.give: its output.a\[0\] is of the class `object`"):
        Play(Shop, Occasion()).call("give", {})


def test_worlds_made_of_others() -> None:
    class Base(World):
        @tool(by="user")
        def first(self, a: str) -> str:
            """First."""
            return a

        @tool
        def second(self) -> int:
            return 2

        @tool
        def third(self) -> int:
            return 3

    class Shop(Base):
        third = None  # type: ignore[assignment]

        def first(self, a: str, b: int = 2) -> str:
            """First, otherwise."""
            return a * b

        @tool(name="fourth.one")
        def fourth(self) -> int:
            return 4

    played = Play(Shop, Occasion())
    assert played.offered() == ["first", "second", "fourth.one"]
    first = played.listed()[0]
    assert first["by"] == "user"
    assert first["description"] == "First, otherwise."
    assert played.call("first", {"a": "x", "b": 3}).output == "xxx"
    assert played.call("fourth.one", {}).output == 4
    assert Shop().first("x") == "xx"


def test_a_world_in_a_test_of_its_own() -> None:
    class Shop(World):
        def __init__(self) -> None:
            self.orders = {"17": "paid"}

        @tool
        def refund(self, order: str) -> int:
            if order not in self.orders:
                raise ToolFailed("there is no such order", type="NOT_FOUND")
            self.orders[order] = "refunded"
            return self.random.randint(1, 6)

    shop = Shop()
    assert shop.refund("17") in range(1, 7)
    assert shop.state() == {"orders": {"17": "refunded"}}
    assert (shop.seed, shop.folder, shop.row, shop.scenario, shop.session) == (0, None, None, None, None)
    with pytest.raises(ToolFailed, match="no such order") as raised:
        shop.refund("18")
    assert raised.value.type == "NOT_FOUND"
    with pytest.raises(AttributeError, match="cannot be set"):
        shop.seed = 3  # type: ignore[misc]


def test_docstrings(tmp_path: Path) -> None:
    played = Play(
        world_of(
            tmp_path,
            '''\
            from rehearsal.world import World, tool

            class Shop(World):
                @tool
                def refund(self, order: str, note: str = "", *, fast: bool = False) -> None:
                    """Pays an order
                    back.

                    Only once: a second time is refused.

                    Arguments:
                        order (str): The number
                            of the order: all of it.
                        note: Why.

                    Returns:
                        nothing: really.
                    """
            ''',
        ),
        Occasion(),
    )
    listed = played.listed()[0]
    assert listed["description"] == "Pays an order back.\n\nOnly once: a second time is refused."
    properties = listed["parameters"]["properties"]
    assert properties["order"]["description"] == "The number of the order: all of it."
    assert properties["note"] == {"type": "string", "description": "Why.", "default": ""}
    assert properties["fast"] == {"type": "boolean", "default": False}


def test_async_methods_share_a_loop(started: Started) -> None:
    shop = started(
        textwrap.dedent(
            """\
            import asyncio
            from rehearsal.world import World, tool

            class Shop(World):
                async def start(self):
                    self._queue = asyncio.Queue()
                    self._never = asyncio.ensure_future(asyncio.sleep(10**6))
                    await self._queue.put("first")

                @tool
                async def take(self) -> str:
                    return await self._queue.get()
            """
        )
    )
    shop.send(START)
    assert shop.call("take")["output"] == "first"
    assert shop.end() == 0
    assert "destroyed" not in shop.told()


def test_tools_by_hand(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    done = by_hand(tmp_path, "shop:Shop", "--tools")
    assert done.returncode == 0
    assert done.stdout.startswith("refund\n  Pays an order back.\n  parameters: {")
    assert "\nlook_outside (the user's)\n  Looks whether" in done.stdout
    assert "\nsend_parcels (not offered now)\n" in done.stdout
    assert 'output: {"type": "boolean"}' in done.stdout


def test_calls_by_hand(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    calls = ["--call", 'refund {"order": "17"}', "--call", "look_outside"]
    done = by_hand(tmp_path, "shop.py", *calls)
    assert done.returncode == 0
    assert done.stdout == textwrap.dedent(
        """\
        > refund {"order": "17"}
        {"status": "refunded"}
        state orders.17.status: "paid" → "refunded"
        tools now: refund, look_outside, send_parcels, leave, spoil, about
        > look_outside
        false
        """
    )
    assert "refunding" in done.stderr
    failed = by_hand(tmp_path, "shop.py", "--call", "refund order=18 note='two words'")
    assert failed.returncode == 1
    assert "error REFUSED: it was paid back before" in failed.stdout
    about = by_hand(tmp_path, "shop.py", "--seed", "9", "--row", '{"a": 1}', "--call", "about")
    assert '[9, null, null, "None", {"a": 1}]' in about.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shop.py", "--call", "refnud"], "there is no tool `refnud`; did you mean `refund`?"),
        (["shop.py", "--call", "send_parcels"], "`send_parcels` is not offered now; there are: `refund`"),
        (["shop.py", "--call", "refund 17"], "`17` has no name; write NAME=VALUE, such as order=17"),
        (["shop.py", "--call", "refund {order}"], "is no JSON"),
        (["shop.py", "--call", "refund order=1 order=2"], "`order` is given twice"),
        (["shop.py", "--call", "refund note='"], "cannot be read"),
        (["shop.py:Shpo", "--tools"], "`shop.py` has no `Shpo`\n\nhint: did you mean `Shop`?"),
        (["shpo.py", "--tools"], "`shpo.py` is not there\n\nhint: did you mean `shop.py`?"),
        (["shpo:Shop", "--tools"], "there is no module `shpo`\n\nhint: did you mean `shop`?"),
        (["shop:subprocess", "--tools"], "`shop:subprocess` is no world"),
        (["two.py", "--tools"], "`two.py` has several worlds: `A` and `B`\n\nhint: name one: two.py:A"),
        (["none.py", "--tools"], "`none.py` has no world"),
        (
            ["broken.py", "--tools"],
            "`broken.py` could not be imported: ZeroDivisionError: division by zero (broken.py:1)",
        ),
        (["broken", "--tools"], "`broken` could not be imported: ZeroDivisionError"),
        ([":Shop", "--tools"], "names no module"),
        (["shop.py", "--seed", "-1"], "-1 is no seed"),
        (["shop.py", "--row", "[]"], "[] is no object of JSON"),
        (["shop.py", "--row", "{"], "is no JSON"),
        (["shop.py", "--seed", "3"], "--seed and --row say nothing here"),
    ],
)
def test_what_cannot_be_done_by_hand(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "two.py").write_text("from rehearsal.world import World\nclass A(World): ...\nclass B(World): ...\n")
    (tmp_path / "none.py").write_text("from rehearsal.world import World\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    done = by_hand(tmp_path, *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_values_typed_by_hand(tmp_path: Path) -> None:
    (tmp_path / "hints.py").write_text(HINTS.replace("HINT", "int | Status | Address"))
    calls = ["take value=17", "take value=paid", """take value='{"street": "x y"}'""", 'take{"value":"lost"}']
    done = by_hand(tmp_path, "hints.py", *(word for call in calls for word in ("--call", call)))
    shown = [line for line in done.stdout.splitlines() if not line.startswith((">", "state", "+"))]
    assert shown == ["17", '"paid"', '{"street": "x y"}', '"lost"']
    (tmp_path / "wrong.py").write_text(HINTS.replace("HINT", "str").replace("-> Any", "-> int"))
    told = by_hand(tmp_path, "wrong.py", "--call", "take value=17").stdout
    assert 'a scenario would not take it: a whole number expected, "17" given' in told


def test_two_files_of_one_name(tmp_path: Path) -> None:
    # A file that is called like a module of Python's own is still the file that was named.
    (tmp_path / "json.py").write_text(SHOP)
    inside = tmp_path / "inside"
    inside.mkdir()
    done = by_hand(inside, "../json.py", "--call", "look_outside")
    assert (done.returncode, done.stdout) == (0, "> look_outside\nfalse\n")


@pytest.mark.parametrize("command", [("-m", "rehearsal.world", "shop.py"), ("shop.py",)])
def test_at_a_terminal(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *command], cwd=tmp_path, env={**environment(), "PYTHONIOENCODING": "utf-8"},
        stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    os.close(theirs)
    typed = ["help", "", "tools", "refund order=17", "refund order=17", "refnud", "state", "quit"]
    os.write(ours, "".join(f"{line}\n" for line in typed).encode())
    out, errors = process.communicate(timeout=20)
    os.close(ours)
    shown = out.decode()
    assert process.returncode == 0, errors
    assert "Shop: refund, look_outside, leave, spoil, about. `help` says what can be typed." in shown
    assert "refund order=17            calls a tool" in shown
    assert 'parameters: {"type": "object"' in shown
    assert 'state orders.17.status: "paid" → "refunded"' in shown
    assert "error REFUSED: it was paid back before" in shown
    assert "did you mean `refund`?" in shown
    assert '    "17": {\n      "status": "refunded"\n    },' in shown


def test_it_starts_quickly() -> None:
    def loaded(what: str) -> set[str]:
        code = f"import sys{what}; print(*sys.modules)"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    heavy = {"httpx", "pydantic", "asyncio", "google", "dataclasses", "argparse", "random", "importlib.metadata"}
    # What the environment's own start-up files load is there already.
    assert heavy.isdisjoint(loaded(", rehearsal.world") - loaded(""))
