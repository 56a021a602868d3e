"""What the statements of Time Travel are, by their type and what they say."""

from __future__ import annotations

import pytest

from lineage.model import Domain
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.show import ShowObjects
from lineage.sql.commands.time_travel.at_before import BadClause, VersionClause
from lineage.sql.commands.time_travel.clone import CloneSchema, CloneTable
from lineage.sql.commands.time_travel.drop import Drop, Undrop
from lineage.sql.commands.time_travel.restore import Restore
from lineage.sql.commands.time_travel.retention import AlterRetention, ShowParameters
from lineage.sql.commands.time_travel.statement_chain import StatementChain
from lineage.sql.commands.time_travel.vacuum import Vacuum
from lineage.sql.parse import parse, typed_of


def point(table, kind, expression, *, before=False, own=True):
    """A point in time of a table that is named elsewhere in the statement."""
    return VersionClause((table,), kind, before=before, expression=expression, own=own)


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("RESTORE t TO VERSION AS OF 3", Restore(("t",), point("t", "VERSION", "3", own=False))),
        ("RESTORE TABLE t AT (OFFSET => -1)", Restore(("t",), point("t", "OFFSET", "-1"))),
        (
            "RESTORE TABLE t TO FOR SYSTEM_TIME AS OF 'x'",
            Restore(("t",), point("t", "TIMESTAMP", "'x'", own=False)),
        ),
        ("RESTORE TABLE t TO", Restore(("t",), None)),
        ("RESTORE TABLE t TO yesterday", Restore(("t",), None, "yesterday")),
        (
            "RESTORE TABLE t TO VERSION AS OF 3 NOW",
            Restore(("t",), point("t", "VERSION", "3", own=False), "VERSION AS OF 3 NOW"),
        ),
        ("VACUUM t RETAIN 1.5 HOURS", Vacuum(("t",), 1.5, dry=False)),
        ("VACUUM t RETAIN 0D HOURS DRY RUN", Vacuum(("t",), 0.0, dry=True)),
        ("VACUUM t RETAIN some HOURS", Vacuum(("t",), 0.0, dry=False)),
        (
            "VACUUM t USING INVENTORY (SELECT 1 AS retain FROM x) RETAIN 7 HOURS",
            Vacuum(("t",), 7.0, dry=False),
        ),
        ("VACUUM delta.`/x y`", Vacuum(("delta", "/x y"), None, dry=False)),
        ("DROP DATABASE s CASCADE", Drop(Domain.SCHEMA, ("s",), cascade=True)),
        ("DROP TABLE cascade", Drop(Domain.TABLE, ("cascade",))),
        ("DROP TABLE IDENTIFIER('s.t')", Drop(Domain.TABLE, ("s", "t"))),
        ("DROP TEMP FUNCTION IF EXISTS f", Drop(Domain.FUNCTION, ("f",), if_exists=True, temporary=True)),
        ("UNDROP DATABASE a.s", Undrop(Domain.SCHEMA, ("a", "s"))),
        (
            "ALTER NAMESPACE s SET OPTIONS (max_time_travel_hours = '96')",
            AlterRetention("SCHEMA", ("s",), (("MAX_TIME_TRAVEL_HOURS", "'96'"),)),
        ),
        (
            "ALTER ACCOUNT SET DATA_RETENTION_TIME_IN_DAYS = -1 COMMENT = 'x'",
            AlterRetention("ACCOUNT", (), (("DATA_RETENTION_TIME_IN_DAYS", "-1 COMMENT = 'x'"),)),
        ),
        (
            "ALTER TABLE IF EXISTS t UNSET DATA_RETENTION_TIME_IN_DAYS now",
            AlterRetention("TABLE", ("t",), (("DATA_RETENTION_TIME_IN_DAYS", None),), True, "now"),  # noqa: FBT003
        ),
        ("SHOW PARAMETERS", ShowParameters("", "ACCOUNT", ())),
        ("SHOW PARAMETERS IN NAMESPACE s x", ShowParameters("", "SCHEMA", ("s",), "x")),
        ("SHOW TABLES", ShowObjects("TABLES", "", (), history=False)),
        ("SHOW SCHEMAS HISTORY IN ACCOUNT", ShowObjects("SCHEMAS", "", None, history=True)),
        ("SHOW TABLES HISTORY LIKE 'a' 'b'", ShowObjects("TABLES", "ab", (), history=True)),
        (
            "SHOW TABLES HISTORY STARTS WITH 'x' LIMIT 5 FROM 'xb'",
            ShowObjects("TABLES", "", (), history=True, starts_with="x", limit=5, following="xb"),
        ),
        ("SHOW SCHEMAS HISTORY LIMIT 0", ShowObjects("SCHEMAS", "", (), history=True, limit=0)),
        ("SHOW TABLES HISTORY LIMIT -1", ShowObjects("TABLES", "", (), history=True, rest="-1")),
        ("SHOW TABLES HISTORY BY x", ShowObjects("TABLES", "", (), history=True, rest="BY x")),
        ("CREATE TABLE a CLONE b", CloneTable(("a",), ("b",))),
        (
            "CREATE OR REPLACE TRANSIENT TABLE a CLONE b",
            CloneTable(("a",), ("b",), replace=True, transient=True),
        ),
        ("REPLACE TABLE a CLONE b", CloneTable(("a",), ("b",), create=False, replace=True)),
        ("CREATE TABLE a DEEP CLONE b SORTED", CloneTable(("a",), ("b",), deep=True, rest="SORTED")),
        ("CREATE EXTERNAL TABLE a CLONE b", CloneTable(("a",), ("b",), external=True)),
        (
            "CREATE SCHEMA a CLONE b BEFORE (OFFSET => -60)",
            CloneSchema(("a",), ("b",), point("b", "OFFSET", "-60", before=True)),
        ),
        ("CREATE OR REPLACE DATABASE a DEEP CLONE b", CloneSchema(("a",), ("b",), replace=True, deep=True)),
        ("CREATE SCHEMA a CLONE b FAST", CloneSchema(("a",), ("b",), rest="FAST")),
        ("CREATE TABLE t (a INT) COMMENT 'made USING parquet'", CreateTable(("t",))),
        ("CREATE TABLE t (a INT) COMMENT 'x' USING parquet", CreateTable(("t",), "parquet")),
        ("CREATE TABLE t (using INT) STORED AS ORC", CreateTable(("t",), "hive")),
        ("CREATE TABLE t LIKE s.u", CreateTable(("t",), like=("s", "u"))),
        ("CREATE TABLE t (a, b) AS SELECT 1, 2", CreateTable(("t",), columns=("a", "b"))),
        (
            "CREATE TABLE IF NOT EXISTS t (a INT) LOCATION '/x'",
            CreateTable(("t",), if_not_exists=True, has_location=True, location="/x"),
        ),
        ("CREATE TABLE t USING delta AS SELECT 1 AS location", CreateTable(("t",), "delta")),
        ("REPLACE TABLE t USING Delta", CreateTable(("t",), "delta", create=False, replace=True)),
        ("CREATE TRANSIENT SCHEMA s", CreateSchema(("s",), transient=True)),
        ("CREATE NAMESPACE s DATA_RETENTION_TIME_IN_DAYS many", CreateSchema(("s",), retention="many")),
    ],
)
def test_says_what_the_statement_is(text, typed):
    """The whole value, so that a field that is read by mistake shows."""
    assert typed_of(text) == typed
    assert parse(text).typed == typed


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE a, b",
        "DROP TABLE t NOW",
        "DROP VARIABLE x",
        "UNDROP TABLE",
        "CREATE TABLE IDENTIFIER('t') (a INT)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TEMPORARY VIEW v USING parquet",
        "SHOW VIEWS",
        "ALTER TABLE t SET TBLPROPERTIES ('DATA_RETENTION_TIME_IN_DAYS' = '1')",
        "SELECT 'RESTORE TABLE t'",
    ],
)
def test_is_none_of_them(text):
    """What only looks like one of these is for Spark, or for another reader."""
    ours = (
        AlterRetention,
        CloneSchema,
        CloneTable,
        CreateSchema,
        CreateTable,
        Drop,
        StatementChain,
        Restore,
        Undrop,
    )
    assert not isinstance(typed_of(text), (*ours, ShowObjects, ShowParameters, Vacuum))


