"""Each kind of statement: the rows, the bytes read and the bytes written on its record."""

from __future__ import annotations

from pathlib import Path

import pytest
from delta.tables import DeltaTable

import audit
from audit.testing import records
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES

SOME = object()
"""A positive number that depends on the files of the target."""
# By kind: the statement, rows, bytes read of `src` (as multiples of its files), whether bytes were written.
# NULL where no file was read, or where Spark does not count: the rows of a query that nobody collects.
BOTH = {
    "select": ("SELECT * FROM src", 100, 1, None),
    "scalar subquery": ("SELECT (SELECT max(b) FROM src WHERE a > 0) AS n, a FROM src", 100, 2, None),
    "values": ("INSERT INTO t VALUES (1, 1)", 1, None, SOME),
    "insert": ("INSERT INTO t SELECT * FROM src", 100, 1, SOME),
    "overwrite": ("INSERT OVERWRITE t SELECT * FROM src WHERE a < 10", 10, 1, SOME),
    "ctas": ("CREATE TABLE c AS SELECT * FROM src", 100, 1, SOME),
    "two": ("FROM src INSERT INTO t SELECT * INSERT INTO c SELECT a, b WHERE a < 10", 110, 2, SOME),
    "twice": ("FROM src INSERT INTO t SELECT * INSERT INTO t SELECT a, b WHERE a < 10", 110, 2, SOME),
    "directory": ("INSERT OVERWRITE DIRECTORY '{path}/d' USING parquet SELECT * FROM src", 100, 1, SOME),
    "cache": ("CACHE TABLE src", None, 1, None),
    "uncache": ("UNCACHE TABLE src", None, None, None),
    "view": ("CREATE VIEW v AS SELECT * FROM src", None, None, None),
    "ddl": ("CREATE TABLE e (a INT)", None, None, None),
    "save": (lambda s, p: s.table("src").write.save(f"{p}/s"), 100, 1, SOME),
    "insertInto": (lambda s, p: s.table("src").write.insertInto("t"), 100, 1, SOME),
    "saveAsTable": (lambda s, p: s.table("src").write.mode("append").saveAsTable("c"), 100, 1, SOME),
    "frame": (lambda s, p: s.table("src").collect(), 100, 1, None),
    "from the JVM": (lambda s, p: s._jsparkSession.sql("INSERT INTO t SELECT * FROM src"), 100, 1, SOME),
}
# Delta alone.
DELTA = {
    "rtas": ("CREATE OR REPLACE TABLE c AS SELECT * FROM src", 100, 1, SOME),
    "update": ("UPDATE c SET b = 0 WHERE a < 5", 5, SOME, SOME),
    "update of nothing": ("UPDATE c SET b = 0 WHERE a < -5", 0, None, 0),
    "delete": ("DELETE FROM c WHERE a = 3", 1, SOME, SOME),
    "delete of nothing": ("DELETE FROM c WHERE a = -3", 0, None, 0),
    "merge": ("MERGE INTO c USING src ON c.a = src.a WHEN NOT MATCHED THEN INSERT *", 1, SOME, SOME),
    "merge of nothing": ("MERGE INTO c USING src ON c.a = src.a AND src.b < 0 WHEN MATCHED THEN DELETE",
                         0, SOME, 0),
    "insert of nothing": ("INSERT INTO c SELECT * FROM src WHERE b < 0", 0, 0, 0),
    "replace where": ("INSERT INTO c REPLACE WHERE a = 5 SELECT 5, 5", 1, SOME, SOME),
    "DeltaTable": (lambda s, p: DeltaTable.forName(s, "c").delete("a = 7"), 1, SOME, SOME),
    "copy": ("COPY INTO t FROM '{path}/d' FILEFORMAT = PARQUET", 100, SOME, SOME),
    "unload": ("COPY INTO '{path}/u/' FROM c FILE_FORMAT = (TYPE = PARQUET)", 99, SOME, SOME),
    "delete of all": ("DELETE FROM c", 99, None, 0),
}  # fmt: skip


def of_user(session, user):
    """The rows of query_history, oldest first."""
    return [record.query for record in records(session) if record.query.user_name == user]


