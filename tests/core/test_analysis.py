"""The pure parts of the analysis: samples, disagreements, versions, targets, batches, claims, sessions."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.analysis import running_statements
from audit.analysis.analyst import disagreement, drawn, own_executions, plan_hash, read_versions, target_of
from audit.analysis.execution_claims import ExecutionClaim, ExecutionClaims
from audit.analysis.running_statements import RunningStatement, RunningStatements
from audit.analysis.sessions import Sessions
from audit.analysis.streams import batch_access
from audit.analysis.tag_propagation import written
from audit.analysis.work_items import StatementRequest, Stream, StreamRequest
from audit.core.identity import Ancestry, Identity
from audit.core.job_tags import QUIET_TAGS, STATEMENT_TAG
from audit.spark.plans.executions import Execution
from lineage import MemoryCatalog, analyze
from lineage.model import Column, Domain, Relation
from lineage.plan.facts import Leaf
from lineage.sql.parse import parse

CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int"}, "s.u": {"a": "int"}},
    views={"s.v": "SELECT a FROM t"},
    current_schema="s",
)
C = "spark_catalog.s."


def relations(*names):
    """What a plan has read, by lower-case name."""
    return {f"{C}{name}".casefold(): Relation(f"{C}{name}") for name in names}


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_sample_holds_the_smaller_one(query_id, one, other):
    """A statement that is drawn at one share is drawn at every larger one; at 1 all are, at 0 none."""
    smaller, larger = sorted([one, other])
    assert drawn(query_id, larger) or not drawn(query_id, smaller)
    assert (drawn(query_id, 0.0), drawn(query_id, 1.0)) == (False, True)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
def test_a_sample_has_its_share(share):
    """Of ids that follow each other, as those of a driver do."""
    found = sum(drawn(f"017e9207-6d7c-7{number:03x}-8000-000000000000", share) for number in range(4096))
    assert found / 4096 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    ("sql", "names", "own"),
    [
        ("CREATE OR REPLACE TABLE s.u CLONE s.t", ["collect", "Delta checkpoint", "command", "collect"], [2]),
        ("CREATE OR REPLACE TABLE s.u CLONE s.t", ["Delta checkpoint", "collect"], []),
        ("FROM s.t INSERT INTO s.u SELECT a INSERT INTO s.w SELECT a", ["multi-commands", "collect"], [0]),
        ("CREATE OR REPLACE TABLE s.u AS SELECT a FROM s.t", ["replace", "Delta checkpoint"], [0]),
        ("SELECT a FROM s.t", ["collectToPython"], [0]),
        ("no SQL at all", ["collect"], [0]),  # what ran is all that there is to know
        (None, ["save"], [0]),
    ],
)
def test_what_delta_does_with_its_log_is_not_the_statements(sql, names, own):
    """It may come last, and the command's own execution may count as inside of it."""
    ran = [Execution(n, (), "", 0, 0, "", None, name, n) for n, name in enumerate(names)]
    found = own_executions(None if sql is None else parse(sql), ran)
    assert [one.execution_id for one in found] == own


@pytest.mark.parametrize(
    ("sql", "read", "words"),
    [
        ("SELECT a FROM t", ["t"], None),
        ("SELECT a FROM v", ["t"], None),
        ("SELECT 1", [], None),
        ("SELECT a FROM t", [], None),  # a plan without relations says nothing
        ("SELECT a FROM t", ["u"], "the text names spark_catalog.s.t, Spark's plan does not read it"),
        ("SELECT a FROM t JOIN u USING (a)", ["t"], "the text names spark_catalog.s.u"),
        ("SELECT a FROM v", ["t", "u"], "Spark's plan reads spark_catalog.s.u, the text does not name it"),
        ("INSERT INTO u SELECT a FROM t", ["t"], None),
        ("INSERT INTO u SELECT a FROM t", ["t", "u"], None),
        ("INSERT INTO u SELECT a FROM t", ["x", "t"], "Spark's plan reads spark_catalog.s.x"),
        ("DELETE FROM t WHERE a IN (SELECT a FROM u)", ["u"], None),
        ("CREATE TABLE n AS SELECT a FROM t", ["t", "n"], None),
        ("CREATE TABLE n AS SELECT a FROM t", ["u"], "the text names spark_catalog.s.t"),
        ("DROP TABLE t", ["u"], None),
        ("ALTER TABLE t ADD COLUMN c INT", ["u"], None),
    ],
)
def test_the_first_object_that_one_engine_alone_has_is_named(sql, read, words):
    """What a statement writes is not read by that; DDL reads nothing."""
    found = disagreement(analyze(sql, CATALOG), relations(*read))
    assert found is None if words is None else found.startswith(words)


def leaf(name, version, table_id="id"):
    """A read of a Delta table."""
    return Leaf("LogicalRelation", name=f"{C}{name}", version=version, table_id=table_id)


