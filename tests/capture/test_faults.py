"""Whatever breaks inside the analysis: the user's statements run, and the record says what is not known."""

from __future__ import annotations

import importlib

import pytest

import audit

pytestmark = pytest.mark.spark

# A place in the code, and whether some record says that it broke. Elsewhere the other engine says it all, or
# what is unknown is a figure beside the lineage.
PLACES = {
    "lineage.parse.cut": False,
    "lineage.parse.parse_tokens": False,
    "audit.analysis.analyst.lineage.trace": True,
    "audit.analysis.analyst.analyze_plan": True,
    "audit.analysis.analyst.Analyst.analyse": True,
    "audit.analysis.analyst.written_versions": True,
    "audit.analysis.analyst.execution_metrics": True,
    "audit.analysis.plan_facts.PlanFactsReader.collect_facts": True,
    "audit.analysis.plan_facts.PlanFactsReader.read": True,
    "audit.analysis.spark_catalog.SessionCatalog.look_up": True,
    "audit.driver.Driver.catalog_facts": False,
    "audit.jvm.current_schema": True,
    "audit.record.names_in": False,
    "audit.analysis.worker.child_rows": False,
}


@pytest.fixture(scope="module")
def records(audited):
    """What each place has left in both tables, after its statements: by user, who is the place's schema."""
    for schema, place in enumerate(PLACES):
        with pytest.MonkeyPatch.context() as patch:
            _run(audited, f"faults_{schema}", patch, place)
    audit.flush(audited)
    with audit.suppress():
        return [
            audited.table(f"account_usage.{name}").where("user_name LIKE 'faults%'").collect()
            for name in ("query_history", "access_history")
        ]


def _run(spark, schema, patch, place):
    """Statements of several kinds while the place is broken; their results are Spark's."""
    with audit.as_user(spark, schema):
        spark.sql(f"CREATE SCHEMA {schema}")
        _break(patch, place)
        spark.catalog.setCurrentDatabase("default")
        spark.sql(f"CREATE TABLE {schema}.t USING parquet AS SELECT id AS a, id * 2 AS b FROM range(3)")
        spark.table(f"{schema}.t").where("a > 1").write.saveAsTable(f"{schema}.u", format="parquet")
        rows = spark.sql(f"SELECT a, b FROM {schema}.t ORDER BY a /* {place} */").collect()
        assert [tuple(row) for row in rows] == [(0, 0), (1, 2), (2, 4)]
        spark.sql(f"DROP SCHEMA {schema} CASCADE")
        spark.__dict__["_audit"].driver.worker.drain()


@pytest.mark.parametrize("place", PLACES)
def test_a_fault_stays_inside(records, place):
    """Each statement is on record as SUCCESS, once, and what is not full says the reason."""
    user = f"faults_{list(PLACES).index(place)}"
    history, access = ([row for row in rows if row.user_name == user] for rows in records)
    assert {row.execution_status for row in history} == {"SUCCESS"}
    assert len(history) == 6
    assert sorted(row.query_id for row in access) == sorted(row.query_id for row in history)
    poor = [row for row in access if row.analysis != "full"]
    assert bool(poor) == PLACES[place]
    assert all("broken here" in row.analysis_reason for row in poor)


def _break(patch, place):
    """Make a function or method raise."""

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError(f"broken here: {place}")

    path, name = place.rsplit(".", 1)
    try:
        owner = importlib.import_module(path)
    except ModuleNotFoundError:
        path, kind = path.rsplit(".", 1)
        owner = getattr(importlib.import_module(path), kind)
    patch.setattr(owner, name, broken)
