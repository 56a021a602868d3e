"""docs/conformance/access-history.md: every rule of the document names what holds it, and that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance" / "access-history.md"
FIXTURES = ROOT / "tests" / "lineage" / "fixtures"
NAMED = re.compile(r"``\s*(.+?)\s*``|`([^`]+)`")
WITHOUT = ("n/a: ", "open: ")


def rows() -> list[tuple[str, str]]:
    """The lines of the page's tables: a rule, and what holds it."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and not cells[1].startswith(("Held by", "---")):
            found.append((cells[0], cells[1]))
    return found


def titles() -> dict[str, list[str]]:
    """The rules that each fixture file states."""
    found = {}
    for path in FIXTURES.glob("*.sql"):
        lines = path.read_text(encoding="utf-8").splitlines()
        found[path.name] = [line[len("-- rule: ") :] for line in lines if line.startswith("-- rule: ")]
    return found


ROWS = rows()
TITLES = titles()


def holders(cell: str) -> list[str]:
    """The fixtures and tests that a cell names."""
    return [double or single for double, single in NAMED.findall(cell)]


@pytest.mark.parametrize(("rule", "cell"), ROWS, ids=[str(n) for n in range(1, len(ROWS) + 1)])
def test_what_holds_a_rule_exists(rule, cell):
    """One fixture by the beginning of its rule, a test by its name; else a reason why there is none."""
    if cell.startswith(WITHOUT):
        assert len(cell) > len("n/a: ") + 10, rule
        return
    found = holders(cell)
    assert found, rule
    for name in found:
        file, _, test = name.partition("::")
        if test:
            [path] = (ROOT / "tests").rglob(file)
            assert f"def {test}(" in path.read_text(encoding="utf-8"), name
            continue
        file, _, start = name.partition(": ")
        assert start, name
        exact = [title for title in TITLES[file] if title == start]
        assert len(exact or [title for title in TITLES[file] if title.startswith(start)]) == 1, name


def test_every_fixture_of_views_and_policies_is_named():
    """A rule that has a fixture but no line on the page would be looked for in vain."""
    page = {name for _, cell in ROWS for name in holders(cell)}
    for file in ("policies.sql", "views.sql", "not_recorded.sql"):
        starts = [name.partition(": ")[2] for name in page if name.startswith(file + ": ")]
        missing = [title for title in TITLES[file] if not title.startswith(tuple(starts))]
        assert missing == [], file
