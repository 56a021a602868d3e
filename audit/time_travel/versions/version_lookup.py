"""Finds the version of a table at the point of a clause.

In: a clause, a Delta table, the time now, the table's retention. Out: a version, or an error with the table,
the point and the earliest moment that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.core.clock import to_datetime
from audit.time_travel.errors import (
    BadClauseError,
    BeforeCreationError,
    FutureMomentError,
    NoHistoryError,
    OutsideRetentionError,
    UnknownStatementError,
    UnknownVersionError,
)
from audit.time_travel.versions.timestamp_eval import offset_of, text_of, timestamp_of, version_of
from lineage.catalog.object_ids import object_id
from lineage.names import quote_name
from lineage.sql.commands.time_travel.at_before import BadClause, VersionClause

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.values import DeltaTableState, Table
    from audit.time_travel.versions.recorded import RecordedStatement, RecordedVersion, Records
    from lineage.sql.commands.time_travel.at_before import Point

# The clocks of drivers and stores differ: the search for a statement's commits begins this long before it
# began.
_SKEW_MS = 60_000
# The earliest TIMESTAMP of Spark; Java takes no larger number.
_EARLIEST = -(1 << 63)
# 400 years in microseconds, after which the Gregorian calendar repeats itself: 146,097 days.
_CYCLE = 12_622_780_800_000_000
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EvaluatedPoint:
    """An evaluated clause: one of the four fields is set."""

    clause: VersionClause
    micros: int | None = None
    query_id: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class VersionLimits:
    """The limits of a table's versions.

    Attributes:
        horizon: the earliest readable moment, UTC microseconds; None for a table that is not adopted: Delta's
            log decides.
        days: the retention period.
    """

    horizon: int | None = None
    days: float = 0.0


def require_clause(point: Point) -> VersionClause:
    """A clause without syntax errors.

    Raises:
        BadClauseError: it has one.
    """
    if isinstance(point, BadClause):
        raise BadClauseError(point.problem, point.way_out)
    return point


def evaluate(
    clause: VersionClause, catalog: DeltaCatalog, now: int, clock: Callable[[], int]
) -> EvaluatedPoint:
    """The value of a clause.

    Args:
        clause: the clause.
        catalog: evaluates expressions in Spark.
        now: the start of an OFFSET, UTC microseconds.
        clock: the latest TIMESTAMP allowed, read after the evaluation.

    Raises:
        BadMomentError: the value has another type.
        FutureMomentError: the time is in the future.
    """
    if clause.kind == "VERSION":
        return EvaluatedPoint(clause, version=version_of(clause))
    if clause.kind == "STATEMENT":
        # Those of this system are in lower case.
        return EvaluatedPoint(clause, query_id=text_of(clause, catalog.evaluate).lower())
    if clause.kind == "OFFSET":
        micros = now + round(offset_of(clause, catalog.evaluate) * 1_000_000)
        return EvaluatedPoint(clause, micros=max(micros, _EARLIEST))
    micros = timestamp_of(clause, catalog.zone, catalog.evaluate)
    # Read after the evaluation: `current_timestamp()` in the clause is later than the statement's start.
    if micros > (latest := clock()):
        raise FutureMomentError(
            f"{clause} of {'.'.join(clause.table)} is {time_text(micros)}, and now it is {time_text(latest)}",
            "ask for a time that has passed",
        )
    return EvaluatedPoint(clause, micros=micros)


def version_for(
    asked: EvaluatedPoint,
    table: Table,
    catalog: DeltaCatalog,
    limits: VersionLimits,
    records: Records,
) -> int:
    """The version of a table at, or just before, a point.

    Raises:
        NoHistoryError: it is not a Delta table.
        BeforeCreationError: the table did not exist.
        OutsideRetentionError: the point is before the retention period.
        UnknownVersionError: the table has no such version.
        UnknownStatementError: no recorded statement has the query id, or it has not ended.
    """
    state = catalog.state(table.location) if table.location and table.provider == "delta" else None
    if state is None or table.location is None:
        raise NoHistoryError(
            f"{quote_name(table.name)} is a table of {table.provider} and has no versions for {asked.clause}",
            "only Delta tables keep theirs; CREATE TABLE … USING delta AS SELECT makes one of it",
        )
    look = _VersionSearch(asked, table, table.location, catalog, state, limits)
    if asked.version is not None:
        return look.by_number(asked.version)
    if asked.query_id is not None:
        return look.by_statement(asked.query_id, records)
    return look.by_time(asked.micros or 0)


def has_written(query_id: str, table: Table, catalog: DeltaCatalog) -> bool:
    """Whether a statement committed a version of a table."""
    location = table.location or ""
    state = catalog.state(location)
    if state is None:
        return False
    return (
        catalog.written_by(location, state, query_id, since(query_id, location, state, catalog)) is not None
    )


def since(query_id: str, location: str, state: DeltaTableState, catalog: DeltaCatalog) -> int:
    """A version at or before a statement's first commit, by the time in its id (UUIDv7)."""
    found = _UUID7.fullmatch(query_id)
    if found is None:
        return state.earliest
    # The first 48 bits of a UUIDv7 are its time in milliseconds (RFC 9562).
    return catalog.version_at(location, state, int(found[1] + found[2], 16) - _SKEW_MS)


