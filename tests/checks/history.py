"""A small clean history under a root, and the means to damage it as somebody would who knows the hash."""

from __future__ import annotations

from audit import suppress
from audit.ingest.folder import ingest_folder
from audit.record.record_hash import record_hash
from audit.store.tables import ACCESS_HISTORY, AUDIT_TABLES
from lineage import MemoryCatalog, analyze
from tests.ops.helpers import DAY, NOON, Source, make_tables

NOW = NOON + 3 * 3_600_000_000
"""2026-01-01T15:00Z, on the last of the four days."""
DAYS = range(-3, 1)
READS_A_DAY = 8
READ, WRITE = "SELECT a, b FROM u", "INSERT INTO t SELECT a, b FROM u WHERE c > 1"
VIEW, MAKE = "CREATE VIEW v AS SELECT a, b FROM u", "CREATE TABLE w AS SELECT a FROM u"
FAILS = "SELECT nothing FROM u"
_CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "x": "int"}, "s.u": dict.fromkeys("abc", "int")}, current_schema="s"
)


def make_history(spark, root):
    """Four days with a write, a view, a new table, reads and a failure each; query ids by day and text."""
    make_tables(spark, root)
    source, ids = Source(root, NOON + DAYS[0] * DAY), {}
    for day in DAYS:
        source.clock.set(NOON + day * DAY)
        for text in (WRITE, VIEW, MAKE, *[READ] * READS_A_DAY):
            source.access = analyze(text, _CATALOG)
            ids[day, text] = source.run(1, text)[0]
        failed = source.start(FAILS)
        source.end(failed, "FAIL")
        ids[day, FAILS] = failed.query_id
    source.spool.rotate()
    ingest_folder(spark, source.spool.path, str(root))
    source.spool.close()
    return ids


def sql(spark, root, text):
    """A change by hand: each table's name stands for its path."""
    for table in AUDIT_TABLES:
        text = text.replace(f" {table.name}", f" delta.`{table.location(str(root))}`")
    with suppress():
        spark.sql(text)


def rewrite(spark, root, query_id, change):
    """Change a record, and its hash with it."""
    location = ACCESS_HISTORY.location(str(root))
    with suppress():
        row = spark.read.format("delta").load(location).where(f"query_id = '{query_id}'").first()
        values = row.asDict(recursive=True)
        change(values)
        del values["query_date"]
        values["record_hash"] = record_hash(values)
        sql(spark, root, f"DELETE FROM access_history WHERE query_id = '{query_id}'")
        frame = spark.createDataFrame([values], ACCESS_HISTORY.row_schema)
        frame.write.format("delta").mode("append").save(location)
