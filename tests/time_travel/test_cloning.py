"""CLONE: zero-copy, at a point in time, of tables and of schemas."""

from __future__ import annotations

import pytest

from time_travel import errors

pytestmark = pytest.mark.spark


@pytest.fixture
def told(session, schema):
    """A table of three versions."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    return {row.version: row.userMetadata for row in session.sql("DESCRIBE HISTORY t").collect()}


def rows(session, sql):
    """The first column, in order."""
    return sorted(row[0] for row in session.sql(sql).collect())


def test_a_table_at_a_point(session, told):
    """The clone has the state then; it lives on when its source is vacuumed, changed and dropped."""
    session.sql(f"CREATE TABLE then CLONE t BEFORE (STATEMENT => '{told[2]}')")
    session.sql("CREATE TABLE now CLONE t")
    assert (rows(session, "SELECT a FROM then"), rows(session, "SELECT a FROM now")) == ([1], [1, 2])
    session.sql("INSERT INTO then VALUES (9)")
    assert rows(session, "SELECT a FROM t") == [1, 2]
    session.sql("DELETE FROM t")
    session.sql("VACUUM t")
    session.sql("DROP TABLE t")
    assert (rows(session, "SELECT a FROM then"), rows(session, "SELECT a FROM now")) == ([1, 9], [1, 2])
    session.sql("DROP TABLE now")
    session.sql("UNDROP TABLE now")
    assert rows(session, "SELECT a FROM now") == [1, 2]


def test_the_source_keeps_its_files(session, told):
    """Its own property says so to whoever calls VACUUM; another retention changes nothing of that."""
    session.sql("CREATE TABLE c CLONE t")
    session.sql("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 3")
    properties = {row.key: row.value for row in session.sql("SHOW TBLPROPERTIES t").collect()}
    assert properties["delta.deletedFileRetentionDuration"] == "interval 36500 days"
    session.sql("ALTER TABLE t UNSET DATA_RETENTION_TIME_IN_DAYS")
    properties = {row.key: row.value for row in session.sql("SHOW TBLPROPERTIES t").collect()}
    assert properties["delta.deletedFileRetentionDuration"] == "interval 36500 days"


def test_a_clone_at_a_point_has_the_columns_of_then(session, told):
    """A clone is the object as it was."""
    session.sql("ALTER TABLE t ADD COLUMN b STRING")
    session.sql(f"CREATE TABLE c CLONE t AT (STATEMENT => '{told[1]}')")
    assert session.sql("SELECT * FROM c").columns == ["a"]


def test_a_schema(session, schema, told):
    """Tables at the point, views over the new ones, functions; what was made later is not there."""
    session.sql("CREATE FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    session.sql("CREATE VIEW v AS SELECT plus(a) AS k FROM t")
    session.sql("CREATE VIEW a_first AS SELECT k FROM v")
    session.sql("CREATE TABLE later AS SELECT 1 AS a")
    session.sql(f"CREATE SCHEMA copy CLONE {schema} AT (STATEMENT => '{told[1]}')")
    shown = session.sql("SHOW TABLES IN copy").collect()
    assert sorted(row.tableName for row in shown) == ["a_first", "t", "v"]
    assert rows(session, "SELECT k FROM copy.a_first") == [2]
    session.sql("INSERT INTO copy.t VALUES (50)")
    assert (rows(session, "SELECT k FROM copy.v"), rows(session, "SELECT a FROM t")) == ([2, 51], [1, 2])
    with pytest.raises(errors.ObjectExistsError):
        session.sql(f"CREATE DATABASE copy CLONE {schema}")
    session.sql("DROP SCHEMA copy CASCADE")
    with pytest.raises(errors.UnknownObjectError):
        session.sql("CREATE DATABASE copy CLONE nothing")
