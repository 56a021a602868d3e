"""The pure parts of the store: tables as SQL, days to keep, conflicts to retry, errors to tell."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from audit.core.clock import to_micros
from audit.core.errors import AuditError, IngestError, SpoolBusyError
from audit.spark.delta.conflicts import TRIES, is_conflict, retried
from audit.store.days.compaction import is_due
from audit.store.days.kept_days import oldest_kept
from audit.store.error_translation import as_ingest_error
from audit.store.tables import ACCESS_HISTORY, AUDIT_TABLES, COLUMN_LINEAGE, QUERY_HISTORY, TABLE_LINEAGE
from lineage import parse
from lineage.names import sql_text

DAY = timedelta(days=1)
BY_NAME = pytest.mark.parametrize("table", AUDIT_TABLES, ids=lambda table: table.name)


@BY_NAME
@pytest.mark.parametrize("root", ["/data/audit", "/data/audit/", "s3a://bucket/a", "/it's/a`b/c d", "/é/日"])
def test_the_statement_that_makes_a_table_is_sql(table, root):
    """It parses as a CREATE TABLE of that path, whatever characters the root has."""
    statement = parse(table.create_sql(root))
    assert (statement.statement_type, statement.tree is None) == ("CREATE_TABLE", False)
    assert table.location(root) == f"{root.rstrip('/')}/{table.name}"
    assert statement.references == (("delta", table.location(root)),)


@BY_NAME
def test_a_table_is_partitioned_by_the_day_of_its_time(table):
    """design.md: partitioned by query_date, generated; the spool's row does not have it."""
    names = [name for name, _, _ in table.columns]
    assert len(set(names)) == len(names)
    assert "query_date" not in names
    assert (table.time in names, {n: k for n, k, _ in table.columns}[table.time]) == (True, "TIMESTAMP")
    sql = table.create_sql("/r")
    assert "PARTITIONED BY (query_date)" in sql
    assert f"GENERATED ALWAYS AS ({table.day})" in sql
    assert "'delta.enableDeletionVectors' = 'false'" in sql


@BY_NAME
def test_files_are_skipped_by_columns_that_the_table_has(table):
    """Delta refuses a table whose statistics are of a column that it lacks."""
    (listed,) = re.findall(r"dataSkippingStatsColumns' = '([^']*)'", table.create_sql("/r"))
    assert {*listed.split(",")} <= {name for name, _, _ in table.columns}
    assert {"query_id", table.time, "user_name"} <= {*listed.split(",")}


@pytest.mark.parametrize(
    "column",
    [
        "query_id",
        "query_start_time",
        "user_name",
        "direct_objects_accessed",
        "base_objects_accessed",
        "objects_modified",
        "object_modified_by_ddl",
        "policies_referenced",
        "parent_query_id",
        "root_query_id",
    ],
)
def test_access_history_has_the_columns_of_the_document(column):
    """ACCESS_HISTORY view, Columns."""
    assert column in {name for name, _, _ in ACCESS_HISTORY.columns}


@pytest.mark.parametrize(
    ("column", "parts"),
    [
        (
            "direct_objects_accessed",
            (
                "columnId columnName objectDomain objectId objectName location stageKind argumentSignature"
                " dataType"
            ),
        ),
        (
            "objects_modified",
            (
                "columnId columnName baseSources directSources objectDomain objectId objectName location"
                " stageKind"
            ),
        ),
        ("object_modified_by_ddl", "objectDomain objectId objectName operationType properties"),
        ("policies_referenced", "columns policies policyName policyId policyKind objectDomain objectName"),
    ],
)
def test_arrays_have_the_fields_of_the_document(column, parts):
    """ACCESS_HISTORY view: "the fields in the JSON array", under the same names."""
    (kind,) = (kind for name, kind, _ in ACCESS_HISTORY.columns if name == column)
    assert set(parts.split()) <= {*re.findall(r"(\w+): ", kind)}


def test_a_statement_in_query_history_is_in_all_tables():
    """Ingest commits in this order, so whoever sees the statement sees its record and its lineage."""
    assert AUDIT_TABLES[-1] is QUERY_HISTORY
    assert {*AUDIT_TABLES} == {ACCESS_HISTORY, QUERY_HISTORY, COLUMN_LINEAGE, TABLE_LINEAGE}


def read_by_spark(text):
    """What Spark reads between single quotes: a backslash keeps the next character, but for a few letters."""
    known = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "Z": "\x1a", "%": r"\%", "_": r"\_"}
    return re.sub(r"\\(.)", lambda found: known.get(found[1], found[1]), text, flags=re.DOTALL)


@given(st.text(st.sampled_from("'\\\"`n0%_u\n é{}$a;-")))
def test_a_text_between_quotes_comes_back(text):
    """Spark SQL, String Literal: no character ends the literal or means something else."""
    written = sql_text(text)[1:-1]
    assert read_by_spark(written) == text
    assert re.fullmatch(r"(?:[^'\\]|\\.)*", written, flags=re.DOTALL)


@given(st.integers(0, 300), st.integers(0, 40), st.integers(1, 20))
def test_a_table_is_compacted_once_in_so_many_versions(version, commits, every):
    """As counting says: one of the commits of this ingest was an `every`th."""
    own = range(max(version - commits, 0) + 1, version + 1)
    assert is_due(version, commits, every) is any(one % every == 0 for one in own)


