"""DuckDB and Spark answer alike: each view, sample query, figure, and documented query of others."""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

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
from audit.store.views import VIEWS, description
from docs._build.reference import view_types
from views.query_file import read, sample, sample_names

from .conftest import SCHEMA

pytestmark = pytest.mark.spark
FIGURES = {figure.name: figure for kind in KINDS.values() for figure in (*RECORDS.figures, *kind.figures)}
VENDOR_QUERIES = sorted((Path(__file__).parents[1] / "views" / "vendor_queries").rglob("*.sql"))
PEOPLE, AGES = "spark_catalog.sq.people", "spark_catalog.sq.ages"
OLD_POLICY = "spark_catalog.sq.old"
TYPES = view_types()


@contextmanager
def measured(audited):
    """The same root in DuckDB, after Spark has measured storage and catalog."""
    with audit.suppress():
        audited.sql(f"SELECT * FROM {SCHEMA}.tables").collect()
        audited.sql(f"SELECT * FROM {SCHEMA}.catalog_tables").collect()
    with opened(attached_sessions.find(audited).services.config.root, SCHEMA) as found:
        yield found


@pytest.fixture(scope="module")
def tables(audited):
    """The root as it is at first."""
    with measured(audited) as found:
        yield found


@pytest.fixture(scope="module")
def tables_now(audited):
    """The root as it is when the first figure is asked for: what ran before has been measured anew."""
    with measured(audited) as found:
        yield found


@pytest.fixture
def in_utc(audited):
    """Spark's days are those of UTC, as the reports' are."""
    with audit.suppress():
        audited.sql("SET TIME ZONE 'UTC'")
    yield
    with audit.suppress():
        audited.sql("RESET spark.sql.session.timeZone")


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


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "data_quality"])
def test_descriptions(audited, tables, view):
    """Columns, types and meanings, which are those of the reference."""
    text = f"DESCRIBE {SCHEMA}.{view}"
    with audit.suppress():
        expected = [tuple(row) for row in audited.sql(text).collect()]
    assert tables.ask(text, {}).rows == expected
    assert dict(row[:2] for row in expected) == TYPES[view]


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "data_quality"])
def test_examples(audited, tables, view):
    """The query that the reference shows, asked about what the workload has touched."""
    made_of = {"columns_written", "system_access_column_lineage"}
    text = description(view).example.replace("account_usage.", f"{SCHEMA}.")
    text = re.sub(r"spark_catalog\.\w+\.flights", AGES if view in made_of else PEOPLE, text)
    text = text.replace("spark_catalog.clean.hide_email", OLD_POLICY)
    with audit.suppress():
        expected = [tuple(row) for row in audited.sql(text).collect()]
    assert rows(tables.ask(text, {}).rows) == rows(expected)
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


@pytest.fixture(scope="module")
def asked_about(tables):
    """What the queries are asked about."""
    ids = f"SELECT DISTINCT object_id FROM {SCHEMA}.objects_read WHERE object_name = '{PEOPLE}'"
    ((object_id,),) = tables.ask(ids, {}).rows
    hashes = f"SELECT max(query_parameterized_hash) FROM {SCHEMA}.query_history"
    ((hashed,),) = tables.ask(hashes, {}).rows
    return {
        "object_id": object_id, "object_name": PEOPLE, "full_name": "spark_catalog.sq.ages", "user": "bob",
        "schema_name": "sq", "table_name": "people", "column_name": "of_age",
        "view_name": "elders", "hash": hashed,
    }  # fmt: skip


def rounded(found):
    """Floats of two engines differ in the last digit."""
    return [[round(one, 6) if isinstance(one, float) else one for one in row] for row in found]


@pytest.mark.parametrize("path", VENDOR_QUERIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_documented_query(audited, asked_about, path):
    """Of Snowflake, Unity Catalog and BigQuery: the same rows; their pages leave the order of equals open."""
    query = read(path)
    chosen = {one.name: asked_about[one.name] for one in query.parameters}
    expected = [tuple(row) for row in query.ask(audited, SCHEMA, **chosen)]
    text = query.sql.replace("account_usage.", f"{SCHEMA}.")
    # Opened now: Spark may have measured something anew.
    with opened(attached_sessions.find(audited).services.config.root, SCHEMA) as tables:
        found = tables.ask(text, query.arguments(chosen)).rows
    assert rows(rounded(found)) == rows(rounded(expected))
    assert expected


@pytest.fixture(scope="module")
def values(tables_now):
    """A month until tomorrow, bob, and the people."""
    today = datetime.now(timezone.utc).date()
    period = Period(today - timedelta(days=30), today + timedelta(days=1))
    people = KINDS["object"].find(tables_now, "sq.people", period)
    return {**period.values, **people.values, **KINDS["user"].find(tables_now, "bob", period).values}


def alike(value):
    """A value that compares: Spark's decimals and DuckDB's floats, dates and times."""
    value = plain(value)
    if isinstance(value, (date, str, bool, list, type(None))):
        return value
    return round(float(value), 6)


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_a_figure(audited, in_utc, tables_now, values, figure):
    """The same columns and the same rows, in the same order."""
    sql = bound(figure.sql, values, SCHEMA)
    with audit.suppress():
        frame = audited.sql(sql)
        expected = [tuple(map(alike, row)) for row in frame.collect()]
    found = tables_now.ask(sql, {})
    assert list(found.columns) == frame.columns
    assert [tuple(map(alike, row)) for row in found.rows] == expected


def test_the_row_of_a_person(in_utc, tables_now):
    """Real statements over real versions: what read the row, what could not, what nobody knows."""
    today = datetime.now(timezone.utc).date()
    period = Period(today - timedelta(days=1), today + timedelta(days=1))

    def said(key, table):
        about = subject_about(tables_now, key, [table], period)
        answers = {}
        for figure in (READ, MAY_HAVE_READ, COULD_NOT):
            found = about.rows[figure.name]
            for row in found.rows:
                one = dict(zip(found.columns, row, strict=True))
                text = tables_now.ask(
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
