"""Tables with other features of Delta's have their past as any table has."""

from __future__ import annotations

import pytest

from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES


def rows(session, query):
    """As tuples, in order."""
    return sorted(map(tuple, session.sql(query).collect()))


@pytest.mark.one_in(2, "each feature of the protocol")
@pytest.mark.parametrize(
    ("properties", "change"),
    [
        ("'delta.enableTypeWidening' = 'true'", "ALTER TABLE t ALTER COLUMN a TYPE BIGINT"),
        ("'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2'", "INSERT INTO t VALUES (9)"),
        ("'delta.enableChangeDataFeed' = 'true'", "UPDATE t SET a = 9"),
        ("'delta.enableDeletionVectors' = 'true'", "DELETE FROM t WHERE a = 1"),
    ],
)
def test_the_past_of(session, schema, properties, change):
    """It is read, cloned, restored, dropped and brought back."""
    session.sql(f"CREATE TABLE t (a INT) TBLPROPERTIES ({properties})")
    session.sql("INSERT INTO t VALUES (1), (2)")
    (then,) = session.sql("DESCRIBE HISTORY t LIMIT 1").collect()
    session.sql(change)
    session.sql("INSERT INTO t VALUES (7)")
    point = f"AT (STATEMENT => '{then.userMetadata}')"
    assert rows(session, f"SELECT a FROM t {point}") == [(1,), (2,)]
    session.sql(f"CREATE TABLE c CLONE t {point}")
    session.sql("DROP TABLE t")
    session.sql("UNDROP TABLE t")
    assert rows(session, f"SELECT a FROM t {point}") == rows(session, "SELECT a FROM c") == [(1,), (2,)]
    session.sql(f"RESTORE TABLE t TO {point}")
    assert rows(session, "SELECT a FROM t") == [(1,), (2,)]


@pytest.mark.long("a schema of 2,000 columns takes Spark its time")
def test_many_columns(session, schema):
    """Two thousand of them."""
    listed = ", ".join(f"id + {number} AS c{number}" for number in range(2_000))
    session.sql(f"CREATE TABLE t AS SELECT {listed} FROM range(1)")
    session.sql("UPDATE t SET c1999 = 0")
    assert rows(session, "SELECT c0, c1999 FROM t AT (VERSION => 0)") == [(0, 1999)]
    session.sql("CREATE TABLE c CLONE t AT (VERSION => 0)")
    assert rows(session, "SELECT c1999 FROM c") == [(1999,)]
