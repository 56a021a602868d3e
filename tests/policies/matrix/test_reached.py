"""Whatever a user holds leads to sessions that policies govern: attributes, and what gives a session.

The walk follows the attributes of each library's objects, so that a new one is walked as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession, SQLContext
from pyspark.sql.classic.dataframe import DataFrame

import audit
from audit.spark.sessions import own_session
from tests.policies.matrix.methods import METHODS
from tests.policies.matrix.world import World
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
LEDGER = "session"
pytestmark = pytest.mark.spark

OBJECTS = {
    "DataFrame": lambda w: w.frame,
    "SparkSession": lambda w: w.session,
    "DataFrameReader": lambda w: w.session.read,
    "DataFrameWriter": lambda w: w.frame.write,
    "DataFrameWriterV2": lambda w: w.frame.writeTo(w.new),
    "MergeIntoWriter": lambda w: w.own.mergeInto(w.own_name, w.own.id == 1),
    "DataStreamReader": lambda w: w.session.readStream,
    "DataStreamWriter": lambda w: w.session.readStream.table(w.own_name).writeStream,
    "GroupedData": lambda w: w.frame.groupBy("id"),
    "Catalog": lambda w: w.session.catalog,
    "DeltaTable": lambda w: DeltaTable.forName(w.session, w.own_name),
    "DeltaMergeBuilder": lambda w: DeltaTable.forName(w.session, w.own_name).merge(w.own, "false"),
    "DeltaTableBuilder": lambda w: DeltaTable.create(w.session),
    "DeltaOptimizeBuilder": lambda w: DeltaTable.forName(w.session, w.own_name).optimize(),
}
"""An object of each class of the matrix, by the name of the class."""

SESSIONS = {
    "newSession": lambda w: w.session.newSession(),
    "getActiveSession": lambda _: SparkSession.getActiveSession(),
    "active": lambda _: SparkSession.active(),
    "RDD.toDF": lambda w: w.session.sparkContext.parallelize([(1,)]).toDF("a INT").sparkSession,
    "frame's RDD": lambda w: w.own.rdd.map(tuple).toDF("i INT, n STRING, r STRING").sparkSession,
    "SQLContext": lambda w: SQLContext(w.session.sparkContext, w.session).sparkSession,
    "pandas on Spark": lambda w: w.own.pandas_api()._internal.spark_frame.sparkSession,
    "Delta's frame": lambda w: DeltaTable.forName(w.session, w.own_name).toDF().sparkSession,
    "a frame of the JVM's": lambda w: DataFrame(w.own._jdf, w.session).sparkSession,
}
"""What gives a session."""


@pytest.fixture(scope="module")
def world(session, tmp_path_factory):
    """The protected objects, after the system has made sessions of its own for its work."""
    made = World(session, tmp_path_factory.mktemp("reached"))
    session.sql("CREATE TABLE play.source (i INT)")
    session.sql("CREATE TABLE play.clone CLONE play.source")
    session.sql("DROP TABLE play.clone")
    session.sql("USE play")
    session.sql("UNDROP TABLE clone")
    session.sql("USE default")
    session.sql("SHOW TABLES IN play ->> SELECT * FROM $1").collect()
    audit.flush(session)
    yield made
    session.sql("USE default")
    session.sql("DROP SCHEMA play CASCADE")
    session.sql("DROP SCHEMA prot CASCADE")


def _reached(start: Any) -> Iterator[tuple[str, SparkSession]]:
    """The sessions to which attributes lead, each with its way, shortest first."""
    seen, waiting = {id(start)}, [("", start)]
    for way, one in waiting:
        if isinstance(one, SparkSession):
            yield way, one
        # DataFrame's own `dir` leaves out what an instance has (PySpark 4.2).
        for name in {*dir(one), *vars(one)} if hasattr(one, "__dict__") else dir(one):
            # What the audit has hung on a session is no user's; PySpark's first session of the process is
            # attached or not, as who made it wants.
            if name.startswith(("__", "_audit")) or name == "_instantiatedSession":
                continue
            value = None
            with suppress(Exception):  # what has no value here leads nowhere
                value = getattr(one, name)
            if id(value) in seen or callable(value) or not type(value).__module__.startswith(_LIBRARIES):
                continue
            seen.add(id(value))
            waiting.append((f"{way}.{name}", value))


_LIBRARIES = ("pyspark", "delta")


def test_every_class_has_an_object():
    """A class that comes into the matrix is walked."""
    assert set(OBJECTS) == {owner.rpartition(".")[2] for owner in METHODS}


@pytest.mark.parametrize("kind", ["masked", "filtered"])
def test_attributes_lead_to_governed_sessions(world, kind):
    """Of each object: the session found reads the protected object, and shows nothing of it."""
    world.kind = kind
    with audit.as_user(world.session, "mallory"):
        found = {
            id(session): (f"{name}{way}", session)
            for name, make in OBJECTS.items()
            for way, session in _reached(make(world))
        }
    assert any(session is world.session for _, session in found.values())
    for way, session in found.values():
        shown = world.try_way(lambda w, session=session: session.table(w.name), "mallory")
        assert shown == [], f"{way} leads to a session without policies"


@pytest.mark.parametrize("name", SESSIONS)
def test_what_gives_a_session_gives_a_governed_one(world, name):
    """It reads as the user's own."""
    world.kind = "masked"
    assert world.try_way(lambda w: SESSIONS[name](w).table(w.name), "mallory") == []


def test_the_walk_sees_a_session_without_policies(world, spark):
    """It fails where an attribute leads to a session of the audit's own."""
    frame, own = world.own, own_session(spark)
    frame._other = own
    with audit.as_user(world.session, "mallory"):
        assert [way for way, session in _reached(frame) if session is own] == ["._other"]
    assert world.try_way(lambda w: own.table(w.name), "mallory")
