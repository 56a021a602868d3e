"""The policies of a session, for what is called with nothing but the session.

In: a SparkSession. Out: the `Policies` that the audit has given it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.errors import PolicyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from policies.leaking import Leak
    from policies.referring import Reference
    from policies.service import Policies

_ATTRIBUTE = "_policies"


def give(spark: SparkSession, policies: Policies) -> None:
    """Let a session ask."""
    spark.__dict__[_ATTRIBUTE] = policies


def take(spark: SparkSession) -> None:
    """Let it ask no longer."""
    spark.__dict__.pop(_ATTRIBUTE, None)


def leaks(spark: SparkSession) -> list[Leak]:
    """Columns that were made of masked or tagged ones, through any number of hops, and carry no mask.

    Each with the statements that wrote it and who ran them: whoever sees values writes values, whoever sees
    them masked writes what the mask shows.

    Raises:
        PolicyError: the session is not audited.
    """
    return _of(spark).leaks(spark)


def references(spark: SparkSession) -> list[Reference]:
    """Which policy stands where, on tables, views, columns, and through tags: Snowflake's POLICY_REFERENCES.

    Raises:
        PolicyError: the session is not audited.
    """
    return _of(spark).references()


def _of(spark: SparkSession) -> Policies:
    found: Policies | None = spark.__dict__.get(_ATTRIBUTE)
    if found is None:
        raise PolicyError("this SparkSession is not audited", "call audit.attach(spark) first")
    return found
