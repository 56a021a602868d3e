"""DuckDB and Spark verify alike; what delta-rs cannot read is verified by Spark."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256

import pytest
from click.testing import CliRunner

from audit.cli import main
from audit.cli.answers.tables import in_spark
from audit.cli.tool import Tool
from audit.core.clock import SystemClock
from audit.core.config import load
from audit.query import verification
from audit.query.digests.check_rows import ALTERED, GONE
from audit.query.digests.held import held_by
from audit.query.tables import opened
from audit.query.verification import verify
from audit.record.hash_sql import row_json, row_text, text_hash
from audit.record.record_hash import record_hash
from tests.query.hashed_rows import HOSTILE, KINDS

from .helpers import DAY, NOON, WRITE, Source, ingest_all

pytestmark = pytest.mark.spark

SCHEMA = "usage_of_verify"


def test_the_hash_is_that_of_python(spark):
    """For controls, quotes, back-slashes, nulls at every depth, empty lists and an early year."""
    frame = spark.createDataFrame(HOSTILE, ", ".join(f"`{name}` {kind}" for name, kind in KINDS.items()))
    found = frame.selectExpr(f"{row_text(KINDS)} AS text").selectExpr(f"{text_hash('text')} AS hash")
    assert [row.hash for row in found.collect()] == [record_hash(row) for row in HOSTILE]


def test_the_json_of_spark_is_the_canonical_one(spark):
    """But for the control characters that it escapes with capital letters, and for no others."""
    frame = spark.createDataFrame(HOSTILE, ", ".join(f"`{name}` {kind}" for name, kind in KINDS.items()))
    found = [row.text for row in frame.selectExpr(f"{row_json(KINDS)} AS text").collect()]
    same = [
        sha256(text.encode()).hexdigest() == record_hash(row)
        for text, row in zip(found, HOSTILE, strict=True)
    ]
    assert same == [re.search(r"(?<!\\)(?:\\\\)*\\u00[01]\d?[A-F]", text) is None for text in found]
    assert True in same


@pytest.fixture
def root(spark, tmp_path):
    """Eight statements, half of them with edges, and a failure."""
    source = Source(tmp_path)
    ids = source.run(4, "SELECT '\"\\\\\t'")
    source.access = WRITE
    ids += source.run(4, "INSERT INTO t SELECT 'é\U0001f600'")
    source.end(source.start("SELECT nothing"), "FAIL")
    source.spool.close()
    ingest_all(spark, tmp_path, create=True)
    return tmp_path, ids


@pytest.fixture
def in_both(spark):
    """What DuckDB finds, which is what Spark finds."""

    def found(root):
        # An hour from now: nothing is on its way any more.
        held = held_by(root, SystemClock().now() + 3_600_000_000)
        with opened(str(root)) as tables:
            here = verify(tables, held=held)
        source = in_spark(
            spark, Tool(load({"root": str(root), "schema": SCHEMA, "user": "tester"}, environ={}), {})
        )
        assert verify(source, held=held) == here
        return here

    yield found
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def test_each_damage_is_found_in_both(spark, root, in_both):
    """A changed cell, deleted rows, doubled ones."""
    folder, ids = root
    clean = in_both(folder)
    assert (clean.records, clean.statements, clean.faults) == (8, 9, ())
    access, query, edges = (
        f"delta.`{folder}/{name}`" for name in ("access_history", "query_history", "table_lineage")
    )
    spark.sql(f"UPDATE {access} SET analysis_reason = '' WHERE query_id = '{ids[0]}'")
    spark.sql(f"DELETE FROM {access} WHERE query_id = '{ids[1]}'")
    spark.sql(f"INSERT INTO {access} SELECT * FROM {access} WHERE query_id = '{ids[2]}'")
    spark.sql(f"DELETE FROM {query} WHERE query_id = '{ids[3]}'")
    spark.sql(f"INSERT INTO {query} SELECT * FROM {query} WHERE query_id = '{ids[4]}'")
    spark.sql(f"DELETE FROM {access} WHERE query_id = '{ids[5]}'")
    spark.sql(f"INSERT INTO {edges} SELECT * FROM {edges} WHERE query_id = '{ids[6]}'")
    found = in_both(folder)
    assert (found.records, found.statements) == (7, 9)
    assert sorted((one.query_id, one.fault) for one in found.faults) == sorted(
        [
            (ids[0], f"access_history: {ALTERED}"),
            (ids[1], f"access_history: {GONE}"),
            (ids[2], f"access_history: {ALTERED}"),
            (ids[3], f"query_history: {GONE}"),
            (ids[4], f"query_history: {ALTERED}"),
            (ids[5], f"access_history: {GONE}"),
            (ids[6], f"table_lineage: {ALTERED}"),
        ]
    )


def test_what_is_paired_some_days_at_a_time(spark, tmp_path, monkeypatch):
    """Rows that nobody has signed, of three days: each damage is found, also of rows without a day."""
    ids = []
    for day in range(3):
        source = Source(tmp_path, NOON + day * DAY)
        source.access = WRITE
        ids += source.run(3)
        source.spool.close()
    ingest_all(spark, tmp_path, create=True)
    # As a root that an older version has written.
    shutil.rmtree(tmp_path / "digests")
    names = ("access_history", "query_history", "column_lineage")
    access, query, edges = (f"delta.`{tmp_path}/{name}`" for name in names)
    for first in ids[::3]:
        spark.sql(f"DELETE FROM {access} WHERE query_id = '{first}'")
    for second in ids[1::3]:
        spark.sql(f"DELETE FROM {query} WHERE query_id = '{second}'")
    for third in ids[2::3]:
        spark.sql(f"INSERT INTO {edges} SELECT * FROM {edges} WHERE query_id = '{third}'")
    spark.sql(
        f"INSERT INTO {query} (query_id, execution_status, query_type) VALUES ('x', 'SUCCESS', 'SELECT')"
    )
    found = []
    for at_once in (2_000_000, 1):
        monkeypatch.setattr(verification, "_PAIRED_AT_ONCE", at_once)
        with opened(str(tmp_path)) as tables:
            faults = verify(tables).faults
        found.append(sorted((one.query_id, one.fault) for one in faults if one.query_id))
    lost, alone, twice, edge = (
        "the statement succeeded and has no record in access_history",
        "the record has no successful statement in query_history",
        "an edge of the statement stands twice in column_lineage",
        "{} has edges of the statement, which has no record in access_history",
    )
    expected = [("x", lost)]
    for first, second, third in zip(ids[::3], ids[1::3], ids[2::3], strict=True):
        expected += [
            (first, lost),
            *((first, edge.format(name)) for name in ("column_lineage", "table_lineage")),
        ]
        expected += [(second, alone), (third, twice)]
    assert found == [sorted(expected)] * 2


def test_what_delta_rs_cannot_read_is_read_by_spark(spark, root, monkeypatch):
    """A row that a deletion vector hides is still in its file: only Spark does not count it."""
    folder, ids = root
    access = f"delta.`{folder}/access_history`"
    spark.sql(f"ALTER TABLE {access} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM {access} WHERE query_id = '{ids[0]}'")
    monkeypatch.setenv("AUDIT_SCHEMA", SCHEMA)
    try:
        code, rows = run(folder, "verify")
        assert (code, rows) == (1, [{"query_id": ids[0], "fault": f"access_history: {GONE}"}])
        code, rows = run(folder, "status")
        counted = {row["name"]: row["rows"] for row in rows if row["kind"] == "table"}
        assert (code, counted["access_history"]) == (0, 7)
        code, rows = run(folder, "coverage")
        assert (code, rows[0]["succeeded"], rows[0]["without_record"]) == (0, 8, 1)
    finally:
        spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


def run(root, *words):
    """A command; its exit code and what its JSON says."""
    answer = CliRunner().invoke(main, [*words, "--root", str(root), "--json"], catch_exceptions=False)
    return answer.exit_code, json.loads(answer.stdout) if answer.stdout else answer.stderr
