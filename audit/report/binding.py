"""A figure's SQL as it can be run: with values in the place of its parameters.

In: SQL with `:name`, and values. Out: SQL that `audit query` and Spark take as it stands. A text becomes a
literal, so nothing in a name is read as SQL; what cannot be seen in it becomes an escape of Spark's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

from audit.core.plain_text import escaped
from lineage.names import sql_text

Value = date | str | int | tuple[int, ...]
"""The value of a parameter `:name` of a figure's SQL; a tuple stands after IN."""
SCHEMA = "account_usage"
# Not the second colon of a cast `::`.
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")


def bound(sql: str, values: Mapping[str, Value], schema: str = SCHEMA) -> str:
    r"""The SQL with its values; a parameter without a value stays as it is.

    Args:
        sql: a figure's.
        values: by parameter.
        schema: of the audit tables, where it is not the usual one.

    >>> print(bound("SELECT :who, :other FROM account_usage.statements", {"who": "it's"}))
    SELECT 'it\'s', :other FROM account_usage.statements
    >>> bound("WHERE id IN :ids AND query_date >= :from_day", {"ids": (7,), "from_day": date(2026, 1, 31)})
    "WHERE id IN (7) AND query_date >= DATE'2026-01-31'"
    """
    # In one pass: a `:name` inside a value is no parameter.
    return _PARAMETER.sub(
        lambda found: literal(values[found[1]]) if found[1] in values else found[0],
        sql.replace(f"{SCHEMA}.", f"{schema}."),
    )


def literal(value: Value) -> str:
    r"""A value in Spark's SQL.

    >>> print(literal("a" + chr(0x202E)))
    'a\u202e'
    >>> literal(())
    '(NULL)'
    """
    if isinstance(value, date):
        return f"DATE'{value}'"
    if isinstance(value, tuple):
        # Nothing equals NULL.
        return f"({', '.join(map(str, value)) or 'NULL'})"
    if isinstance(value, int):
        return str(value)
    # Spark (4.2) reads escapes as Python writes them.
    return escaped(sql_text(value))
