from __future__ import annotations

import os
import string
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage import parse
from lineage.model import Domain
from lineage.sql.tokens import split_statements

KINDS = {
    "SELECT 1": ("SELECT", True, False, False),
    "  (SELECT 1)  ;": ("SELECT", True, False, False),
    "VALUES (1)": ("SELECT", True, False, False),
    "TABLE t": ("SELECT", True, False, False),
    "FROM t": ("SELECT", True, False, False),
    "FROM t |> SELECT a": ("SELECT", True, False, False),
    "WITH a AS (SELECT 1) SELECT * FROM a": ("SELECT", True, False, False),
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a": ("INSERT", False, False, False),
    "FROM t INSERT INTO a SELECT x": ("INSERT", False, False, False),
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE": ("MERGE", False, False, False),
    "CREATE TABLE t (a INT)": ("CREATE_TABLE", False, True, False),
    "CREATE TABLE t AS SELECT 1": ("CREATE_TABLE_AS_SELECT", False, True, False),
    "REPLACE TABLE t AS SELECT 1": ("REPLACE_TABLE_AS_SELECT", False, True, False),
    "CREATE VIEW v AS SELECT 1": ("CREATE_VIEW", False, True, False),
    "CREATE TEMP VIEW v AS SELECT 1": ("CREATE_VIEW", False, True, True),
    "DROP TABLE t": ("DROP_TABLE", False, True, True),
    "ALTER TABLE t ADD COLUMN a INT": ("ALTER_TABLE", False, True, False),
    "ALTER TABLE t RENAME TO u": ("RENAME_TABLE", False, True, False),
    "CREATE SCHEMA s": ("CREATE_SCHEMA", False, True, False),
    "DROP DATABASE s CASCADE": ("DROP_SCHEMA", False, True, True),
    "USE s": ("USE", False, False, True),
    "SET a = b": ("SET", False, False, True),
    "RESET": ("RESET", False, False, True),
    "DECLARE x INT": ("DECLARE", False, False, True),
    "EXECUTE IMMEDIATE 'SELECT 1'": ("EXECUTE_IMMEDIATE", False, False, True),
    "BEGIN SELECT 1; END": ("SCRIPT", False, False, True),
    "SELECT 1; SELECT 2": ("SCRIPT", False, False, True),
    "SHOW TABLES": ("SHOW", False, False, False),
    "DESCRIBE DETAIL t": ("DESCRIBE", False, False, False),
    "EXPLAIN SELECT 1": ("EXPLAIN", False, False, False),
    "CACHE TABLE t": ("CACHE", False, False, True),
    "OPTIMIZE t": ("OPTIMIZE", False, False, False),
    "VACUUM t": ("VACUUM", False, False, False),
    "TRUNCATE TABLE t": ("TRUNCATE", False, False, False),
    "COPY INTO t FROM '/p'": ("COPY", False, False, False),
    "COPY INTO '/p' FROM t": ("UNLOAD", False, False, False),
    "no such thing": ("UNKNOWN", False, False, True),
    "": ("UNKNOWN", False, False, False),
    "SELECT 'open": ("UNKNOWN", False, False, True),
}


@pytest.mark.parametrize("sql", KINDS)
def test_a_statement_has_its_kind_and_nature(sql):
    """Kind, whether Spark runs it lazily, whether it is DDL, whether the session differs after it."""
    statement = parse(sql)
    found = (statement.statement_type, statement.is_query, statement.is_ddl, statement.changes_session)
    assert found == KINDS[sql]


def test_what_is_mistaken_for_something_else_has_no_tree():
    """Sqlglot reads these as columns with an alias, or as a query that they are not."""
    for sql in (
        "CLEAR CACHE",
        "RESET a",
        "FROM t |> AGGREGATE sum(a) GROUP BY 1",
        "FROM t |> FLY",
        "|> SELECT a",
    ):
        assert parse(sql).tree is None


def test_references_are_tables_without_ctes_and_hints():
    """The objects that a statement tried: names as written, in order, each once."""
    sql = (
        "WITH c AS (SELECT * FROM s.a) SELECT /*+ BROADCAST(h) */ * FROM c JOIN `b.c`.d ON true "
        "WHERE EXISTS (SELECT 1 FROM e, s.a)"
    )
    assert parse(sql).references == (("s", "a"), ("b.c", "d"), ("e",))


