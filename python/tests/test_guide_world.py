"""The guide for worlds that are a class, as far as Python plays a part in it, typed to the letter."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
GUIDE = (ROOT.parent / "docs" / "guides" / "world-in-ten-lines.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def run(folder: Path, command: list[str], said: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        command, cwd=folder, env=environment, input=said, capture_output=True, text=True, check=False
    )  # fmt: skip


def test_the_class_has_ten_lines() -> None:
    (shop,) = blocks("python")
    assert len([line for line in shop.splitlines() if line]) == 10


def test_the_class_by_hand(tmp_path: Path) -> None:
    (shop,) = blocks("python")
    (tmp_path / "shop.py").write_text(shop)
    _, by_hand, _ = blocks("sh")
    (shown,) = blocks("text")
    interpreter = f'python3() {{ "{sys.executable}" "$@"; }}\n'
    assert run(tmp_path, ["sh", "-c", interpreter + by_hand]).stdout == shown


def test_the_commands_that_start_it(tmp_path: Path) -> None:
    (shop,) = blocks("python")
    (tmp_path / "shop.py").write_text(shop)
    assert "\n  command: [python3, shop.py]\n" in GUIDE
    assert '`[python3, -m, rehearsal.world, "shop:Shop"]`' in GUIDE
    for command in (["shop.py"], ["-m", "rehearsal.world", "shop:Shop"]):
        call: dict[str, Any] = {"type": "call", "id": "1", "tool": "refund", "args": {"order": "17"}, "by": "agent"}
        lines = [{"type": "start", "version": 1, "seed": 7}, {"type": "state"}, call, {"type": "end"}]
        done = run(tmp_path, [sys.executable, *command], "".join(f"{json.dumps(line)}\n" for line in lines))
        tools, state, result = [json.loads(line) for line in done.stdout.splitlines()]
        assert [each["name"] for each in tools["tools"]] == ["refund"]
        assert state["state"]["orders"]["17"] == {"status": "paid"}
        assert result["state"]["orders"] == {"17": {"status": "refunded"}, "18": {"status": "paid"}}
