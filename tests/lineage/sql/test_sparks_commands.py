"""Spark's statements without a tree of the parser's: what they name, read and change.

The forms are those of Spark's SQL reference.
"""

from __future__ import annotations

import pytest

from lineage.model import Domain
from lineage.sql.commands.time_travel.vacuum import Vacuum
from lineage.sql.parse import parse, typed_of


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("ANALYZE TABLE s.t PARTITION (a = 1) COMPUTE STATISTICS NOSCAN", "ANALYZE", ("s", "t")),
        ("ANALYZE TABLES IN s COMPUTE STATISTICS", "ANALYZE", ()),
        ("ANALYZE TABLES COMPUTE STATISTICS", "ANALYZE", ()),
        ("CACHE TABLE s.t", "CACHE", ("s", "t")),
        ("CALL c.s.p(1, a => 2)", "CALL", ("c", "s", "p")),
        ("CLEAR CACHE", "UNCACHE", ()),
        ("COMMENT ON COLUMN s.t.a IS 'x'", "COMMENT", ("s", "t", "a")),
        ("CONVERT TO DELTA parquet.`/x` PARTITIONED BY (a INT)", "CONVERT", ("parquet", "/x")),
        ("DECLARE OR REPLACE VARIABLE x INT DEFAULT 1", "DECLARE", ("x",)),
        ("DESC s.t", "DESCRIBE", ("s", "t")),
        ("DESCRIBE TABLE EXTENDED s.t PARTITION (a = 1)", "DESCRIBE", ("s", "t")),
        ("DESCRIBE t a", "DESCRIBE", ("t",)),
        ("DESCRIBE DETAIL s.t", "DESCRIBE", ("s", "t")),
        ("DESCRIBE HISTORY t LIMIT 1", "DESCRIBE", ("t",)),
        ("DESCRIBE detail", "DESCRIBE", ("detail",)),
        ("DESCRIBE FORMATTED extended", "DESCRIBE", ("extended",)),
        ("DESCRIBE FUNCTION f", "DESCRIBE", ()),
        ("DESCRIBE SCHEMA EXTENDED s", "DESCRIBE", ()),
        ("MSCK REPAIR TABLE s.t ADD PARTITIONS", "REPAIR", ("s", "t")),
        ("OPTIMIZE s.t WHERE a = 1 ZORDER BY (b)", "OPTIMIZE", ("s", "t")),
        ("REFRESH TABLE s.t", "REFRESH", ("s", "t")),
        ("REFRESH '/x'", "REFRESH", ()),
        ("REFRESH FUNCTION s.f", "REFRESH", ()),
        ("REORG TABLE t APPLY (PURGE)", "OPTIMIZE", ("t",)),
        ("RESET spark.sql.ansi.enabled", "RESET", ()),
        ("SET spark.sql.ansi.enabled = true", "SET", ()),
        ("SHOW COLUMNS IN s.t", "SHOW", ("s", "t")),
        ("SHOW COLUMNS FROM t FROM s", "SHOW", ("s", "t")),
        ("SHOW CREATE TABLE s.t AS SERDE", "SHOW", ("s", "t")),
        ("SHOW PARTITIONS s.t PARTITION (a = 1)", "SHOW", ("s", "t")),
        ("SHOW TBLPROPERTIES s.t ('a')", "SHOW", ("s", "t")),
        ("SHOW FUNCTIONS LIKE 'a*'", "SHOW", ()),
        ("UNCACHE TABLE IF EXISTS s.t", "UNCACHE", ("s", "t")),
        ("USE s", "USE", ("s",)),
        ("USE SCHEMA c.s", "USE", ("c", "s")),
        ("USE schema", "USE", ("schema",)),
        ("USE IDENTIFIER('c.s')", "USE", ("c", "s")),
    ],
)
def test_a_command_names_its_object(text, kind, target):
    """The one that its syntax has in that place; variables, procedures, schemas and columns are no tables."""
    statement = parse(text)
    assert statement.statement_type == kind
    assert statement.command.target == target
    assert not statement.is_query
    is_table = target and kind not in ("CALL", "COMMENT", "DECLARE", "USE")
    assert statement.references == ((target,) if is_table else ())


