"""The worker that runs checks written in Python, as the program runs it: a file, and lines of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WORKER = Path(__file__).parents[2] / "crates" / "rehearsal-scenario" / "src" / "play" / "checks" / "worker.py"

CHECKS = """\
import asyncio
import math
import subprocess
import sys

from os.path import join

COUNT = 0
NOTHING_TO_CALL = 3


def refund_is_right(record, order="17"):
    return any(call["args"]["order"] == order for call in record.calls)


def given(record, value):
    return value


def none(record):
    pass


def evaluated(record, text):
    return eval(text)


def asserted(record):
    assert record.reply == "done"


def asserted_in_words(record):
    assert record["reply"] == "done", f"it said {record.reply}"


def broken(record):
    return record.calls[7]


def leaves(record):
    sys.exit(3)


def interrupted(record):
    raise KeyboardInterrupt


def talks(record):
    print("talking", flush=True)
    subprocess.run(["echo", "a child"], check=True)
    return input() == "never"


def counted(record):
    global COUNT
    COUNT += 1
    return COUNT == record.expected


async def waits(record):
    await asyncio.sleep(0)
    return True, "waited"


def required(record, order):
    return True


def raises_type_error(record):
    return len(3)


def large(record):
    return record.number == 10**5000, str(type(record.number))


def is_a_dict(record):
    return type(record).__mro__[1] is dict and record["a"] == record.a == 1 and dict(record) == {"a": 1}


def misses(record):
    return record.replly


class Rules:
    @staticmethod
    def polite(record):
        return "please" in record.reply

    def needs_self(self, record):
        return True


class Odd:
    def __repr__(self):
        raise RuntimeError("no")


def odd(record):
    return Odd()
