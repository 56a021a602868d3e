"""Both engines on the 125 queries of TPC-DS and TPC-H that Spark's own tests hold."""

from __future__ import annotations

import pytest

from benchmarks.corpus import Corpus
from lineage import MemoryCatalog, analyze
from lineage.engine_diff import differences

from .planner import Planner

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def corpus():
    """Spark's own texts and schemas."""
    return Corpus()


@pytest.fixture(scope="module")
def session(spark, corpus):
    """A session that has the tables of both, empty, in the schemas `tpch` and `tpcds`."""
    session = spark.newSession()
    for schema, tables in tables_of(corpus).items():
        session.sql(f"CREATE SCHEMA {schema}")
        for name, columns in tables.items():
            listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            session.sql(f"CREATE TABLE {schema}.{name} ({listed}) USING parquet")
    yield session
    for schema in tables_of(corpus):
        session.sql(f"DROP SCHEMA {schema} CASCADE")


def tables_of(corpus):
    """The tables of each schema."""
    return {"tpch": corpus.tpch_tables(), "tpcds": corpus.tpcds_tables()}


@pytest.mark.parametrize("schema", ["tpch", "tpcds"])
def test_engines_agree(session, corpus, schema):
    """Objects, columns and the sources of each output column: text and plan say the same of every query."""
    session.sql(f"USE {schema}")
    planner = Planner(session)
    tables = tables_of(corpus)[schema]
    catalog = MemoryCatalog(
        {f"{schema}.{name}": columns for name, columns in tables.items()}, current_schema=schema
    )
    found, outputs = [], 0
    for name, sql in getattr(corpus, schema)().items():
        text = analyze(sql, catalog)
        plan = planner.access(sql)
        assert (text.analysis, plan.analysis) == ("full", "full"), (name, text.reason, plan.reason)
        found += [f"{name}: {what}" for what in differences(text, plan)]
        outputs += len(text.columns)
    assert found == []
    assert outputs == {"tpch": 76, "tpcds": 638}[schema]
