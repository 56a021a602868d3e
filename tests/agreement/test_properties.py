"""Random queries over random tables, asked of both engines.

The short form asks the same queries in each run. The long one looks for new ones: 500 of each world, or the
number in RANDOM_QUERIES.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException

from lineage import MemoryCatalog, analyze
from lineage.engine_diff import differences

from .planner import Planner
from .random_queries import queries, quoted, schema

pytestmark = pytest.mark.spark

FIXED, SEARCH = 25, int(os.environ.get("RANDOM_QUERIES") or 500)
WORLDS = {f"random{seed}": schema(seed) for seed in range(4)}


@pytest.fixture(scope="module")
def session(spark):
    """A session with the tables of each world in a schema of their own."""
    session = spark.newSession()
    for world, tables in WORLDS.items():
        session.sql(f"CREATE SCHEMA {world}")
        for name, columns in tables.items():
            listed = ", ".join(f"{quoted(column)} {kind}" for column, kind in columns)
            session.sql(f"CREATE TABLE {world}.{name} ({listed}) USING parquet")
    yield session
    for world in WORLDS:
        session.sql(f"DROP SCHEMA {world} CASCADE")


@pytest.mark.parametrize(
    "number", [FIXED, pytest.param(SEARCH, marks=pytest.mark.long("2000 new queries: about ten minutes"))]
)
@pytest.mark.parametrize("world", WORLDS)
def test_engines_agree_on_any_query(session, world, number):
    """Objects, columns, and the sources of each output and each column written: both say the same."""
    tables = WORLDS[world]
    catalog = MemoryCatalog(
        {f"{world}.{name}": dict(columns) for name, columns in tables.items()}, current_schema=world
    )
    session.sql(f"USE {world}")
    planner = Planner(session)

    # The same queries in each run: what is pushed is not to blame for what was there before.
    @settings(
        max_examples=number,
        derandomize=number == FIXED,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(verb=st.sampled_from(("", "", "CREATE TABLE made USING parquet AS ")), query=queries(tables))
    def agree(verb, query):
        sql = verb + query
        try:
            plan = planner.access(query)
        except AnalysisException:
            reject()  # the grammar does not know all of Spark's rules: an ambiguous name, say
        plan, text = planner.access(sql) if verb else plan, analyze(sql, catalog)
        assert (text.analysis, plan.analysis) == ("full", "full"), (text.reason, plan.reason)
        assert list(map(str, differences(text, plan))) == []

    agree()