def test_a_cte_hides_its_own_name_only_after_itself():
    """`WITH t AS (SELECT * FROM t)` reads the table t."""
    assert parse("WITH t AS (SELECT * FROM t) SELECT * FROM t").references == (("t",),)


def test_targets_carry_their_domain():
    """What DML and DDL write, several for a multi-insert."""
    found = [
        (t.parts, t.domain) for t in parse("FROM t INSERT INTO a SELECT x INSERT INTO s.b SELECT y").targets
    ]
    assert found == [(("a",), Domain.TABLE), (("s", "b"), Domain.TABLE)]
    assert parse("DROP VIEW s.v").targets[0].domain is Domain.VIEW
    assert parse("COPY INTO '/p' FROM t").targets[0].domain is Domain.STAGE
    assert parse("CREATE SCHEMA x").targets[0].domain is Domain.SCHEMA


def test_hashes_ignore_comments_white_space_and_keyword_case():
    """query_hash: the same statement; query_parameterized_hash: the same but for literals."""
    one = parse("SELECT a FROM t WHERE b = 1 -- c")
    two = parse("select  A\nfrom T where b = 1;")
    three = parse("SELECT a FROM t WHERE b = 'x'")
    assert one.query_hash == two.query_hash != three.query_hash
    assert one.query_parameterized_hash == three.query_parameterized_hash
    assert len(one.query_hash) == 32


def test_text_that_does_not_parse_has_hashes_too():
    """Hashes come from tokens, or from the text where there are none."""
    assert parse("FROM t |> SELECT a").query_hash == parse("from t |> select a").query_hash
    assert parse("SELECT 'open").query_hash


def test_parsing_is_cached_by_text():
    """The same text gives the same value."""
    assert parse("SELECT 1 AS cached") is parse("SELECT 1 AS cached")


def test_a_script_is_cut_at_semicolons_outside_quotes_and_blocks():
    """Quotes, comments, commands and BEGIN … END keep their semicolons."""
    assert split_statements("SELECT ';'; EXECUTE IMMEDIATE 'a;b'; -- x;\nSHOW TABLES;") == [
        "SELECT ';'",
        "EXECUTE IMMEDIATE 'a;b'",
        "-- x;\nSHOW TABLES",
    ]
    assert split_statements("BEGIN SELECT 1; SELECT 2; END") == ["BEGIN SELECT 1; SELECT 2; END"]


WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "TABLE",
        "(",
        ")",
        ",",
        ".",
        "*",
        "|>",
        "@",
        "v3",
        "t",
        "a.b",
        "'x'",
        "`q`",
        "1",
        "->",
        ":",
        "::",
        "BEGIN",
        "END",
        ";",
        "CREATE",
        "REPLACE",
        "MERGE",
        "INTO",
        "USING",
        "WHEN",
        "MATCHED",
        "THEN",
        "UPDATE",
        "SET",
        "INSERT",
        "VALUES",
        "WITH",
        "AS",
        "UNION",
        "IDENTIFIER('a')",
        "LATERAL",
        "VIEW",
        "explode",
        "ALTER",
        "DROP",
        "COPY",
        "OPTIMIZE",
        "EXECUTE",
        "IMMEDIATE",
        "DESCRIBE",
        "CACHE",
        "IN",
        "EXISTS",
        "CASE",
        "PIVOT",
        "FOR",
        "OVER",
    ]
)


@given(st.one_of(st.text(string.printable, max_size=60), st.lists(WORDS, max_size=14).map(" ".join)))
def test_parsing_never_raises(sql):
    """Whatever the text, there is a statement with its references, targets and hashes."""
    statement = parse(sql)
    assert statement.statement_type
    assert isinstance(statement.references, tuple)
    assert isinstance(statement.targets, tuple)
    assert statement.query_parameterized_hash


def test_deep_nesting_does_not_end_a_process_with_a_small_stack():
    """A thread's stack may be small, and Python's limit high: the text is not parsed, the process goes on."""
    program = """
        import sys, threading
        from lineage import parse
        sys.setrecursionlimit(100_000)
        threading.stack_size(256 * 1024)
        texts = ["SELECT " + "(" * 5000 + "1" + ")" * 5000, "SELECT " + "NOT " * 5000 + "a FROM t",
                 "SELECT " + "CASE WHEN a THEN " * 5000 + "1" + " END" * 5000,
                 "SELECT a FROM " + "(SELECT a FROM " * 90 + "t" + ") s" * 90]
        def work():
            for text in texts:
                print(parse(text).reason)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["nested too deep to parse"] * 3 + ["None"]
