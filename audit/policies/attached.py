"""The policies of a session, for functions that are called with a session alone.

In: a SparkSession. Out: the `Policies` that the audit has given it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.policies.errors import PolicyError
from audit.spark.sessions import require_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.policies.model.leaks import Leak
    from audit.policies.model.policy_references import Reference
    from audit.policies.service import Policies

_ATTRIBUTE = "_policies"


def bind(spark: SparkSession, policies: Policies) -> None:
    """Set the `Policies` of a session, at attach."""
    # On the session itself: a map of sessions would keep each of them alive.
    spark.__dict__[_ATTRIBUTE] = policies


def unbind(spark: SparkSession) -> None:
    """Remove them, at detach."""
    spark.__dict__.pop(_ATTRIBUTE, None)


def leaks(spark: SparkSession) -> list[Leak]:
    """Columns derived from masked or tagged columns, through any number of hops, that have no mask.

    Each comes with the statements that wrote it and their users: a user who sees masked values writes masked
    values.

    Raises:
        PolicyError: the session is not audited.
    """
    return _of(spark).leaks(spark)


def references(spark: SparkSession) -> list[Reference]:
    """The policies on tables, views and columns, direct or by tags: Snowflake's POLICY_REFERENCES.

    Raises:
        PolicyError: the session is not audited.
    """
    return _of(spark).references()


def _of(spark: SparkSession) -> Policies:
    found: Policies | None = require_session(spark).__dict__.get(_ATTRIBUTE)
    if found is None:
        raise PolicyError("this SparkSession is not audited", "call audit.attach(spark) first")
    return found
