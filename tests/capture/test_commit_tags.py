"""A write to a Delta table runs in a clone of the session, whose commits are tagged; no other write does."""

from __future__ import annotations

import pytest

from audit import attached_sessions
from audit.spark.delta.delta_catalog import DeltaCatalog
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES


@pytest.fixture
def asked(monkeypatch):
    """The names that the catalog is asked for."""
    found, find = [], DeltaCatalog.find

    def noted(catalog, parts):
        found.append(tuple(parts))
        return find(catalog, parts)

    monkeypatch.setattr(DeltaCatalog, "find", noted)
    return found


def test_the_catalog_is_asked_once(session, schema, asked):
    """A metastore takes longer to answer than the whole front door: it is asked again after a change."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("CREATE TABLE u (a INT)")
    asked.clear()
    for number in range(3):
        session.sql(f"INSERT INTO t VALUES ({number})")
        session.sql(f"UPDATE t SET a = {number}")
    session.sql("DELETE FROM u")
    assert asked == [("t",), ("u",)]
    session.sql("ALTER TABLE t ADD COLUMN b INT")
    asked.clear()
    session.sql("INSERT INTO t VALUES (1, 2)")
    assert asked == [("t",)]
    tags = session.sql("DESCRIBE HISTORY t").where("operation IN ('WRITE', 'UPDATE')").collect()
    assert len({row.userMetadata for row in tags}) == len(tags) == 7


@pytest.mark.parametrize("read", ["before the write", "never"])
def test_a_table_of_another_provider_that_took_its_place(session, spark, schema, read):
    """Another session has replaced the table: what this one has listed is listed again, as by Spark."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    spark.sql(f"DROP TABLE {schema}.t")
    spark.sql(f"CREATE TABLE {schema}.t (a INT) USING parquet")
    # What happens in another driver, nobody tells this one.
    attached_sessions.find(session).catalog.snapshot().delta_targets.add(("t",))
    held = session.table("t")
    if read == "before the write":
        assert held.count() == 0
    session.sql("INSERT INTO t VALUES (2)")
    assert [row.a for row in session.table("t").collect()] == [2]
    assert [row.a for row in held.collect()] == [2]


def test_a_temporary_view_in_the_way(session, schema):
    """A name means another table from the moment on that a view has it."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("CREATE TABLE p (a INT) USING parquet")
    session.table("p").createOrReplaceTempView("t")
    assert session.table("t").count() == 0
    try:
        session.sql("INSERT INTO t VALUES (2)")
        assert session.table("t").count() == 1
    finally:
        session.catalog.dropTempView("t")
    session.sql("INSERT INTO t VALUES (3)")
    assert sorted(row.a for row in session.table("t").collect()) == [1, 3]
