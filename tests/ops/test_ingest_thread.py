"""A driver's own ingest, and one that leaves it to `audit ingest`."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import pytest

import audit
from audit.core.errors import TableMissingError
from audit.spark.sessions import own_session

from .helpers import ingest_all, recorded, statements, statuses

pytestmark = pytest.mark.spark


@contextmanager
def attached(spark, root, **options):
    """A session of its own, audited under a root."""
    session = spark.newSession()
    schema = f"usage_{time.monotonic_ns()}"
    audit.attach(session, user="ann", root=str(root), schema=schema, **options)
    try:
        yield session
    finally:
        audit.detach(session)
        spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_a_flush_shows_what_runs(spark, tmp_path):
    """A statement that runs at a flush is RUNNING, once; after it has ended, one row says SUCCESS."""
    begun, go_on = threading.Event(), threading.Event()

    @audit.procedure
    def job(session):
        begun.set()
        assert go_on.wait(120)
        session.sql("SELECT 1 AS inside").collect()

    with attached(spark, tmp_path) as session:
        thread = threading.Thread(target=job, args=(session,))
        thread.start()
        try:
            assert begun.wait(60)
            for _ in range(2):
                audit.flush(session)
                (row,) = statements(spark, tmp_path)
                assert (row.execution_status, row.query_type, row.end_time) == ("RUNNING", "CALL", None)
        finally:
            go_on.set()
            thread.join()
        audit.flush(session)
        assert set(statuses(spark, tmp_path).values()) == {"SUCCESS"}
        assert len(statements(spark, tmp_path)) == 2
        assert recorded(spark, tmp_path) == dict.fromkeys(statuses(spark, tmp_path), 1)


def test_an_external_ingest_finds_what_the_driver_seals(spark, tmp_path):
    """With ingest = external the driver only seals, each interval, and the job makes the rows visible."""
    with attached(spark, tmp_path, ingest="external", ingest_interval_seconds=1) as session:
        session.sql("SELECT 1 AS a").collect()
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("spool/*/sealed/*.jsonl")) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not (tmp_path / "query_history").exists()
        (done,) = ingest_all(own_session(spark), tmp_path, create=True)
        assert (done.ingested.statements, done.error) == (1, None)
        assert list(statuses(spark, tmp_path).values()) == ["SUCCESS"]


def test_a_root_that_cannot_be_written_for_a_while_loses_nothing(spark, tmp_path):
    """A flush says which path and what to do, statements go on, and all is there once it is mended."""
    with attached(spark, tmp_path) as session:
        audit.flush(session)
        table, aside = tmp_path / "query_history", tmp_path / "aside"
        table.rename(aside)
        table.write_text("in the way")
        session.sql("SELECT 1 AS a").collect()
        with pytest.raises(TableMissingError, match=f"{table} is not there"):
            audit.flush(session)
        session.sql("SELECT 2 AS a").collect()
        table.unlink()
        aside.rename(table)
        audit.flush(session)
        texts = [row.query_text for row in sorted(statements(spark, tmp_path))]
        assert texts == ["SELECT 1 AS a", "SELECT 2 AS a"]
