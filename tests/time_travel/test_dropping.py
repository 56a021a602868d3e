"""DROP keeps, UNDROP brings back: the document's example, schemas, views, failures."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from audit.time_travel import errors
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES

pytestmark = pytest.mark.spark


def shown(session, text="SHOW TABLES HISTORY"):
    """Name, rows, retention and whether dropped, in order."""
    return [
        (row["name"], row["rows"], row["retention_time"], row["dropped_on"] is not None)
        for row in session.sql(text).collect()
    ]


def said(session, text):
    """What a statement says that it did."""
    return session.sql(text).collect()[0][0]


def test_example_of_the_document(session, schema):
    """Dropping and restoring a table multiple times, step by step, under the document's own names."""
    session.sql("CREATE TABLE loaddata1 AS SELECT id AS c0 FROM range(48)")
    session.sql("CREATE TABLE proddata1 AS SELECT id AS c0 FROM range(12)")
    assert shown(session) == [("loaddata1", 48, 1, False), ("proddata1", 12, 1, False)]
    session.sql("DROP TABLE loaddata1")
    assert shown(session) == [("proddata1", 12, 1, False), ("loaddata1", 48, 1, True)]
    session.sql("CREATE TABLE loaddata1 (c1 BIGINT)")
    session.sql("INSERT INTO loaddata1 VALUES (1111), (2222), (3333), (4444)")
    session.sql("DROP TABLE loaddata1")
    session.sql("CREATE TABLE loaddata1 (c1 STRING)")
    assert shown(session) == [
        ("loaddata1", 0, 1, False), ("proddata1", 12, 1, False), ("loaddata1", 4, 1, True),
        ("loaddata1", 48, 1, True),
    ]  # fmt: skip
    with pytest.raises(errors.ObjectExistsError, match="rename it first"):
        session.sql("UNDROP TABLE loaddata1")
    session.sql("ALTER TABLE loaddata1 RENAME TO loaddata3")
    assert said(session, "UNDROP TABLE loaddata1") == "Table loaddata1 successfully restored."
    assert shown(session) == [
        ("loaddata1", 4, 1, False), ("loaddata3", 0, 1, False), ("proddata1", 12, 1, False),
        ("loaddata1", 48, 1, True),
    ]  # fmt: skip
    session.sql("ALTER TABLE loaddata1 RENAME TO loaddata2")
    session.sql("UNDROP TABLE loaddata1")
    assert shown(session) == [
        ("loaddata1", 48, 1, False), ("loaddata2", 4, 1, False), ("loaddata3", 0, 1, False),
        ("proddata1", 12, 1, False),
    ]  # fmt: skip
    assert shown(session, "SHOW TABLES HISTORY LIKE 'LOAD%3'") == [("loaddata3", 0, 1, False)]
    assert session.sql("SELECT sum(c1) FROM loaddata2").collect()[0][0] == 11110


@pytest.mark.long("a driver of its own; test_example_of_the_document has the steps")
def test_the_examples_in_a_session_as_it_is(tmp_path):
    """`audit.session()` with no setting runs the documents' statements as they end, in `;`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.time_travel.plain_session", str(tmp_path / "root")],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    first, second = ["loaddata1", 48, 1], ["loaddata1", 4, 1]
    third, other = ["loaddata1", 0, 1], ["proddata1", 12, 1]
    assert told["shown"] == [
        [[*first, False], [*other, False]],
        [[*other, False], [*first, True]],
        [[*third, False], [*other, False], [*second, True], [*first, True]],
        [[*second, False], ["loaddata3", 0, 1, False], [*other, False], [*first, True]],
        [[*first, False], ["loaddata2", 4, 1, False], ["loaddata3", 0, 1, False], [*other, False]],
    ]
    created, altered, tables, schemas, now, _, _, cloned, _, undone, counted, history = told["given"].values()
    assert (created, len(altered)) == ([], 1)
    assert sorted(tables) == [["mytable", "30"], ["proddata1", "1"]]
    assert (schemas, now, cloned, len(undone), counted) == ([], [["11110"]], [["11110"]], 1, [["12"]])
    assert len(history) == 3


def test_history_comes_back(session, schema):
    """A table is restored with its versions, so that its past can be read as before the drop."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("DROP TABLE t")
    session.sql("UNDROP TABLE t")
    assert [row.version for row in session.sql("DESCRIBE HISTORY t").collect()] == [1, 0]
    assert session.sql("SELECT * FROM t VERSION AS OF 0").collect() == []


