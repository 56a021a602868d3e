"""What retention says of a table that a plan of Spark's creates, replaces, alters or shows.

In: a question of `TablePlans.java`, the Time Travel of its session. Out: the answer, as JSON takes it; {}
where the plan stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.time_travel.clones.creation import ExistingTable, TableDefinition
from audit.time_travel.retention.property_changes import PropertyChange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from audit.time_travel.service import TimeTravel

QUESTIONS = frozenset({"define", "alter", "shown"})


def told_of_table(asked: Mapping[str, Any], travel: TimeTravel, spark: SparkSession) -> dict[str, Any]:
    """The answer to a question.

    Raises:
        BadParameterError: a property of the statement cannot be set.
    """
    if asked["asks"] == "shown":
        return {"properties": travel.properties.shown(asked["location"], asked["properties"])}
    if asked["asks"] == "define":
        of_statement = TableDefinition(
            tuple(asked["name"]), asked["properties"], asked["location"], asked["replaces"], _like(asked)
        )
        defined = travel.creation.define(spark, of_statement)
        return (
            {} if defined is None else {"location": defined.location, "properties": dict(defined.properties)}
        )
    change = travel.altered(
        spark, asked["name"], asked["location"], PropertyChange(asked["set"], asked["unset"])
    )
    return {} if change is None else {"set": dict(change.values), "unset": list(change.unset)}


def _like(asked: Mapping[str, Any]) -> ExistingTable | None:
    like = asked.get("like")
    return None if like is None else ExistingTable(like["location"], like["properties"])
