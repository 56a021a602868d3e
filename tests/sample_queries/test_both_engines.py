"""DuckDB and Spark give the same answers: to each view, and to each sample query."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

import audit
from audit import attached_sessions
from audit.query.tables import opened
from audit.store.views import VIEWS
from views.query_file import sample, sample_names

from .conftest import SCHEMA

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def tables(audited):
    """The same root in DuckDB, after Spark has measured storage."""
    with audit.suppress():
        audited.sql(f"SELECT * FROM {SCHEMA}.tables").collect()
    with opened(attached_sessions.find(audited).services.config.root, SCHEMA) as found:
        yield found


def plain(value):
    """A value that compares alike: times of Spark are local, rows are dicts."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    if hasattr(value, "asDict"):
        return plain(value.asDict())
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def rows(found):
    """In an order of their own."""
    return sorted(repr([plain(one) for one in row]) for row in found)


# What only `audit.expect` makes, tests/checks/test_expect.py asks in both.
@pytest.mark.parametrize("view", [name for name in VIEWS if name != "data_quality"])
def test_views(audited, tables, view):
    """Each has the same columns, and the same rows."""
    query = f"SELECT * FROM {SCHEMA}.{view}"
    with audit.suppress():
        frame = audited.sql(query)
        expected = [tuple(row) for row in frame.collect()]
    found = tables.ask(query, {})
    assert (list(found.columns), rows(found.rows)) == (frame.columns, rows(expected))
    assert expected


@pytest.mark.parametrize("name", sample_names())
def test_sample_queries(audited, name):
    """With their defaults, but about what the workload has touched; and in the same order."""
    query = sample(name)
    given = {
        "object_name": "spark_catalog.sq.salaries"
        if name == "policies_on_object"
        else "spark_catalog.sq.people",
        "column_name": "name",
        "user_name": "bob",
        "tag_name": "spark_catalog.sq.pii",
        **({"days": 0} if name == "dormant_privileges" else {}),
    }
    chosen = {one.name: given[one.name] for one in query.parameters if one.name in given}
    expected = [tuple(row) for row in query.ask(audited, SCHEMA, **chosen)]
    # Opened now: Spark may have measured something anew.
    with opened(attached_sessions.find(audited).services.config.root, SCHEMA) as tables:
        found = tables.ask(query.sql.replace("account_usage.", f"{SCHEMA}."), query.arguments(chosen))
    assert [repr([plain(one) for one in row]) for row in found.rows] == [
        repr([plain(one) for one in row]) for row in expected
    ]
