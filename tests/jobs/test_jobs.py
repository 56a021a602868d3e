"""Each documented job, plain and then audited in the same JVM: same results, and the records to expect."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Row

import audit
from tests.capture.brief import brief
from tests.ledger import Ledger
from tests.sessions import NO_TABLES

from . import batches, frames, functions, libraries, streaming, streams  # noqa: F401  they register jobs
from .job import JOBS, Job, lines, run_job, unrecorded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTACH = NO_TABLES


def marks_of(job: Job) -> list[pytest.MarkDecorator]:
    """How pytest treats a job."""
    long = [pytest.mark.long("one more of many documented jobs; a choice of them runs with each change")]
    fails = [pytest.mark.xfail(reason=job.fails, strict=True)]
    hive = [pytest.mark.hive(job.hive)]
    return (long if job.long else []) + (fails if job.fails else []) + (hive if job.hive else [])


@pytest.mark.parametrize("job", [pytest.param(job, id=job.name, marks=marks_of(job)) for job in JOBS])
def test_attaching_changes_nothing_but_the_record(job, spark, session, root, tmp_path):
    """A documented job gives the same results, errors, tables, warnings and output, plain and audited."""
    plain, folder = spark.newSession(), tmp_path / "job"
    alone = run_job(job, plain, folder)
    ledger, watched = Ledger(session), []

    def attach(its: SparkSession) -> None:
        audit.attach(its, user="ann", root=str(root), durable=False, ingest_interval_seconds=3600, **ATTACH)
        watched.append(its)

    try:
        seen = run_job(job, plain, folder, attach)
        found, open_items = ledger.new_records(), ledger.open_items()
    finally:
        ledger.close()
        for its in watched:
            audit.detach(its)
        with unrecorded(plain):
            plain.sql(f"DROP SCHEMA {job.name} CASCADE")
        shutil.rmtree(folder)
    assert seen == alone
    assert lines_of(job, found) == list(job.records)
    assert open_items == ()


def lines_of(job, found) -> list[str]:
    """The records of a job as it expects them: its own schema is not named."""
    return [one.replace(f"{job.name}.", "") for one in lines(found, line)]


def line(record) -> str:
    """A record as a line: what it accessed, or that it failed."""
    query = record.query
    if not record.access:
        return f"{query.query_type} {query.execution_status} {query.error_code or ''}".strip()
    rows = (Row(**{**row.asDict(recursive=False), "query_type": query.query_type}) for row in record.access)
    return " | ".join(map(brief, rows))
