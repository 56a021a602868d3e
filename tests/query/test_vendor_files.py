"""Documented queries of Snowflake, Unity Catalog and BigQuery, without Spark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from views.query_file import read

QUERIES = sorted((Path(__file__).parents[1] / "views" / "vendor_queries").rglob("*.sql"))
PAGES = {
    "snowflake": "https://docs.snowflake.com/",
    # Their pages have few queries; an organisation of theirs has more.
    "unity_catalog": ("https://docs.databricks.com/", "https://github.com/databricks-solutions/"),
    "bigquery": "https://cloud.google.com/bigquery/docs/",
}


def test_how_many():
    """Those of the three systems that were found and have an answer here."""
    assert Counter(path.parent.name for path in QUERIES) == {
        "snowflake": 21,
        "unity_catalog": 13,
        "bigquery": 6,
    }


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file(empty, path):
    """It names its page and what was changed, and asks for columns that there are."""
    query = read(path)
    page, *comment = query.sql.splitlines()
    assert page.removeprefix("-- ").startswith(PAGES[path.parent.name])
    assert "Changed: " in comment[0]
    assert empty.ask(query.sql, query.arguments({})).columns
