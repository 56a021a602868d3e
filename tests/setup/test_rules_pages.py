"""docs/conformance/: each statement names a test, a figure or words of a page, all there, or is open."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .pages import sections

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "conformance"
PAGES = [FOLDER / name for name in ("backups.md", "policies.md", "time-travel.md")]
NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
FIXTURE = re.compile(r"`(\w+\.sql): ([^`]+)`")
MEASURED = re.compile(r"`benchmarks/RESULTS\.md: ([^`]+)`")
ANSWERED = re.compile(r"\| docs: \[[^\]]+\]\(([^)#]+)#([^)]+)\): \"([^\"]+)\"")
KINDS = {
    "shown by tests": NAMED.search,
    "measured": MEASURED.search,
    "answered in the docs": ANSWERED.search,
    "open": lambda row: "| OPEN |" in row,
}
"""What holds a statement, in the words of a page's count: the first that fits."""


def rows(page):
    """The lines of a page's tables."""
    lines = page.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("| ") and not line.startswith(("| statement", "|---"))]


def held_by(row):
    """The kind of what holds a statement, None where nothing does."""
    return next((kind for kind, fits in KINDS.items() if fits(row)), None)


ROWS = [pytest.param(row, id=f"{page.stem}-{n}") for page in PAGES for n, row in enumerate(rows(page), 1)]


@pytest.mark.parametrize("row", ROWS)
def test_what_holds_a_statement_is_there(row):
    """A test by its name, a fixture by its rule, a figure by its heading, an answer by heading and words."""
    assert held_by(row), row
    for path, name in NAMED.findall(row):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"{path} has no {name}"
    for file, start in FIXTURE.findall(row):
        text = (ROOT / "tests" / "lineage" / "fixtures" / file).read_text(encoding="utf-8")
        assert f"-- rule: {start}" in text, f"{file} has no rule {start}"
    for heading in MEASURED.findall(row):
        text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
        assert f"\n## {heading}\n" in text, f"RESULTS.md has no {heading}"
    for path, anchor, words in ANSWERED.findall(row):
        page = (FOLDER / path).resolve()
        assert anchor in sections(page), f"{path} has no heading #{anchor}"
        assert words in sections(page)[anchor], f"{path}#{anchor} does not say {words!r}"


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_counts(page):
    """The page says how many there are, of each kind."""
    found = [held_by(row) for row in rows(page)]
    text = " ".join(page.read_text(encoding="utf-8").split())
    counted = ", ".join(
        f"{found.count(kind)} {kind}" for kind in KINDS if kind in found or kind != "measured"
    )
    assert f"{len(found)} statements: {counted}." in text, counted
