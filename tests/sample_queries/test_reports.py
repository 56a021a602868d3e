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
from audit.report.kinds.subject import COULD_NOT, MAY_HAVE_READ, READ
from audit.report.period import Period
from audit.report.subject.about import subject_about

from .conftest import SCHEMA
from .test_both_engines import plain

pytestmark = pytest.mark.spark
FIGURES = {figure.name: figure for kind in KINDS.values() for figure in (*RECORDS.figures, *kind.figures)}


@pytest.fixture(scope="module")
def tables(audited):
    """The same root in DuckDB, after Spark has measured storage and catalog; Spark's times are UTC."""
    with audit.suppress():
        audited.sql(f"SELECT * FROM {SCHEMA}.tables").collect()
        audited.sql(f"SELECT * FROM {SCHEMA}.catalog_tables").collect()
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


def test_the_row_of_a_person(tables):
    """Real statements over real versions: what read the row, what could not, what nobody knows."""
    today = datetime.now(timezone.utc).date()
    period = Period(today - timedelta(days=1), today + timedelta(days=1))

    def said(key, table):
        about = subject_about(tables, key, [table], period)
        answers = {}
        for figure in (READ, MAY_HAVE_READ, COULD_NOT):
            found = about.rows[figure.name]
            for row in found.rows:
                one = dict(zip(found.columns, row, strict=True))
                text = tables.ask(
                    f"SELECT query_text FROM {SCHEMA}.query_history WHERE query_id = '{one['query_id']}'", {}
                )
                answers[text.rows[0][0]] = (figure.name, one["reason"])
        return answers

    ada = said("who = 'ADA'", "sq.report")
    assert ada["UPDATE sq.report SET of_age = 0 WHERE who = 'ADA'"][0] == READ.name
    assert ada["SELECT * FROM sq.report"][0] == READ.name
    assert ada["DELETE FROM sq.report WHERE who = 'MAX'"] == (
        COULD_NOT.name,
        "its own condition leaves the row out",
    )
    # Deleted before the last statement read the table, by a deletion vector or a new file.
    last = said("who = 'MAX'", "sq.report")
    assert last["SELECT * FROM sq.report"] == (COULD_NOT.name, "the version has no such row")
    assert last["DELETE FROM sq.report WHERE who = 'MAX'"][0] == READ.name
    through_a_view = said("name = 'Ada'", "sq.people")["SELECT name FROM sq.adults"]
    assert through_a_view[0] == MAY_HAVE_READ.name
    assert set(said("name = 'Nobody'", "sq.people").values()) == {
        (COULD_NOT.name, "the version has no such row")
    }
