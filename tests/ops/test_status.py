"""`audit status` and `audit coverage` without Spark, and the same answers of Spark."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.cli.answers.tables import in_spark
from audit.cli.tool import Tool
from audit.core.config import load
from audit.query import state
from audit.query.coverage import coverage
from audit.query.tables import opened
from tests.query.roots import make_root

from .helpers import Source, ingest_all

NOON = datetime.fromisoformat("2026-11-20T12:00")
SCHEMA = "usage_of_status"


def statement(number, status="SUCCESS", kind="SELECT", **more):
    """A row of query_history, an hour after the one before it."""
    at = NOON + timedelta(hours=number)
    return {
        "query_id": f"q{number}", "start_time": at, "query_type": kind, "execution_status": status, **more,
    }  # fmt: skip


def record(number, analysis="full", captured_by="text", reason=None):
    """Its row of access_history."""
    return {
        "query_id": f"q{number}", "query_start_time": NOON + timedelta(hours=number), "analysis": analysis,
        "captured_by": captured_by, "analysis_reason": reason,
    }  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Seven successes, one of them without a record; failures, a dead driver's statement, two gaps."""
    queries = [
        *map(statement, range(7)),
        statement(7, "FAIL", error_code="DIVIDE_BY_ZERO"),
        statement(8, "FAIL", error_code="DIVIDE_BY_ZERO"),
        statement(9, "FAIL", error_code="TABLE_OR_VIEW_NOT_FOUND"),
        statement(10, "DENIED", error_code="AUDIT_STATEMENT_DENIED"),
        statement(11, "INCOMPLETE"),
        *(statement(n, "INCOMPLETE", "GAP", error_code="AUDIT_GAP_REFUSED") for n in (12, 13)),
        statement(14, kind="AUDIT_VERIFY"),
    ]
    reasons = ("a UDF", "a UDF", "no source")
    records = [
        record(0),
        record(1, captured_by="plan"),
        record(2, captured_by="listener"),
        *(record(n, "partial", reason=reason) for n, reason in enumerate(reasons, 3)),
    ]
    return make_root(tmp_path_factory.mktemp("status"), {"query_history": queries, "access_history": records})


def run(root, *words):
    """A command; its exit code and what it says."""
    answer = CliRunner().invoke(main, [*words, "--root", str(root)], catch_exceptions=False)
    return answer.exit_code, answer.stdout


def rows(root, kind):
    """The rows of a kind by name."""
    code, said = run(root, "status", "--json")
    assert code == 0
    return {row["name"]: row for row in json.loads(said) if row["kind"] == kind}


def test_tables(root):
    """Rows, days, bytes of the newest version, the newest row in UTC."""
    found = rows(root, "table")
    assert list(found) == ["access_history", "column_lineage", "table_lineage", "query_history"]
    queries = found["query_history"]
    assert (queries["state"], queries["rows"], queries["days"]) == ("there", 15, 2)
    assert queries["last_record"] == "2026-11-21T02:00:00.000000Z"
    assert queries["bytes"] == sum(
        file.stat().st_size for file in Path(root, "query_history").rglob("*.parquet")
    )
    empty = found["column_lineage"]
    assert (empty["rows"], empty["days"], empty["bytes"], empty["last_record"]) == (0, 0, 0, None)


def test_how_statements_ended(root):
    """With the most frequent error and the newest; a gap is no statement that is incomplete."""
    found = {name: (row["rows"], row["state"]) for name, row in rows(root, "statements").items()}
    assert found == {
        "SUCCESS": (7, ""), "FAIL": (3, "DIVIDE_BY_ZERO"), "DENIED": (1, "AUDIT_STATEMENT_DENIED"),
        "INCOMPLETE": (1, ""), "GAP": (2, "AUDIT_GAP_REFUSED"),
    }  # fmt: skip
    assert rows(root, "statements")["GAP"]["last_record"] == "2026-11-21T01:00:00.000000Z"


def test_analyses_and_coverage(root):
    """The most frequent reason; what has no record was not analysed, and the percentage is rounded down."""
    found = {name: (row["rows"], row["state"]) for name, row in rows(root, "analysis").items()}
    assert found == {"full": (3, ""), "partial": (3, "a UDF")}
    assert [(row["rows"], row["percent"]) for row in rows(root, "coverage").values()] == [(7, 42.8)]


