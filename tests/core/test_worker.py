"""The worker writes one record a statement, whatever fails: the analysis, the spool, or its tags."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from audit.analysis import worker
from audit.analysis.analyst import Analyst
from audit.analysis.child_statements import ExecutionRows, Issuer
from audit.analysis.execution_claims import ExecutionClaims
from audit.analysis.sessions import Sessions
from audit.analysis.streams import Streams
from audit.analysis.tag_propagation import TagPropagation
from audit.analysis.work_items import Job, RecordCompletion, StatementRequest
from audit.analysis.worker import Worker
from audit.core.guard import Failures
from audit.core.identity import Tagging
from audit.core.origin import Origin
from audit.policies.model.state import GovernanceState
from audit.record.access_record import Ended, Started
from audit.record.aggregation import Aggregation
from audit.record.redaction import Redaction
from audit.spool import Spool, read_segment, remove_ingested
from lineage.sql.parse import parse
from lineage.sql.redaction.rules import RedactionRules

NOW = 1_767_268_800_000_000


class Policies:
    """The service of policies, as far as tags ask it; the real one reads tables with Spark."""

    def __init__(self, tags=(), result=()):
        self.tags, self.result = tags, result

    def has_tags(self):
        """Whether any tag is set; an error stands for a table that cannot be read."""
        if isinstance(self.tags, Exception):
            raise self.tags
        return bool(self.tags)

    def propagate_tags(self, spark, objects, actor):
        """The problems that it met, or an error."""
        if isinstance(self.result, Exception):
            raise self.result
        return list(self.result)


REDACTION = Redaction(RedactionRules(), lambda: b"key")


class Pipe:
    """A worker over a real spool, without Spark: for calls whose analysis needs no plan."""

    def __init__(self, folder, policies=None, **bounds):
        self.failures = Failures()
        self.spool = Spool.open(folder, **bounds)
        analyst = Analyst(None, REDACTION, self.failures, listening=True)
        self.analyst = analyst
        tags = TagPropagation(
            policies, lambda: NOW, lambda: "event", self.failures, enabled=policies is not None
        )
        rows = ExecutionRows(
            analyst,
            tags,
            policies,
            REDACTION,
            Sessions(),
            None,
            lambda: "child",
            "app",
            Issuer("ann", Origin(), Tagging()),
        )
        streams = Streams(analyst, tags, policies, REDACTION, lambda: "batch")
        context = SimpleNamespace(addJobTag=lambda tag: None)
        self.worker = Worker(
            context,
            self.spool,
            None,
            ExecutionClaims(),
            analyst,
            tags,
            rows,
            streams,
            REDACTION,
            Aggregation(),
            self.failures,
        )

    def run(self, query_id, status="SUCCESS", text="CALL s.p()", completion=None, **request):
        """A statement that has ended."""
        statement = parse(text)
        kind = statement.statement_type
        started = Started(query_id, NOW, "ann", text, kind, "SparkSession.sql", is_sql=True)
        asked = StatementRequest(text, kind, "SparkSession.sql", **{"statement": statement} | request)
        catalog = SimpleNamespace(session=SimpleNamespace(spark=None))
        ended = Ended(status, NOW + 1_000, "CODE" if status == "FAIL" else None)
        job = Job(
            asked, started, ended, catalog, None, None, GovernanceState(), lambda _: (), None, completion
        )
        self.worker.submit(job)

    def records(self):
        """The records by query id, once everything submitted is done; each must stand once."""
        assert self.worker.drain(10)
        self.spool.sync()
        paths = [*(self.spool.path / "sealed").iterdir(), *(self.spool.path / "journal").iterdir()]
        found = [entry for path in paths for entry in read_segment(path).entries if entry.kind == "R"]
        assert len({entry.query_id for entry in found}) == len(found)
        return {entry.query_id: entry.payload for entry in found}

    def close(self):
        """End the worker, then the spool."""
        self.worker.close()
        self.spool.close()


@pytest.fixture
def pipe(tmp_path):
    """A pipe that is closed after the test."""
    made = Pipe(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("status", ["SUCCESS", "FAIL", "DENIED"])
def test_each_statement_has_one_record(pipe, status):
    """However it ended; what failed is in query_history alone."""
    pipe.run("q1", status, procedure="s.p")
    record = pipe.records()["q1"]
    assert (record["query"]["execution_status"], len(record["access"])) == (status, status == "SUCCESS")
    assert pipe.failures.count == 0


def test_a_call_of_a_procedure_names_it(pipe):
    """UDFs & Stored Procedure notes: both columns record the procedure that a query calls."""
    pipe.run("q1", procedure="spark_catalog.s.p")
    (access,) = pipe.records()["q1"]["access"]
    for column in ("direct_objects_accessed", "base_objects_accessed"):
        (called,) = access[column]
        assert (called["objectName"], called["objectDomain"]) == ("spark_catalog.s.p", "PROCEDURE")
    assert (access["captured_by"], access["analysis"]) == ("text", "full")


def test_statements_that_a_script_runs_have_records_of_their_own(pipe):
    """The script itself accesses nothing."""
    pipe.run("q1", text="BEGIN SELECT a FROM t; END")
    (access,) = pipe.records()["q1"]["access"]
    assert (access["analysis"], access["base_objects_accessed"]) == ("full", [])


def test_an_analysis_that_fails_leaves_an_opaque_record(pipe):
    """With the reason; the failure is noted with its statement, and the next statement is analysed."""
    pipe.run("q1", text="DROP TABLE t", query_execution=lambda: 1 // 0)
    pipe.run("q2", procedure="s.p")
    records = pipe.records()
    (access,) = records["q1"]["access"]
    assert access["analysis"] == "opaque"
    assert access["analysis_reason"] == "ZeroDivisionError: integer division or modulo by zero"
    assert records["q2"]["access"][0]["analysis"] == "full"
    assert pipe.failures.recent == (("q1", "ZeroDivisionError: integer division or modulo by zero"),)


def test_a_statement_without_a_plan_says_so(pipe):
    """Neither text nor plan tells what it accessed: opaque, and counted as such."""
    pipe.run("q1", text="no SQL (")
    (access,) = pipe.records()["q1"]["access"]
    assert access["analysis"] == "opaque"
    assert access["analysis_reason"]
    assert pipe.analyst.counts.opaque == 1


def test_whoever_waits_is_told_when_the_record_is_there(pipe):
    """Also where the analysis failed; a worker that has ended keeps nobody waiting."""
    for query_id, execution in (("q1", None), ("q2", lambda: 1 // 0)):
        completion = RecordCompletion()
        pipe.run(query_id, text="DROP TABLE t", query_execution=execution, completion=completion)
        pipe.worker.wait(completion)
        assert completion.done.is_set()
        assert completion.problem is None
    pipe.worker.close()
    unheard = RecordCompletion()
    pipe.run("q3", completion=unheard)
    pipe.worker.wait(unheard)
    assert "the worker has ended" in unheard.problem
    assert pipe.worker.drain(0.01) is False


def test_all_that_is_queued_is_done_before_the_end(pipe):
    """A driver that closes loses no record."""
    for number in range(200):
        pipe.run(f"q{number}", "FAIL")
    pipe.worker.close()
    pipe.spool.sync()
    (segment,) = (pipe.spool.path / "journal").iterdir()
    assert len(read_segment(segment).entries) == 200


def test_a_caller_waits_where_the_worker_is_far_behind(tmp_path, monkeypatch):
    """What waits holds plans, which would fill the driver; with patience at its end nothing is lost."""
    monkeypatch.setattr(worker, "_ROOM", 2)
    monkeypatch.setattr(worker, "_PATIENCE_SECONDS", 60)
    pipe, gate = Pipe(tmp_path), threading.Event()
    for number in (1, 2):
        pipe.run(f"q{number}", text="DROP TABLE t", query_execution=lambda: gate.wait() and None)
    caller = threading.Thread(target=pipe.run, args=("q3", "FAIL"))
    caller.start()
    caller.join(0.2)
    assert caller.is_alive()
    monkeypatch.setattr(worker, "_PATIENCE_SECONDS", 0.01)
    pipe.run("q4", "FAIL")
    gate.set()
    caller.join()
    assert {*pipe.records()} == {"q1", "q2", "q3", "q4"}
    assert pipe.worker._room.acquire(blocking=False)
    pipe.close()


def test_a_record_that_the_spool_refuses_waits_and_comes_first(tmp_path):
    """The order of the records stays; when there is room again none is lost."""
    pipe = Pipe(tmp_path, max_bytes=3_000)
    pipe.spool.record("filler", {"text": "x" * 2_500})
    for query_id in ("q1", "q2"):
        pipe.run(query_id, "FAIL", text=f"SELECT '{'y' * 600}'")
    assert set(pipe.records()) == {"filler"}
    assert pipe.worker.refused == 2
    pipe.spool.rotate()
    remove_ingested(pipe.spool.path, pipe.spool.sealed())
    pipe.run("q3", "FAIL")
    assert [*pipe.records()] == ["q1", "q2", "q3"]
    assert pipe.worker.refused == 0
    pipe.close()


@pytest.mark.parametrize(
    ("policies", "kind", "problem"),
    [
        (Policies(result=()), "DROP TABLE t", None),
        (Policies(result=["no tag on t.a"]), "CALL s.p()", "no tag on t.a"),
        (Policies(result=["one", "two"]), "CALL s.p()", "one; two"),
        (Policies(result=OSError("disk")), "CALL s.p()", "OSError: disk"),
        (Policies(result=["never asked"]), "SELECT 1", None),
        (None, "CALL s.p()", None),
    ],
)
def test_tags_that_may_be_missing_are_told(tmp_path, policies, kind, problem):
    """To the caller who waits, and in the record, which is no longer full; a query derives nothing."""
    pipe, completion = Pipe(tmp_path, policies), RecordCompletion()
    pipe.run("q1", text=kind, procedure="s.p", completion=completion)
    (access,) = pipe.records()["q1"]["access"]
    assert completion.problem == problem
    assert (access["analysis"], access.get("analysis_reason")) == ("partial" if problem else "full", problem)
    pipe.close()


@pytest.mark.parametrize(
    ("tags", "enabled", "may"),
    [(["t"], True, True), ([], True, False), (["t"], False, False), (OSError("gone"), True, True)],
)
def test_a_write_waits_only_if_there_may_be_tags(tags, enabled, may):
    """Where nobody can tell it waits: a missing tag would be a hole in a policy."""
    failures = Failures()
    found = TagPropagation(Policies(tags), lambda: NOW, lambda: "e", failures, enabled=enabled)
    assert found.may_set() is may
    assert failures.count == isinstance(tags, OSError)