def test_a_schema_returns_with_what_was_in_it(session, spark, schema):
    """Tables, views over views and functions; also tables that were made outside, inside its own folder."""
    spark.sql(f"CREATE TABLE {schema}.outside USING delta AS SELECT 1 AS a")
    spark.sql(f"CREATE TABLE {schema}.early USING delta AS SELECT 5 AS a")
    session.sql("CREATE TABLE own AS SELECT 2 AS a")
    session.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    session.sql("CREATE VIEW v (k COMMENT 'key') COMMENT 'of own' AS SELECT plus(a) AS n FROM own")
    session.sql("CREATE VIEW w AS SELECT k FROM v UNION ALL SELECT a FROM outside")
    session.sql("DROP TABLE early")
    session.sql("USE default")
    with pytest.raises(Exception, match="SCHEMA_NOT_EMPTY"):
        session.sql(f"DROP SCHEMA {schema}")
    session.sql(f"DROP SCHEMA {schema} CASCADE -- with all that is in it")
    with pytest.raises(errors.NothingDroppedError, match=r"UNDROP SCHEMA|current schema"):
        session.sql(f"UNDROP TABLE {schema}.own")
    assert said(session, f"UNDROP SCHEMA {schema}") == f"Schema {schema} successfully restored."
    session.sql(f"USE {schema}")
    assert sorted(row.k for row in session.sql("SELECT * FROM w").collect()) == [1, 3]
    described = {row.col_name: row.comment for row in session.sql("DESCRIBE v").collect()}
    assert described["k"] == "key"
    session.sql("UNDROP TABLE early")
    assert session.sql("SELECT a FROM early").collect()[0][0] == 5


def test_the_tables_of_a_dropped_schema_are_listed(session, schema):
    """SHOW TABLES HISTORY asks for it by its name; STARTS WITH and LIMIT … FROM leave what they name."""
    session.sql("CREATE SCHEMA past")
    for name in ("one", "other", "two"):
        session.sql(f"CREATE TABLE past.{name} (a INT)")
    session.sql("DROP SCHEMA past CASCADE")

    def listed(clauses=""):
        found = session.sql(f"SHOW TABLES HISTORY IN SCHEMA past {clauses}").collect()
        return [(row["name"], row["dropped_on"] is not None) for row in found]

    assert sorted(listed()) == [("one", True), ("other", True), ("two", True)]
    assert sorted(listed("STARTS WITH 'o'")) == [("one", True), ("other", True)]
    assert listed("LIMIT 1 FROM 'one'") == [("one", True)]
    session.sql("UNDROP SCHEMA past")
    assert listed() == [("one", False), ("other", False), ("two", False)]
    session.sql("DROP SCHEMA past CASCADE")


def test_a_view_is_dropped_and_restored(session, schema):
    """With the name of its column and its text."""
    session.sql("CREATE VIEW v AS SELECT 1 AS one")
    session.sql("DROP VIEW v")
    assert said(session, "UNDROP VIEW v") == "View v successfully restored."
    assert session.sql("SELECT one FROM v").collect()[0][0] == 1


def test_functions(session, schema):
    """A function returns by itself: the newest of its name, where that is free."""
    session.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    session.sql("DROP FUNCTION plus")
    session.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 2")
    with pytest.raises(errors.ObjectExistsError, match="renames no functions"):
        session.sql("UNDROP FUNCTION plus")
    session.sql(f"DROP FUNCTION IF EXISTS {schema}.PLUS")
    assert said(session, "UNDROP FUNCTION plus") == "Function plus successfully restored."
    assert session.sql("SELECT plus(1)").first()[0] == 3
    session.sql("CREATE TEMPORARY FUNCTION brief(x INT) RETURNS INT RETURN x")
    session.sql("DROP TEMPORARY FUNCTION brief")
    session.sql("DROP FUNCTION IF EXISTS nothing")
    for name in ("brief", "nothing"):
        with pytest.raises(errors.NothingDroppedError, match="spelling"):
            session.sql(f"UNDROP FUNCTION {name}")
    with pytest.raises(errors.NothingDroppedError, match="current schema only"):
        session.sql("UNDROP FUNCTION elsewhere.plus")


def test_a_drop_that_fails_is_no_drop(session, schema):
    """DROP VIEW of a table fails in Spark, and the registry says nothing of it."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(Exception, match=r"WRONG_COMMAND_FOR_OBJECT_TYPE|EXPECT_VIEW"):
        session.sql("DROP VIEW t")
    session.sql("ALTER TABLE t RENAME TO u")
    assert shown(session) == [("u", 1, 1, False)]
    with pytest.raises(errors.NothingDroppedError, match="SHOW TABLES HISTORY lists what can"):
        session.sql("UNDROP TABLE t")


def test_other_names(session, schema):
    """Whatever the metastore takes: upper case, a digit first, a word of SQL's, the longest."""
    for name in ("Mixed_Case", "`1st`", "`table`", "`drop`", "x" * 120):
        session.sql(f"CREATE TABLE {name} AS SELECT 1 AS a")
        session.sql(f"DROP TABLE {name}")
        session.sql(f"UNDROP TABLE {name}")
        assert session.sql(f"SELECT a FROM {name}").collect()[0][0] == 1


def test_if_exists_of_nothing(session, schema):
    """As Spark has it: nothing happens."""
    session.sql("DROP TABLE IF EXISTS nothing")
    with pytest.raises(errors.NothingDroppedError):
        session.sql("UNDROP TABLE nothing")