"""


class Worker:
    def __init__(self, folder: Path) -> None:
        (folder / "checks.py").write_text(CHECKS)
        self.folder = folder
        self.errors = (folder / "errors").open("w+")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, WORKER], stdin=pipe, stdout=pipe, stderr=self.errors)
        self.count = 0
        assert self.send({"type": "start", "version": 1, "path": [str(folder)]}) == {"type": "ready"}

    def line(self, line: bytes) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def send(self, message: dict[str, Any]) -> Any:
        return self.line(json.dumps(message).encode())

    def ask(self, kind: str, function: str, **more: Any) -> dict[str, Any]:
        self.count += 1
        answer = self.send({"type": kind, "id": str(self.count), "function": function, **more})
        assert answer.pop("id") == str(self.count)
        return answer

    def check(self, function: str, record: dict[str, Any] | None = None, **args: Any) -> dict[str, Any]:
        return self.ask("check", f"checks:{function}", args=args, record=record or {})

    def failed(self, function: str, record: dict[str, Any] | None = None, **args: Any) -> str:
        answer = self.check(function, record, **args)
        assert answer.pop("type") == "failed"
        assert list(answer) == ["message"]
        return answer["message"]

    def not_loaded(self, function: str) -> str:
        answer = self.ask("load", function)
        assert answer["type"] == "failed"
        return answer["message"]

    def end(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.stdout.read() == b""
        self.process.stdout.close()
        return self.process.wait(10)


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    made = Worker(tmp_path)
    yield made
    if made.process.poll() is None:
        assert made.end() == 0
    made.errors.close()


def result(
    passed: bool | None = None, score: float | None = None, reason: str | None = None, events: tuple[int, ...] = ()
) -> dict[str, Any]:
    return {"type": "result", "passed": passed, "score": score, "reason": reason, "events": list(events)}


def test_a_check(worker: Worker) -> None:
    assert worker.ask("load", "checks:refund_is_right") == {"type": "loaded"}
    record = {"calls": [{"args": {"order": "17"}}]}
    assert worker.check("refund_is_right", record) == result(passed=True)
    assert worker.check("refund_is_right", record, order="18") == result(passed=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, result(passed=True)),
        (False, result(passed=False)),
        (0, result(score=0.0)),
        (1, result(score=1.0)),
        (0.25, result(score=0.25)),
        ({"passed": True}, result(passed=True)),
        ({"score": 0.5}, result(score=0.5)),
        (
            {"passed": False, "score": 0.5, "reason": "half", "events": [4, 3]},
            result(passed=False, score=0.5, reason="half", events=(4, 3)),
        ),
        ({"passed": True, "score": None, "reason": None, "events": None}, result(passed=True)),
    ],
)
def test_what_a_check_returns(worker: Worker, value: Any, expected: dict[str, Any]) -> None:
    assert worker.check("given", value=value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(True, 'well done')", result(passed=True, reason="well done")),
        ("(False, None)", result(passed=False)),
        ("{'passed': True, 'events': {9, 2}}", result(passed=True, events=(2, 9))),
        ("{'passed': True, 'reason': chr(0xd800)}", result(passed=True, reason="?")),
    ],
)
def test_what_only_python_has(worker: Worker, text: str, expected: dict[str, Any]) -> None:
    assert worker.check("evaluated", text=text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("math.nan", "returned the score nan; scores are from 0 to 1"),
        ("math.inf", "returned the score inf; scores are from 0 to 1"),
        ("1.5", "returned the score 1.5; scores are from 0 to 1"),
        ("-1", "returned the score -1; scores are from 0 to 1"),
        ("10**5000", "scores are from 0 to 1"),
        ("'yes'", "returned 'yes', of the class `str`: return True or False"),
        ("[True]", "returned [True], of the class `list`: return True or False"),
        ("(1, 2, 3)", "returned the tuple (1, 2, 3); a tuple is (True or False, reason)"),
        ("(1, 'x')", "a tuple is (True or False, reason)"),
        ("{}", "returned a dict without `passed` and `score`; it needs one of them"),
        ("{'reason': 'x'}", "it needs one of them"),
        ("{'pased': True}", "returned a dict with 'pased'; did you mean `passed`?"),
        ("{'passed': 1}", "returned passed=1; `passed` is True or False"),
        ("{'score': True}", "returned score=True; a score is a number from 0 to 1"),
        ("{'score': '1'}", "returned score='1'"),
        ("{'score': math.nan}", "returned the score nan"),
        ("{'passed': True, 'reason': 3}", "returned reason=3; `reason` is a text"),
        ("{'passed': True, 'events': 3}", "returned events=3; `events` is a list of the numbers of events"),
        ("{'passed': True, 'events': [-1]}", "returned the event -1; events are whole numbers from 0"),
        ("{'passed': True, 'events': [True]}", "returned the event True"),
        ("{'passed': True, 'events': [1.0]}", "returned the event 1.0"),
        ("{'passed': True, 'events': [10**5000]}", "events are whole numbers from 0"),
        ("(x for x in [])", "of the class `generator`"),
    ],
)
def test_what_a_check_cannot_return(worker: Worker, text: str, said: str) -> None:
    message = worker.failed("evaluated", text=text)
    assert said in message
    assert message.startswith("`checks:evaluated` returned ")


def test_a_check_that_returns_nothing(worker: Worker) -> None:
    message = worker.failed("none")
    assert message.startswith("`checks:none` returned nothing: return True or False, a score from 0 to 1, ")


def test_assertions(worker: Worker) -> None:
    line = CHECKS.splitlines().index('    assert record.reply == "done"') + 1
    reason = f'assert record.reply == "done" (checks.py:{line})'
    assert worker.check("asserted", {"reply": "no"}) == result(passed=False, reason=reason)
    said = worker.check("asserted_in_words", {"reply": "no"})
    assert said == result(passed=False, reason="it said no")


def test_exceptions_name_the_line(worker: Worker) -> None:
    line = CHECKS.splitlines().index("    return record.calls[7]") + 1
    file = worker.folder / "checks.py"
    said = worker.failed("broken", {"calls": []})
    assert said == f"`checks:broken` raised IndexError: list index out of range ({file}:{line})"
    (worker.folder / "reads.py").write_text("import json\ndef f(record):\n    return json.loads('x')\n")
    said = worker.ask("check", "reads:f", args=None, record={})["message"]
    assert said.endswith(f"JSONDecodeError: Expecting value: line 1 column 1 (char 0) ({worker.folder}/reads.py:3)")
    assert "raised TypeError: object of type 'int' has no len()" in worker.failed("raises_type_error")
    assert "Traceback" in (worker.folder / "errors").read_text()


def test_what_would_end_the_process(worker: Worker) -> None:
    assert worker.failed("leaves").startswith("`checks:leaves` raised SystemExit: 3 (")
    assert worker.failed("interrupted").startswith("`checks:interrupted` raised KeyboardInterrupt (")
    assert worker.check("given", value=True) == result(passed=True)


def test_what_checks_print_is_no_message(worker: Worker) -> None:
    assert "EOFError" in worker.failed("talks")
    told = (worker.folder / "errors").read_text()
    assert "talking\n" in told
    assert "a child\n" in told


def test_a_module_is_loaded_once(worker: Worker) -> None:
    for count in (1, 2, 3):
        assert worker.check("counted", {"expected": count}) == result(passed=True)


def test_async_checks(worker: Worker) -> None:
    for _ in range(2):
        assert worker.check("waits") == result(passed=True, reason="waited")


def test_arguments_that_do_not_fit(worker: Worker) -> None:
    said = worker.failed("refund_is_right", oder="17")
    assert "`checks:refund_is_right(record, order='17')` cannot be called" in said
    assert "unexpected keyword argument 'oder'" in said
    assert "missing a required argument: 'order'" in worker.failed("required")
    twice = worker.ask("check", "checks:given", args={"record": 1, "value": 2}, record={})
    assert "multiple values for argument 'record'" in twice["message"]


def test_the_record(worker: Worker) -> None:
    assert worker.check("is_a_dict", {"a": 1}) == result(passed=True)
    assert "the record has no `replly`; did you mean `reply`?" in worker.failed("misses", {"reply": ""})
    # Of any size: what Python would refuse by itself has more than 4300 digits.
    line = b'{"type":"check","id":"9","function":"checks:large","args":{},"record":{"number":1' + b"0" * 5000 + b"}}"
    assert worker.line(line) == {"id": "9", **result(passed=True, reason="<class 'int'>")}


def test_methods_and_packages(worker: Worker) -> None:
    package = worker.folder / "house" / "rules"
    package.mkdir(parents=True)
    (worker.folder / "house" / "__init__.py").write_text("")
    (package / "__init__.py").write_text("def open_(record): return True\n")
    assert worker.ask("load", "house.rules:open_") == {"type": "loaded"}
    assert worker.check("Rules.polite", {"reply": "please"}) == result(passed=True)
    assert "cannot be called" in worker.failed("Rules.needs_self")
    assert "`checks:Rules` has no `polit`; did you mean `polite`?" in worker.not_loaded("checks:Rules.polit")


def test_functions_that_are_not_there(worker: Worker) -> None:
    said = worker.not_loaded("checks:refund_is_rihgt")
    assert said == "the module `checks` has no `refund_is_rihgt`; did you mean `refund_is_right`?"
    assert "it has `refund_is_right`, `given`" in worker.not_loaded("checks:zzzzzz")
    assert "`join`" not in worker.not_loaded("checks:zzzzzz")
    assert worker.not_loaded("cheks:given").startswith("there is no module `cheks` in ")
    assert worker.not_loaded("cheks:given").endswith("did you mean `checks`?")
    assert (
        worker.not_loaded("checks:NOTHING_TO_CALL") == "`checks:NOTHING_TO_CALL` is no function, but of the class `int`"
    )
    assert "is a class; name a function, or a method as checks:Rules.NAME" in worker.not_loaded("checks:Rules")
    for wrong in ("checks", ":f", "checks:", ""):
        assert "names no function; write module:function" in worker.not_loaded(wrong)
    assert "as checks:given" in worker.not_loaded("folder/checks.py:given")
    # A check that was never loaded says the same.
    assert "did you mean `odd`?" in worker.failed("od")


def test_modules_that_are_broken(worker: Worker) -> None:
    folder = worker.folder
    (folder / "wrong.py").write_text("x = 1\ny = = 2\n")
    (folder / "needs.py").write_text("import not_there_at_all\n")
    (folder / "exits.py").write_text("raise SystemExit(1)\n")
    assert f"`wrong` could not be loaded: SyntaxError: invalid syntax ({folder}/wrong.py:2)" in worker.not_loaded(
        "wrong:f"
    )
    said = worker.not_loaded("needs:f")
    assert "`needs` could not be loaded: ModuleNotFoundError: No module named 'not_there_at_all'" in said
    assert f"({folder}/needs.py:1)" in said
    assert "SystemExit: 1" in worker.not_loaded("exits:f")
    (folder / "wrong.py").write_text("def f(record): return True\n")
    assert worker.ask("load", "wrong:f") == {"type": "loaded"}
    (folder / "json.py").write_text("def f(record): return True\n")
    assert f"`json` is a module of Python itself: give {folder}/json.py another name" in worker.not_loaded("json:f")


def test_lines_that_are_no_message(worker: Worker) -> None:
    for line, said in [
        (b"", "is no message"),
        (b"nonsense", "is no message"),
        (b"\xff\xfe", "is no message"),
        (b'{"type":"check","id":"1","record":{"x":NaN}}', "NaN is no number of JSON"),
        (b"[" * 100_000, "is no message"),
        (b"[]", "a message is an object with a `type`"),
        (b"{}", "a message is an object with a `type`"),
        (b'{"type":"load","function":"checks:given"}', "needs an `id`"),
        (b'{"type":"load","id":1,"function":"checks:given"}', "needs an `id`"),
        (b'{"type":"start","version":2,"path":[]}', "the version 2 is spoken, and this is version 1"),
        (b'{"type":"start","version":1,"path":"/"}', "`path` of start is a list of folders"),
    ]:
        answer = worker.line(line)
        assert (answer["type"], answer["id"]) == ("failed", None)
        assert said in answer["message"]
    messages: list[tuple[dict[str, Any], str]] = [
        ({"type": "sing"}, "the type 'sing' is unknown here"),
        ({"type": "load"}, "needs a `function`"),
        ({"type": "check", "function": "checks:given"}, "needs a `record` and `args`"),
        ({"type": "check", "function": "checks:given", "args": [], "record": {}}, "needs a `record` and `args`"),
    ]
    for message, said in messages:
        answer = worker.send({**message, "id": "7"})
        assert (answer["type"], answer["id"]) == ("failed", "7")
        assert said in answer["message"]
    assert worker.check("given", value=True) == result(passed=True)


def test_values_that_cannot_be_looked_at(worker: Worker) -> None:
    assert "returned something of the class `Odd`" in worker.failed("odd")


def test_nobody_hears_the_answers(worker: Worker) -> None:
    assert worker.process.stdin is not None
    assert worker.process.stdout is not None
    worker.process.stdout.close()
    worker.process.stdin.write(b"x\n")
    worker.process.stdin.flush()
    assert worker.process.wait(10) == 1
    assert (worker.folder / "errors").read_text() == ""
    worker.process.stdin.close()


def test_it_needs_nothing_installed(tmp_path: Path) -> None:
    # With `-I` and `-S`, Python finds no packages and no folder of the caller.
    done = subprocess.run(
        [sys.executable, "-I", "-S", WORKER],
        input=b'{"type":"start","version":1,"path":[]}\n', capture_output=True, cwd=tmp_path, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == {"type": "ready"}
    assert done.stderr == b""
