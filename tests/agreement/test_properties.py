"""Random queries over random tables, asked of both engines."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from lineage import MemoryCatalog, analyze
from lineage.agreement import differences

from .planner import Planner
from .random_queries import queries, quoted, schema

pytestmark = pytest.mark.spark

TABLES = schema(seed=7)


@pytest.fixture(scope="module")
def planner(spark):
    """A session with the tables in a schema of their own, and its planner."""
    session = spark.newSession()
    session.sql("CREATE SCHEMA random")
    session.sql("USE random")
    for name, columns in TABLES.items():
        listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
        session.sql(f"CREATE TABLE {name} ({listed}) USING parquet")
    yield Planner(session)
    session.sql("DROP SCHEMA random CASCADE")


@pytest.fixture(scope="module")
def catalog():
    """The same tables for the text engine."""
    tables = {f"random.{name}": dict(columns) for name, columns in TABLES.items()}
    return MemoryCatalog(tables, current_schema="random")


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(sql=queries(TABLES))
def test_engines_agree_on_any_query(planner, catalog, sql):
    """Objects, columns, and all three kinds of sources of each output: text and plan say the same."""
    text, plan = analyze(sql, catalog), planner.access(sql)
    assert (text.analysis, plan.analysis) == ("full", "full"), (text.reason, plan.reason)
    assert list(differences(text, plan)) == []