def test_a_catalog_is_told_from_a_schema():
    """USE CATALOG changes the catalog; a schema may have that name."""
    assert parse("USE CATALOG c").command.source == ("CATALOG",)
    assert parse("USE c").command.source == parse("USE `CATALOG`").command.source == ()


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("CACHE LAZY TABLE c OPTIONS ('a' = 'b)') AS SELECT a FROM t", "SELECT a FROM t"),
        ("CACHE TABLE c SELECT a FROM t", "SELECT a FROM t"),
        ("DESCRIBE QUERY SELECT a FROM t", "SELECT a FROM t"),
        (
            "DESCRIBE WITH c AS (SELECT a FROM t) SELECT * FROM c",
            "WITH c AS (SELECT a FROM t) SELECT * FROM c",
        ),
        ("EXPLAIN EXTENDED SELECT a FROM t -- x", "SELECT a FROM t"),
        ("EXPLAIN", None),
        ("EXECUTE IMMEDIATE 'SELECT a FROM t' INTO x USING 1", "SELECT a FROM t"),
        ("EXECUTE IMMEDIATE 'SELECT ''x'', a FROM t'", "SELECT 'x', a FROM t"),
        ("EXECUTE IMMEDIATE 'SELECT a ' \"FROM t\"", "SELECT a FROM t"),
        ("EXECUTE IMMEDIATE query", None),
        ("SET VAR x = (SELECT max(a) FROM t), y = 2", "(SELECT max(a) FROM t), 2"),
        ("SET VARIABLE (x, y) = (SELECT a, b FROM t)", "(SELECT a, b FROM t)"),
        ("SET VAR x = 1", None),
        ("DECLARE x, y INT DEFAULT (SELECT max(a) FROM t)", "(SELECT max(a) FROM t)"),
        ("DECLARE x = (SELECT 1)", "(SELECT 1)"),
        ("DECLARE x STRING DEFAULT 'a'", None),
    ],
)
def test_a_command_holds_what_it_runs(text, inner):
    """The query, or the values of variables that read something; None where nothing is read."""
    assert parse(text).command.text == inner


@pytest.mark.parametrize(
    ("text", "kind", "domain", "properties"),
    [
        (
            "ALTER TABLE t SET TBLPROPERTIES ('a' = 'b', c.d = 3, 'e' = true)",
            "ALTER_TABLE", Domain.TABLE, (("a", "b"), ("c.d", "3"), ("e", "true")),
        ),
        (
            "ALTER TABLE t UNSET TBLPROPERTIES IF EXISTS ('a', 'b.c')",
            "ALTER_TABLE", Domain.TABLE, (("a", None), ("b.c", None)),
        ),
        ("ALTER TABLE t SET LOCATION '/x'", "ALTER_TABLE", Domain.TABLE, (("location", "/x"),)),
        ("ALTER VIEW t SET TBLPROPERTIES ('a' = 'b')", "ALTER_VIEW", Domain.VIEW, (("a", "b"),)),
        ("ALTER DATABASE t SET DBPROPERTIES ('a' = 'b')", "ALTER_SCHEMA", Domain.SCHEMA, (("a", "b"),)),
        ("COMMENT ON TABLE t IS 'it''s'", "ALTER_TABLE", Domain.TABLE, (("comment", "it's"),)),
        ("COMMENT ON VIEW t IS ''", "ALTER_VIEW", Domain.VIEW, (("comment", ""),)),
        ("COMMENT ON NAMESPACE t IS NULL", "ALTER_SCHEMA", Domain.SCHEMA, (("comment", None),)),
        ("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1)", "ALTER_TABLE", Domain.TABLE, ()),
        ("ALTER TABLE t RECOVER PARTITIONS", "ALTER_TABLE", Domain.TABLE, ()),
    ],
)  # fmt: skip
def test_a_change_says_what_it_sets(text, kind, domain, properties):
    """Keys and values as texts, None for what is taken away."""
    command = parse(text).command
    assert (command.kind, command.domain, command.target) == (kind, domain, ("t",))
    assert command.properties == properties
    assert [(target.parts, target.domain) for target in parse(text).targets] == [(("t",), domain)]


