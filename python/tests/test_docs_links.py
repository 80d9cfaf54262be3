"""Every link in the project's Markdown leads somewhere, and no page leans on one that is not here."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

TOP = Path(__file__).parent.parent.parent
# Other people's files, and what is built.
PASSED_OVER = {".git", ".rehearsal", ".venv", "node_modules", "target"}
# Parts of a generated page: their links are relative to it, and it is looked at.
PARTS = re.compile(r"crates/rehearsal-metrics/src/evaluator/page_\w+\.md")

FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?:(?!`).)+?\1")
LINK = re.compile(r"\]\(<?([^\s<>()]*)>?(?:\s+\"[^\"]*\")?\)")
DEFINITION = re.compile(r"^\[([^\]]+)\]:\s*(\S+)", re.MULTILINE)
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:")


def pages() -> list[Path]:
    found: list[Path] = []
    for folder, inside, names in os.walk(TOP):
        inside[:] = [each for each in inside if each not in PASSED_OVER]
        found += [Path(folder, name) for name in names if name.endswith(".md")]
    return sorted(each for each in found if not PARTS.fullmatch(each.relative_to(TOP).as_posix()))


PAGES = pages()


def prose(file: Path) -> str:
    """Gives a page without its blocks of code."""
    return FENCE.sub("", file.read_text(encoding="utf-8"))


@cache
def anchors(file: Path) -> frozenset[str]:
    """Names the places of a page as hosts of Markdown do, from its headings."""
    found: list[str] = []
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", prose(file), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        times = sum(1 for each in found if re.fullmatch(rf"{re.escape(name)}(-\d+)?", each))
        found.append(f"{name}-{times}" if name in found else name)
    return frozenset(found)


def broken(file: Path, target: str) -> str | None:
    """Says what is wrong with a link of a page."""
    if OUTSIDE.match(target):
        return None
    path, _, anchor = unquote(target).partition("#")
    there = (file.parent / path).resolve() if path else file
    if not there.is_relative_to(TOP.resolve()):
        return "leads out of the project"
    if not there.exists():
        return "leads nowhere"
    if anchor and there.suffix == ".md" and anchor not in anchors(there):
        return f"{there.name} has no such heading; it has {', '.join(sorted(anchors(there)))}"
    return None


def test_there_are_pages() -> None:
    names = {each.relative_to(TOP).as_posix() for each in PAGES}
    assert {"README.md", "docs/README.md", "python/README.md"} <= names


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.relative_to(TOP).as_posix())
def test_links_lead_somewhere(file: Path) -> None:
    text = CODE.sub("", prose(file))
    targets = LINK.findall(text) + [target for _, target in DEFINITION.findall(text)]
    wrong = {target: why for target in targets if (why := broken(file, target))}
    assert wrong == {}


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    readme = TOP / "README.md"
    assert broken(readme, "docs/no-such-page.md") == "leads nowhere"
    assert "no such heading" in str(broken(readme, "ARCHITECTURE.md#no-such-heading"))
    assert broken(readme, "../elsewhere.md") == "leads out of the project"
    assert broken(readme, "ARCHITECTURE.md#what-is-deliberately-absent") is None
    page = tmp_path / "page.md"
    page.write_text("# A `b_c`, d!\n\n```sh\n# no heading\n```\n\n## Twice\n\n## Twice\n")
    assert anchors(page) == {"a-b_c-d", "twice", "twice-1"}


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.relative_to(TOP).as_posix())
def test_no_page_names_a_paper_that_is_not_here(file: Path) -> None:
    assert re.findall(r"(?i)\bdocument 0\d+|\bDESIGN of\b|\bfirst design\b", file.read_text(encoding="utf-8")) == []


INDEX = TOP / "docs" / "README.md"
SUMMARY = TOP / "docs" / "SUMMARY.md"


def named(file: Path) -> set[Path]:
    """Gives the pages and files that a page links to."""
    text = CODE.sub("", prose(file))
    targets = LINK.findall(text) + [target for _, target in DEFINITION.findall(text)]
    paths = [unquote(target).partition("#")[0] for target in targets if not OUTSIDE.match(target)]
    return {(file.parent / path).resolve() for path in paths if path}


@pytest.mark.parametrize("list_of_pages", [INDEX, SUMMARY], ids=["the index", "the book"])
def test_every_page_of_the_documentation_is_named(list_of_pages: Path) -> None:
    there = {each.resolve() for each in PAGES if each.is_relative_to(TOP / "docs")}
    assert there - named(list_of_pages) - {INDEX.resolve(), SUMMARY.resolve()} == set()


@pytest.mark.parametrize("page", sorted(named(SUMMARY)), ids=lambda page: page.relative_to(TOP.resolve()).as_posix())
def test_no_page_of_the_book_leads_to_one_that_is_not_in_it(page: Path) -> None:
    others = {each for each in named(page) if each.suffix == ".md"}
    assert others - named(SUMMARY) == set()


def test_the_book_has_its_parts_in_order() -> None:
    assert re.findall(r"^# (.+)$", SUMMARY.read_text(), re.MULTILINE) == [
        "Summary",
        "Do",
        "Why",
        "Look up",
        "Take part",
    ]
