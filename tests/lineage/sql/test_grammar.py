"""Every production of Spark's grammar that reads or writes: a text of each has a tree or a command here."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage import parse

TEXTS = [
    line
    for line in (Path(__file__).parent / "grammar.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
LEFT_TO_THE_PLAN = (
    "FROM g |> AGGREGATE sum(b) GROUP BY 1",  # counts the columns of the query before it
    "SELECT count(*) FROM g CHANGES FROM VERSION 1 TO VERSION 2",  # no table of Delta's (4.4) has them
)


@pytest.mark.parametrize("sql", TEXTS)
def test_a_text_of_the_grammar_is_understood(sql):
    """It has a tree of sqlglot's, or a command of our own."""
    found = parse(sql)
    assert found.tree is not None or found.command is not None, found.reason


@pytest.mark.parametrize("sql", LEFT_TO_THE_PLAN)
def test_what_is_left_to_the_plan_says_so(sql):
    """It is opaque with a reason."""
    found = parse(sql)
    assert (found.tree, found.command) == (None, None)
    assert found.reason
