"""Statements over temporary views that are made of DataFrames, and the counts of `audit.coverage`."""

from __future__ import annotations

from collections import Counter

import pytest

import audit
from audit.testing import records
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES

VIEWS = (
    "plain",
    "over_view",
    "global_temp.everywhere",
    "session.plain",
    "system.session.plain",
    "text_over_frame",
)
MERGE = (
    "MERGE INTO t USING {} AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a"
    " WHEN NOT MATCHED THEN INSERT *"
)
STATEMENTS = (
    MERGE,
    "INSERT INTO t SELECT * FROM {}",
    "CREATE OR REPLACE TABLE c AS SELECT id, a FROM {}",
    "SELECT count(*) FROM t WHERE id IN (SELECT id FROM {})",
    "CREATE OR REPLACE TEMPORARY VIEW over AS SELECT * FROM {}",
    "CACHE TABLE kept AS SELECT * FROM {}",
    "FROM {} INSERT INTO t SELECT * INSERT INTO c SELECT id, a",
)


SHORT = ("plain", "global_temp.everywhere")
"""Of each kind one: over a frame, and one of a name that a global view has, too."""


@pytest.mark.parametrize(
    "names",
    [SHORT, pytest.param((*VIEWS, "rows"), marks=pytest.mark.long("each name in each statement"))],
    ids=["few", "all"],
)
def test_a_view_over_a_frame_is_followed_to_its_tables(session, schema, names):
    """In each command, and whatever the view is called: `src` is read, in full, as Spark's plan has it."""
    session.sql("CREATE TABLE t (id INT, a INT)")
    session.sql("CREATE TABLE c (id INT, a INT)")
    session.sql("CREATE TABLE src AS SELECT 1 AS id, 2 AS a")
    session.sql("CREATE TABLE other AS SELECT 1 AS id, 2 AS a")
    session.table("src").where("a > 0").createOrReplaceTempView("plain")
    session.table("plain").select("id", "a").createOrReplaceTempView("over_view")
    session.table("src").createOrReplaceGlobalTempView("everywhere")
    session.table("other").createOrReplaceTempView("everywhere")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW text_over_frame AS SELECT * FROM plain")
    session.createDataFrame([(1, 2)], "id INT, a INT").createOrReplaceTempView("rows")
    for name in names:
        with audit.as_user(session, f"views {name}"):
            for text in STATEMENTS:
                session.sql(text.format(name)).collect()
                session.sql("DROP VIEW IF EXISTS kept")
    for record in records(session):
        name = record.query.user_name.removeprefix("views ")
        if name == record.query.user_name or record.query.query_type in ("DROP_VIEW", "CREATE_VIEW"):
            continue
        (row,) = record.access
        read = {one.objectName.rpartition(".")[2] for one in row.base_objects_accessed} - {"t", "c"}
        assert row.analysis == "full", (record.query.query_text, row.analysis_reason)
        assert read == (set() if name == "rows" else {"src"}), record.query.query_text


def test_a_text_that_cannot_be_traced_is_traced_by_its_plan(session, schema, monkeypatch):
    """Whatever the text engine stumbles over; and each opaque record is counted, those of one text, too."""
    session.sql("CREATE TABLE t AS SELECT 1 AS id")
    before = audit.coverage(session)

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("broken here")

    with audit.as_user(session, "unlucky"), monkeypatch.context() as patch:
        patch.setattr("audit.analysis.analyst.lineage.trace", broken)
        session.sql("SELECT id FROM t").collect()
        records(session)
        patch.setattr("audit.spark.plans.plan_facts.PlanFactsReader.read_execution", broken)
        for _ in range(3):
            session.sql("SELECT id FROM t").collect()
        session.sql("INSERT INTO t VALUES (2)")
        session.sql("BEGIN INSERT INTO t VALUES (3); END")
        records(session)
    found = [
        row for record in records(session) if record.query.user_name == "unlucky" for row in record.access
    ]
    assert [(row.analysis, row.captured_by) for row in found] == [
        ("full", "plan"), *[("opaque", "text")] * 4, ("full", "text"), ("opaque", "plan"),
    ]  # fmt: skip
    assert all("broken here" in row.analysis_reason for row in found if row.analysis == "opaque")
    assert audit.coverage(session).opaque - before.opaque == 5


def test_coverage_counts_what_is_on_record(session):
    """By kind of analysis, over all statements of this module."""
    rows = [record.access[0] for record in records(session) if record.access]
    on_record = Counter(row.captured_by if row.analysis == "full" else row.analysis for row in rows)
    coverage = audit.coverage(session)
    assert {name: getattr(coverage, name) for name in ("text", "plan", "listener", "partial", "opaque")} == {
        name: on_record[name] for name in ("text", "plan", "listener", "partial", "opaque")
    }
    assert coverage.opaque >= 5
