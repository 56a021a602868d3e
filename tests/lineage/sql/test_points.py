"""Points in time in a text: which tables ask for one, what it is, and where it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.names import sql_name
from lineage.sql.commands.time_travel.at_before import BadClause, VersionClause
from lineage.sql.parse import parse

AGO = "AT (OFFSET => -60)"
NAMES = {
    "q": ("q",),
    "c.s.q": ("c", "s", "q"),
    "`a b`.`c``d.e`": ("a b", "c`d.e"),
    "s.2024_sales": ("s", "2024_sales"),
    "größe.表": ("größe", "表"),
    "IDENTIFIER('s.q')": ("s", "q"),
}
BEHIND = {"": False, " x": True, " AS x": True, " `where`": True, " WHERE a": False, ", u": False}
"""What stands behind a clause, and whether it is an alias."""


def asked(text):
    """Table, point and the text that holds both, of each clause."""
    return [(one.table, str(one), text[one.first : one.stop]) for one in parse(text).points]


@pytest.mark.parametrize(
    "around",
    [
        "SELECT * FROM {}",
        "SELECT '😀é', a FROM {} WHERE b",
        "SELECT * FROM a LEFT JOIN {} x ON x.a = a.a",
        "SELECT * FROM a, {}, b",
        "SELECT * FROM a, LATERAL (SELECT * FROM {}) b",
        "SELECT (SELECT max(a) FROM {}) FROM u",
        "SELECT a FROM t WHERE a IN (TABLE {})",
        "SELECT * FROM u UNION ALL TABLE {}",
        "WITH c AS (SELECT * FROM {}) SELECT * FROM c",
        "FROM {} |> WHERE a > 1",
        "FROM {} TABLESAMPLE (10 ROWS)",
        "INSERT INTO t TABLE {}",
        "INSERT INTO t SELECT * FROM {}",
        "CREATE TABLE t AS SELECT * FROM {}",
        "CREATE VIEW v AS SELECT * FROM {}",
        "MERGE INTO t USING {} s ON t.a = s.a WHEN MATCHED THEN DELETE",
        "EXPLAIN SELECT * FROM {}",
        "BEGIN SELECT * FROM {}; END",
    ],
)
def test_a_point_stands_wherever_a_table_can(around):
    """In any query, in what writes one, in scripts; whatever the table is called."""
    for name, table in NAMES.items():
        assert asked(around.format(f"{name} {AGO}")) == [(table, AGO, f"{name} {AGO}")]


@given(st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=3), st.text(max_size=5))
def test_any_quoted_name_may_be_asked_for(parts, before):
    """The places count characters, however many bytes these have."""
    text = f"SELECT {sql_name((before or 'x',))} FROM {sql_name(parts)} {AGO}"
    assert asked(text) == [(tuple(parts), AGO, f"{sql_name(parts)} {AGO}")]


@pytest.mark.parametrize(
    ("clause", "kind", "before", "expression"),
    [
        # Understanding & using Time Travel: Querying historical data, Cloning historical objects
        (
            "AT(TIMESTAMP => 'Wed, 26 Jun 2024 09:20:00-0700'::timestamp_tz)",
            "TIMESTAMP", False, "'Wed, 26 Jun 2024 09:20:00-0700'::timestamp_tz",
        ),
        ("AT(OFFSET => -60*5)", "OFFSET", False, "-60*5"),
        (
            "BEFORE(STATEMENT => '8e5d0ca9-005e-44e6-b858-a8f5b37c5726')",
            "STATEMENT", True, "'8e5d0ca9-005e-44e6-b858-a8f5b37c5726'",
        ),
        (
            "AT(TIMESTAMP => DATEADD(days, -4, current_timestamp)::timestamp_tz)",
            "TIMESTAMP", False, "DATEADD(days, -4, current_timestamp)::timestamp_tz",
        ),
        ("before /* ( */ (offset /* => */ => -(1 + 2) -- )\n)", "OFFSET", True, "-(1 + 2)"),
        ("AT (TIMESTAMP => (SELECT max(a) FROM u))", "TIMESTAMP", False, "(SELECT max(a) FROM u)"),
        ("AT (STATEMENT => ')')", "STATEMENT", False, "')'"),
        ("AT (VERSION => 3)", "VERSION", False, "3"),
    ],
)  # fmt: skip
def test_a_clause_of_the_document_is_read(clause, kind, before, expression):
    """Its kind, AT or BEFORE, and the expression as it is written."""
    (point,) = parse(f"SELECT * FROM my_table {clause} x").points
    assert isinstance(point, VersionClause)
    assert (point.kind, point.before, point.expression) == (kind, before, expression)
    assert (point.own, point.aliased, point.after) == (True, True, "FROM")


@pytest.mark.parametrize(
    "clause",
    [
        "AT ()",
        "AT (OFFSET)",
        "AT (OFFSET = -1)",
        "AT (OFFSET => )",
        "AT (=> -1)",
        "BEFORE ('2024-01-01')",
        "AT (OFFSET => -1, STATEMENT => 'x')",
        "AT (STREAM => 's')",
        "AT (OFFSET => -60",
        "AT (TIMESTAMP => '2024-01-01' WHERE a = 1",
        "AT (OFFSET => (1)",
    ],
)
def test_half_a_clause_names_its_table_and_the_way_out(clause):
    """Without one kind, an arrow, one expression and both brackets it is no point."""
    (point,) = parse(f"SELECT * FROM s.my_table {clause}").points
    assert isinstance(point, BadClause)
    assert "s.my_table" in point.problem
    assert "TIMESTAMP => … | OFFSET => -seconds | STATEMENT => 'query id'" in point.way_out


@pytest.mark.parametrize("text", ["(SELECT 1)", "range(3)", "s.f(1, 2)", "(t)"])
def test_a_clause_behind_something_else_is_no_silent_now(text):
    """A subquery or a function has no versions: the user must not get today's rows."""
    (point,) = parse(f"SELECT * FROM {text} {AGO}").points
    assert isinstance(point, BadClause)
    assert "right behind the name of a table" in point.way_out


