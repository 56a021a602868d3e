"""The statements of some days, each with its record and its edges, in the order of time.

In: the audit tables of a root. Out: `RecordedStatement`s, read a part of a day at a time, so that a year
takes no more memory than an hour.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from audit.core.errors import TableMissingError
from audit.query.answer import Source
from audit.store.tables import ACCESS_HISTORY, COLUMN_LINEAGE, QUERY_HISTORY, TABLE_LINEAGE, AuditTable

Row = Mapping[str, Any]
_AT_ONCE = 10_000  # statements
_EXCHANGED = "NOT startswith(query_type, 'AUDIT_') AND query_type <> 'GAP'"
"""Events of the logging and lost records are no statements."""


@dataclass(frozen=True, slots=True)
class RecordedStatement:
    """A statement: its row of query_history, and what the other tables hold of it.

    Attributes:
        query: the row of query_history.
        accesses: rows of access_history; two for a SWAP.
        columns: rows of column_lineage about what it names.
        tables: rows of table_lineage about what it names.
    """

    query: Row
    accesses: tuple[Row, ...] = ()
    columns: tuple[Row, ...] = ()
    tables: tuple[Row, ...] = ()

    @property
    def query_id(self) -> str:
        """Of all its rows."""
        return str(self.query["query_id"])


@dataclass(frozen=True, slots=True)
class Days:
    """The days of an exchange (UTC); None: without a bound."""

    first: date | None = None
    last: date | None = None


@dataclass(slots=True)
class _Parts:
    """The rows of some statements by table and statement."""

    rows: dict[str, dict[str, list[Row]]] = field(default_factory=dict)

    def of(self, table: AuditTable, query_id: str) -> tuple[Row, ...]:
        return tuple(self.rows[table.name].get(query_id, ()))


def recorded_statements(source: Source, days: Days) -> Iterator[RecordedStatement]:
    """The statements of some days, oldest first; those that still run as well.

    Raises:
        QueryFailed: a table lacks a column.
        TableMissingError: there is no query_history.
        TableUnreadable: a file of a table is damaged, or gone.
    """
    _require(source)
    for day, number in _days(source, days):
        for since, until in _slices(day, number):
            yield from _of_slice(source, day, since, until)


def recorded_between(
    source: Source, day: date, first: datetime, last: datetime
) -> Iterator[RecordedStatement]:
    """The statements of a day that started from one moment to another, both of which count."""
    yield from _of_slice(source, day, first, last + timedelta(microseconds=1))


def rows_of(source: Source, name: str, time: str, days: Days) -> Iterator[Row]:
    """The rows of a table or view of some days, in the order of time.

    Args:
        source: the audit tables.
        name: of the table or view.
        time: its column that the day is made of.
        days: which.

    Raises:
        QueryFailed: there is no such table, or no such column.
        TableMissingError: there is no query_history.
    """
    _require(source)
    text = f"""
SELECT * FROM {source.schema}.{name} WHERE query_date = :day
AND {time} >= CAST(:since AS TIMESTAMP) AND {time} < CAST(:until AS TIMESTAMP)
"""  # noqa: S608 - our own names
    for day, number in _days(source, days):
        for since, until in _slices(day, number):
            yield from sorted(_asked(source, text, _values(day, since, until)), key=lambda row: row[time])


def statements_by_id(source: Source, query_ids: set[str]) -> dict[str, Row]:
    """The rows of query_history of some statements."""
    found: dict[str, Row] = {}
    wanted = sorted(query_ids)
    for at in range(0, len(wanted), 500):
        part = wanted[at : at + 500]
        names = {f"id{number}": one for number, one in enumerate(part)}
        listed = ", ".join(f":{name}" for name in names)
        text = f"SELECT * FROM {source.schema}.query_history WHERE query_id IN ({listed})"  # noqa: S608 - parameters
        found |= {row["query_id"]: row for row in _asked(source, text, names)}
    return found


def _require(source: Source) -> None:
    if not source.types(QUERY_HISTORY.name):
        raise TableMissingError(
            f"there is no table {QUERY_HISTORY.name} under {source.root}",
            "it comes with the first statements that are taken in: run `audit ingest`, or audit.flush(spark)",
        )


def _days(source: Source, days: Days) -> list[tuple[date, int]]:
    """The days that have statements, and how many."""
    first, last = days.first or date.min, days.last or date.max
    text = f"""
SELECT query_date, count(*) FROM {source.schema}.query_history
WHERE query_date BETWEEN :first AND :last AND {_EXCHANGED} GROUP BY query_date ORDER BY query_date
"""  # noqa: S608 - our own names
    # As texts: PySpark (4.2) hands a date of the year 1 to Java as "1-01-01", which is none there.
    found = source.ask(text, {"first": first.isoformat(), "last": last.isoformat()}).rows
    return [(day, number) for day, number in found]


def _slices(day: date, number: int) -> Iterator[tuple[datetime, datetime]]:
    """A day in parts: as many as its statements take."""
    parts = -(-number // _AT_ONCE)
    midnight = datetime.combine(day, datetime.min.time())
    length = timedelta(days=1) / parts
    bounds = [*(midnight + length * part for part in range(parts)), midnight + timedelta(days=1)]
    yield from pairwise(bounds)


def _of_slice(source: Source, day: date, since: datetime, until: datetime) -> Iterator[RecordedStatement]:
    values = _values(day, since, until)
    parts = _Parts()
    for table in (ACCESS_HISTORY, COLUMN_LINEAGE, TABLE_LINEAGE):
        also = "" if table is ACCESS_HISTORY else "AND coalesce(source_kind, 'direct') = 'direct'"
        parts.rows[table.name] = _by_statement(source, table, values, also)
    queries = _rows(source, QUERY_HISTORY, values, f"AND {_EXCHANGED}")
    for query in sorted(queries, key=lambda row: (row["start_time"], row["query_id"])):
        of = query["query_id"]
        yield RecordedStatement(
            query, parts.of(ACCESS_HISTORY, of), parts.of(COLUMN_LINEAGE, of), parts.of(TABLE_LINEAGE, of)
        )


def _values(day: date, since: datetime, until: datetime) -> Row:
    return {"day": day.isoformat(), "since": since.isoformat(" "), "until": until.isoformat(" ")}


def _by_statement(source: Source, table: AuditTable, values: Row, also: str) -> dict[str, list[Row]]:
    if not source.types(table.name):
        return {}  # a root of before lineage
    found: dict[str, list[Row]] = {}
    for row in _rows(source, table, values, also):
        found.setdefault(row["query_id"], []).append(row)
    return found


def _rows(source: Source, table: AuditTable, values: Row, also: str) -> list[Row]:
    text = f"""
SELECT * FROM {source.schema}.{table.name} WHERE query_date = :day
AND {table.time} >= CAST(:since AS TIMESTAMP) AND {table.time} < CAST(:until AS TIMESTAMP) {also}
"""  # noqa: S608 - our own names
    return _asked(source, text, values)


def _asked(source: Source, text: str, values: Row) -> list[Row]:
    answer = source.ask(text, values)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