def _measured(session, path, provider, statements):
    """Rows, bytes read by the size of `src`, bytes written of each statement."""
    schema = f"measured_{provider}"
    session.conf.set("spark.sql.sources.default", provider)
    session.sql(f"CREATE SCHEMA {schema}")
    session.sql(f"USE {schema}")
    session.sql("CREATE TABLE src (a INT, b INT)")
    session.sql("CREATE TABLE t (a INT, b INT)")
    session.sql("INSERT INTO src SELECT id, id * 2 FROM range(0, 100, 1, 1)")
    session.sql("INSERT INTO t VALUES (0, 0)")
    where = session.sql("DESCRIBE EXTENDED src").where("col_name = 'Location'").collect()[0][1]
    size = sum(file.stat().st_size for file in Path(where.removeprefix("file:")).glob("part-*.parquet"))
    for name, (what, *_) in statements.items():
        with audit.as_user(session, f"{provider} {name}"):
            what(session, path) if callable(what) else session.sql(what.format(path=path)).collect()
    session.conf.set("spark.sql.sources.default", "delta")
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {schema} CASCADE")
    return size


@pytest.mark.parametrize(
    "provider",
    ["delta", pytest.param("parquet", marks=pytest.mark.long("the same where Delta counts nothing"))],
)
def test_each_statement_has_what_was_counted(session, tmp_path, provider):
    """Rows, bytes read and written are those of the statement, or NULL where the table above says so."""
    statements = BOTH | (DELTA if provider == "delta" else {})
    size = _measured(session, tmp_path, provider, statements)
    found, expected = {}, {}
    for name, (_, rows, read, wrote) in statements.items():
        (row,) = of_user(session, f"{provider} {name}")
        found[name] = (row.rows_produced, _known(row.bytes_scanned, read), _known(row.bytes_written, wrote))
        expected[name] = (rows, None if read is None else read if read is SOME else read * size, wrote)
    assert found == expected


def _known(value, expected):
    return SOME if expected is SOME and value is not None and value > 0 else value


def test_what_a_script_runs_is_counted(session, schema):
    """Statements of a script and of EXECUTE IMMEDIATE have rows, bytes and the version that they wrote."""
    session.sql("CREATE TABLE t (a INT)")
    with audit.as_user(session, "scribe"):
        session.sql("BEGIN INSERT INTO t VALUES (1), (2); DELETE FROM t WHERE a = 9; END")
        session.sql("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (3)'")
    made = [record for record in records(session) if record.query.user_name == "scribe"]
    found = [
        (one.query.query_type, one.query.rows_produced, _written(one.access[0]))
        for one in made
        if one.query.parent_query_id
    ]
    assert found == [("INSERT", 2, [1]), ("DELETE", 0, []), ("INSERT", 1, [2])]


def _written(row):
    """The versions that a statement wrote."""
    return [one.version for one in row.object_versions if one.access == "write"]


def test_a_micro_batch_is_counted_and_says_why_it_failed(session, schema, tmp_path):
    """Rows, bytes and version of a batch into Delta, rows of one in memory; why one has failed."""
    session.sql("CREATE TABLE src AS SELECT CAST(id AS INT) AS a FROM range(0, 100, 1, 1)")
    session.sql("CREATE TABLE strict (a INT) TBLPROPERTIES ('delta.constraints.small' = 'a < 5')")

    def stream(number, writer, start):
        writer = writer.option("checkpointLocation", f"{tmp_path}/{number}").trigger(availableNow=True)
        return start(writer)

    starts = [
        lambda writer: writer.toTable("made"),
        lambda writer: writer.format("memory").queryName("seen").start(),
        lambda writer: writer.foreachBatch(lambda _batch, _number: None).start(),
        lambda writer: writer.toTable("strict"),
    ]
    with audit.as_user(session, "streamer"):
        for number, start in enumerate(starts):
            query = stream(number, session.readStream.table("src").writeStream, start)
            if number < len(starts) - 1:
                query.awaitTermination()
            else:
                with pytest.raises(Exception, match="DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"):
                    query.awaitTermination()
    found = [
        (row.rows_produced, (row.bytes_scanned or 0) > 0, (row.bytes_written or 0) > 0, row.error_code)
        for row in of_user(session, "streamer")
        if row.query_type == "STREAM_BATCH"
    ]
    assert found == [
        (100, True, True, None),
        (100, True, False, None),
        (None, False, False, None),
        (None, False, False, "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES"),
    ]
