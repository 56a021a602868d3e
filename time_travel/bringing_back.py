"""What a person calls to bring data under the rule, or back.

In: an audited session and a name. Out: names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.names import split_name
from time_travel.attached import travel_of
from time_travel.errors import BadParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
