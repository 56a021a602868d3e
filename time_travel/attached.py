"""The Time Travel of a session, for what is called with nothing but the session.

In: a SparkSession. Out: the `TimeTravel` that the audit has given it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from time_travel.errors import NotAttachedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from time_travel.service import TimeTravel

_ATTRIBUTE = "_time_travel"


def give(spark: SparkSession, travel: TimeTravel) -> None:
    """Let a session travel."""
    spark.__dict__[_ATTRIBUTE] = travel


def take(spark: SparkSession) -> None:
    """Let it travel no longer."""
    spark.__dict__.pop(_ATTRIBUTE, None)


def is_attached(spark: SparkSession) -> bool:
    """Whether a session travels."""
    return _ATTRIBUTE in spark.__dict__


def travel_of(spark: SparkSession) -> TimeTravel:
    """The Time Travel of an audited session.

    Raises:
        NotAttachedError: the session is not audited.
    """
    found: TimeTravel | None = spark.__dict__.get(_ATTRIBUTE)
    if found is None:
        raise NotAttachedError("this SparkSession is not audited", "call audit.attach(spark) first")
    return found
