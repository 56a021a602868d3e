"""DROP SCHEMA of a schema whose own folder holds what clones elsewhere read: they go on."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlparse

import pytest

from tests.sessions import NO_TABLES

ATTACH = NO_TABLES

pytestmark = pytest.mark.spark


@pytest.fixture
def copies(session):
    """Another schema, for the clones."""
    session.sql("CREATE SCHEMA copies")
    yield "copies"
    session.sql("USE default")
    session.sql("DROP SCHEMA copies CASCADE")


@pytest.fixture
def source(session, spark, schema, copies):
    """A table in the schema's own folder, made where nobody listens, with a clone and one of that."""
    spark.sql(f"CREATE TABLE {schema}.t USING delta AS SELECT 1 AS a")
    session.sql(f"CREATE TABLE {copies}.c CLONE {schema}.t")
    session.sql(f"INSERT INTO {copies}.c VALUES (2)")
    session.sql(f"CREATE TABLE {copies}.d CLONE {copies}.c")
    return f"{schema}.t"


def rows(session, table):
    """The first column, in order."""
    return sorted(row[0] for row in session.sql(f"SELECT a FROM {table}").collect())


def folder(session, schema):
    """Where a schema lies."""
    described = session.sql(f"DESCRIBE SCHEMA {schema}").collect()
    (location,) = (row.info_value for row in described if row.info_name == "Location")
    return Path(urlparse(location).path)


def drop_schema(session, schema):
    """Drop it with all that is in it."""
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {schema} CASCADE")


def test_clones_go_on(session, schema, copies, source):
    """They are read and written before and after UNDROP SCHEMA, twice; the source comes back."""
    for written in (3, 4):
        drop_schema(session, schema)
        there = list(range(2, written))
        assert (rows(session, f"{copies}.c"), rows(session, f"{copies}.d")) == ([1, *there], [1, 2])
        session.sql(f"INSERT INTO {copies}.c VALUES ({written})")
        session.sql(f"UNDROP SCHEMA {schema}")
        assert rows(session, source) == [1]
        assert rows(session, f"{copies}.c") == [1, *there, written]
    session.sql(f"DELETE FROM {source}")
    assert rows(session, f"{copies}.d") == [1, 2]


def test_what_else_was_in_it(session, spark, schema, copies, source):
    """Tables that nothing shares move out, those of other formats go, and the name is free for new ones."""
    home = folder(session, schema)
    spark.sql(f"CREATE TABLE {schema}.alone USING delta AS SELECT 5 AS a")
    session.sql("CREATE TABLE p USING parquet AS SELECT 6 AS a")
    session.sql(f"CREATE TABLE own CLONE {source}")
    drop_schema(session, schema)
    assert [one.name for one in home.iterdir()] == ["t"]
    session.sql(f"CREATE SCHEMA {schema}")
    assert folder(session, schema) == home
    session.sql(f"CREATE TABLE {schema}.p USING parquet AS SELECT 7 AS a")
    session.sql(f"CREATE TABLE {schema}.t AS SELECT 8 AS a")
    drop_schema(session, schema)
    assert rows(session, f"{copies}.c") == [1, 2]
    session.sql(f"UNDROP SCHEMA {schema}")
    assert rows(session, f"{schema}.t") == [8]
    session.sql(f"DROP TABLE {schema}.t")
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 0")
    drop_schema(session, schema)
    session.sql(f"UNDROP SCHEMA {schema}")
    assert (rows(session, source), rows(session, f"{schema}.alone"), rows(session, f"{schema}.own")) == (
        [1], [5], [1],
    )  # fmt: skip


def test_in_an_odd_place(session, spark, tmp_path, copies):
    """The schema's folder is where it was, with whatever name, when it comes back."""
    path = tmp_path / "it's 100% ü"
    session.sql(f"""CREATE SCHEMA odd LOCATION "{path}" """)
    spark.sql("CREATE TABLE odd.t USING delta AS SELECT 1 AS a")
    session.sql(f"CREATE TABLE {copies}.c CLONE odd.t")
    before = session.sql("DESCRIBE SCHEMA odd").collect()
    drop_schema(session, "odd")
    assert rows(session, f"{copies}.c") == [1]
    session.sql("UNDROP SCHEMA odd")
    assert session.sql("DESCRIBE SCHEMA odd").collect() == before
    assert rows(session, "odd.t") == [1]
    drop_schema(session, "odd")


def test_the_default_schema_stays(session, schema):
    """Spark refuses to drop it, and nothing has moved: what was dropped lies where it lay."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    there = session.table("t").inputFiles()
    session.sql("DROP TABLE t")
    with pytest.raises(Exception, match="default"):
        session.sql("DROP SCHEMA default CASCADE")
    session.sql("UNDROP TABLE t")
    assert session.table("t").inputFiles() == there