def began(query_id: str) -> int:
    """When a statement began, by its id, in UTC microseconds.

    >>> began("01905b8e-c280-7000-8000-000000000000")
    1719523000960000

    Raises:
        UnknownStatementError: it is no id of this system.
    """
    found = _UUID7.fullmatch(query_id)
    if found is None:
        raise UnknownStatementError(
            f"{query_id!r} is no query id of this system", "look it up in query_history, column query_id"
        )
    return int(found[1] + found[2], 16) * 1000


@dataclass(frozen=True, slots=True)
class _VersionSearch:
    asked: EvaluatedPoint
    table: Table
    location: str
    catalog: DeltaCatalog
    state: DeltaTableState
    limits: VersionLimits

    def by_time(self, micros: int) -> int:
        version = self._at(micros, before=self.asked.clause.before)
        if version < self.state.earliest:
            raise self._too_early(time_text(micros))
        if self.limits.horizon is not None and micros < self.limits.horizon:
            raise self._outside(time_text(micros))
        return version

    def _at(self, micros: int, *, before: bool) -> int:
        """The newest version at or just before a time; one below the earliest where there is none."""
        # Delta counts commit times in milliseconds, so BEFORE excludes all commits of that millisecond.
        millis = -(-micros // 1000) - 1 if before else micros // 1000
        return self.catalog.version_at(self.location, self.state, millis)

    def by_number(self, version: int) -> int:
        if not self.state.earliest <= version <= self.state.latest:
            raise UnknownVersionError(
                f"{self._name()} has no version {version}",
                f"it has {self.state.earliest} to {self.state.latest}",
            )
        if not self.asked.clause.before:
            return self._kept(version, f"version {version}")
        # Version 0 made the table; one that is older than the log would be refused by `_kept`.
        if version == 0:
            raise self._nothing_before("version 0")
        return self._kept(version - 1, f"version {version - 1}")

    def by_statement(self, query_id: str, records: Records) -> int:
        """The version that a statement left, or found; of a table that it did not touch, as of its time."""
        # A statement may commit several versions: BEFORE lies before the first, AT at the last.
        written = self.catalog.written_by(self.location, self.state, query_id, self._since(query_id))
        if written is None:
            statement = self._recorded(query_id, records)
            written = self._written(statement)
            if written is None:
                return self._kept(self._found_by(statement), f"statement {query_id}")
        version = written[0] - 1 if self.asked.clause.before else written[1]
        if version < 0:
            raise self._nothing_before(f"statement {query_id}")
        return self._kept(version, f"statement {query_id}")

    def _recorded(self, query_id: str, records: Records) -> RecordedStatement:
        statement = records(query_id)
        if statement is None:
            raise UnknownStatementError(
                f"no statement on record has the query id {query_id!r}, which {self.asked.clause} of"
                f" {self._name()} asks for",
                "look it up in query_history, column query_id",
            )
        if statement.end is None:
            raise UnknownStatementError(
                f"statement {query_id}, which {self.asked.clause} of {self._name()} asks for, has no end on"
                f" record: it is {statement.status}",
                "ask again when it has ended, or for the time that you mean: AT (TIMESTAMP => …)",
            )
        return statement

    def _written(self, statement: RecordedStatement) -> tuple[int, int] | None:
        """The first and the last version that its record says it wrote.

        Its commits carry another mark than its id where the user has set `userMetadata`, and a script's carry
        those of the statements in it.
        """
        versions = [one.version for one in self._of_this_table(statement.written)]
        return (min(versions), max(versions)) if versions else None

    def _found_by(self, statement: RecordedStatement) -> int:
        """The version that a statement found which has not changed the table."""
        found = self._at(statement.start, before=True)
        read = [one.version for one in self._of_this_table(statement.read)]
        if read:
            # It may have read an older version than there was, or one that was committed after its start.
            return max(*read, found)
        at = self.asked.clause
        version = found if at.before else self._at(statement.end or statement.start, before=False)
        if version < self.state.earliest:
            self._require_same_table((*statement.written, *statement.read), statement.query_id)
            raise self._too_early(f"statement {statement.query_id}")
        return version

    def _of_this_table(self, versions: Sequence[RecordedVersion]) -> list[RecordedVersion]:
        """Those of this very table, whatever it was called; its id was another one before a REPLACE."""
        today = object_id("TABLE", self.state.table_id)
        return [
            one
            for one in versions
            if one.object_id == today
            or (
                self.state.earliest <= one.version <= self.state.latest
                and one.object_id == object_id("TABLE", self.catalog.id_at(self.location, one.version))
            )
        ]

    def _require_same_table(self, versions: Sequence[RecordedVersion], query_id: str) -> None:
        for one in versions:
            if one.name.lower() == self._name().lower():
                raise BeforeCreationError(
                    f"statement {query_id} touched {one.name} at version {one.version}, object"
                    f" {one.object_id}; the table of that name is another one now, object"
                    f" {object_id('TABLE', self.state.table_id)}, created at {time_text(self._first())}",
                    "rename the new table and UNDROP the old one: SHOW TABLES HISTORY lists what was dropped",
                )

    def _nothing_before(self, what: str) -> BeforeCreationError:
        return BeforeCreationError(
            f"{self._name()} was created by {what}: there is nothing before it",
            f"ask for AT ({self.asked.clause.kind} => …) to have what it created",
        )

    def _since(self, query_id: str) -> int:
        """A version at or before a statement's first commit, by the time in its id (UUIDv7)."""
        return since(query_id, self.location, self.state, self.catalog)

    def _kept(self, version: int, what: str) -> int:
        """The version, if it was current at some time within the retention period; raises otherwise."""
        if version < self.state.earliest:
            raise self._too_early(what)
        if self.limits.horizon is not None and version < self.state.latest:
            # A version is current until the next one is committed.
            until = self.catalog.committed_at(self.location, self.state, version + 1)
            if until * 1000 < self.limits.horizon:
                raise self._outside(f"{what} (until {time_text(until * 1000)})")
        return version

    def _first(self) -> int:
        return self.catalog.committed_at(self.location, self.state, self.state.earliest) * 1000

    def _too_early(self, what: str) -> BeforeCreationError | OutsideRetentionError:
        first = self._first()
        if self.state.earliest == 0:
            return BeforeCreationError(
                f"{self._name()} was created at {time_text(first)}, which is after {what}",
                f"the earliest moment that can be read is {time_text(self._earliest(first))}",
            )
        return OutsideRetentionError(
            f"the log of {self._name()} no longer reaches back to {what}",
            f"the earliest moment that can be read is {time_text(self._earliest(first))}",
        )

    def _outside(self, what: str) -> OutsideRetentionError:
        return OutsideRetentionError(
            f"{what} lies outside the retention period of {self._name()}, {self.limits.days:g} days",
            f"the earliest moment that can be read is {time_text(self._earliest(self._first()))}",
        )

    def _earliest(self, first: int) -> int:
        return first if self.limits.horizon is None else max(first, self.limits.horizon)

    def _name(self) -> str:
        return quote_name(self.table.name)


def time_text(micros: int) -> str:
    """A moment as errors show it.

    >>> time_text(1719418800000000), time_text(253402300800000000)
    ('2024-06-26 16:20:00 UTC', '10000-01-01 00:00:00 UTC')
    """
    # Spark's years go from -290308 to 294247, Python's from 1 to 9999.
    cycles, rest = divmod(micros, _CYCLE)
    moment = to_datetime(rest)
    fraction = f".{moment.microsecond:06}".rstrip("0").rstrip(".")
    return f"{moment.year + 400 * cycles:04}-{moment:%m-%d %H:%M:%S}{fraction} UTC"
