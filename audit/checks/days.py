"""The frame that is validated: a row for each day of the audit, with what is there and what is wrong.

In: the audit tables under a root, a period. Out: rows, whose columns `audit.checks.expectations` lists.
Whoever writes expectations of his own asks these counts, and never a raw row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Any

from audit.checks.expectations import COUNTS, EXAMPLES, TOTALS, columns, ids_column
from audit.checks.record_contents import altered_records, ambiguous_columns
from audit.checks.statements import FLAGS, statements
from audit.store.days.kept_days import all_kept_since, oldest_kept
from audit.store.made_tables import require_tables
from audit.store.tables import ACCESS_HISTORY, COLUMN_LINEAGE, QUERY_HISTORY, AuditTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.checks.statements import Statements

Row = dict[str, Any]
_DAY = timedelta(days=1)
_DAY_MICROS = 86_400_000_000
_LONGEST_GAP = 400  # days
_UNPAIRED = "records_without_statement"


@dataclass(frozen=True, slots=True)
class Period:
    """The days (UTC) that are looked at, both included; None: from the beginning, to the end."""

    first: date | None = None
    last: date | None = None

    @property
    def condition(self) -> str:
        """As SQL over the partition column.

        >>> Period(date(2026, 1, 1)).condition
        "query_date >= DATE'2026-01-01'"
        """
        bounds = [f"query_date >= DATE'{self.first}'"] if self.first else []
        bounds += [f"query_date <= DATE'{self.last}'"] if self.last else []
        return " AND ".join(bounds) or "true"


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of a root, each read once; `there` are those that exist."""

    spark: SparkSession
    root: str
    there: tuple[AuditTable, ...]
    period: Period

    def rows(self, table: AuditTable) -> DataFrame:
        """The rows of the period, in the version that is the newest now."""
        frame = self.spark.read.format("delta").load(table.location(self.root))
        return frame.where(self.period.condition)


def days(
    spark: SparkSession, root: str, period: Period, days_of: Callable[[str], int], now: int
) -> list[Row]:
    """Look at the tables, and count.

    Args:
        spark: a session of the audit's own.
        root: folder of the audit tables.
        period: the days to look at.
        days_of: how long the records of a table are kept, in days.
        now: UTC microseconds.

    Returns:
        A row for each day from the first to the last with a record, days without one between them included.

    Raises:
        TableAlteredError: a table is not as this version made it.
        TableMissingError: a table is gone.
    """
    tables = _Tables(spark, root, require_tables(spark, root), period)
    found = _Days()
    paired_since = all_kept_since(now, (days_of(table.name) for table in tables.there))

    def side_by_side() -> Statements:
        # Ingest commits to access_history, then to lineage, then to query_history. They are opened the other
        # way round: what has a row in one has its rows in those that come after it.
        query = tables.rows(QUERY_HISTORY)
        edges = tables.rows(COLUMN_LINEAGE) if COLUMN_LINEAGE in tables.there else None
        return statements(query, tables.rows(ACCESS_HISTORY), edges, now, paired_since)

    together = side_by_side()
    counted = together.by_day().collect()
    if any(row[_UNPAIRED] for row in counted):
        # An ingest may have been between two of its commits.
        together = side_by_side()
        counted = together.by_day().collect()
    for row in counted:
        found.add(row["query_date"], row.asDict())
    failed = [flag for flag in FLAGS if any(row[flag] for row in counted)]
    partial = ["partial_records"] if any(row["partial_records"] for row in counted) else []
    for flag in (*failed, *partial):
        found.name(flag, together.offenders(flag))
    access = tables.rows(ACCESS_HISTORY)
    found.count("altered_records", altered_records(access))
    found.count("ambiguous_columns", ambiguous_columns(access))
    for row in _overdue(tables, days_of, now).collect():
        found.add_overdue(row["query_date"], row["table_name"])
    return list(found.rows())


def _overdue(tables: _Tables, days_of: Callable[[str], int], now: int) -> DataFrame:
    """The days of each table that are older than it is kept, and a day more: `audit retain` runs daily."""
    found = (
        tables.rows(table)
        .where(f"query_date < DATE'{oldest_kept(now - _DAY_MICROS, days_of(table.name))}'")
        .selectExpr("query_date", f"'{table.name}' AS table_name")
        for table in tables.there
    )
    # The day is a column of the partitions: no row is read.
    return reduce(lambda one, other: one.union(other), found).distinct().orderBy("query_date", "table_name")


class _Days:
    """The rows by day, as they fill."""

    def __init__(self) -> None:
        self._rows: dict[date, Row] = {}

    def add(self, day: date, values: Mapping[str, Any]) -> None:
        """Values of a day."""
        self._row(day).update(values)

    def count(self, column: str, offenders: DataFrame) -> None:
        """Count offenders, a row each, by day; name some."""
        counted = offenders.groupBy("query_date").count().collect()
        for row in counted:
            self._row(row["query_date"])[column] = row["count"]
        if counted:
            self.name(column, offenders)

    def name(self, column: str, offenders: DataFrame) -> None:
        """The query ids of the first offenders, whatever their day: a report names no more."""
        first = offenders.orderBy("query_date", "query_id").limit(EXAMPLES)
        for row in first.collect():
            self._row(row["query_date"])[ids_column(column)].append(row["query_id"])

    def add_overdue(self, day: date, table: str) -> None:
        """A day that a table is to have no longer."""
        self._row(day)["overdue_tables"].append(table)

    def rows(self) -> Iterator[Row]:
        """In the order of the days, those between them that have nothing included."""
        known = sorted(self._rows)
        for day, following in zip(known, (*known[1:], None), strict=True):
            yield self._rows[day]
            # A wrong clock may have written a record of the year 9999: of a long gap the first days tell it.
            missing = 0 if following is None else min((following - day).days - 1, _LONGEST_GAP)
            yield from (_empty(day + number * _DAY) for number in range(1, missing + 1))

    def _row(self, day: date) -> Row:
        if day not in self._rows:
            self._rows[day] = _empty(day)
        return self._rows[day]


def _empty(day: date) -> Row:
    values: Row = {name: [] if kind.startswith("ARRAY") else 0 for name, kind in columns()}
    return {**values, "query_date": day}


def totals(rows: list[Row]) -> dict[str, int]:
    """The counts of all days together.

    >>> totals([])["statements"]
    0
    """
    return {name: sum(row[name] for row in rows) for name in (*TOTALS, *COUNTS)}