def test_a_clause_that_cannot_be_read_says_how_to_write_it():
    """Where it stands decides who raises it: nothing does here."""
    for text in ("RESTORE TABLE t TO AT (NUMBER => 1)", "CREATE SCHEMA a CLONE t AT (NUMBER => 1)"):
        found = typed_of(text).point
        assert isinstance(found, BadClause)
        assert "AT (NUMBER => 1)" in found.problem
        assert "STATEMENT" in found.way_out


def test_a_clause_knows_what_stands_around_it():
    """The word before the name, the alias behind, the path of a name that holds its point."""
    text = "MERGE INTO t USING s AT (OFFSET => 0) AS x ON x.a = t.a WHEN MATCHED THEN DELETE"
    (found,) = parse(text).points
    assert (found.after, found.aliased, text[found.first : found.stop]) == (
        "USING", True, "s AT (OFFSET => 0)",
    )  # fmt: skip
    (found,) = parse("SELECT * FROM delta.`/a@b/t@v3` WHERE x").points
    assert (found.path, found.table, found.aliased) == ("/a@b/t@v3", ("delta", "/a@b/t"), False)


def test_a_chain_hands_on_what_is_shown():
    """`$1` in a string is no input, and an arrow in a string none of the chain."""
    chain = typed_of("SHOW TABLES LIKE '->>' ->> SELECT '$1' FROM $1 ->> SELECT * FROM $1 JOIN $1;")
    assert isinstance(chain, StatementChain)
    assert [part.reading_from("v") for part in chain.parts] == [
        "SHOW TABLES LIKE '->>'", "SELECT '$1' FROM v", "SELECT * FROM v JOIN v",
    ]  # fmt: skip
    assert typed_of("SHOW TABLES ->>").parts[1].text == ""
    assert not isinstance(typed_of("SHOW TABLES LIKE 'a->>b'"), StatementChain)


