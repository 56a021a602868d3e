"""Hashes of texts: what counts, and what does not."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.sql.fingerprint import parameterized_hash, text_hash

SAME = [
    ("SELECT a FROM t", "select  A\n\tfrom T"),
    ("SELECT a FROM t", "SELECT /* x */ a -- y\nFROM t;"),
    ("SELECT a FROM t;", "SELECT a FROM t ; ; -- z"),
    ("SELECT 'x'", 'SELECT "x"'),
    ("SELECT 1e5", "SELECT 1E5"),
    ("SHOW TABLES", "show   tables"),
    ("EXECUTE IMMEDIATE 'a'", "execute /* x */ immediate 'a'"),
    ("", " -- nothing"),
]
DIFFERENT = [
    "",
    "SELECT 1",
    "SELECT '1'",
    "SELECT `1`",
    "SELECT 2",
    "SELECT 'a'",
    "SELECT 'A'",
    "SELECT a",
    "SELECT `a`",
    "SELECT `A`",
    "SELECT '1F'",
    "SELECT X'1F'",
    "SELECT -1",
    "SELECT a b",
    "SELECT 'a' 'b'",
    "SELECT 'a b'",
    "SELECT a, b",
    "SELECT * FROM delta.`/a`",
    "SELECT * FROM delta.`/A`",
    "SELECT /*+ BROADCAST(a) */ a",
    "SELECT 'open",
    "SELECT 'OPEN",
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_layout_and_case_do_not_count(one, two):
    """Comments, white space, semicolons at the end and the case of what is not quoted."""
    assert text_hash(one) == text_hash(two)
    assert parameterized_hash(one) == parameterized_hash(two)


def test_what_says_something_else_has_another_hash():
    """The kind of a literal, the case inside quotes, hints, and quotes that make a name of a number."""
    assert [pair for pair in combinations(DIFFERENT, 2) if len({*map(text_hash, pair)}) == 1] == []


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("SELECT 1, 'a' FROM t", 'SELECT 2.5, "it\'s" FROM t', True),
        ("SELECT X'1F'", "SELECT 'x'", True),
        ("SELECT * FROM t LIMIT 10", "SELECT * FROM t LIMIT 20", True),
        ("SELECT a FROM t", "SELECT b FROM t", False),
        ("SELECT `a` FROM t", "SELECT 'a' FROM t", False),
        ("SELECT a IN (1, 2)", "SELECT a IN (1, 2, 3)", False),
    ],
)
def test_literals_are_left_out_of_the_second_hash(one, two, same):
    """Statements that differ in values alone share it; names and the number of values count."""
    assert (parameterized_hash(one) == parameterized_hash(two)) is same
    assert text_hash(one) != text_hash(two)


@given(st.text(max_size=40))
def test_any_text_has_both_hashes(text):
    """32 hex digits, the same each time, for text that no parser knows and for lone surrogates."""
    for hashed in (text_hash, parameterized_hash):
        assert int(hashed(text), 16) >= 0
        assert len(hashed(text)) == 32
        assert hashed(text) == hashed(text)


@given(
    st.lists(st.sampled_from(["SELECT", "a", "'b c'", "1", "(", ")", ",", "`D`"]), min_size=1, max_size=12)
)
def test_blanks_between_tokens_do_not_count(tokens):
    """One blank, many, line breaks and comments."""
    assert text_hash(" ".join(tokens)) == text_hash("\n /* x */ ".join(tokens))
