"""Checks all tables of a root against its log of digests.

In: what reads the tables, what whoever checks holds of the log. Out: what the log is worth, and each row that
is not as it was signed. Days are independent of each other, so that two processes share them.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from audit.core.clock import from_iso, to_iso
from audit.evidence.bound_tables import BOUND_TABLES
from audit.evidence.entries import Entry
from audit.query.answer import Source
from audit.query.digests.check_log import Anchor, LogCheck, check_log
from audit.query.digests.check_rows import (
    Expected,
    Place,
    PlaceCheck,
    RowFault,
    check_place,
    columns_listed,
    expected_places,
)
from audit.query.tables import Tables, opened
from audit.store.tables import DIGESTS

if TYPE_CHECKING:
    from audit.evidence.row_texts import Columns
    from audit.evidence.signed_note import Verifier

IN_FLIGHT = 600_000_000
"""Microseconds: no ingest takes longer from the signature to the rows."""
_MANY_ROWS = 200_000
"""Of more rows two processes read."""
_PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Held:
    """What whoever checks holds of a log.

    Attributes:
        key: that of who began it; None: the log itself names it.
        anchors: checkpoints that were kept elsewhere.
        batches: those that an ingest has begun and not ended, by their names.
        now: UTC microseconds, before any table is looked at.
        in_flight: how long an ingest may take that `batches` does not know, in microseconds; 0 where all
            spools of the root are here.
    """

    key: Verifier | None = None
    anchors: Sequence[Anchor] = ()
    batches: Collection[str] = ()
    now: int = 0
    in_flight: int = IN_FLIGHT


@dataclass(slots=True)
class TablesCheck:
    """What the tables are worth.

    Attributes:
        log: what the log of digests is worth; None where there is none.
        unbound: statements and events that were there before the log began, by place.
        waiting: those that are signed later.
        late: the keys of those that are signed and on their way.
        faults: rows that are not as they were signed.
    """

    log: LogCheck | None
    unbound: dict[Place, int] = field(default_factory=dict)
    waiting: int = 0
    late: set[str] = field(default_factory=set)
    faults: list[RowFault] = field(default_factory=list)


class _Asked(NamedTuple):
    """What a process needs to know beside the place."""

    columns: Mapping[str, Columns]
    pending: frozenset[int]
    unsigned_since: int | None


def check_tables(
    source: Source,
    held: Held,
    first: date | None,
    last: date | None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> TablesCheck:
    """Check the log, and the rows between two days (UTC, both included).

    Args:
        source: what reads the tables.
        held: what is known of the log from elsewhere.
        first: None: from the beginning.
        last: None: to the end.
        progress: told how many rows were looked at, and how many there are.

    Raises:
        TableUnreadable: a file of a table is damaged, or gone.
    """
    # The log comes last: whoever writes meanwhile signs first.
    if isinstance(source, Tables):
        for name in (*BOUND_TABLES, DIGESTS.name):
            source.require_files(name)
    counts = dict(_places(source, first, last))
    entries = entries_of(source)
    if not entries and not held.anchors:
        return TablesCheck(None, unbound={place: rows for place, rows in counts.items() if rows})
    log = check_log(entries, held.key, held.anchors)
    expected = {
        place: one for place, one in expected_places(log.said).items() if _is_asked(place, first, last)
    }
    asked = _Asked(columns_listed(log.said), _pending(log.said, held), _unsigned_since(log.said))
    check, done, total = TablesCheck(log), 0, sum(counts.values())
    wanted = sorted({*counts, *expected})
    for place, found in _checked(source, wanted, expected, asked, total):
        if found.unbound:
            check.unbound[place] = found.unbound
        check.waiting += found.waiting
        check.late |= found.late
        check.faults += found.faults
        done += found.rows
        progress(done, total)
    check.faults.sort()
    return check


def _places(source: Source, first: date | None, last: date | None) -> Iterator[tuple[Place, int]]:
    """The tables and days that have rows, and how many; of the days between two, and of those without one."""
    bounds = days_between("day", first, last)
    where = f"day IS NULL OR {' AND '.join(bounds)}" if bounds else "true"
    for name, table in BOUND_TABLES.items():
        if source.types(name):
            day = "query_date" if table.time else "CAST(NULL AS DATE)"
            days = f"(SELECT {day} AS day FROM {source.schema}.{name})"  # noqa: S608 - our own names
            text = f"SELECT day, count(*) FROM {days} WHERE {where} GROUP BY day"  # noqa: S608 - our own names
            for found, rows in source.ask(text, {}).rows:
                yield Place(name, str(found or "")), rows


def days_between(day: str, first: date | None, last: date | None) -> list[str]:
    """Conditions on a column of days; none without a bound.

    >>> days_between("day", date(2026, 1, 1), None)
    ["day >= DATE'2026-01-01'"]
    """
    return [f"{day} {order} DATE'{one}'" for order, one in ((">=", first), ("<=", last)) if one is not None]


def _is_asked(place: Place, first: date | None, last: date | None) -> bool:
    if place.table not in BOUND_TABLES:
        return False
    day = date.fromisoformat(place.day) if place.day else None
    return day is None or ((first or day) <= day <= (last or day))


def entries_of(source: Source) -> list[Entry]:
    """The entries of the log, in their order; none where there is no log."""
    if not source.types(DIGESTS.name):
        return []
    text = f"SELECT sequence, body, checkpoint FROM {source.schema}.{DIGESTS.name} ORDER BY sequence"  # noqa: S608 - our own names
    found = source.arrow(text)
    return [
        Entry(*row) for row in zip(*(found[name].to_pylist() for name in found.column_names), strict=True)
    ]


def _pending(said: Sequence[Mapping[str, Any]], held: Held) -> frozenset[int]:
    """The entries whose rows may not have come yet."""
    young = to_iso(held.now - held.in_flight)
    return frozenset(
        place
        for place, one in enumerate(said)
        if one.get("kind") == "ROWS" and (one.get("batch") in held.batches or str(one.get("time")) >= young)
    )


def _unsigned_since(said: Sequence[Mapping[str, Any]]) -> int | None:
    """From when on rows of events may not be signed yet: about the time of the newest entry."""
    return from_iso(str(said[-1]["time"])) - IN_FLIGHT if said and "time" in said[-1] else None


def _checked(
    source: Source, places: Sequence[Place], expected: Mapping[Place, Expected], asked: _Asked, rows: int
) -> Iterator[tuple[Place, PlaceCheck]]:
    if not isinstance(source, Tables) or rows < _MANY_ROWS:
        for place in places:
            yield place, check_place(source, place, expected.get(place, Expected()), *asked)
        return
    spawn = multiprocessing.get_context("spawn")
    open_tables = (source.root, source.schema, source.versions(), asked)
    with ProcessPoolExecutor(_PROCESSES, spawn, _Process.open, open_tables) as pool:
        waiting = {
            pool.submit(_Process.check, place, expected.get(place, Expected())): place for place in places
        }
        for done in as_completed(waiting):
            yield waiting.pop(done), done.result()


class _Process:
    """What a process that checks has opened."""

    until_it_ends = ExitStack()
    source: Tables
    asked: _Asked

    @classmethod
    def open(cls, root: str, schema: str, versions: Mapping[str, int], asked: _Asked) -> None:
        """Open the tables as they were when the check began, until the process ends."""
        tables = opened(root, schema, whole=False, versions=versions)
        cls.source = cls.until_it_ends.enter_context(tables)
        cls.source.connection.execute("SET threads = 1")
        cls.asked = asked

    @classmethod
    def check(cls, place: Place, expected: Expected) -> PlaceCheck:
        """See `check_place`."""
        return check_place(cls.source, place, expected, *cls.asked)
