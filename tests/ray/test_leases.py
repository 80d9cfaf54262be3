"""Shares of what a run may use: parts together never have more than there is."""

from __future__ import annotations

import random
from dataclasses import asdict
from pathlib import Path

from rehearsal.ray.leases import Leases, Limits


def leases(tmp_path: Path, slots: int, **limits: float) -> Leases:
    return Leases(asdict(Limits(**limits)), slots, str(tmp_path / "leases.json"))  # type: ignore[arg-type]


def test_parts_have_shares_and_give_back_what_they_did_not_use(tmp_path: Path) -> None:
    shares = leases(tmp_path, 2, tokens=1000, cost=1.0, calls=9)
    first, second = shares.take("1.1"), shares.take("2.1")
    assert (first["tokens"], second["tokens"], first["calls"], first["seconds"]) == (500, 500, 4, None)
    assert (first["cost"], second["cost"]) == (0.5, 0.5)
    assert shares.take("1.1") == first, "one that asks again has the same"
    shares.give_back("1.1", 100, 0.1)
    third = shares.take("3.1")
    assert (third["tokens"], round(third["cost"], 6)) == (400, 0.4)
    # What a part had whose node died counts as used, and so does what nobody knows.
    shares.lose("2.1")
    shares.give_back("3.1", None, None)
    assert shares.take("4.1")["tokens"] == 0


def test_who_is_restarted_goes_on(tmp_path: Path) -> None:
    first = leases(tmp_path, 4, tokens=800, seconds=1000.0)
    share = first.take("1.1")
    again = leases(tmp_path, 4, tokens=800, seconds=1000.0)
    after = again.take("1.1")
    assert (share["tokens"], after["tokens"]) == (200, 200)
    assert 0 < after["seconds"] <= share["seconds"]
    again.give_back("1.1", 200, None)
    assert again.take("2.1")["tokens"] == 150, "what is left is divided among those that run at once"


def test_parts_together_never_use_more_than_there_is(tmp_path: Path) -> None:
    chance = random.Random(7)
    for slots in (1, 3, 8):
        (tmp_path / "leases.json").unlink(missing_ok=True)
        shares, used, running = leases(tmp_path, slots, tokens=10_000), 0, dict[str, int]()
        for part in range(60):
            if len(running) == slots:
                holder = chance.choice(list(running))
                spent = chance.randint(0, running.pop(holder))
                used += spent
                if chance.random() < 0.2:
                    shares.lose(holder)
                else:
                    shares.give_back(holder, spent, None)
            running[f"{part}.1"] = int(shares.take(f"{part}.1")["tokens"])
            assert used + sum(running.values()) <= 10_000


def test_a_bundle_is_the_same_wherever_it_is_packed(tmp_path: Path) -> None:
    from rehearsal.ray.bundle import digest, pack, unpack

    for name in ("a", "b"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "x.yaml").write_text("x")
        (tmp_path / name / "run.sh").write_text("#!/bin/sh")
        (tmp_path / name / "run.sh").chmod(0o755)
        for left_out in (".env", "node_modules", ".git"):
            (tmp_path / name / left_out).mkdir()
            (tmp_path / name / left_out / "key").write_text("secret")
    packed = pack(tmp_path / "a")
    assert digest(packed) == digest(pack(tmp_path / "b"))
    assert b"secret" not in packed
    place = unpack(packed, tmp_path / "home")
    assert unpack(packed, tmp_path / "home") == place
    assert sorted(path.name for path in place.rglob("*")) == ["deep", "run.sh", "x.yaml"]
    assert (place / "run.sh").stat().st_mode & 0o700 == 0o700
    assert len(list((tmp_path / "home").iterdir())) == 1, "nothing is left of who came second"
