"""Names that are looked for: patterns of SHOW … LIKE, and a schema in a text."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.sql.like_patterns import like_matcher
from lineage.sql.mentions import mentions, named_in


@pytest.mark.parametrize(
    ("pattern", "fits", "others"),
    [
        ("load%", ["load", "LOAD_1", "Load\n2"], ["xload", ""]),
        ("%load", ["load", "preload"], ["load1"]),
        ("a_c", ["abc", "A_C", "a%c", "a😀c"], ["ac", "abbc"]),
        ("a*", ["a", "ab"], ["b"]),
        ("a.c", ["a.c"], ["abc"]),
        ("[ab]+(c)$", ["[ab]+(c)$"], ["abc", "a"]),
        ("größe", ["GRÖßE", "Größe"], ["grosse"]),
        ("%", ["", "x"], []),
        ("", ["", "x", "a\nb"], []),
        ("_", ["x"], ["", "xy"]),
        (" a ", [" a "], ["a"]),
    ],
)
def test_a_pattern_fits_whole_names(pattern, fits, others):
    """% and * stand for any text, _ for one character, all else for itself in any case."""
    fit = like_matcher(pattern)
    assert [name for name in (*fits, *others) if fit(name)] == fits


@given(st.text("aB%_*.", min_size=1, max_size=6), st.text("aAbB._", max_size=6))
def test_a_pattern_means_what_a_glob_means(pattern, name):
    """Against the shell's patterns: * for any text, ? for one character."""
    glob = pattern.lower().replace("%", "*").replace("_", "?")
    assert like_matcher(pattern)(name) is fnmatchcase(name.lower(), glob)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM audit.tables", ["tables"]),
        ("SELECT * FROM c.`Audit` . `Some View` x", ["some view"]),
        ("SELECT audit.t.a, audit.u.b FROM AUDIT.t JOIN audit /* . */ .u", ["t", "u"]),
        ("USE audit", []),
        ("BEGIN SELECT * FROM audit.t; INSERT INTO audit.u VALUES (1); END", ["t", "u"]),
        ("SHOW TABLES IN audit", []),
        ("FROM audit.t |> FLY", ["t"]),
        ("SELECT audit FROM t", []),
        ("DROP SCHEMA audit.", []),
    ],
)
def test_a_schema_is_found_in_any_statement(text, names):
    """In every case, in back-ticks, in scripts, in text that nobody can parse; with what stands behind it."""
    assert mentions(text, "audit")
    assert mentions(text, "AUDIT")
    assert sorted(named_in(text, "Audit")) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        "SELECT 'audit.t', \"audit\" FROM t -- audit.t",
        "SELECT auditor, my_audit FROM audits.t /* audit.t */",
        "SELECT `audit.t` FROM t",
        "SELECT 'open audit.t",
    ],
)
def test_a_word_that_only_holds_the_schema_is_none(text):
    """Texts, comments and longer names."""
    assert not mentions(text, "audit")
    assert named_in(text, "audit") == frozenset()
