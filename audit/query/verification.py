"""Verifies the audit tables: each row against the log of digests, each statement against its records.

In: the audit tables of a root, a range of days. Out: `Verification`, with the query id of every
altered, missing, inserted, orphaned or doubled row. DuckDB and Spark work it out alike.

Rows that were there before the log of digests began have the hash in their record alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

from audit.query.answer import Source
from audit.query.digests.check_tables import Held, check_tables, days_between
from audit.record.hash_sql import row_text, text_hash
from audit.record.logging_event import LOGGING_EVENTS
from audit.store.made_tables import require_types
from audit.store.tables import ACCESS_HISTORY, LINEAGE_TABLES, QUERY_HISTORY, AuditTable

_STEP = 50_000
_PAIRED_AT_ONCE = 2_000_000
"""Statements: the ids of a year's would need gigabytes of memory."""
# What has happened to the logging itself is no statement, and has no record.
_EVENTS = ", ".join(f"'{kind}'" for kind in sorted(LOGGING_EVENTS))
_IS_STATEMENT = f"query_type NOT IN ({_EVENTS})"

_ROWS = "(SELECT * FROM {schema}.{table} WHERE {where})"
_COUNT = "SELECT count(*) FROM {rows}"
_DAYS = "SELECT query_date, count(*) FROM {rows} GROUP BY query_date ORDER BY query_date"
_ALTERED = """
SELECT query_id FROM (SELECT query_id, record_hash, {text} AS text FROM {access} WHERE {days})
WHERE NOT (record_hash <=> {hash}) ORDER BY query_id
"""
_MISSING = """
SELECT DISTINCT one.query_id FROM {rows} AS one
LEFT ANTI JOIN {others} AS other ON one.query_id = other.query_id ORDER BY query_id
"""
_DOUBLED = """
SELECT DISTINCT query_id FROM (SELECT query_id FROM {rows} GROUP BY {columns} HAVING count(*) > 1)
ORDER BY query_id
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """An altered, missing, orphaned or duplicate row."""

    query_id: str
    fault: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What the audit tables are worth.

    Attributes:
        records: checked rows of access_history.
        statements: checked rows of query_history.
        faults: what is not as it was written.
        entries: of the log of digests.
        unsigned: rows that were there before the log began: nobody has signed them.
        waiting: rows that are signed later: of running statements, and the newest events.
        late: statements that are signed and whose rows are on their way.
        gaps: when no entry came although a driver ran, in words: it was suspended, or they are not there.
        key: that of the log; "" where there is none.
        is_known: whether whoever checks knew the key; else the log itself names it.
    """

    records: int
    statements: int
    faults: tuple[Fault, ...]
    entries: int = 0
    unsigned: int = 0
    waiting: int = 0
    late: int = 0
    gaps: tuple[str, ...] = ()
    key: str = ""
    is_known: bool = False


