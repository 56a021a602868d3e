"""From what a clause asks for to a version of one table.

In: a clause, a Delta table, the time now, the table's retention. Out: a version, or an error that names the
table, what was asked and the earliest moment that can be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.names import quote_name
from time_travel.errors import (
    BeforeCreationError,
    FutureMomentError,
    NoHistoryError,
    OutsideRetentionError,
    UnknownStatementError,
    UnknownVersionError,
    UntouchedError,
)
from time_travel.moment import offset_of, text_of, timestamp_of, version_of
from time_travel.times import moment_of

if TYPE_CHECKING:
    from time_travel.clause import Clause
    from time_travel.lake import Lake, State, Table

# Clocks of drivers and of stores differ; a commit is looked for from this long before its statement began.
_SKEW_MS = 60_000
_UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)

VersionsRead = Callable[[str], "Mapping[str, int] | None"]
"""The versions that a statement read, by location-free name in lower case; None for an unknown query id."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A clause evaluated: one of the four is given."""

    clause: Clause
    micros: int | None = None
    query_id: str | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """What a table's versions are subject to.

    Attributes:
        horizon: before this moment nothing can be read, UTC microseconds; None for a table that is not under
            this system's rule: Delta's log decides.
        days: the retention period.
    """

    horizon: int | None = None
    days: float = 0.0


def evaluate(clause: Clause, lake: Lake, now: int, clock: Callable[[], int]) -> Asked:
    """The value of a clause.

    Args:
        clause: what is asked.
        lake: evaluates what is no literal.
        now: what an OFFSET counts from, UTC microseconds.
        clock: what a TIMESTAMP must not be after once it is evaluated.

    Raises:
        BadMomentError: no value of its kind.
        FutureMomentError: a time that is still to come.
    """
    if clause.kind == "VERSION":
        return Asked(clause, version=version_of(clause))
    if clause.kind == "STATEMENT":
        return Asked(clause, query_id=text_of(clause, lake.evaluate))
    if clause.kind == "OFFSET":
        return Asked(clause, micros=now + round(offset_of(clause, lake.evaluate) * 1_000_000))
    micros = timestamp_of(clause, lake.zone, lake.evaluate)
    if micros > (latest := clock()):
        raise FutureMomentError(
            f"{clause} of {'.'.join(clause.table)} is {show(micros)}, and now it is {show(latest)}",
            "ask for a time that has passed",
        )
    return Asked(clause, micros=micros)


def version_for(asked: Asked, table: Table, lake: Lake, rule: Rule, versions_read: VersionsRead) -> int:
    """The version of a table at, or just before, a point.

    Raises:
        NoHistoryError: not a Delta table.
        BeforeCreationError: the table was not there.
        OutsideRetentionError: the retention period does not reach back that far.
        UnknownVersionError: a number that it does not have.
        UnknownStatementError: a query id that is not on record.
        UntouchedError: a statement that neither wrote nor read this table.
    """
    state = lake.state(table.location) if table.location and table.provider == "delta" else None
    if state is None or table.location is None:
        raise NoHistoryError(
            f"{quote_name(table.name)} is a table of {table.provider} and has no versions for {asked.clause}",
            "only Delta tables keep theirs; CREATE TABLE … USING delta AS SELECT makes one of it",
        )
    look = _Look(asked, table, table.location, lake, state, rule)
    if asked.version is not None:
        return look.by_number(asked.version)
    if asked.query_id is not None:
        return look.by_statement(asked.query_id, versions_read)
    return look.by_time(asked.micros or 0)


def has_written(query_id: str, table: Table, lake: Lake) -> bool:
    """Whether a statement has made a version of a table."""
    location = table.location or ""
    state = lake.state(location)
    if state is None:
        return False
    return lake.written_by(location, state, query_id, since(query_id, location, state, lake)) is not None


def since(query_id: str, location: str, state: State, lake: Lake) -> int:
    """A version from which on a statement's commits stand; its id tells when it began."""
    found = _UUID7.fullmatch(query_id)
    if found is None:
        return state.earliest
    return lake.version_at(location, state, int(found[1] + found[2], 16) - _SKEW_MS)


def began(query_id: str) -> int:
    """When a statement began, by its id, in UTC microseconds.

    >>> began("01905b8e-c280-7000-8000-000000000000")
    1719523000960000

    Raises:
        UnknownStatementError: not an id of this system.
    """
    found = _UUID7.fullmatch(query_id)
    if found is None:
        raise UnknownStatementError(
            f"{query_id!r} is no query id of this system", "look it up in query_history, column query_id"
        )
    return int(found[1] + found[2], 16) * 1000


