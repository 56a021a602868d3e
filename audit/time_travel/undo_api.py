"""The Python functions `adopt` and `plan_undo`.

In: an audited session and a name or a query id. Out: names, or a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.time_travel.attached import time_travel_of
from audit.time_travel.errors import BadParameterError
from lineage.names import split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.time_travel.service import TimeTravel
    from audit.time_travel.versions.undo_plan import UndoPlan


def adopt(spark: SparkSession, table: str | None = None, *, schema: str | None = None) -> tuple[str, ...]:
    """Adopt an existing Delta table, or all those of a schema: they get retention and Fail-safe.

    The retention period is that of the schema (1 day by default), with seven days of Fail-safe. Delta
    properties of the table that keep files or log for longer stay. Adopted tables are skipped, so it can be
    called again.

    Args:
        spark: an audited session.
        table: a name as SQL has it, or a path: "delta.`/path`".
        schema: instead of a table: all Delta tables in it; views and other tables are skipped.

    Returns:
        The fully qualified names of the tables that were adopted now.

    Raises:
        NotAttachedError: the session is not audited.
        BadParameterError: neither or both of the two are given.
        UnknownObjectError: there is no such table or schema.
        NoHistoryError: the table is not a Delta table.
    """
    travel: TimeTravel = time_travel_of(spark)
    adopter = travel.adopter(spark)
    if table is not None and schema is None:
        return adopter.table(split_name(table))
    if schema is not None and table is None:
        return adopter.schema(split_name(schema)[-1])
    raise BadParameterError(
        f"adopt takes a table or a schema, not {table!r} and {schema!r}",
        'write adopt(spark, "s.t") or adopt(spark, schema="s")',
    )


def plan_undo(spark: SparkSession, query_id: str) -> UndoPlan:
    """Plan how to undo a statement and what was derived from its change. Nothing is changed.

    The tables that it wrote are found by its id in Delta's log. Derived tables are found by lineage: a later
    statement that read a version with the change passes it on to the tables that it wrote. The statements of
    a procedure or a script are undone with it.

    Args:
        spark: an audited session.
        query_id: of query_history.

    Returns:
        A plan with the statements to run, in order, and what else they undo; `plan.run(spark)` runs it.

    Raises:
        NotAttachedError: the session is not audited.
        UnknownStatementError: no recorded statement has the id.
        IngestError: the newest records could not be ingested.
    """
    travel: TimeTravel = time_travel_of(spark)
    return travel.undo_plan(spark, query_id)