@pytest.mark.parametrize(
    ("leaves", "versions"),
    [
        ([], []),
        ([leaf("t", 7)], [("t", 7)]),
        ([leaf("T", 0)], [("T", 0)]),
        ([leaf("t", 7), leaf("t", 7)], [("t", 7)]),
        ([leaf("t", 7), leaf("t", 3)], [("t", 7), ("t", 3)]),
        ([leaf("t", None)], []),
        ([leaf("t", -1)], []),
        ([leaf("u", 5)], []),
        ([leaf("t", 1), leaf("u", 5)], [("t", 1)]),
    ],
)
def test_versions_are_those_of_what_was_read(leaves, versions):
    """Each once, two of one table where it was read twice; a target and a table without commits have none."""
    found = read_versions(analyze("INSERT INTO u SELECT a FROM t", CATALOG), leaves)
    assert [(one.object_name.removeprefix(C), one.version) for one in found] == versions
    assert {one.access for one in found} <= {"read"}
    assert all(one.object_id is not None for one in found)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Project [a#1]\n+- Relation t[a#1]", "Project [a#25]\n+- Relation t[a#25]", True),
        ("Project [a#1L]", "Project [a#2]", True),
        ("Project [a#1]", "Project [b#1]", False),
        ("Filter (a#1 = 5)", "Filter (a#1 = 6)", False),
        ("", " ", False),
    ],
)
def test_a_plan_hashes_without_the_numbers_that_spark_gives_anew(one, other, same):
    """The same DataFrame built twice has one hash."""
    assert (plan_hash(one) == plan_hash(other)) is same


BEFORE = Relation(f"{C}t", object_id=1, columns=(Column("a", "int", 10), Column("B", "int", 11)))
AFTER = Relation(f"{C}t", object_id=2, columns=(Column("A", "int", 20), Column("c", "int", 21)))


@pytest.mark.parametrize(
    ("kind", "before", "after", "found"),
    [
        ("ALTER_TABLE", BEFORE, AFTER, replace(BEFORE, columns=(*BEFORE.columns, AFTER.columns[1]))),
        ("DROP_TABLE", BEFORE, None, BEFORE),
        ("TRUNCATE", BEFORE, BEFORE, BEFORE),
        ("CREATE_TABLE", None, AFTER, AFTER),
        ("CREATE_TABLE", BEFORE, AFTER, AFTER),
        ("REPLACE_TABLE", BEFORE, AFTER, AFTER),
        ("REPLACE_TABLE", BEFORE, None, BEFORE),
        ("DROP_TABLE", None, None, None),
    ],
)
def test_the_target_of_ddl_is_what_the_statement_was_about(kind, before, after, found):
    """As it was, with columns that came; as it is where it was created. Case of a column is no difference."""
    assert target_of(kind, before, after) == found


def test_a_batch_writes_its_table_and_not_the_location_of_its_plan():
    """The name, the ids and the domain are the table's; what the batch read stays."""
    batch = analyze("INSERT INTO delta.`/data/u` SELECT a FROM t WHERE b > 1", CATALOG)
    target = Relation(f"{C}u", object_id=5, columns=(Column("a", "int", 50),), location="/data/u")
    access = batch_access(batch, target)
    (modified,) = access.objects_modified
    assert (modified.name, modified.domain, modified.object_id) == (f"{C}u", Domain.TABLE, 5)
    assert (modified.location, modified.stage_kind) == (None, None)
    assert access.statement_type == "STREAM_BATCH"
    assert [one.name for one in access.base_objects_accessed] == [f"{C}t"]
    assert [(column.name, column.column_id) for column in modified.columns] == [("a", 50)]


def test_a_batch_into_files_names_their_location():
    """ACCESS_HISTORY, location: "the URL of the external location"; stageKind: "when writing to a stage"."""
    target = Relation("s3://b/out", Domain.STAGE, location="s3://b/out")
    (modified,) = batch_access(analyze("SELECT a FROM t", CATALOG), target).objects_modified
    assert (modified.name, modified.domain, modified.location) == ("s3://b/out", Domain.STAGE, "s3://b/out")
    assert modified.stage_kind == "External Named"


def test_a_batch_without_a_target_only_reads():
    """A console, a table in memory, a function of the user's."""
    access = batch_access(analyze("SELECT a FROM t", CATALOG), None)
    assert (access.statement_type, access.objects_modified) == ("STREAM_BATCH", ())


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT a FROM t", []),
        ("INSERT INTO u SELECT a FROM t", ["u"]),
        ("CREATE TABLE n AS SELECT a FROM t", ["n"]),
        ("CREATE VIEW w AS SELECT a FROM t", ["w"]),
        ("DROP TABLE t", []),
    ],
)
def test_tags_go_to_what_was_derived(sql, names):
    """A table that was written, and a view that was defined."""
    assert [one.name for one in written(analyze(sql, CATALOG))] == [C + name for name in names]


@pytest.mark.parametrize(
    ("kind", "changes_session", "reading"),
    [("SELECT", False, True), ("SELECT", True, False), ("INSERT", False, False), ("UNKNOWN", False, False)],
)
def test_a_request_only_reads_if_it_changes_nothing(kind, changes_session, reading):
    """CACHE TABLE is a SELECT that changes the session."""
    request = StatementRequest("x", kind, "SparkSession.sql", changes_session=changes_session)
    assert request.is_reading is reading


