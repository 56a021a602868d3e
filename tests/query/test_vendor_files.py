"""Documented queries of Snowflake, Unity Catalog and BigQuery, without Spark."""

from __future__ import annotations

import re
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


SMALL = re.compile(
    r"-- Changed: the schema(; LATERAL FLATTEN( with outer)? is LATERAL VIEW( OUTER)? explode, a path is a"
    r" field|; the unit is quoted|; the name of the (table|view) is a parameter|; the names are those of"
    r" here)?\.( What is there no longer has rows, too\.)?"
)


def test_ten_of_snowflakes_change_little():
    """The schema, LATERAL FLATTEN, names of objects, and the quotes that Spark wants around a unit."""
    paths = [path for path in QUERIES if path.parent.name == "snowflake"]
    assert sum(bool(SMALL.fullmatch(path.read_text().splitlines()[1])) for path in paths) >= 10


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file(empty, path):
    """It names its page and what was changed, and asks for columns that there are."""
    query = read(path)
    page, *comment = query.sql.splitlines()
    assert page.removeprefix("-- ").startswith(PAGES[path.parent.name])
    assert "Changed: " in comment[0]
    assert empty.ask(query.sql, query.arguments({})).columns
