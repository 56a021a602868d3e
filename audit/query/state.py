"""What the audit tables hold: their size, how statements ended, how much of them was analysed.

In: the audit tables of a root; any of them may be missing. Out: values for `audit status`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from audit.query.answer import Source
from audit.store.tables import ACCESS_HISTORY, AUDIT_TABLES, QUERY_HISTORY


@dataclass(frozen=True, slots=True)
class TableState:
    """A table that is there: bytes of its newest version, rows, days (UTC) and the time of its newest row."""

    size: int
    rows: int
    days: int
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows have something in common.

    Attributes:
        name: what.
        number: how many.
        reason: the most frequent among them, where they have reasons.
        newest: the time of the newest, UTC without a zone.
    """

    name: str
    number: int
    reason: str | None
    newest: datetime | None


def tables(source: Source) -> dict[str, TableState | None]:
    """The state of each audit table by its name; None: it is not there."""
    found: dict[str, TableState | None] = {}
    for table in AUDIT_TABLES:
        found[table.name] = None
        if source.types(table.name):
            text = (
                f"SELECT count(*), count(DISTINCT query_date), max({table.time})"  # noqa: S608 - our own names
                f" FROM {source.schema}.{table.name}"
            )
            ((rows, days, newest),) = source.ask(text, {}).rows
            found[table.name] = TableState(source.size(table.name), rows, days, newest)
    return found


def statements(source: Source) -> list[Count]:
    """How many statements ended in each way, with the error that most of them have; GAP: lost records."""
    text = f"""
SELECT CASE WHEN query_type = 'GAP' THEN 'GAP' ELSE execution_status END AS ended, count(*), mode(error_code),
  max(start_time)
FROM {source.schema}.query_history WHERE NOT startswith(query_type, 'AUDIT_') GROUP BY ended ORDER BY ended
"""  # noqa: S608 - our own names
    return [Count(*row) for row in source.ask(text, {}).rows] if source.types(QUERY_HISTORY.name) else []


def analyses(source: Source) -> list[Count]:
    """How many records are full, partial and opaque, and the reason that most of them give."""
    # `mode` ignores nulls (Spark 4.2, DuckDB 2.0), and a full record has no reason.
    text = f"""
SELECT analysis, count(*), mode(analysis_reason), max(query_start_time)
FROM {source.schema}.access_history GROUP BY analysis ORDER BY analysis
"""  # noqa: S608 - our own names
    return [Count(*row) for row in source.ask(text, {}).rows] if source.types(ACCESS_HISTORY.name) else []
