"""Reads the rows of an old version in today's columns.

In: the columns of the version and of today. Out: SQL expressions that convert them. Columns are matched by
the id of Delta's column mapping, else by name.

"When querying historical data in a table or non-materialized view, the current table or view schema is
used" (Understanding & using Time Travel, Introduction). A type that could not hold each value of the other
one is no column of today for old rows: a value is never cut off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.names import sql_name, sql_text

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, DecimalType, StructField, StructType

_ID = "delta.columnMapping.id"
_PHYSICAL = "delta.columnMapping.physicalName"
# How many digits an integer may have (Spark 4.2, DecimalType.forType).
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}
_WIDER = {
    "byte": {"short", "integer", "long", "float", "double"},
    "short": {"integer", "long", "float", "double"},
    "integer": {"long", "double"},
    "float": {"double"},
    "date": {"timestamp", "timestamp_ntz"},
}


def in_todays_columns(then: StructType, today: StructType) -> tuple[str, ...] | None:
    """One expression for each of today's columns, over the old ones.

    >>> from pyspark.sql.types import IntegerType, LongType, StringType, StructType
    >>> today = StructType().add("a", LongType()).add("c", StringType())
    >>> in_todays_columns(StructType().add("a", IntegerType()).add("b", IntegerType()), today)
    ('CAST(`a` AS BIGINT) AS `a`', 'CAST(NULL AS STRING) AS `c`')

    Returns:
        None where nothing has changed, and where a column of today cannot hold each value that it had.
    """
    same_names = [f.name for f in then.fields] == [f.name for f in today.fields]
    if same_names and all(
        _counterpart(then, b) is a and _same(a.dataType, b.dataType)
        for a, b in zip(then.fields, today.fields, strict=True)
    ):
        return None
    if not all(_holds_old(then, field) for field in today.fields):
        return None
    return tuple(f"{_field(then, field, '')} AS {sql_name([field.name])}" for field in today.fields)


def of_view(then: StructType, today: StructType, where: str, *, by_name: bool) -> tuple[str, ...]:
    """One expression for each column that a view reads, over the old ones.

    A view names columns by what they are today. One that cannot hold its old values raises an error when it
    is read, so that a view which does not need it works.

    >>> from pyspark.sql.types import DoubleType, IntegerType, StructType
    >>> then, today = StructType().add("a", DoubleType()), StructType().add("a", IntegerType())
    >>> of_view(then, today, "s.t at version 1", by_name=False)
    ("CAST(raise_error('column `a` of s.t at version 1 is DOUBLE, which INT cannot hold; ask the table itself, AT or BEFORE the same point') AS INT) AS `a`",)

    Args:
        then: of the version.
        today: as the view reads them.
        where: of which version, for that error.
        by_name: the table has been replaced since, so ids of columns say nothing.
    """  # noqa: E501  a doctest
    read = _without_ids(today) if by_name else today
    old = _without_ids(then) if by_name else then
    return tuple(
        f"{_field(old, field, '') if _holds_old(old, field) else _raised(old, field, where)}"
        f" AS {sql_name([field.name])}"
        for field in read.fields
    )


def _raised(then: StructType, wanted: StructField, where: str) -> str:
    old = _counterpart(then, wanted)
    was = "" if old is None else _ddl(old.dataType)
    problem = (
        f"column {sql_name([wanted.name])} of {where} is {was}, which {_ddl(wanted.dataType)} cannot hold;"
        " ask the table itself, AT or BEFORE the same point"
    )
    return f"CAST(raise_error({sql_text(problem)}) AS {_ddl(wanted.dataType)})"


def _without_ids(columns: StructType) -> StructType:
    from pyspark.sql.types import StructType

    plain: StructType = StructType.fromJson(columns.jsonValue())
    for field in plain.fields:
        field.metadata = {
            name: said for name, said in (field.metadata or {}).items() if name not in (_ID, _PHYSICAL)
        }
        if isinstance(field.dataType, StructType):
            field.dataType = _without_ids(field.dataType)
    return plain


def _same(then: DataType, today: DataType) -> bool:
    return then.jsonValue() == today.jsonValue()


def _holds_old(then: StructType, wanted: StructField) -> bool:
    old = _counterpart(then, wanted)
    return old is None or _same(old.dataType, wanted.dataType) or _holds(old.dataType, wanted.dataType)


def _holds(then: DataType, today: DataType) -> bool:
    """Whether a type has each value of another, different one."""
    from pyspark.sql.types import ArrayType, AtomicType, DecimalType, MapType, StructType

    if isinstance(then, StructType) and isinstance(today, StructType):
        return all(_holds_old(then, field) for field in today.fields)
    if isinstance(then, ArrayType) and isinstance(today, ArrayType):
        return _holds_inside((then.elementType, today.elementType))
    if isinstance(then, MapType) and isinstance(today, MapType):
        return _holds_inside((then.keyType, today.keyType), (then.valueType, today.valueType))
    if isinstance(today, DecimalType):
        return _holds_number(then, today)
    if today.typeName() == "string":
        return isinstance(then, AtomicType) or then.typeName() == "void"
    return then.typeName() == "void" or today.typeName() in _WIDER.get(then.typeName(), ())


def _holds_inside(*pairs: tuple[DataType, DataType]) -> bool:
    return all(_same(then, today) or _holds(then, today) for then, today in pairs)


def _holds_number(then: DataType, today: DecimalType) -> bool:
    from pyspark.sql.types import DecimalType

    whole = today.precision - today.scale
    if isinstance(then, DecimalType):
        return then.scale <= today.scale and then.precision - then.scale <= whole
    return _DIGITS.get(then.typeName(), whole + 1) <= whole


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
