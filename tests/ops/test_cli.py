"""The commands over a root, in this process' Spark; `audit query` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.query.digests.check_rows import ALTERED, GONE
from lineage.sql.tokens import split_statements

from .helpers import Source

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def root(spark, tmp_path_factory):
    """A root with a dead driver's three statements, one of them not ended, and a living driver's two."""
    root = tmp_path_factory.mktemp("cli")
    dead, alive = Source(root), Source(root)
    dead.run(2, "SELECT 'dead'")
    dead.start("SELECT 'running'")
    dead.die()
    alive.run(1, "SELECT 'alive'")
    alive.spool.rotate()
    alive.run(1, "SELECT 'not sealed'")
    yield root
    alive.spool.close()


def run(root, *arguments):
    """A command; its exit code and what its JSON says."""
    answer = CliRunner().invoke(main, [*arguments, "--root", str(root), "--json"], catch_exceptions=False)
    return answer.exit_code, json.loads(answer.stdout) if answer.stdout else answer.stderr


def test_ingest_takes_in_the_dead_and_the_living(root):
    """One row a spool; what the living driver has not sealed stays with it."""
    code, rows = run(root, "ingest")
    assert code == 0
    assert sorted((row["statements"], row["incomplete"], row["error"]) for row in rows) == [
        (1, 0, ""),
        (3, 1, ""),
    ]
    assert run(root, "ingest") == (0, [])


def test_status_counts_spools_and_tables(root):
    """What is alive, what waits, and how many rows the tables hold; exit code 0 without a quarantine."""
    code, rows = run(root, "status")
    found = {row["name"] if row["kind"] == "table" else row["state"]: row for row in rows}
    assert code == 0
    assert (found["alive"]["waiting"], found["alive"]["bytes"] > 0) == (0, True)
    assert (found["query_history"]["rows"], found["access_history"]["rows"]) == (
        5,
        3,
    )  # that of the ingest, too
    assert found["access_history"]["last_record"].startswith("2026-01-01T12:00:00")
    analyses = {row["name"]: row["rows"] for row in rows if row["kind"] == "analysis"}
    assert sum(analyses.values()) == 3


def test_verify_finds_what_was_altered(spark, root):
    """Untouched records verify; one altered, one deleted and one doubled by hand are found by query id."""
    code, rows = run(root, "verify", "--from", "2026-01-01", "--to", "2026-01-01")
    assert (code, rows[0]["records"], rows[0]["statements"], rows[0]["faults"]) == (0, 3, 4, 0)
    access, query = (f"delta.`{root}/{name}_history`" for name in ("access", "query"))
    first, second, third = (
        row.query_id for row in spark.sql(f"SELECT query_id FROM {access} ORDER BY query_id").collect()
    )
    spark.sql(f"UPDATE {access} SET user_name = 'eve' WHERE query_id = '{first}'")
    spark.sql(f"DELETE FROM {access} WHERE query_id = '{second}'")
    spark.sql(f"INSERT INTO {query} SELECT * FROM {query} WHERE query_id = '{third}'")
    code, rows = run(root, "verify")
    assert code == 1
    assert sorted((row["query_id"], row["fault"]) for row in rows) == [
        (first, f"access_history: {ALTERED}"),
        (second, f"access_history: {GONE}"),
        (third, f"query_history: {ALTERED}"),
    ]


def test_a_damaged_file_is_one_line(spark, tmp_path):
    """It is named, and no traceback is shown."""
    source = Source(tmp_path)
    source.run(1)
    source.spool.close()
    assert run(tmp_path, "status")[1][0]["state"] == "ended"
    run(tmp_path, "ingest")
    (file,) = tmp_path.glob("access_history/query_date=*/*.parquet")
    file.write_bytes(b"PAR1 no more")
    code, said = run(tmp_path, "verify")
    assert (code, said.splitlines()[-1][:29]) == (2, "audit: AUDIT_TABLE_UNREADABLE")
    assert file.name in said, said


def test_retain_says_what_it_would_delete(root):
    """A dry run changes nothing; the days of 2026-01-01 are there until they are too old."""
    code, rows = run(root, "retain", "--days", "1", "--dry-run")
    assert code == 0
    assert {row["table"]: row["days"] for row in rows} == {
        "access_history": 1,
        "column_lineage": 0,
        "table_lineage": 0,
        "query_history": 1,
    }


def test_a_root_without_tables_is_one_line_and_exit_code_2(spark, tmp_path):
    """A command that needs the tables says which is not there, and the way out."""
    (tmp_path / "spool").mkdir()
    code, said = run(tmp_path, "verify")
    assert code == 2
    assert said.splitlines()[-1].startswith(f"audit: AUDIT_TABLE_MISSING: the audit table {tmp_path}")


@pytest.mark.slow("a command with a JVM of its own")
def test_query_runs_a_file_by_path(spark, root, tmp_path):
    """A file with a parameter and a default, over the views of a root, in a process without a metastore."""
    file = tmp_path / "question.sql"
    file.write_text(
        "-- Who? ; when?\n-- :who = 'nobody'  a user\n-- :least = 0  rows\n"
        "SELECT count(*) AS n FROM account_usage.statements WHERE user_name = :who HAVING n >= :least"
    )
    command = [
        sys.executable,
        "-m",
        "audit.cli",
        "query",
        str(file),
        "--param",
        "who=ann",
        "--json",
        "--root",
        str(root),
    ]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["n"] >= 4


def test_a_semicolon_in_a_string_cuts_nothing():
    """Only semicolons outside strings, names and comments end a statement."""
    assert split_statements("SELECT ';', `a;b` /* ; */; -- ;\n") == ["SELECT ';', `a;b` /* ; */"]


def test_the_proof_of_what_was_deleted(root, tmp_path):
    """Ingest and retention are on record by themselves, and the report of retention says what went."""
    kept = "2026-01-02"
    code, deleted = run(root, "retain", "--days", "1")
    assert (code, {row["first"] for row in deleted} - {None}) == (0, {"2026-01-01"})
    asked = "SELECT event_type, details FROM account_usage.logging_history ORDER BY event_time"
    answer = CliRunner().invoke(main, ["query", asked, "--root", str(root), "--format", "json"])
    events = [(row["event_type"], json.loads(row["details"])) for row in json.loads(answer.stdout)]
    taken_in = [details["spools"] for kind, details in events if kind == "AUDIT_INGEST"]
    assert sorted(one["statements"] for spools in taken_in for one in spools) == [1, 3]
    (went,) = [details["deleted"] for kind, details in events if kind == "AUDIT_RETAIN"]
    assert {one["table"]: one["days"] for one in went if one["days"]} == {
        row["table"]: ["2026-01-01"] for row in deleted if row["days"]
    }
    file = tmp_path / "retention.json"
    report = ["report", "retention", "--from", kept, "--root", str(root), "-o", str(file)]
    answer = CliRunner().invoke(main, report, catch_exceptions=False)
    assert answer.exit_code == 0, answer.output
    (proof,) = [
        one for one in json.loads(file.read_text())["figures"] if one["name"] == "deleted_by_retention"
    ]
    found = {row["table_name"]: row["rows_deleted"] for row in proof["rows"]}
    assert found == {row["table"]: row["rows"] for row in deleted}
