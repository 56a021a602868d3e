"""Each documented job, plain and then audited in the same JVM: same results, and the records to expect."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Row

import audit
from audit.core.job_tags import QUIET_TAGS, STATEMENT_TAG
from audit.spark.plans.events import EventQueue, ExecutionStart, Marker
from audit.testing import Record, records
from tests.capture.brief import brief
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
    known = {record.query.query_id for record in records(session)}
    executions = EventQueue(spark.sparkContext, "jobs")
    watched = []

    def attach(its: SparkSession) -> None:
        audit.attach(its, user="ann", root=str(root), durable=False, ingest_interval_seconds=3600, **ATTACH)
        watched.append(its)

    try:
        seen = run_job(job, plain, folder, attach)
        found = [record for record in records(session) if record.query.query_id not in known]
        executed = started(executions)
    finally:
        executions.close()
        for its in watched:
            audit.detach(its)
        with unrecorded(plain):
            plain.sql(f"DROP SCHEMA {job.name} CASCADE")
        shutil.rmtree(folder)
    assert seen == alone
    assert lines_of(job, found) == list(job.records)
    assert not unaccounted(executed, found)


def started(queue: EventQueue) -> list[ExecutionStart]:
    """The executions that Spark has begun so far."""
    number, events = queue.mark(), []
    while Marker(number) not in events:
        events += queue.drain()
        time.sleep(0.002)
    return [event for event in events if isinstance(event, ExecutionStart)]


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


def unaccounted(executed: list[ExecutionStart], found: list[Record]) -> list[str]:
    """The open items of the ledger: executions without a record."""
    ids = {record.query.query_id for record in found}
    loud = [event for event in executed if QUIET_TAGS.isdisjoint(event.tags)]
    lost = [event.description for event in loud if not ids.issuperset(owners(event))]
    alone = [event.description for event in loud if is_of_its_own(event)]
    seen = sum(may_be_untagged(record) for record in found)
    return lost if len(alone) <= seen else [*lost, f"{seen} records of {len(alone)} executions: {alone}"]


def owners(event: ExecutionStart) -> list[str]:
    """The statements that an execution is a part of, by its tags."""
    return [tag.removeprefix(STATEMENT_TAG) for tag in event.tags if tag.startswith(STATEMENT_TAG)]


def is_of_its_own(event: ExecutionStart) -> bool:
    """Whether an execution is no part of another one or of a statement, and not Delta's own."""
    of_delta = event.description.startswith(("Delta: ", "Cache Delta Table State"))
    return event.root_id == event.execution_id and not owners(event) and not of_delta


def may_be_untagged(record: Record) -> bool:
    """Whether the execution of a statement may have no tag: see `audit/analysis/execution_claims.py`."""
    query = record.query
    by_listener = any(row.captured_by == "listener" for row in record.access)
    return by_listener or query.action == "DataFrame.collect" or query.execution_status == "FAIL"