@given(st.lists(st.integers(1, 10), min_size=1, max_size=30), st.integers(1, 16))
def test_no_version_is_left_out_and_none_counts_twice(ingests, every):
    """Ingests that follow each other compact as often as they pass an `every`th version."""
    version, due, passed = 0, 0, 0
    for commits in ingests:
        passed += version // every != (version + commits) // every
        version += commits
        due += is_due(version, commits, every)
    assert due == passed


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)), st.integers(1, 365))  # noqa: DTZ001 - bounds
def test_a_day_is_kept_until_its_last_microsecond_is_too_old(moment, days):
    """The first day that is kept is young enough at its end, and the day before it is not."""
    now = moment.replace(tzinfo=timezone.utc)
    first = oldest_kept(to_micros(now), days)

    def age(day):
        midnight = datetime(day.year, day.month, day.day, tzinfo=timezone.utc) + DAY
        return now - (midnight - timedelta(microseconds=1))

    assert age(first) <= days * DAY < age(first - DAY)


@pytest.mark.parametrize("days", [800_000, 10**6, 999_999_999, 10**12])
def test_whoever_keeps_records_for_ever_may_say_so_by_a_large_number(days):
    """`retention_days` has no upper bound: nothing is older than the first day of the calendar."""
    now = to_micros(datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert oldest_kept(now, days) == date.min


@pytest.mark.parametrize(
    ("text", "conflict"),
    [
        ("[DELTA_CONCURRENT_APPEND] Files were added", True),
        ("[DELTA_CONCURRENT_DELETE_READ.WITH_PARTITION_HINT] x", True),
        ("[DELTA_METADATA_CHANGED] x", True),
        ("[DELTA_PROTOCOL_CHANGED] x", True),
        ("io.delta.exceptions.ConcurrentWriteException: A concurrent transaction", True),
        ("io.delta.exceptions.ConcurrentTransactionException: x", True),
        ("[DELTA_TABLE_NOT_FOUND] x", False),
        ("No space left on device", False),
        ("java.util.ConcurrentModificationException", False),
        ("", False),
    ],
)
def test_a_conflict_is_what_delta_asks_to_try_again(text, conflict):
    """Concurrency control (docs.delta.io): these exceptions, and no other error."""
    assert is_conflict(PySparkException(text)) is conflict


CONFLICT = PySparkException("[DELTA_CONCURRENT_APPEND] x")


def failing(times, error=CONFLICT):
    """A write that fails so many times, and how often it was called."""
    calls = []

    def write():
        calls.append(1)
        if len(calls) <= times:
            raise error
        return "written"

    return write, calls


@pytest.mark.parametrize("times", range(TRIES))
def test_a_write_is_tried_again_after_a_conflict(times):
    """Until it succeeds, with pauses that grow from 0.1 to a few seconds."""
    write, calls = failing(times)
    pauses = []
    assert retried(write, sleep=pauses.append) == "written"
    assert (len(calls), len(pauses)) == (times + 1, times)
    assert all(0.05 * 2**n <= pause <= 0.1 * 2**n for n, pause in enumerate(pauses))


@pytest.mark.parametrize("tries", [1, 2, TRIES])
def test_the_last_try_tells_the_conflict(tries):
    """No endless loop: after so many tries the error is the caller's."""
    write, calls = failing(tries)
    with pytest.raises(PySparkException, match="DELTA_CONCURRENT_APPEND"):
        retried(write, tries, sleep=lambda _: None)
    assert len(calls) == tries


@pytest.mark.parametrize("error", [PySparkException("No space left"), ValueError("x"), OSError(28, "full")])
def test_another_error_is_raised_at_once(error):
    """Trying again would not help."""
    write, calls = failing(5, error)
    with pytest.raises(type(error)):
        retried(write, sleep=lambda _: pytest.fail("no pause"))
    assert len(calls) == 1


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        PermissionError(13, "Permission denied"),
        PySparkException("[X] no"),
        AnalysisException("[TABLE_OR_VIEW_NOT_FOUND] no"),
        Py4JNetworkError("the JVM is gone"),
        Py4JError("the JVM is gone"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_others_become_one_with_a_way_out(error):
    """It names what could not be done and the cause, and that nothing is lost."""
    with pytest.raises(IngestError) as told, as_ingest_error("the records of /spool could not be taken in"):
        raise error
    assert told.value.problem.startswith("the records of /spool could not be taken in (")
    assert str(error).splitlines()[0] in told.value.problem
    assert "audit ingest" in told.value.way_out
    assert told.value.__cause__ is error


@pytest.mark.parametrize(
    "error", [SpoolBusyError("x", "y"), IngestError("x", "y"), ValueError("x"), KeyError()]
)
def test_own_errors_and_defects_pass(error):
    """An error of ours names its way out already; a defect of the program is no error of the disk."""
    with pytest.raises(type(error)) as raised, as_ingest_error("anything"):
        raise error
    assert raised.value is error
    assert isinstance(error, AuditError) or not isinstance(raised.value, AuditError)


@pytest.mark.parametrize("text", ["x" * 100_000, "line\n" * 50_000, "é" * 10_000])
def test_a_long_message_is_cut(text):
    """The message is for people: no more than a few lines of it, and it says that it goes on."""
    with pytest.raises(IngestError) as told, as_ingest_error("p"):
        raise PySparkException(text)
    assert len(told.value.problem) < 700
    assert told.value.problem.endswith("...)")


def test_a_stack_trace_of_java_is_left_out():
    """What comes before it is kept, in one line."""
    text = (
        "Job aborted\n  due to stage failure\n\tat org.apache.spark.A\n\tat org.apache.spark.B\nCaused by: x"
    )
    with (
        pytest.raises(
            IngestError, match=r"^\[AUDIT_INGEST\] p \(Job aborted due to stage failure\); "
        ) as told,
        as_ingest_error("p"),
    ):
        raise PySparkException(text)
    assert "\n" not in str(told.value)
