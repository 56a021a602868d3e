"""The `TimeTravel` of a session, for functions that are called with a session alone.

In: a SparkSession. Out: the `TimeTravel` that the audit has given it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.spark.sessions import require_session
from audit.time_travel.errors import NotAttachedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ATTRIBUTE = "_time_travel"


def bind(spark: SparkSession, travel: Any) -> None:
    """Set the `TimeTravel` of a session, at attach."""
    # On the session itself: a map of sessions would keep each of them alive.
    spark.__dict__[_ATTRIBUTE] = travel


def unbind(spark: SparkSession) -> None:
    """Remove it, at detach."""
    spark.__dict__.pop(_ATTRIBUTE, None)


def is_attached(spark: SparkSession) -> bool:
    """Whether a session has one."""
    return _ATTRIBUTE in spark.__dict__


def time_travel_of(spark: SparkSession) -> Any:
    """The `TimeTravel` of an audited session; untyped, as its type would be a circle of imports.

    Raises:
        AttachError: it is no session, or has been stopped.
        NotAttachedError: the session is not audited.
    """
    found = require_session(spark).__dict__.get(_ATTRIBUTE)
    if found is None:
        raise NotAttachedError("this SparkSession is not audited", "call audit.attach(spark) first")
    return found
