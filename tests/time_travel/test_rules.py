"""docs/time_travel_rules.md: every statement of the documents names a test that is there, or the README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "docs" / "time_travel_rules.md").read_text(encoding="utf-8").splitlines()
ROWS = [line for line in LINES if line.startswith("| ") and not line.startswith(("| statement", "|---"))]
NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")


@pytest.mark.parametrize("row", ROWS)
def test_what_holds_a_statement_is_there(row):
    """A test by its name, a row of the README, or open."""
    held = NAMED.findall(row)
    assert held or "README" in row or "| OPEN |" in row
    for path, name in held:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", text, re.MULTILINE), f"{path} has no {name}"


def test_the_counts():
    """The page says how many there are."""
    shown = sum(bool(NAMED.search(row)) for row in ROWS)
    still_open = sum("| OPEN |" in row for row in ROWS)
    said = f"{len(ROWS)} statements: {shown} shown by tests, {len(ROWS) - shown - still_open} answered in the"
    assert said in " ".join(LINES), said
    assert f"{still_open} open" in " ".join(LINES)