@pytest.mark.parametrize(
    ("text", "if_clause", "columns", "new_name"),
    [
        ("ALTER TABLE t RENAME TO s.u", False, (), ("s", "u")),
        ("ALTER TABLE IF EXISTS t RENAME TO u", True, (), ("u",)),
        ("ALTER TABLE t ALTER COLUMN a SET NOT NULL", False, (("a", "ALTER"),), ()),
        ("ALTER TABLE t CHANGE a COMMENT 'x'", False, (("a", "ALTER"),), ()),
        ("ALTER TABLE t ALTER COLUMN a FIRST", False, (("a", "ALTER"),), ()),
        ("ALTER TABLE t ALTER COLUMN a.b AFTER c", False, (("a", "ALTER"),), ()),
    ],
)
def test_a_change_names_its_columns_and_new_name(text, if_clause, columns, new_name):
    """A field of a struct belongs to its column."""
    command = parse(text).command
    assert (command.target, command.if_clause, command.columns) == (("t",), if_clause, columns)
    assert command.new_name == new_name


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t ADD COLUMN a INT",
        "ALTER TABLE t DROP COLUMN a",
        "ALTER TABLE t RENAME COLUMN a TO b",
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT",
        "ALTER VIEW v AS SELECT 1",
    ],
)
def test_what_the_parser_reads_needs_no_command(text):
    """The columns of these come from a tree."""
    statement = parse(text)
    assert statement.command is None
    assert statement.tree is not None
    assert statement.is_ddl


@pytest.mark.parametrize(
    ("said", "hours"),
    [
        ("168", 168.0),
        ("0.5", 0.5),
        ("1e2", 100.0),
        ("-5", -5.0),
        ("0F", 0.0),
        ("many", 0.0),
        ("NaN", 0.0),
        ("Infinity", 0.0),
        ("1e999", 0.0),
        ("", 0.0),
    ],
)
def test_hours_that_are_no_number_count_as_none(said, hours):
    """What is not understood is the least, so that the check of the retention holds it back."""
    assert typed_of(f"VACUUM t RETAIN {said} HOURS") == Vacuum(("t",), hours, dry=False)


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("VACUUM retain", Vacuum(("retain",), None, dry=False)),
        ("VACUUM TABLE `dry` DRY RUN", Vacuum(("dry",), None, dry=True)),
        ("VACUUM '/it''s' RETAIN 1 HOURS FULL", Vacuum(("delta", "/it's"), 1.0, dry=False)),
        ("VACUUM t USING INVENTORY 'DRY RUN' LITE", Vacuum(("t",), None, dry=False)),
        ("VACUUM", Vacuum((), None, dry=False)),
    ],
)
def test_words_of_vacuum_may_be_names(text, typed):
    """A table called retain is no clause, and a text is none."""
    assert typed_of(text) == typed


@pytest.mark.parametrize(
    "text",
    [
        # Understanding & using Time Travel: objects that Spark has not
        "UNDROP NOTEBOOK mynotebook",
        "UNDROP ACCOUNT a",
        "CREATE TASK T1 AS SELECT 1",
        "DROP NOTEBOOK n",
        # clauses that are not read to their end
        "UNDROP TABLE t AT (OFFSET => 1)",
        "GRANT SELECT ON FUTURE TABLES IN SCHEMA s TO ROLE a",
        "GRANT SELECT ON TABLE t FROM ROLE a",
        "REVOKE SELECT ON TABLE t TO ROLE a",
        "GRANT SELECT, ON TABLE t TO a",
        "CREATE ROLE a.b",
        "ALTER ROLE a RENAME TO b",
    ],
)
def test_what_is_not_built_is_unknown_to_all(text):
    """Spark refuses it: no reader takes it for something near."""
    statement = parse(text)
    assert statement.typed is None
    assert statement.statement_type == "UNKNOWN"
    assert statement.reason