def test_a_script_asks_for_the_past_too():
    """Its clauses are read; it is no statement of one type."""
    script = parse("BEGIN SELECT * FROM t AT (OFFSET => -1); SELECT * FROM u@v3; END")
    assert [str(one) for one in script.points] == ["AT (OFFSET => -1)", "VERSION AS OF 3"]
    assert script.typed is None


@pytest.mark.parametrize(
    "expression",
    [
        "CASE WHEN a THEN CASE b WHEN 1 THEN 2 END ELSE 3 END",
        "CASE WHEN a THEN (CASE WHEN b THEN 2 END) ELSE CASE WHEN c THEN 4 END END + 1",
        "TIME '12:00:00'",
        "DATE '2024-01-01' + TIME '12:00:00'",
        "x[0]",
        "x.y[f(1)]['k'].z - INTERVAL 1 DAY",
        "f(a)[0].b || 'c'",
        "(SELECT max(a) FROM u).b",
        "array(1, 2)[1]::INT",
        "'it''s'",
    ],
)
def test_the_expression_of_a_point_is_whole(expression):
    """AS OF takes a whole value: with CASE in CASE, elements and fields, and what follows stays outside."""
    for alias in ("", " x", " AS x"):
        sql = f"SELECT * FROM t TIMESTAMP AS OF {expression}{alias} JOIN u"
        (found,) = parse(sql).points
        assert (found.expression, found.aliased) == (expression, bool(alias))
        assert sql[found.start : found.stop] == f" TIMESTAMP AS OF {expression}"
