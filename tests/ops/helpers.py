"""What several tests of the operations need: statements without Spark, rows read back by path."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from audit import suppress
from audit.core.clock import ManualClock, SystemClock
from audit.core.config import load
from audit.core.ids import IdGenerator
from audit.ingest.adopt import ingest_spools
from audit.record.access_record import Ended, Finding, Started, build_row
from audit.spark.catalog.session_catalog import SessionCatalog
from audit.spark.plans.plan_facts import PlanFactsReader
from audit.spark.sessions import own_session
from audit.spool import Spool
from audit.store.commit_lock import commit_lock
from audit.store.made_tables import create_tables
from audit.store.tables import AUDIT_TABLES
from lineage import Access, MemoryCatalog, analyze

NOON = 1_767_268_800_000_000  # 2026-01-01T12:00:00Z
DAY = 86_400_000_000


class Source:
    """Statements as a driver would spool them, at a time of the test's choosing."""

    def __init__(self, home, now=NOON, tick=1000):
        self.clock = ManualClock(now, tick=tick)
        self.ids = IdGenerator(self.clock)
        self.home = home
        self.access = Access("SELECT")
        self.spool = Spool.open(home, clock=self.clock, ids=self.ids)

    def start(self, text="SELECT 1"):
        """A statement that starts."""
        started = Started(
            self.ids.new(), self.clock.now(), "ann", text, "SELECT", "SparkSession.sql", query_hash="h"
        )
        self.spool.start(started.query_id, started.to_dict())
        return started

    def end(self, started, status="SUCCESS"):
        """It ends, and has its record."""
        ended = Ended(status, self.clock.now())
        self.spool.end(started.query_id, ended.to_dict())
        self.spool.record(started.query_id, self.row(started, ended))

    def row(self, started, ended):
        """The record of a statement."""
        return build_row(started, ended, Finding(self.access, "text") if ended.status == "SUCCESS" else None)

    def run(self, number=1, text="SELECT 1"):
        """Whole statements; their query ids."""
        ids = []
        for _ in range(number):
            started = self.start(text)
            self.end(started)
            ids.append(started.query_id)
        return ids

    def die(self):
        """End as by a SIGKILL."""
        self.spool.disown()


WRITE = analyze(
    "INSERT INTO t SELECT a, sum(b) AS `s.<script>` FROM u WHERE c > 1 GROUP BY a",
    MemoryCatalog({"s.t": {"a": "int", "x": "int"}, "s.u": dict.fromkeys("abc", "int")}, current_schema="s"),
)
"""A statement with two value edges and two indirect ones of either kind (direct, base): eight rows."""


def make_tables(spark, root):
    """The audit tables, empty: made anew where something is in the way, else copies of the first."""
    names = [table.name for table in AUDIT_TABLES]
    if any((root / name).exists() for name in names):
        _create_tables(spark, root)
        return
    for name in names:
        shutil.copytree(_first_tables(spark) / name, root / name)


@functools.cache
def _first_tables(spark):
    root = Path(tempfile.mkdtemp(prefix="audit-tables-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    _create_tables(spark, root)
    return root


def _create_tables(spark, root):
    with suppress(), commit_lock(spark, str(root)):
        create_tables(own_session(spark), str(root))  # as a driver does, without in-commit timestamps


def ingest_all(spark, root, *, create=False):
    """What `audit ingest` does with the spools; what it says of each."""
    if create:
        make_tables(spark, root)
    config = load({"root": str(root), "user": "tester"}, environ={})
    with suppress():
        catalog = SessionCatalog(spark, PlanFactsReader(spark.sparkContext._jvm))
        return list(ingest_spools(catalog, config, SystemClock()))


def read(spark, root, table="query_history"):
    """The rows of a table as they are now."""
    with suppress():
        return spark.read.format("delta").load(f"{root}/{table}").collect()


def statements(spark, root):
    """The rows of query_history that are statements: not those about the logging itself."""
    return [row for row in read(spark, root) if not row.query_type.startswith("AUDIT_")]


def statuses(spark, root):
    """The status of each statement's query id; two rows of one id fail the test."""
    rows = statements(spark, root)
    doubled = [query_id for query_id, count in Counter(row.query_id for row in rows).items() if count > 1]
    assert doubled == []
    return {row.query_id: row.execution_status for row in rows}


def recorded(spark, root):
    """How many rows each query id has in access_history."""
    return Counter(row.query_id for row in read(spark, root, "access_history"))


def edges(spark, root, table="column_lineage"):
    """How many rows each query id has in a table of lineage."""
    return Counter(row.query_id for row in read(spark, root, table))
