"""Both engines on the 125 queries of TPC-DS and TPC-H that Spark's own tests hold."""

from __future__ import annotations

import pytest

from audit.analysis.plan_facts import PlanFactsReader
from benchmarks.corpus import Corpus
from lineage import MemoryCatalog, analyze
from lineage.plan import analyze_plan

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


def objects(accessed):
    """Which objects, and which columns of each."""
    return {item.name: {column.name for column in item.columns} for item in accessed}


def sources(refs):
    """Which columns."""
    return {(ref.object_name, ref.column_name, ref.field_path) for ref in refs}


def difference(text, plan):
    """What the two engines say differently of one query, in words; nothing where they agree."""
    for kind in ("direct_objects_accessed", "base_objects_accessed"):
        one, two = objects(getattr(text, kind)), objects(getattr(plan, kind))
        if one != two:
            names = sorted({*one, *two})
            yield from (
                f"{kind}: {name}: text {sorted(one.get(name, ()))}, plan {sorted(two.get(name, ()))}"
                for name in names
                if one.get(name) != two.get(name)
            )
    for one, two in zip(text.columns, plan.columns, strict=True):
        if one.name != two.name:
            yield f"column {one.name!r} of the text is {two.name!r} to the plan"
        for kind in ("base_sources", "direct_sources"):
            first, second = sources(getattr(one, kind)), sources(getattr(two, kind))
            if first != second:
                yield f"{one.name}.{kind}: text {sorted(first - second)}, plan {sorted(second - first)}"


@pytest.mark.parametrize("schema", ["tpch", "tpcds"])
def test_engines_agree(session, corpus, schema):
    """Objects, columns and the sources of each output column: text and plan say the same of every query."""
    session.sql(f"USE {schema}")
    reader = PlanFactsReader(session.sparkContext._jvm)
    tables = tables_of(corpus)[schema]
    catalog = MemoryCatalog(
        {f"{schema}.{name}": columns for name, columns in tables.items()}, current_schema=schema
    )
    found, outputs = [], 0
    for name, sql in getattr(corpus, schema)().items():
        text = analyze(sql, catalog)
        plan = analyze_plan(*reader.read(session.sql(sql)._jdf.queryExecution().analyzed()))
        assert (text.analysis, plan.analysis) == ("full", "full"), (name, text.reason, plan.reason)
        found += [f"{name}: {what}" for what in difference(text, plan)]
        outputs += len(text.columns)
    assert found == []
    assert outputs == {"tpch": 76, "tpcds": 638}[schema]