def test_the_command_coverage(root):
    """The row of the reports' figure; days bound it, and too low a share is exit code 1."""
    code, said = run(root, "coverage", "--json")
    expected = {
        "full_percent": 42.8, "succeeded": 7, "full_from_text": 1, "full_from_plan": 2, "partial": 3,
        "opaque": 0, "without_record": 1,
    }  # fmt: skip
    assert (code, json.loads(said)) == (0, [expected])
    assert [run(root, "coverage", "--min-coverage", least)[0] for least in ("42.8", "43")] == [0, 1]
    code, said = run(root, "coverage", "--to", "2026-11-19", "--min-coverage", "100", "--json")
    assert (code, json.loads(said)[0]["full_percent"], json.loads(said)[0]["succeeded"]) == (0, None, 0)
    assert json.loads(run(root, "coverage", "--from", "2026-11-20", "--json")[1]) == [expected]


def test_for_people_each_kind_is_a_table_of_its_own(root):
    """Without the columns that it never has; all of them would not fit."""
    said = run(root, "status")[1]
    titles = ("Audit tables", "How statements ended", "How records were analysed", "Successful statements")
    places = [said.index(title) for title in titles]
    assert places == sorted(places)
    assert "waiting" not in said
    assert "-[ 1 ]-" not in said
    assert "2026-11-21 02:00:00" in said
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
def test_times_are_utc_wherever_it_runs(root, zone, monkeypatch):
    """The zone of the process does not matter."""
    expected = rows(root, "table")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert rows(root, "table") == expected
    finally:
        monkeypatch.undo()
        time.tzset()


def test_tables_that_are_not_there(root, tmp_path):
    """They are said to be; what needs them is left out."""
    shutil.copytree(root, tmp_path / "root")
    shutil.rmtree(tmp_path / "root" / "access_history")
    shutil.rmtree(tmp_path / "root" / "table_lineage")
    found = rows(tmp_path / "root", "table")
    states = {name: row["state"] for name, row in found.items()}
    assert states == {
        "access_history": "not there", "column_lineage": "there", "table_lineage": "not there",
        "query_history": "there",
    }  # fmt: skip
    assert found["access_history"]["rows"] is None
    assert rows(tmp_path / "root", "analysis") == rows(tmp_path / "root", "coverage") == {}
    code, _ = run(tmp_path / "root", "coverage")
    assert code == 2


def test_a_root_whose_tables_are_only_to_be_made(tmp_path):
    """The spools of its drivers are shown; a file in quarantine is exit code 1."""
    source = Source(tmp_path)
    source.run(2)
    found = rows(tmp_path, "spool")
    assert [(row["state"], row["waiting"]) for row in found.values()] == [("alive", 0)]
    assert {row["state"] for row in rows(tmp_path, "table").values()} == {"not there"}
    source.spool.close()
    assert [(row["state"], row["waiting"]) for row in rows(tmp_path, "spool").values()] == [("ended", 1)]
    damaged = tmp_path / "quarantine" / "a driver" / "part"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"xyz")
    code, said = run(tmp_path, "status", "--json")
    (row,) = (row for row in json.loads(said) if row["kind"] == "quarantine")
    assert (code, row["name"], row["state"], row["bytes"]) == (1, str(damaged), "damaged", 3)


@pytest.mark.parametrize("command", ["status", "coverage"])
def test_no_spark_is_imported(root, command):
    """Neither PySpark nor pandas: they answer within a second."""
    code = (
        "import sys; from audit.cli import main\n"
        f"main([{command!r}, '--root', {root!r}, '--json'], standalone_mode=False)\n"
        "print({'pyspark', 'pandas', 'py4j'} & sys.modules.keys(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "set()\n")


@pytest.mark.long("what Spark alone can read; test_status has the usual root")
@pytest.mark.spark
def test_spark_says_the_same(spark, tmp_path):
    """Of a root that both can read: sizes, times, counts, reasons, the coverage, and names of columns."""
    source = Source(tmp_path)
    source.run(3)
    source.end(source.start("SELECT nothing"), "FAIL")
    source.spool.close()
    ingest_all(spark, tmp_path, create=True)
    tool = Tool(load({"root": str(tmp_path), "schema": SCHEMA, "user": "tester"}, environ={}), {})
    answered = in_spark(spark, tool, whole=False)
    try:
        with opened(str(tmp_path), whole=False) as tables:
            for asked in (state.tables, state.statements, state.analyses, coverage):
                assert asked(tables) == asked(answered)
            # Columns of one name get the names that DuckDB gives them, and none is lost.
            for one in (tables, answered):
                answer = one.ask("SELECT 1 AS a, 2 AS a, 3 AS b", {})
                assert (answer.columns, list(answer.rows)) == (("a", "a_1", "b"), [(1, 2, 3)])
    finally:
        answered.spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")
