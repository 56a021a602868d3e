from __future__ import annotations

from audit.record.access_record import Ended, Finding, Started, build_row
from lineage import MemoryCatalog, analyze

SQL = "ALTER TABLE s.a SWAP WITH s.b"


def test_a_swap_is_two_rows_of_one_query_id():
    """ACCESS_HISTORY, ALTER … SWAP WITH: "There are two records in the view, one for each swap target"."""
    access = analyze(SQL, MemoryCatalog({"s.a": ["x"], "s.b": ["y"]}))
    started = Started("q1", 0, "ann", SQL, access.statement_type, "SparkSession.sql", is_sql=True)
    rows = build_row(started, Ended("SUCCESS", 1), Finding(access, "text"))["access"]
    assert [row["query_id"] for row in rows] == ["q1", "q1"]
    names = [row["object_modified_by_ddl"]["objectName"] for row in rows]
    assert names == ["spark_catalog.s.a", "spark_catalog.s.b"]
    assert ["spark_catalog.s.b" in row["object_modified_by_ddl"]["properties"] for row in rows] == [
        True,
        False,
    ]
    assert len({row["record_hash"] for row in rows}) == 2


def test_a_swap_that_failed_has_no_row():
    """ACCESS_HISTORY, Not supported: "Failed queries … will not be logged"."""
    access = analyze(SQL, MemoryCatalog({"s.a": ["x"], "s.b": ["y"]}))
    started = Started("q1", 0, "ann", SQL, access.statement_type, "SparkSession.sql", is_sql=True)
    assert build_row(started, Ended("FAIL", 1), Finding(access, "text"))["access"] == []
