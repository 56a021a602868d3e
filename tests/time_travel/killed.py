"""Run in a process of its own: a driver that is killed in the middle of things, and the one after it.

Arguments: root, `work` or `mend`. The first brings statements to the points where they are to be killed, in a
thread each, says so on its output, and waits. The second says what it finds, a line of JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import audit
from audit.spark.delta.delta_catalog import DeltaCatalog
from audit.spark.embedded.spark import embedded
from audit.time_travel.dropped.drop_registry import DropRegistry
from tests.quick_spark import DRIVER_OF_ONE_TEST

CONF = {**DRIVER_OF_ONE_TEST, "spark.sql.sources.default": "delta"}
# After which call of its thread a statement is killed, by the name of the thread.
POINTS = {
    "told": (DropRegistry, "append", "DROP TABLE told.t"),
    "freed": (DeltaCatalog, "make_external", "DROP TABLE freed.t"),
    "renamed": (DeltaCatalog, "rename", "DROP SCHEMA renamed CASCADE"),
    "moved": (DeltaCatalog, "make_external", "DROP SCHEMA moved CASCADE"),
    "shared": (DeltaCatalog, "drop", "DROP SCHEMA shared CASCADE"),
}
_HERE = threading.Semaphore(0)
_SECONDS = 120


def stop_after(owner, name):
    """Have a method stop the threads that are to be stopped in it, when it has done its work."""
    original = getattr(owner, name)

    def stopping(self, *args, **kwargs):
        found = original(self, *args, **kwargs)
        if POINTS.get(threading.current_thread().name, ())[:2] == (owner, name):
            _HERE.release()
            threading.Event().wait()
        return found

    setattr(owner, name, stopping)


def before(spark):
    """What is there before the audit is: tables that Spark manages, in the folders of their schemas."""
    for schema in POINTS:
        spark.sql(f"CREATE SCHEMA {schema}")
        spark.sql(f"CREATE TABLE {schema}.t AS SELECT '{schema}' AS a")


def work(spark):
    """Each statement to its point."""
    spark.sql("CREATE TABLE clone_of_t CLONE shared.t")
    spark.sql("CREATE TABLE shared.p USING parquet AS SELECT 1 AS a")
    for owner, name in {point[:2] for point in POINTS.values()}:
        stop_after(owner, name)
    for schema, (_, _, text) in POINTS.items():
        threading.Thread(target=spark.sql, args=(text,), name=schema, daemon=True).start()
        if not _HERE.acquire(timeout=_SECONDS):
            sys.exit(f"{text} has not come to {POINTS[schema][1]}")
    print("here", flush=True)  # noqa: T201 - the other end waits for it
    threading.Event().wait()


def mend(spark):
    """What the next driver sees and does."""

    def ask(text):
        return [list(row) for row in spark.sql(text).collect()]

    seen = {}
    for schema in POINTS:
        history = spark.sql(f"SHOW TABLES HISTORY IN {schema}").collect()
        seen[schema] = {
            "tables": [(row["name"], row["dropped_on"] is not None) for row in history],
            "schemas": [
                row["dropped_on"] is not None
                for row in spark.sql(f"SHOW SCHEMAS HISTORY LIKE '{schema}'").collect()
            ],
            "rows": ask(f"SELECT a FROM {schema}.t"),
        }
        spark.sql(f"DROP SCHEMA {schema} CASCADE")
        seen[schema]["cloned"] = ask("SELECT a FROM clone_of_t")
        spark.sql(f"UNDROP SCHEMA {schema}")
        seen[schema]["again"] = ask(f"SELECT a FROM {schema}.t AT (OFFSET => 0)")
        seen[schema]["left"] = [
            row["dropped_on"] is not None for row in spark.sql("SHOW SCHEMAS HISTORY").collect()
        ].count(True)
    print(json.dumps(seen), flush=True)  # noqa: T201


def main():
    """The driver."""
    root = Path(sys.argv[1])
    spark = embedded(root, app_name="killed", master="local[2]", conf=CONF)
    if sys.argv[2] == "work":
        before(spark)
    audit.attach(spark, user="ann", root=str(root / "audit"))
    {"work": work, "mend": mend}[sys.argv[2]](spark)


if __name__ == "__main__":
    main()
