"""Documented queries of Snowflake, Unity Catalog and BigQuery: both engines answer them, and alike."""

from __future__ import annotations

from pathlib import Path

import pytest

import audit
from audit import attached_sessions
from audit.query.tables import opened
from views.query_file import read

from .conftest import SCHEMA
from .test_both_engines import rows

pytestmark = pytest.mark.spark
QUERIES = sorted((Path(__file__).parents[1] / "views" / "vendor_queries").rglob("*.sql"))
PEOPLE = "spark_catalog.sq.people"


@pytest.fixture(scope="module")
def tables(audited):
    """The same root in DuckDB, after Spark has measured it."""
    with audit.suppress():
        audited.sql(f"SELECT * FROM {SCHEMA}.tables").collect()
        audited.sql(f"SELECT * FROM {SCHEMA}.catalog_tables").collect()
    with opened(attached_sessions.find(audited).services.config.root, SCHEMA) as found:
        yield found


@pytest.fixture(scope="module")
def given(tables):
    """What the queries are asked about."""
    ids = f"SELECT DISTINCT object_id FROM {SCHEMA}.objects_read WHERE object_name = '{PEOPLE}'"
    ((object_id,),) = tables.ask(ids, {}).rows
    return {
        "object_id": object_id, "object_name": PEOPLE, "full_name": "spark_catalog.sq.ages", "user": "bob",
        "schema_name": "sq", "table_name": "people", "column_name": "of_age",
    }  # fmt: skip


def rounded(found):
    """Floats of two engines differ in the last digit."""
    return [[round(one, 6) if isinstance(one, float) else one for one in row] for row in found]


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_documented_query(audited, tables, given, path):
    """The same rows, at least one; their pages leave the order of equals open."""
    query = read(path)
    chosen = {one.name: given[one.name] for one in query.parameters}
    expected = [tuple(row) for row in query.ask(audited, SCHEMA, **chosen)]
    text = query.sql.replace("account_usage.", f"{SCHEMA}.")
    found = tables.ask(text, query.arguments(chosen)).rows
    assert rows(rounded(found)) == rows(rounded(expected))
    assert expected
