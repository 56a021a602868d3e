"""DuckDB and Spark give the same answer to each figure of each report."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

import audit
from audit import attached_sessions
from audit.query.tables import opened
from audit.report.binding import bound
from audit.report.kinds import KINDS
from audit.report.kinds.records import RECORDS
from audit.report.period import Period

from .conftest import SCHEMA
from .test_both_engines import plain

pytestmark = pytest.mark.spark
FIGURES = {figure.name: figure for kind in KINDS.values() for figure in (*RECORDS.figures, *kind.figures)}


@pytest.fixture(scope="module")
def tables(audited):
    """The same root in DuckDB, after Spark has measured storage; Spark's times are UTC, as reports say."""
    with audit.suppress():
        audited.sql(f"SELECT * FROM {SCHEMA}.tables").collect()
        audited.sql("SET TIME ZONE 'UTC'")
    with opened(attached_sessions.find(audited).services.config.root, SCHEMA) as found:
        yield found
    with audit.suppress():
        audited.sql("RESET spark.sql.session.timeZone")


@pytest.fixture(scope="module")
def values(tables):
    """A month until tomorrow, bob, and the people."""
    today = datetime.now(timezone.utc).date()
    period = Period(today - timedelta(days=30), today + timedelta(days=1))
    people = KINDS["object"].find(tables, "sq.people", period)
    return {**period.values, **people.values, **KINDS["user"].find(tables, "bob", period).values}


def alike(value):
    """A value that compares: Spark's decimals and DuckDB's floats, dates and times."""
    value = plain(value)
    if isinstance(value, (date, str, bool, list, type(None))):
        return value
    return round(float(value), 6)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_figure(audited, tables, values, figure):
    """The same columns and the same rows, in the same order."""
    sql = bound(figure.sql, values, SCHEMA)
    with audit.suppress():
        frame = audited.sql(sql)
        expected = [tuple(map(alike, row)) for row in frame.collect()]
    found = tables.ask(sql, {})
    assert list(found.columns) == frame.columns
    assert [tuple(map(alike, row)) for row in found.rows] == expected