@dataclass(frozen=True, slots=True)
class _Look:
    asked: Asked
    table: Table
    location: str
    lake: Lake
    state: State
    rule: Rule

    def by_time(self, micros: int) -> int:
        # BEFORE a moment is the state without the commits of that millisecond.
        millis = -(-micros // 1000) - 1 if self.asked.clause.before else micros // 1000
        version = self.lake.version_at(self.location, self.state, millis)
        if version < self.state.earliest:
            raise self._too_early(show(micros))
        if self.rule.horizon is not None and micros < self.rule.horizon:
            raise self._outside(show(micros))
        return version

    def by_number(self, version: int) -> int:
        if not self.state.earliest <= version <= self.state.latest:
            raise UnknownVersionError(
                f"{self._name()} has no version {version}",
                f"it has {self.state.earliest} to {self.state.latest}",
            )
        if not self.asked.clause.before:
            return self._kept(version, f"version {version}")
        if version == 0:
            raise self._nothing_before("version 0")
        return self._kept(version - 1, f"version {version - 1}")

    def by_statement(self, query_id: str, versions_read: VersionsRead) -> int:
        written = self.lake.written_by(self.location, self.state, query_id, self._since(query_id))
        before = self.asked.clause.before
        if written is None:
            return self._kept(self._version_read(query_id, versions_read), f"statement {query_id}")
        version = written[0] - 1 if before else written[1]
        if version < 0:
            raise self._nothing_before(f"statement {query_id}")
        return self._kept(version, f"statement {query_id}")

    def _nothing_before(self, what: str) -> BeforeCreationError:
        return BeforeCreationError(
            f"{self._name()} was created by {what}: there is nothing before it",
            f"ask for AT ({self.asked.clause.kind} => …) to have what it created",
        )

    def _version_read(self, query_id: str, versions_read: VersionsRead) -> int:
        read = versions_read(query_id)
        if read is None:
            raise UnknownStatementError(
                f"no statement on record has the query id {query_id!r}, which {self.asked.clause} of"
                f" {self._name()} asks for",
                "look it up in query_history, column query_id",
            )
        version = read.get(quote_name(self.table.name).lower())
        if version is None:
            raise UntouchedError(
                f"statement {query_id} neither changed nor read {self._name()}",
                "object_versions in access_history says what a statement touched",
            )
        return version

    def _since(self, query_id: str) -> int:
        """A version from which on a statement's commits stand; its id tells when it began."""
        return since(query_id, self.location, self.state, self.lake)

    def _kept(self, version: int, what: str) -> int:
        """A version, if it was the table's state at some time within the retention period."""
        if version < self.state.earliest:
            raise self._too_early(what)
        if self.rule.horizon is not None and version < self.state.latest:
            until = self.lake.committed_at(self.location, self.state, version + 1)
            if until * 1000 < self.rule.horizon:
                raise self._outside(f"{what} (until {show(until * 1000)})")
        return version

    def _first(self) -> int:
        return self.lake.committed_at(self.location, self.state, self.state.earliest) * 1000

    def _too_early(self, what: str) -> BeforeCreationError | OutsideRetentionError:
        first = self._first()
        if self.state.earliest == 0:
            return BeforeCreationError(
                f"{self._name()} was created at {show(first)}, which is after {what}",
                f"the earliest moment that can be read is {show(self._earliest(first))}",
            )
        return OutsideRetentionError(
            f"the log of {self._name()} no longer reaches back to {what}",
            f"the earliest moment that can be read is {show(self._earliest(first))}",
        )

    def _outside(self, what: str) -> OutsideRetentionError:
        return OutsideRetentionError(
            f"{what} lies outside the retention period of {self._name()}, {self.rule.days:g} days",
            f"the earliest moment that can be read is {show(self._earliest(self._first()))}",
        )

    def _earliest(self, first: int) -> int:
        return first if self.rule.horizon is None else max(first, self.rule.horizon)

    def _name(self) -> str:
        return quote_name(self.table.name)


def show(micros: int) -> str:
    """A moment as the errors say it.

    >>> show(1719418800000000)
    '2024-06-26 16:20:00 UTC'
    """
    text = moment_of(micros).strftime("%Y-%m-%d %H:%M:%S.%f").rstrip("0").rstrip(".")
    return f"{text} UTC"