def verify(
    source: Source,
    first: date | None = None,
    last: date | None = None,
    paired_since: date | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    held: Held | None = None,
) -> Verification:
    """Check every row between two days (UTC, both included).

    The log of digests binds what ingest has taken in since it began. Of older records the hash in their row
    shows an alteration by hand, not one by somebody who also computes the hash anew.

    Args:
        source: what reads the audit tables.
        first: the first day; None: from the beginning.
        last: the last day; None: to the end.
        paired_since: the first day that all tables keep, where their retention differs: before it a
            statement may have no record. None: they keep the same days.
        progress: told how many rows were looked at, and how many there are, now and then.
        held: what whoever checks holds of the log of digests; None: nothing.

    Raises:
        TableAlteredError: a table is not as this version made it, or gone.
        TableUnreadable: a file of a table is damaged, or gone.
    """
    there = require_types(source.root, source.types)
    asked = _Asked(source, first, last, paired_since)
    records = asked.count(ACCESS_HISTORY)
    signed = check_tables(source, held or Held(), first, last, progress)
    old = [place.day for place in signed.unbound if place.table == ACCESS_HISTORY.name]
    others = asked.altered(old, lambda done: progress(done, records)) if old else []
    others += asked.unpaired([table for table in LINEAGE_TABLES if table in there])
    faults = [Fault("", text) for text in (signed.log.faults if signed.log else ())]
    faults += [Fault(key, f"{table}: {fault}") for table, key, fault in signed.faults]
    # A row that is gone is told once, not by those that miss it, too.
    told = {one.query_id for one in faults} | signed.late
    faults += [one for one in others if one.query_id not in told]
    log = signed.log
    return Verification(
        records,
        asked.count(QUERY_HISTORY, _IS_STATEMENT),
        tuple(faults),
        len(log.said) if log else 0,
        sum(signed.unbound.values()),
        signed.waiting,
        len(signed.late),
        tuple(log.gaps) if log else (),
        str(log.key or "") if log else "",
        is_known=log is not None and log.is_known,
    )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The tables, and the days that are looked at."""

    source: Source
    first: date | None
    last: date | None
    paired_since: date | None

    def altered(self, among: Sequence[str], progress: Callable[[int], None]) -> list[Fault]:
        """The records of some days with another hash than that of their row; "": of those without a day."""
        listed = ", ".join(f"DATE'{day}'" for day in among if day)
        dated = [f"query_date IN ({listed})"] if listed else []
        undated = ["query_date IS NULL"] if "" in among else []
        access = self._rows(ACCESS_HISTORY, f"({' OR '.join((*dated, *undated))})")
        text = row_text(self.source.types(ACCESS_HISTORY.name))
        done, faults = 0, []
        for days, records in _steps(self._ask(_DAYS.format(rows=access))):
            altered = _ALTERED.format(text=text, access=access, days=days, hash=text_hash("text"))
            faults += self._faults("the record was altered: its hash is another", altered)
            done += records
            progress(done)
        return faults

    def count(self, table: AuditTable, *conditions: str) -> int:
        """How many rows a table has."""
        ((count,),) = self._ask(_COUNT.format(rows=self._rows(table, *conditions)))
        return int(count)

    def unpaired(self, lineage: Sequence[AuditTable]) -> list[Fault]:
        """Statements, records and edges without each other, or doubled.

        Rows of a statement are of one day in all tables.

        Args:
            lineage: the tables of edges that are there.
        """
        found: dict[str, list[Fault]] = defaultdict(list)
        for days in _spans(self._ask(_DAYS.format(rows=self._paired(QUERY_HISTORY)))):
            for fault, text in self._pairs(days, lineage).items():
                found[fault] += self._faults(fault, text)
        return [one for faults in found.values() for one in faults]

    def _pairs(self, days: str, lineage: Sequence[AuditTable]) -> dict[str, str]:
        """What asks for the statements of some days that have a fault, by its text."""
        query, access = self._paired(QUERY_HISTORY, days), self._paired(ACCESS_HISTORY, days)
        succeeded = self._paired(QUERY_HISTORY, days, f"execution_status = 'SUCCESS' AND {_IS_STATEMENT}")
        asked = {
            "the statement succeeded and has no record in access_history": _missing(succeeded, access),
            "the record has no successful statement in query_history": _missing(access, succeeded),
            "the statement stands twice in query_history": _doubled(query, ["query_id"]),
            # A SWAP has two records, which differ.
            "the record stands twice in access_history": _doubled(access, ["query_id", "record_hash"]),
        }
        for table in lineage:
            rows = self._paired(table, days)
            edge = [name for name, _, _ in table.columns if name != "query_start_time"]
            alone = f"{table.name} has edges of the statement, which has no record in access_history"
            # A killed ingest runs its last batch again; a row that was appended twice would show here.
            twice = f"an edge of the statement stands twice in {table.name}"
            asked |= {alone: _missing(rows, access), twice: _doubled(rows, edge)}
        return asked

    def _rows(self, table: AuditTable, *conditions: str) -> str:
        """What stands in a FROM for the rows of the days that are looked at."""
        days = days_between("query_date", self.first, self.last)
        where = " AND ".join([*days, *conditions]) or "true"
        return _ROWS.format(schema=self.source.schema, table=table.name, where=where)

    def _paired(self, table: AuditTable, *conditions: str) -> str:
        """The same, of the days that all tables keep."""
        kept = [] if self.paired_since is None else [f"query_date >= DATE'{self.paired_since}'"]
        return self._rows(table, *kept, *conditions)

    def _ask(self, text: str) -> Sequence[tuple[Any, ...]]:
        return self.source.ask(text, {}).rows

    def _faults(self, fault: str, text: str) -> list[Fault]:
        return [Fault(query_id, fault) for (query_id,) in self._ask(text)]


def _missing(rows: str, others: str) -> str:
    """Asks for the query ids of rows without another row."""
    return _MISSING.format(rows=rows, others=others)


def _doubled(rows: str, columns: Sequence[str]) -> str:
    """Asks for the query ids of rows that stand there twice."""
    return _DOUBLED.format(rows=rows, columns=", ".join(columns))


def _steps(counts: Sequence[tuple[date | None, int]]) -> Iterator[tuple[str, int]]:
    """Days that are looked at together: conditions, with their number of records.

    >>> list(_steps([(None, 2), (date(2026, 1, 1), 60_000), (date(2026, 1, 2), 1)]))
    [('query_date IS NULL', 2), ("query_date BETWEEN DATE'2026-01-01' AND DATE'2026-01-01'", 60000),
     ("query_date BETWEEN DATE'2026-01-02' AND DATE'2026-01-02'", 1)]
    """
    first, records = None, 0
    days = [(day, count) for day, count in counts if day is not None]
    # A row that was put there by hand may have no time.
    yield from (("query_date IS NULL", count) for day, count in counts if day is None)
    for number, (day, count) in enumerate(days, 1):
        first, records = first or day, records + count
        if records >= _STEP or number == len(days):
            yield f"query_date BETWEEN DATE'{first}' AND DATE'{day}'", records
            first, records = None, 0


def _spans(counts: Sequence[tuple[date | None, int]]) -> Iterator[str]:
    """Days that are paired together: conditions, of which each row of any table meets one.

    >>> list(_spans([(date(2026, 1, 1), 2_000_000), (date(2026, 1, 2), 2_000_000), (date(2026, 1, 3), 1)]))
    ["(query_date IS NULL OR query_date <= DATE'2026-01-01')",
     "query_date > DATE'2026-01-01' AND query_date <= DATE'2026-01-02'", "query_date > DATE'2026-01-02'"]
    >>> list(_spans([]))
    ['true']
    """
    cuts, rows = [], 0
    for day, count in counts[:-1]:
        rows += count
        if day is not None and rows >= _PAIRED_AT_ONCE:
            cuts.append(day)
            rows = 0
    if not cuts:
        yield "true"
        return
    yield f"(query_date IS NULL OR query_date <= DATE'{cuts[0]}')"
    for after, until in pairwise(cuts):
        yield f"query_date > DATE'{after}' AND query_date <= DATE'{until}'"
    yield f"query_date > DATE'{cuts[-1]}'"
