"""Spark's functions that DuckDB has under no name, as macros.

In: nothing. Out: the statements that make them. sqlglot renames all others (sqlglot 30.30, DuckDB 2.0).
"""

from __future__ import annotations

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
