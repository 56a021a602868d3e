"""A clock that is told the time, and a session on it."""

from __future__ import annotations

import time

import pytest

import views
from audit.core.clock import ManualClock
from audit.time_travel.retention.periods import DAY
from tests.sessions import attached


@pytest.fixture(scope="module")
def clock():
    """Tells the time that the test wants."""
    return ManualClock(time.time_ns() // 1000, tick=1)


@pytest.fixture(scope="module")
def clocked(spark, root, clock):
    """As `session`, on that clock, with the views."""
    with attached(spark, root, clock=clock) as session:
        views.install(session)
        yield session


@pytest.fixture
def day(clock):
    """Sets the clock to so many days from now; back to now after the test."""

    def of(number):
        clock.set(time.time_ns() // 1000 + round(number * DAY))

    yield of
    of(0)


@pytest.fixture
def stored(spark, session):
    """The properties of a table as Delta has them, which a session that is not attached shows."""

    def of(table):
        name = table if "." in table else f"{session.catalog.currentDatabase()}.{table}"
        return {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES {name}").collect()}

    return of
