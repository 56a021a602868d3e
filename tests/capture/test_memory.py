"""What a statement leaves in the driver's memory when it is on record: nothing of its plans."""

from __future__ import annotations

import gc
import time

import pytest
from delta.tables import DeltaTable
from pyspark.errors import SparkRuntimeException

from audit.spark.plans.events import EventQueue, ExecutionEnd
from audit.testing import records
from tests.sessions import NO_TABLES, attached

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES


def fails(session):
    """An error of the executor."""
    with pytest.raises(SparkRuntimeException):
        session.sql("SELECT raise_error('no') FROM src").collect()


# Delta runs executions of its own inside of a MERGE, an UPDATE and a DELETE.
KINDS = {
    "query": lambda s: s.sql("SELECT max(b) FROM src").collect(),
    "frame": lambda s: s.table("src").groupBy("a").count().collect(),
    "insert": lambda s: s.sql("INSERT INTO t SELECT * FROM src"),
    "merge": lambda s: s.sql(
        "MERGE INTO t USING (SELECT a, max(b) AS b FROM src GROUP BY a) x ON t.a = x.a"
        " WHEN MATCHED THEN UPDATE SET t.b = x.b WHEN NOT MATCHED THEN INSERT *"
    ),
    "update": lambda s: s.sql("UPDATE t SET b = b + 1 WHERE a < 3"),
    "delete": lambda s: s.sql("DELETE FROM t WHERE a = 99"),
    "DeltaTable": lambda s: DeltaTable.forName(s, "t").update("a = 1", {"b": "b + 1"}),
    "replace": lambda s: s.sql("CREATE OR REPLACE TABLE c USING delta AS SELECT * FROM src"),
    "failure": fails,
    "show": lambda s: s.sql("SHOW TABLES").collect(),
}  # fmt: skip


class Plans:
    """The plans that Spark runs from now on, without holding them."""

    def __init__(self, session):
        self._session, self._jvm = session, session.sparkContext._jvm
        self._queue = EventQueue(session.sparkContext, "plans")
        self._weak = []

    def close(self):
        """Stop listening."""
        self._queue.close()

    def live(self):
        """The names of those that are there still, when both collectors have run."""
        records(self._session)
        for event in self._queue.delivered(10):
            if isinstance(event, ExecutionEnd):
                plan = self._queue.query_execution(event.execution_id)
                self._weak.append((event.name, self._jvm.java.lang.ref.WeakReference(plan)))
        plan = None
        gc.collect()
        self._jvm.java.lang.System.gc()
        return [name for name, one in self._weak if not one.refersTo(None)]


@pytest.fixture
def plans(audited):
    """Those of a test."""
    found = Plans(audited)
    yield found
    found.close()


@pytest.fixture(scope="module")
def _tables(audited):
    audited.sql("CREATE TABLE src (a INT, b INT) USING delta")
    audited.sql("INSERT INTO src SELECT id % 10, id FROM range(1000)")
    audited.sql("CREATE TABLE t USING delta AS SELECT * FROM src")


def stay(session, plans, kind):
    """Those that are there still, some seconds after a few statements of a kind."""
    for _ in range(5):
        KINDS[kind](session)
    end = time.monotonic() + 10
    while (live := plans.live()) and time.monotonic() < end:
        time.sleep(0.2)
    return live


@pytest.mark.usefixtures("_tables")
@pytest.mark.parametrize("kind", KINDS)
def test_no_plan_stays(audited, plans, kind):
    """However often a statement runs: the worker lets go of it, and of the executions inside of it."""
    assert stay(audited, plans, kind) == []


@pytest.mark.usefixtures("_tables")
@pytest.mark.parametrize("kind", ["query", "insert", "merge", "failure"])
def test_no_plan_stays_with_another_root(audited, spark, plans, tmp_path, kind):
    """Nor with the worker of another root, which hears of all that runs."""
    with attached(spark, tmp_path, **NO_TABLES):
        assert stay(audited, plans, kind) == []
