"""Reads the rows of an old version in today's columns.

In: the columns of the version and of today. Out: SQL expressions that convert them. Columns are matched by
the id of Delta's column mapping, else by name.

"When querying historical data in a table or non-materialized view, the current table or view schema is
used" (Understanding & using Time Travel, Introduction).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.names import sql_name, sql_text

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

_ID = "delta.columnMapping.id"
_PHYSICAL = "delta.columnMapping.physicalName"


def in_todays_columns(then: StructType, today: StructType) -> tuple[str, ...] | None:
    """One expression for each of today's columns, over the old ones; None if nothing has changed.

    >>> from pyspark.sql.types import IntegerType, LongType, StringType, StructType
    >>> today = StructType().add("a", LongType()).add("c", StringType())
    >>> in_todays_columns(StructType().add("a", IntegerType()).add("b", IntegerType()), today)
    ('CAST(`a` AS BIGINT) AS `a`', 'CAST(NULL AS STRING) AS `c`')
    """
    same_names = [f.name for f in then.fields] == [f.name for f in today.fields]
    if same_names and all(
        _counterpart(then, b) is a and _same(a.dataType, b.dataType)
        for a, b in zip(then.fields, today.fields, strict=True)
    ):
        return None
    return tuple(f"{_field(then, field, '')} AS {sql_name([field.name])}" for field in today.fields)


def _same(then: DataType, today: DataType) -> bool:
    return then.jsonValue() == today.jsonValue()


def _field(then: StructType, wanted: StructField, inside: str) -> str:
    old = _counterpart(then, wanted)
    if old is None:
        # Added later, so no row of that version has a value.
        return f"CAST(NULL AS {_ddl(wanted.dataType)})"
    return _value(old.dataType, wanted.dataType, inside + sql_name([old.name]))


def _counterpart(then: StructType, wanted: StructField) -> StructField | None:
    # Delta's column mapping gives a column an id, which a rename keeps (4.4).
    number = (wanted.metadata or {}).get(_ID)
    if number is not None:
        by_id = [field for field in then.fields if (field.metadata or {}).get(_ID) == number]
        if by_id:
            return by_id[0]
        # Column mapping was on: a column of the same name and another id was dropped and added again.
        if any(_ID in (field.metadata or {}) for field in then.fields):
            return None
    # For a column older than column mapping, Delta's physical name is the name that it had then (Delta 4.4).
    name = str((wanted.metadata or {}).get(_PHYSICAL, wanted.name)).lower()
    return next((field for field in then.fields if field.name.lower() == name), None)


def _value(then: DataType, today: DataType, sql: str) -> str:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if _same(then, today):
        return sql
    if isinstance(then, StructType) and isinstance(today, StructType):
        fields = ", ".join(f"{sql_text(f.name)}, {_field(then, f, sql + '.')}" for f in today.fields)
        # named_struct of a NULL struct's fields would be a struct of NULLs.
        return f"CASE WHEN {sql} IS NOT NULL THEN named_struct({fields}) END"
    if isinstance(then, ArrayType) and isinstance(today, ArrayType):
        return f"transform({sql}, e -> {_value(then.elementType, today.elementType, 'e')})"
    if isinstance(then, MapType) and isinstance(today, MapType):
        if not _same(then.keyType, today.keyType):
            sql = f"transform_keys({sql}, (k, v) -> {_value(then.keyType, today.keyType, 'k')})"
        if _same(then.valueType, today.valueType):
            return sql
        return f"transform_values({sql}, (k, v) -> {_value(then.valueType, today.valueType, 'v')})"
    return f"CAST({sql} AS {_ddl(today)})"


def _ddl(kind: DataType) -> str:
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        inside = ", ".join(f"{sql_name([f.name])}: {_ddl(f.dataType)}" for f in kind.fields)
        return f"STRUCT<{inside}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{_ddl(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{_ddl(kind.keyType)}, {_ddl(kind.valueType)}>"
    return kind.simpleString().upper()
