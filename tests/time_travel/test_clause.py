"""Where clauses stand in a text, and what they ask."""

from __future__ import annotations

import pytest

from audit.time_travel.errors import BadClauseError
from audit.time_travel.versions.version_lookup import require_clause
from lineage.sql.parse import parse


def found(sql):
    """Name, clause and the text that it takes."""
    return [
        (".".join(c.table), str(c), sql[c.first : c.stop]) for c in map(require_clause, parse(sql).points)
    ]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM t AT(OFFSET => -60*5)", [("t", "AT (OFFSET => -60*5)", "t AT(OFFSET => -60*5)")]),
        (
            "select * from s.t before (statement => 'x') as a",
            [("s.t", "BEFORE (STATEMENT => 'x')", "s.t before (statement => 'x')")],
        ),
        (
            "SELECT * FROM `a b`.`t.x` AT (TIMESTAMP => f(1, (2)))",
            [("a b.t.x", "AT (TIMESTAMP => f(1, (2)))", "`a b`.`t.x` AT (TIMESTAMP => f(1, (2)))")],
        ),
        ("FROM t@v12 a", [("t", "VERSION AS OF 12", "t@v12")]),
        (
            "FROM t@20240102030405006",
            [("t", "TIMESTAMP AS OF '2024-01-02 03:04:05.006'", "t@20240102030405006")],
        ),
        (
            "SELECT * FROM t FOR SYSTEM_TIME AS OF current_timestamp() - INTERVAL 1 DAY 2 HOURS JOIN u",
            [
                (
                    "t",
                    "TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY 2 HOURS",
                    "t FOR SYSTEM_TIME AS OF current_timestamp() - INTERVAL 1 DAY 2 HOURS",
                )
            ],
        ),
        (
            "FROM t TIMESTAMP AS OF CAST('2024-01-01' AS TIMESTAMP) a, u VERSION AS OF 3",
            [
                (
                    "t",
                    "TIMESTAMP AS OF CAST('2024-01-01' AS TIMESTAMP)",
                    "t TIMESTAMP AS OF CAST('2024-01-01' AS TIMESTAMP)",
                ),
                ("u", "VERSION AS OF 3", "u VERSION AS OF 3"),
            ],
        ),
        (
            "FROM t TIMESTAMP AS OF date_sub(current_date(), 1) WHERE a",
            [
                (
                    "t",
                    "TIMESTAMP AS OF date_sub(current_date(), 1)",
                    "t TIMESTAMP AS OF date_sub(current_date(), 1)",
                )
            ],
        ),
        (
            "FROM t TIMESTAMP AS OF '2024-01-01' x",
            [("t", "TIMESTAMP AS OF '2024-01-01'", "t TIMESTAMP AS OF '2024-01-01'")],
        ),
        (
            "MERGE INTO t USING s AT (OFFSET => 0) ON t.a = s.a WHEN MATCHED THEN DELETE",
            [("s", "AT (OFFSET => 0)", "s AT (OFFSET => 0)")],
        ),
    ],
)
def test_finds_every_form(sql, expected):
    """Document's forms, Spark's and Delta's, by characters of the text."""
    assert found(sql) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT at(timestamp => 1), before(offset => 2) FROM t",
        "SELECT * FROM at(offset => 1)",
        "SELECT version AS of FROM t",
        "SELECT 'FROM t AT (OFFSET => 1)' FROM t -- AT (OFFSET => 1)",
        "SELECT a @ b FROM t",
        "SELECT * FROM t, version AS of",
    ],
)
def test_takes_nothing_else_for_a_clause(sql):
    """Functions, aliases, strings and comments stay what they are."""
    assert found(sql) == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM t AT (TIMESTAMP => '2024-01-01', OFFSET => -1)",
        "SELECT * FROM t AT (NUMBER => 1)",
        "SELECT * FROM t AT (TIMESTAMP =>)",
        "SELECT * FROM t BEFORE (-60)",
        "SELECT * FROM (SELECT 1) AT (OFFSET => -1)",
    ],
)
def test_refuses_half_a_clause(sql):
    """What begins like a clause and names no one point is an error that shows how to write it."""
    with pytest.raises(BadClauseError, match=r"AT \| BEFORE|behind the name of a table"):
        found(sql)
