"""Statements of a real session: exported, taken in by another root, and beside events of dbt."""

from __future__ import annotations

import json

import pytest

import audit
from audit.core.clock import ManualClock
from audit.store.days.retention import retain
from tests.query.roots import make_root

from . import published

NAMESPACES = "spark://thrift:10001=spark_catalog"
STATEMENTS = (
    "CREATE TABLE exchanged.people (name STRING, ssn STRING) USING delta",
    "INSERT INTO exchanged.people VALUES ('ann', '1')",
    "CREATE VIEW exchanged.named AS SELECT name FROM exchanged.people",
    "CREATE TABLE exchanged.report USING delta AS SELECT upper(name) AS name FROM exchanged.named",
)
LATER = 4_950_000_000_000_000  # in the year 2126, after the event
DBT = {
    "eventTime": "2026-01-01T00:00:00Z", "eventType": "COMPLETE", "producer": "dbt",
    "run": {"runId": "0197a1b2-0000-7000-8000-000000000001"}, "job": {"namespace": "dbt", "name": "m"},
    "inputs": [{"namespace": "spark://thrift:10001", "name": "exchanged.report"}],
    "outputs": [{"namespace": "spark://thrift:10001", "name": "exchanged.model"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def worked(session):
    """A session that has worked."""
    session.sql("CREATE SCHEMA exchanged")
    for text in STATEMENTS:
        session.sql(text)
    session.sql("SELECT * FROM exchanged.report").collect()
    audit.flush(session)
    session.sql("SELECT count(*) FROM account_usage.catalog_tables").collect()  # has the catalog measured
    yield session
    session.sql("DROP SCHEMA exchanged CASCADE")


@pytest.mark.skipif(not published.HAS_CARGO, reason="cargo fetches the schemas, and is not here")
def test_events_of_real_statements_keep_to_the_schemas(worked, root, command):
    """Each event and each facet of what Spark has run."""
    said = command("export", "openlineage", "--root", root).stdout
    events = [json.loads(line) for line in said.splitlines()]
    assert len(events) > 10
    assert [fault for event in events for fault in published.event_faults(event)] == []
    facets = [
        facet
        for event in events
        for place in (event["run"], event["job"], *event["inputs"], *event["outputs"])
        for name in ("facets", "inputFacets", "outputFacets")
        for facet in place.get(name, {}).values()
    ]
    assert [fault for facet in facets for fault in published.facet_faults(facet)] == []


def test_another_root_takes_them_in(worked, root, command, tmp_path):
    """Its lineage of the tables is that of the root that has seen them."""
    path = tmp_path / "events.ndjson"
    command("export", "openlineage", "-o", path, "--root", root)
    other = tmp_path / "other"
    other.mkdir()
    make_root(other, {})
    command("import", "openlineage", path, "--root", other)
    told = [
        command("lineage", "exchanged.report.name", "--format", "json", "--root", where).stdout
        for where in (root, other)
    ]
    named = [[(one["object_name"], one["column_name"]) for one in json.loads(one)["nodes"]] for one in told]
    assert named[0] == named[1]
    assert len(named[0]) == 3


def test_a_session_sees_what_was_taken_in(worked, root, command, tmp_path, monkeypatch):
    """By `audit.lineage`, and by SQL once the tables are registered."""
    monkeypatch.setenv("AUDIT_OPENLINEAGE_NAMESPACES", NAMESPACES)
    path = tmp_path / "dbt.json"
    path.write_text(json.dumps({**DBT, "eventTime": "2126-01-01T00:00:00Z"}), "utf-8")
    command("import", "openlineage", path, "--root", root)
    graph = audit.lineage(worked, "exchanged.model", include_history=True)
    assert "spark_catalog.exchanged.people" in {node.object_name for node in graph.nodes}
    assert "dbt/m" in {user for edge in graph.edges for user in edge.users}


def test_retention_deletes_days_of_imports(worked, root):
    """As of all tables; the newest test, since it deletes the days of the others, too."""
    before = {
        one.table: one.rows
        for one in retain(worked, str(root), lambda _: 1, ManualClock(LATER), dry_run=True)
    }
    assert (before["imported_events"], before["imported_lineage"]) == (1, 1)
    deleted = {one.table for one in retain(worked, str(root), lambda _: 1, ManualClock(LATER)) if one.rows}
    assert {"imported_events", "imported_lineage"} <= deleted
