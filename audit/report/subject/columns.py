"""The columns of a table's version, and which of them the replay can compare.

In: the log of a Delta table. Out: names, in the log and in the files, and types.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import orjson

from audit.report.subject.key import Key

if TYPE_CHECKING:
    from deltalake import DeltaTable

_PHYSICAL = "delta.columnMapping.physicalName"
_KINDS = {
    "byte": "TINYINT", "short": "SMALLINT", "integer": "INTEGER", "long": "BIGINT", "double": "DOUBLE",
    "string": "VARCHAR", "date": "DATE", "boolean": "BOOLEAN",
}  # fmt: skip
_DAY = len("2026-01-31")


def fields(table: DeltaTable) -> dict[str, dict[str, Any]]:
    """The columns of a version as its log has them, by name in lower case."""
    return {one["name"].casefold(): one for one in orjson.loads(table.schema().to_json())["fields"]}


def physical_of(column: Mapping[str, Any]) -> str:
    """The name of a column in the files.

    >>> physical_of({"name": "a", "metadata": {}})
    'a'
    """
    return str(column["metadata"].get(_PHYSICAL, column["name"]))


def is_comparable(column: Mapping[str, Any]) -> bool:
    """Whether a key may be of this column.

    >>> is_comparable({"name": "a", "type": "float", "metadata": {}})
    False
    """
    return duckdb_type(column) is not None and column["type"] != "boolean"


def fits(key: Key, column: Mapping[str, Any]) -> bool:
    """Whether the key's value is of the column's type.

    >>> fits(Key("a", "x", True), {"name": "a", "type": "date", "metadata": {}})
    False
    """
    kind = column["type"]
    if kind == "date":
        return key.is_text and is_day(key.value)
    return key.is_text is (kind == "string")


def is_day(text: str) -> bool:
    """Whether Spark and DuckDB read a text as the same day.

    >>> is_day("2026-01-31"), is_day("2026-1-31")
    (True, False)
    """
    try:
        return len(text) == _DAY and bool(date.fromisoformat(text))
    except ValueError:
        return False


def duckdb_type(column: Mapping[str, Any]) -> str | None:
    """DuckDB's type of a column whose comparisons are Spark's; None for others.

    FLOAT, times, which know zones, collations and CHAR(n) are compared in other ways (Spark 4.2, DuckDB 2.0).
    """
    keys = " ".join(column["metadata"]).upper()
    kind = column["type"]
    if not isinstance(kind, str) or "COLLATION" in keys or "CHAR_VARCHAR" in keys:
        return None
    return kind.upper() if kind.startswith("decimal") else _KINDS.get(kind)
