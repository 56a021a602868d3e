"""What a person calls to bring data under the rule, or back.

In: an audited session and a name or a query id. Out: names, or a plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.names import split_name
from time_travel.attached import travel_of
from time_travel.errors import BadParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from time_travel.undo_plan import UndoPlan


def adopt(spark: SparkSession, table: str | None = None, *, schema: str | None = None) -> tuple[str, ...]:
    """Bring a Delta table that was there before, or all those of a schema, under this system's rule.

    Its retention period becomes what is in force for its schema (1 day by default), with seven days of
    Fail-safe. Where the table's own Delta properties keep its files or its log longer, they stay as they are.
    What is under the rule already is left alone, so that it can be called again.

    Args:
        spark: an audited session.
        table: a name as SQL has it, or a path: "delta.`/path`".
        schema: instead of a table: all Delta tables in it; its views and other tables are passed over.

    Returns:
        The fully qualified names of the tables that were adopted now.

    Raises:
        NotAttachedError: the session is not audited.
        BadParameterError: neither or both of the two are given.
        UnknownObjectError: there is no such table or schema.
        NoHistoryError: the table is none of Delta's.
    """
    adopter = travel_of(spark).adopter(spark)
    if table is not None and schema is None:
        return adopter.table(split_name(table))
    if schema is not None and table is None:
        return adopter.schema(split_name(schema)[-1])
    raise BadParameterError(
        f"adopt takes a table or a schema, not {table!r} and {schema!r}",
        'write adopt(spark, "s.t") or adopt(spark, schema="s")',
    )


def plan_undo(spark: SparkSession, query_id: str) -> UndoPlan:
    """How to take back what a statement did, and what was made of it since. Nothing is changed.

    The tables that it wrote are known by its id in Delta's log, those that were derived from them by the
    lineage of later statements: each that read such a table at a version that held the change, and wrote
    another one. The statements of a procedure or a script are taken back with it.

    Args:
        spark: an audited session.
        query_id: of query_history.

    Returns:
        A plan that says which statement brings back what, in order, and what else goes with it;
        `plan.run(spark)` carries it out.

    Raises:
        NotAttachedError: the session is not audited.
        UnknownStatementError: no statement on record has the id.
        IngestError: the records could not be taken in.
    """
    return travel_of(spark).undo_plan(spark, query_id)
