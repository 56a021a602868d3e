"""The differences between two versions of a table.

In: two DataFrames with the same columns. Out: one with the added, removed and changed rows. One aggregation
counts each row, plus one in the later version, minus one in the earlier; rows with a count other than zero
differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lineage.names import sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

CHANGE = "change"


def changes(earlier: DataFrame, later: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows in which two versions differ; see `time_travel.diff`.

    Args:
        earlier: the earlier version.
        later: the later one, with the same columns.
        keys: columns that identify a row; () compares whole rows.
    """
    from pyspark.sql import functions as f

    # One shuffle of both versions; a full join or EXCEPT ALL in both directions would shuffle them twice.
    together = _counted(earlier, -1).unionAll(_counted(later, 1)).groupBy("compared")
    if _is_comparable(later):
        differing = together.agg(f.sum("n").alias("n")).withColumn("row", f.col("compared"))
    else:
        differing = together.agg(f.sum("n").alias("n"), f.first("row").alias("row"))
    label = CHANGE
    # Spark's column names are case-insensitive by default.
    while label in {column.lower() for column in later.columns}:
        label = f"_{label}"
    return (
        differing.where("n <> 0")
        # array_repeat takes an INT, and a sum is a BIGINT (Spark 4.2).
        .selectExpr(f"{_kind(keys)} AS kind", "CAST(abs(n) AS INT) AS times", "row")
        .selectExpr("explode(array_repeat(kind, times)) AS kind", "row")
        .selectExpr(f"kind AS {sql_name([label])}", "row.*")
    )


def _is_comparable(state: DataFrame) -> bool:
    """Whether Spark can group by the columns as they are, which is hashed and needs no second copy."""
    return all(comparable(field.dataType, "") == "" for field in state.schema)


def _counted(state: DataFrame, count: int) -> DataFrame:
    row = ", ".join(sql_name([field.name]) for field in state.schema)
    compared = ", ".join(
        f"{comparable(field.dataType, sql_name([field.name]))} AS {sql_name([field.name])}"
        for field in state.schema
    )
    return state.selectExpr(f"struct({row}) AS row", f"struct({compared}) AS compared", f"{count} AS n")


def _kind(keys: Sequence[str]) -> str:
    if not keys:
        return "IF(n < 0, 'removed', 'added')"
    partition = ", ".join(sql_name(["compared", key]) for key in keys)
    both = " AND ".join(f"bool_or({sign}) OVER (PARTITION BY {partition})" for sign in ("n < 0", "n > 0"))
    return (
        f"CASE WHEN {both} THEN IF(n < 0, 'changed_from', 'changed_to')"
        " WHEN n < 0 THEN 'removed' ELSE 'added' END"
    )


def comparable(kind: DataType, sql: str) -> str:
    """SQL of a value that Spark can group by, and that is equal where the values are equal.

    Spark 4.2 cannot group by VARIANT, does not sort a MAP, and groups different texts under a collation.

    >>> from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, VariantType
    >>> comparable(MapType(StringType(), IntegerType()), "m")
    'array_sort(map_entries(m))'
    >>> comparable(ArrayType(VariantType()), "a")
    'transform(a, e -> to_json(e))'
    """
    from pyspark.sql.types import StringType, VariantType

    if isinstance(kind, VariantType):
        return f"to_json({sql})"
    if isinstance(kind, StringType) and kind.collation != "UTF8_BINARY":
        return f"collate({sql}, 'UTF8_BINARY')"
    return _nested(kind, sql)


def _nested(kind: DataType, sql: str) -> str:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, ArrayType):
        element = comparable(kind.elementType, "e")
        return sql if element == "e" else f"transform({sql}, e -> {element})"
    if isinstance(kind, MapType):
        entry = f"struct({comparable(kind.keyType, 'e.key')}, {comparable(kind.valueType, 'e.value')})"
        entries = f"map_entries({sql})"
        as_they_are = entry == "struct(e.key, e.value)"
        # The entries of a MAP have no order, so they are sorted.
        return f"array_sort({entries if as_they_are else f'transform({entries}, e -> {entry})'})"
    if isinstance(kind, StructType):
        plain = [f"{sql}.{sql_name([one.name])}" for one in kind.fields]
        fields = [comparable(one.dataType, inside) for one, inside in zip(kind.fields, plain, strict=True)]
        # struct(…) of a NULL struct's fields would be a struct of NULLs.
        return sql if fields == plain else f"IF({sql} IS NULL, NULL, struct({', '.join(fields)}))"
    return sql