def test_a_stream_that_does_not_run_yet_has_no_location():
    """Its sink is known when Spark has started it."""
    assert StreamRequest(Stream(), "s.t").location is None


@dataclass(eq=False)
class Fits(ExecutionClaim):
    """A claim to executions of one name."""

    name: str

    def fits(self, execution):
        """By name."""
        return execution == self.name


def test_only_open_claims_hold_an_execution_back():
    """Two claims may fit one execution; ending one that is not open does no harm."""
    claims, first, second = ExecutionClaims(), Fits("a"), Fits("a")
    assert not claims.may_claim("a")
    claims.begin(first)
    claims.begin(second)
    assert (claims.may_claim("a"), claims.may_claim("b")) == (True, False)
    claims.end(first)
    claims.end(first)
    assert claims.may_claim("a")
    claims.end(second)
    assert not claims.may_claim("a")


def test_a_claim_may_be_made_while_another_is_looked_at():
    """`fits` may call the JVM for long: it must not keep other threads from beginning a claim."""
    claims = ExecutionClaims()

    class Begins(Fits):
        def fits(self, execution):
            claims.begin(Fits("b"))
            claims.end(self)
            return super().fits(execution)

    claims.begin(Begins("a"))
    assert claims.may_claim("a")
    assert (claims.may_claim("a"), claims.may_claim("b")) == (False, True)


def statement(user):
    """A statement that runs."""
    return RunningStatement(None, Identity(user), Ancestry("q", "q"), handled=False)


def test_the_innermost_statement_is_the_newest_of_the_tags():
    """In any order of the tags; tags of others, and of statements that have ended, do not count."""
    running, outer, inner = RunningStatements(), statement("ann"), statement("bob")
    tags = [STATEMENT_TAG + "017e-1", "audit-user-ann", "x", STATEMENT_TAG + "017e-2", *QUIET_TAGS]
    assert running.of_tags(tags) is None
    with running.entered("017e-1", outer):
        with running.entered("017e-2", inner):
            assert running.of_tags(tags) is running.of_tags(reversed(tags)) is inner
            assert running.of_tags(tags[:3]) is outer
        assert running.of_tags(tags) is outer
    assert running.of_tags(tags) is None


def test_a_statement_that_fails_is_no_longer_running():
    """Its id stands for nothing afterwards."""
    running = RunningStatements()
    with pytest.raises(ZeroDivisionError), running.entered("q1", statement("ann")):
        raise ZeroDivisionError
    assert running.of_tags([STATEMENT_TAG + "q1"]) is None


def test_a_statement_is_known_for_a_while_after_its_end(monkeypatch):
    """Spark tells of its executions later; what is forgotten is the oldest, and what runs never is."""
    monkeypatch.setattr(running_statements, "_REMEMBERED", 2)
    running = RunningStatements()
    with running.entered("long", statement("ann")):
        for query_id in ("q1", "q2", "q3"):
            assert not running.knows(query_id)
            with running.entered(query_id, statement("ann")):
                assert running.knows(query_id)
        assert [running.knows(one) for one in ("long", "q1", "q2", "q3")] == [True, False, True, True]


def test_an_error_of_a_statement_inside_is_found_by_its_message():
    """Spark wraps it in a message of its own, and the user is to see the error that was raised."""
    outer, error = statement("ann"), ValueError("inside")
    outer.errors["[AUDIT_X] table t"] = error
    assert outer.error_in("Job failed: [AUDIT_X] table t; see the log") is error
    assert outer.error_in("[AUDIT_X] table u") is None
    assert statement("bob").error_in("") is None


@dataclass(eq=False)
class CountingCatalog:
    """Counts how often it is told to forget."""

    forgotten: int = 0

    def forget(self):
        """Count."""
        self.forgotten += 1


@dataclass(eq=False)
class OfTest:
    """An audited session, as far as its registry looks at it."""

    jvm_id: str
    catalog: CountingCatalog = field(default_factory=CountingCatalog)


def test_a_session_is_found_as_long_as_somebody_holds_it():
    """A derived session that its user has let go is not kept alive by the audit."""
    sessions, one, other = Sessions(), OfTest("1"), OfTest("2")
    sessions.add(one)
    sessions.add(other)
    assert (sessions.find("1"), sessions.find("2"), sessions.find("3")) == (one, other, None)
    del other
    gc.collect()
    assert (sessions.living(), sessions.find("2")) == ([one], None)
    sessions.discard("1")
    sessions.discard("1")
    assert sessions.living() == []


def test_a_change_of_the_catalog_reaches_every_session():
    """DDL of one session may change what a name means in all."""
    sessions, known = Sessions(), [OfTest(str(number)) for number in range(3)]
    for one in known:
        sessions.add(one)
    sessions.catalog_changed()
    sessions.discard("1")
    sessions.catalog_changed()
    assert [one.catalog.forgotten for one in known] == [2, 1, 2]
