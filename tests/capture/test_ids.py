"""The ids of an offline analysis join those of the record."""

from __future__ import annotations

import pytest

import audit
import lineage
from audit.spark.catalog.session_catalog import SessionCatalog
from audit.spark.plans.plan_facts import PlanFactsReader

pytestmark = pytest.mark.spark
CURRENT = ("spark_catalog", "default")


@pytest.mark.slow("six statements and an ingest, and nothing of a module before it to warm up the JVM")
def test_an_offline_analysis_over_an_exported_catalog_has_the_ids_of_the_record(audited):
    """Of Delta tables (one with column mapping), a Parquet table, a view and a function."""
    for text in (
        "CREATE TABLE ids_delta (a INT) USING delta",
        "CREATE TABLE ids_mapped (b INT) USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "CREATE TABLE ids_plain (c INT) USING parquet",
        "CREATE VIEW ids_view AS SELECT a FROM ids_delta",
        "CREATE FUNCTION ids_f(n INT) RETURNS INT RETURN n + 1",
    ):
        audited.sql(text)
    query = "SELECT v.a, b, ids_f(c) FROM ids_view v JOIN ids_mapped ON v.a = b JOIN ids_plain ON b = c"
    audited.sql(query).collect()
    audit.flush(audited)
    with audit.suppress():
        table = audited.table("account_usage.access_history")
        row = table.orderBy(table.query_start_time.desc(), table.query_id.desc()).first()
        live = SessionCatalog(audited, PlanFactsReader(audited.sparkContext._jvm))
        tables = {
            f"default.{n}": live.look_up((n,), CURRENT) for n in ("ids_delta", "ids_mapped", "ids_plain")
        }
    catalog = lineage.MemoryCatalog(
        tables,
        {"default.ids_view": "SELECT a FROM ids_delta"},
        {"default.ids_f": "CREATE FUNCTION ids_f(n INT) RETURNS INT RETURN n + 1"},
    )
    access = lineage.analyze(query, catalog)
    for offline, recorded in (
        (access.direct_objects_accessed, row.direct_objects_accessed),
        (access.base_objects_accessed, row.base_objects_accessed),
    ):
        mine = {o.name: (o.object_id, {c.name: c.column_id for c in o.columns}) for o in offline}
        theirs = {
            o.objectName: (o.objectId, {c.columnName: c.columnId for c in o.columns or ()}) for o in recorded
        }
        assert mine == theirs
        assert len(mine) >= 3
