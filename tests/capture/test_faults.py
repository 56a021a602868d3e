"""Whatever breaks inside the analysis: the user's statements run, and the record says what is not known."""

from __future__ import annotations

import importlib

import pytest

import audit
from audit import testing

pytestmark = pytest.mark.spark

# A place in the code, and whether some record says that it broke. Elsewhere the other engine says it all, or
# what is unknown is a figure beside the lineage.
PLACES = {
    "lineage.sql.parse.tokenize_with_types": False,
    "lineage.sql.parse.parse_tokens": False,
    "audit.analysis.analyst.lineage.trace": False,
    "audit.analysis.analyst.analyze_plan": True,
    "audit.analysis.analyst.Analyst.analyse": True,
    "audit.analysis.analyst.written_versions": True,
    "audit.spark.plans.plan_facts.PlanFactsReader.collect_facts": True,
    "audit.spark.plans.plan_facts.PlanFactsReader.read_execution": True,
    "audit.spark.catalog.session_catalog.SessionCatalog.look_up": True,
    "audit.capture.audited_session.AuditedSession.catalog_facts": False,
    "audit.record.redaction.redact_sql": False,
    "audit.spark.sessions.current_schema": True,
    "audit.record.access_record.names_in": False,
    "audit.analysis.child_statements.ExecutionRows.children": False,
}


@pytest.fixture(scope="module")
def records(audited):
    """What each place has left in both tables, after its statements: by user, who is the place's schema."""
    for schema, place in enumerate(PLACES):
        with pytest.MonkeyPatch.context() as patch:
            _run(audited, f"faults_{schema}", patch, place)
    made = [record for record in testing.records(audited) if record.query.user_name.startswith("faults")]
    return [record.query for record in made], [row for record in made for row in record.access]


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
        spark.__dict__["_audit"].recorder.worker.drain()


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
