"""Spark's functions that DuckDB has under no name, as macros.

In: nothing. Out: the statements that make them, and a connection that has them. sqlglot renames all others
(sqlglot 30.30, DuckDB 2.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from audit.query.translation import quoted

if TYPE_CHECKING:
    import duckdb

MACROS = (
    (
        "CREATE MACRO make_dt_interval(days, hours := 0, minutes := 0, seconds := 0) AS"
        " to_days(CAST(days AS INT)) + to_hours(hours) + to_minutes(minutes) + to_seconds(seconds)"
    ),
    "CREATE MACRO make_ym_interval(years, months := 0) AS to_years(years) + to_months(months)",
    "CREATE MACRO get(items, number) AS items[number + 1]",
    "CREATE MACRO arrays_overlap(one, other) AS list_has_any(one, other)",
    "CREATE MACRO array_size(items) AS len(items)",
    "CREATE MACRO timestamp_micros(value) AS make_timestamp(CAST(value AS BIGINT))",
    "CREATE MACRO shiftleft(value, bits) AS value << bits",
)
"""Each makes one macro."""


@contextmanager
def connected(schema: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB that speaks as a session does: in UTC, with Spark's functions, and an empty schema."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        # In a process without a file, as those that `audit verify` starts, it writes on standard output.
        connection.execute("SET enable_progress_bar = false")
        # Each query is bound twice (`Tables.ask`), and a report has forty: every file's foot is read once.
        connection.execute("SET parquet_metadata_cache = true")
        connection.execute(f"CREATE SCHEMA {quoted(schema)}")
        for macro in MACROS:
            connection.execute(macro)
        yield connection
