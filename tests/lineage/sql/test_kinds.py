"""What a statement is where no parser knows it, and what it writes and uses."""

from __future__ import annotations

import pytest

from lineage import MemoryCatalog, analyze
from lineage.model import Domain
from lineage.sql.parse import parse

TABLE, VIEW, FUNCTION, SCHEMA, STAGE = (
    Domain.TABLE, Domain.VIEW, Domain.FUNCTION, Domain.SCHEMA, Domain.STAGE,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "is_query", "is_ddl", "changes_session"),
    [
        ("SELECT FROM WHERE", "SELECT", True, False, False),
        ("(SELECT 1", "SELECT", True, False, False),
        ("WITH a AS (SELECT 1) SELEC 1", "SELECT", True, False, False),
        ("WITH a AS (SELECT 'INSERT INTO') INSERT INTO t SELEC 1", "INSERT", False, False, False),
        ("FROM t INSERT OVERWRITE u SELEC a", "INSERT", False, False, False),
        ("INSERT INTO t SELEC 1", "INSERT", False, False, False),
        ("UPDATE t FLY a = 1", "UPDATE", False, False, False),
        ("DELETE t FROM", "DELETE", False, False, False),
        ("MERGE INTO t FLY", "MERGE", False, False, False),
        ("CREATE TABLE t (a INT) FLY", "CREATE_TABLE", False, True, False),
        ("CREATE TABLE t FLY AS SELECT 1", "CREATE_TABLE_AS_SELECT", False, True, False),
        ("CREATE OR REPLACE TABLE t FLY AS SELECT 1", "REPLACE_TABLE_AS_SELECT", False, True, False),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELEC 1", "CREATE_VIEW", False, True, True),
        ("DROP NAMESPACE s FLY", "DROP_SCHEMA", False, True, True),
        ("DROP SEQUENCE s", "UNKNOWN", False, False, True),
        ("FLY t", "UNKNOWN", False, False, True),
        ("'text'", "UNKNOWN", False, False, True),
    ],
)
def test_a_text_that_no_parser_knows_has_a_kind(text, kind, is_query, is_ddl, changes_session):
    """By its first words; what nobody knows may have changed the session."""
    statement = parse(text)
    assert statement.tree is None
    assert statement.reason
    found = (statement.statement_type, statement.is_query, statement.is_ddl, statement.changes_session)
    assert found == (kind, is_query, is_ddl, changes_session)


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("UPDATE s.t SET a = (SELECT max(a) FROM u)", [(("s", "t"), TABLE)]),
        ("DELETE FROM t x WHERE x.a = 1", [(("t",), TABLE)]),
        ("MERGE INTO c.s.t USING u ON a WHEN MATCHED THEN DELETE", [(("c", "s", "t"), TABLE)]),
        ("TRUNCATE TABLE s.t PARTITION (a = 1)", [(("s", "t"), TABLE)]),
        ("LOAD DATA LOCAL INPATH '/x' INTO TABLE s.t", [(("s", "t"), TABLE)]),
        ("INSERT INTO delta.`/x y` SELECT 1", [(("delta", "/x y"), TABLE)]),
        ("INSERT INTO IDENTIFIER('s.' || '`t.u`') VALUES (1)", [(("s", "t.u"), TABLE)]),
        ("INSERT OVERWRITE LOCAL DIRECTORY '/x' USING csv SELECT 1", [(("/x",), STAGE)]),
        ("CREATE TABLE `a.b`.t (a INT)", [(("a.b", "t"), TABLE)]),
        ("CREATE TEMPORARY VIEW v AS SELECT 1", [(("v",), VIEW)]),
        ("CREATE FUNCTION s.f(a INT) RETURNS INT RETURN a", [(("s", "f"), FUNCTION)]),
        ("DROP FUNCTION IF EXISTS s.f", [(("s", "f"), FUNCTION)]),
        ("DROP DATABASE s CASCADE", [(("s",), SCHEMA)]),
        ("ALTER TABLE s.t ADD COLUMNS (a INT)", [(("s", "t"), TABLE)]),
        ("ALTER TABLE a SWAP WITH s.b", [(("a",), TABLE), (("s", "b"), TABLE)]),
        ("CREATE TABLE a SHALLOW CLONE b", [(("a",), TABLE)]),
        ("RESTORE s.t TO VERSION AS OF 1", [(("s", "t"), TABLE)]),
        ("UNDROP VIEW s.v", [(("s", "v"), VIEW)]),
        ("SELECT * FROM t", []),
        ("SHOW COLUMNS IN t", []),
        ("SET VAR x = (SELECT max(a) FROM t)", []),
    ],
)
def test_what_a_statement_writes(text, targets):
    """Names as they were written, with their domain; a query and a look write nothing."""
    assert [(target.parts, target.domain) for target in parse(text).targets] == targets


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT * FROM a, b, a", "a b"),
        ("SELECT (SELECT max(x) FROM a) FROM b WHERE EXISTS (TABLE c)", "a b c"),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM b", "b"),
        ("WITH A AS (SELECT 1) SELECT * FROM a, s.a", "s.a"),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a), a", "a"),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a", ""),
        ("UPDATE a SET x = (SELECT max(x) FROM b)", "a b"),
        ("MERGE INTO a USING (SELECT * FROM b) c ON a.x = c.x WHEN MATCHED THEN DELETE", "a b"),
        ("INSERT INTO a SELECT * FROM b JOIN c USING (x)", "a b c"),
        ("FROM a |> JOIN b ON true |> UNION ALL TABLE c", "a b c"),
        ("SELECT * FROM a@v3, b VERSION AS OF 1, c AT (OFFSET => -1)", "a b c"),
        ("SELECT * FROM IDENTIFIER('s.a')", "s.a"),
        ("SELECT a.b.c, 'FROM d' FROM e LATERAL VIEW explode(f) g AS h", "e"),
        ("CREATE TABLE a CLONE s.b", "a s.b"),
        ("SELECT * FROM range(3)", ""),
    ],
)
def test_which_tables_a_statement_names(text, tables):
    """In order, each once; CTEs, functions, aliases and texts are none."""
    assert [".".join(parts) for parts in parse(text).references] == tables.split()


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO IDENTIFIER(:name) SELECT 1",
        "DROP TABLE IDENTIFIER('t' || x)",
        "CREATE TABLE IDENTIFIER(name) CLONE u",
        "UNDROP TABLE IDENTIFIER(:t)",
        "DELETE FROM IDENTIFIER(lower('T'))",
        "UPDATE IDENTIFIER(:t) SET a = 1",
        "MERGE INTO IDENTIFIER(:t) USING u ON true WHEN MATCHED THEN DELETE",
    ],
)
def test_a_name_that_only_spark_can_work_out_is_no_guess(text):
    """The statement says so, and no record of it has an object called IDENTIFIER, or without a name."""
    statement = parse(text)
    assert statement.reason
    access = analyze(text, MemoryCatalog({"s.u": {"a": "int"}}, current_schema="s"))
    assert access.analysis == "opaque"
    assert access.objects_modified == ()
    assert access.object_modified_by_ddl is None
