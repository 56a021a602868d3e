"""Facts of a QueryExecution or of a SQL text, as Spark's own classes tell them.

In: a JVM object of Spark, or a text. Out: Python values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.spark.jvm import java_class
from audit.spark.scala_values import option, sequence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INITIALIZE = True


def plan_id(query_execution: Any) -> int:
    """The number of a QueryExecution, which a DataFrame keeps over all its actions."""
    return int(query_execution.id())


def session_of(query_execution: Any) -> str:
    """Spark's UUID of the session that a plan belongs to."""
    return str(query_execution.sparkSession().sessionUUID())


def sql_text(query_execution: Any) -> str | None:
    """The SQL text that a plan came from (`spark.sql`), None for a DataFrame's."""
    return option(query_execution.logical().origin().sqlText())


def origin(query_execution: Any) -> tuple[str | None, int, int]:
    """The SQL text that a plan came from, with the first and last character of the part it stands for."""
    found = query_execution.logical().origin()
    text, first, last = (option(v) for v in (found.sqlText(), found.startIndex(), found.stopIndex()))
    return text, first or 0, last if last is not None else len(text or "") - 1


def hands_over(query_execution: Any, name: str) -> bool:
    """Whether an execution only hands over what a command has returned (a root of its own in Spark 4.2)."""
    return name != "command" and query_execution.commandExecuted().nodeName() == "CommandResult"


def reads_rdd(query_execution: Any) -> bool:
    """Whether an execution reads an RDD, and nothing else."""
    return str(query_execution.logical().getClass().getSimpleName()) == "LogicalRDD"


def reads_table_states(query_execution: Any) -> bool:
    """Whether an execution reads states of Delta tables, and nothing else: Delta counts rows and files so.

    Delta (4.4) keeps a state in an RDD of this name, see its StateCache.
    """
    relations = sequence(query_execution.analyzed().collectLeaves())
    return bool(relations) and all(
        leaf.getClass().getSimpleName() == "LogicalRDD"
        and str(leaf.rdd().name()).startswith("Delta Table State")
        for leaf in relations
    )


def makes_table(query_execution: Any) -> bool:
    """Whether an execution is a CREATE TABLE, of either kind of catalog (Spark 4.2)."""
    return str(query_execution.logical().getClass().getSimpleName()).startswith("Create")


def is_micro_batch(query_execution: Any) -> bool:
    """Whether an execution is a micro-batch of a streaming query."""
    return str(query_execution.getClass().getSimpleName()) == "IncrementalExecution"


def is_lazy(spark: SparkSession, text: str) -> bool:
    """Whether Spark runs a text at an action only, by Spark's own parser; True for what it rejects."""
    from pyspark.errors import ParseException

    try:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except ParseException:
        return True
    # WITH … INSERT: the command is below the CTEs.
    while plan.getClass().getSimpleName() == "UnresolvedWith":
        plan = plan.child()
    forname = java_class(spark.sparkContext, "java.lang.Class").forName
    prefix = "org.apache.spark.sql.catalyst.plans.logical."
    loader = plan.getClass().getClassLoader()
    # `Dataset.ofRows` runs commands at once; a parsed DDL or DML statement becomes one, and a script
    # (CompoundBody) runs its statements (Spark 4.2).
    eager = ("Command", "ParsedStatement", "CompoundBody")
    return not any(forname(prefix + name, _INITIALIZE, loader).isInstance(plan) for name in eager)
