"""A session that travels: Delta by default, a schema of its own."""

from __future__ import annotations

import time

import pytest

import audit
import views
from audit.clock import ManualClock
from time_travel.retention import DAY


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Of the audit of a module."""
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def session(spark, root):
    """Audited, with Delta where a statement names no provider."""
    session = spark.newSession()
    session.conf.set("spark.sql.sources.default", "delta")
    audit.attach(session, user="ann", root=str(root))
    yield session
    audit.detach(session)
    session.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")


@pytest.fixture
def schema(session, request):
    """A new current schema, gone after the test."""
    name = request.node.originalname.removeprefix("test_")[:40]
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"USE {name}")
    yield name
    session.sql("USE default")
    session.sql(f"DROP SCHEMA IF EXISTS {name} CASCADE")


@pytest.fixture(scope="module")
def clock():
    """Tells the time that the test wants."""
    return ManualClock(time.time_ns() // 1000, tick=1)


@pytest.fixture(scope="module")
def clocked(spark, tmp_path_factory, clock):
    """As `session`, on that clock, with the views."""
    session = spark.newSession()
    session.conf.set("spark.sql.sources.default", "delta")
    audit.attach(session, user="ann", root=str(tmp_path_factory.mktemp("audit")), clock=clock)
    views.install(session)
    yield session
    audit.detach(session)
    session.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")


@pytest.fixture
def day(clock):
    """Sets the clock to so many days from now; back to now after the test."""

    def of(number):
        clock.set(time.time_ns() // 1000 + round(number * DAY))

    yield of
    of(0)
