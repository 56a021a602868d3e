"""One name stands for one object, whoever asks: the recorder, Time Travel, the policies."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from audit import attached_sessions
from audit.spark.delta.values import View
from audit.spark.sessions import current_schema
from lineage.model import Domain
from lineage.names import split_recorded
from tests.sessions import NO_TABLES, add_derby_catalog

ATTACH = NO_TABLES
NOTHING = ("nothing",)
OTHER = ("of another catalog",)


@pytest.fixture
def objects(session, schema, tmp_path):
    """A table, a view, temporary views, a table by its path, and a table of another catalog."""
    add_derby_catalog(session, "elsewhere")
    for text in (
        "CREATE TABLE t (a INT)",
        "CREATE TABLE shadowed (a INT)",
        "CREATE TABLE `global` (a INT)",
        "CREATE VIEW v AS SELECT a FROM t",
        "CREATE TEMPORARY VIEW shadowed AS SELECT 1 AS b",
        "CREATE TEMPORARY VIEW `with.dot` AS SELECT 1 AS b",
        "CREATE GLOBAL TEMPORARY VIEW everywhere AS SELECT 1 AS b",
        f"CREATE TABLE delta.`{tmp_path}/t` (a INT) USING delta",
        "CREATE NAMESPACE IF NOT EXISTS elsewhere.FAR",  # Derby drops none in Spark's words
        "CREATE TABLE elsewhere.FAR.AWAY (a INT)",
        "CREATE TABLE elsewhere.FAR.T (a INT)",
    ):
        session.sql(text)
    yield schema, f"{tmp_path}/t"
    session.sql("USE spark_catalog.default")
    for text in (
        "DROP VIEW shadowed",
        "DROP VIEW `with.dot`",
        "DROP VIEW global_temp.everywhere",
        "DROP TABLE elsewhere.FAR.AWAY",
        "DROP TABLE elsewhere.FAR.T",
    ):
        session.sql(text)


def meanings(session, parts):
    """What each of the three says that a name stands for."""
    audited = attached_sessions.find(session)
    services = audited.services
    return (
        _entry(services.time_travel._catalog(session).find(parts)),
        _relation(audited.catalog.look_up(parts, current_schema(session))),
        _described(session, services.policies._enforcer, parts),
    )


def _entry(found):
    """Of an entry of the session catalog, as Time Travel asks; what another catalog has is none."""
    if found is None:
        return NOTHING
    if found.name[0] == "delta":
        return ("path", found.location.removeprefix("file:"))
    if isinstance(found, View):
        return ("temporary" if found.temporary else "view", *found.name)
    return ("table", *found.name)


def _relation(found):
    """Of a relation, as the recorder asks."""
    if found is None:
        return NOTHING
    if found.domain is Domain.STAGE:
        return ("path", found.location.removeprefix("file:"))
    name = split_recorded(found.name)
    if found.domain is Domain.VIEW and found.temporary:
        return ("temporary", name[-1])  # no object of a record, so its schema global_temp is left out
    if found.domain is Domain.VIEW:
        return ("view", *name)
    return OTHER if name[0] == "elsewhere" else ("table", *name)


def _described(session, enforcer, parts):
    """Of a description, as the policies ask."""
    try:
        found = enforcer.describe(session, parts)
    except (AnalysisException, Py4JJavaError):
        return NOTHING
    if found.in_catalog:
        return ("view" if found.is_view else "table", *found.name)
    assert found.name == tuple(parts)
    if found.is_view:
        return ("temporary", *found.name)
    return ("path", found.name[-1]) if found.key else OTHER


def _same(session, parts, expected):
    entry, relation, described = meanings(session, parts)
    assert described == expected, parts
    assert relation == (("temporary", expected[-1]) if expected[0] == "temporary" else expected), parts
    assert entry == (NOTHING if expected == OTHER else expected), parts


def test_a_name_stands_for_one_object(session, objects):
    """Quoted, in two and three parts, in capitals, shadowed by a temporary view, by path, elsewhere."""
    schema, path = objects
    here = ("spark_catalog", schema)
    for parts, expected in {
        ("t",): ("table", *here, "t"),
        ("T",): ("table", *here, "t"),
        (schema, "t"): ("table", *here, "t"),
        (schema.upper(), "T"): ("table", *here, "t"),
        (*here, "t"): ("table", *here, "t"),
        ("global",): ("table", *here, "global"),
        ("v",): ("view", *here, "v"),
        (*here, "v"): ("view", *here, "v"),
        ("shadowed",): ("temporary", "shadowed"),
        (schema, "shadowed"): ("table", *here, "shadowed"),
        (*here, "shadowed"): ("table", *here, "shadowed"),
        ("with.dot",): ("temporary", "with.dot"),
        ("with", "dot"): NOTHING,
        ("global_temp", "everywhere"): ("temporary", "global_temp", "everywhere"),
        ("everywhere",): NOTHING,
        ("delta", path): ("path", path),
        ("spark_catalog", "delta", path): ("path", path),
        ("spark_catalog", "t"): NOTHING,
        ("elsewhere", "FAR", "AWAY"): OTHER,
        ("elsewhere", "FAR", "missing"): NOTHING,
        ("nowhere", schema, "t"): NOTHING,
        ("missing",): NOTHING,
        ("missing", "t"): NOTHING,
        ("a", "b", "c", "d"): NOTHING,
    }.items():
        _same(session, parts, expected)


def test_a_name_is_one_of_the_current_catalog(session, objects):
    """In another catalog, a name without a catalog is never one of the session catalog's.

    Spark's SQL knows no path there. Time Travel does: readers of DataFrames and Delta's VACUUM take paths in
    any catalog.
    """
    schema, path = objects
    session.sql("USE elsewhere.FAR")
    for parts, expected in {
        ("AWAY",): OTHER,
        ("T",): OTHER,
        ("FAR", "T"): OTHER,
        (schema, "t"): NOTHING,
        ("spark_catalog", schema, "t"): ("table", "spark_catalog", schema, "t"),
        ("shadowed",): ("temporary", "shadowed"),
        ("spark_catalog", "delta", path): ("path", path),
        ("elsewhere", "delta", path): NOTHING,
    }.items():
        _same(session, parts, expected)
    assert meanings(session, ("delta", path)) == (("path", path), NOTHING, NOTHING)


def test_a_failed_replacement_leaves_the_answers_alike(session, schema):
    """A CREATE OR REPLACE that fails half-way changes neither the current schema nor what names mean."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        session.sql("CREATE OR REPLACE TABLE t AS SELECT 1 DIV (id - id) AS a FROM range(2)")
    assert current_schema(session) == ("spark_catalog", schema)
    entry, relation, described = meanings(session, ("t",))
    assert entry == relation == described
    _same(session, ("t",), ("table", "spark_catalog", schema, "t"))


def test_an_unreadable_table_has_its_entry(session, schema):
    """Spark cannot resolve a table without its log; Time Travel still finds the entry, and drops it."""
    session.sql("CREATE TABLE t (a INT)")
    audited = attached_sessions.find(session)
    catalog = audited.services.time_travel._catalog(session)
    catalog.delete(f"{catalog.find(('t',)).location}/_delta_log")
    assert _entry(catalog.find(("t",))) == ("table", "spark_catalog", schema, "t")
