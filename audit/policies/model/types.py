"""Data types of policies: Snowflake's names for Spark's types, and which type fits which.

In: the text of a type. Out: Spark's text; whether a policy's type fits a column's.
"""

from __future__ import annotations

import re
from functools import lru_cache

# Snowflake's (summary of data types); Spark knows all others by their own names.
_NAMES = {
    "varchar": "STRING", "char": "STRING", "character": "STRING", "text": "STRING", "nvarchar": "STRING",
    # NUMBER without digits is NUMBER(38,0) in Snowflake; Spark's DECIMAL is DECIMAL(10,0).
    "number": "DECIMAL(38,0)", "numeric": "DECIMAL(38,0)", "datetime": "TIMESTAMP_NTZ", "bool": "BOOLEAN",
    # Spark's TIMESTAMP is the one with the local time zone.
    "timestamp_tz": "TIMESTAMP", "timestamp_ltz": "TIMESTAMP",
    "varbinary": "BINARY", "real": "FLOAT", "int64": "BIGINT", "float64": "DOUBLE", "bytes": "BINARY",
}  # fmt: skip
_LENGTHS = frozenset({"varchar", "char", "character", "text", "nvarchar", "string", "varbinary", "binary"})
_DECIMAL = re.compile(r"dec(?:imal)?(?:\((\d+)(?:,(\d+))?\))?")
_PLAIN = re.compile(r"\s*(\w+)\s*(\([^)]*\))?\s*", re.IGNORECASE)


def spark_type(text: str) -> str:
    """A type in Spark's words.

    >>> spark_type("VARCHAR"), spark_type("number(10, 2)"), spark_type("array<int>")
    ('STRING', 'DECIMAL(10, 2)', 'array<int>')
    """
    found = _PLAIN.fullmatch(text)
    if found is None:
        return text.strip()
    name, length = found[1].lower(), found[2]
    # Spark (4.2) replaces CHAR and VARCHAR by STRING in expressions; the length is metadata of the column.
    if name in _LENGTHS:
        return _NAMES.get(name, name.upper())
    if length and name in ("number", "numeric"):
        return f"DECIMAL{length}"
    return _NAMES.get(name, text.strip())


def fits(policy: str, column: str) -> bool:
    """Whether a policy's type fits a column's; a decimal fits a wider one, which keeps all its digits.

    >>> fits("STRING", "varchar(10)"), fits("INT", "bigint"), fits("NUMBER", "decimal(10,2)")
    (True, False, False)
    >>> fits("NUMBER(38, 2)", "decimal(10,2)"), fits("NUMBER", "decimal(38,0)")
    (True, True)
    """
    of_policy, of_column = _digits(policy), _digits(column)
    if of_policy is None or of_column is None:
        return of_policy is of_column and kind_of(policy) == kind_of(column)
    return of_policy[0] >= of_column[0] and of_policy[1] >= of_column[1]


def _digits(text: str) -> tuple[int, int] | None:
    """Digits before and behind the point of a decimal; Spark's own default is (10,0)."""
    found = _DECIMAL.fullmatch(re.sub(r"\s", "", spark_type(text).lower()))
    if found is None:
        return None
    precision, scale = int(found[1] or 10), int(found[2] or 0)
    return precision - scale, scale


@lru_cache(maxsize=1024)
def kind_of(text: str) -> str:
    """The kind of a type, without the precision of a decimal or the length of a text.

    >>> kind_of("DECIMAL(38,0)"), kind_of("varchar(10)"), kind_of("array<int>")
    ('decimal', 'string', 'array<int>')
    """
    name = re.sub(r"\s", "", spark_type(text).lower())
    if name.startswith(("decimal(", "dec(", "dec")):
        return "decimal"
    # Two names of one type in Spark SQL.
    return {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(name, name)