@pytest.mark.parametrize(
    "expression",
    [
        "3",
        "'2024-01-01'",
        "'2024-01-01'::timestamp - INTERVAL '1' DAY",
        "-5 + (2 * 3)",
        ":moment",
        "?",
        "date '2024-01-01'",
        "CAST('2024-01-01' AS TIMESTAMP)",
        "s.f(1, ')')",
        "now() - INTERVAL 1 DAY 2 HOURS",
        "current_timestamp - INTERVAL '1-2' YEAR TO MONTH",
        "'a' || 'b'",
        "CASE WHEN a THEN 1 ELSE 2 END",
        "CASE WHEN a THEN CASE WHEN b THEN 1 END ELSE 2 END",
        "(SELECT max(a) FROM u)",
    ],
)
@pytest.mark.parametrize("words", ["VERSION AS OF", "FOR SYSTEM_TIME AS OF"])
def test_a_clause_of_spark_ends_with_its_expression(words, expression):
    """What follows is an alias, or the rest of the query."""
    for behind, aliased in BEHIND.items():
        text = f"SELECT * FROM s.t {words} {expression}{behind}"
        (point,) = parse(text).points
        assert (point.expression, point.aliased, point.own) == (expression, aliased, False)
        assert text[point.first : point.stop] == f"s.t {words} {expression}"
        assert text[point.inside : point.stop] == expression


@pytest.mark.parametrize(
    ("name", "table", "said"),
    [
        ("t@v3", ("t",), "VERSION AS OF 3"),
        ("s.t@V0", ("s", "t"), "VERSION AS OF 0"),
        ("`a b`@v12", ("a b",), "VERSION AS OF 12"),
        ("t@20240229235959999", ("t",), "TIMESTAMP AS OF '2024-02-29 23:59:59.999'"),
        ("delta.`/x/t@v3`", ("delta", "/x/t"), "VERSION AS OF 3"),
        (
            "delta.`/a@b/t@20240102030405006`",
            ("delta", "/a@b/t"),
            "TIMESTAMP AS OF '2024-01-02 03:04:05.006'",
        ),
    ],
)
def test_a_name_may_hold_its_point(name, table, said):
    """Delta's `t@v3` and `t@yyyyMMddHHmmssSSS`, also at the end of a path."""
    assert asked(f"SELECT * FROM {name} x") == [(table, said, name)]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM t@3",
        "SELECT * FROM t@v",
        "SELECT * FROM t@v3x",
        "SELECT * FROM t @v3",
        "SELECT * FROM `t@v3`",
        "SELECT * FROM parquet.`/x@v3`",
        "SELECT * FROM delta.`t@v3`",
        "SELECT * FROM t at",
        "SELECT at.a, before.b FROM at JOIN before",
        "SELECT at(offset => -1) FROM t",
        "SELECT * FROM t VERSION AS OF",
        "SELECT version as of FROM t",
        "SELECT 't AT (OFFSET => -1)', `t@v3` /* FROM t@v3 */ FROM t -- AT (OFFSET => -1)",
    ],
)
def test_what_only_looks_like_a_point_is_none(text):
    """Aliases, columns, functions, strings, comments, and names of other formats."""
    assert parse(text).points == ()


@pytest.mark.parametrize("word", ["AT", "BEFORE", "at"])
def test_an_alias_with_columns_is_no_point(word):
    """AT and BEFORE are no reserved words; one name alone is a clause that was begun wrongly."""
    assert parse(f"SELECT a FROM t {word} (a, b) JOIN u AS {word} (c, d, `e f`)").points == ()
    for inside in ("a", "a, 5", "a,", "'x', b", ""):
        (found,) = parse(f"SELECT a FROM t {word} ({inside})").points
        assert isinstance(found, BadClause)
