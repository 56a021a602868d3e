"""The replay: did a statement read the row of the person?

In: readings, and the versions of their tables. Out: an answer for each, with its reason. "Read" and "could
not" are said where the files and the statement's text show it, and "may have" in all other cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from audit.query.translation import to_duckdb
from audit.report.subject.condition import Conditions, Place, conditions_of, is_plain
from audit.report.subject.table_versions import Held, TableVersions, Unknown

if TYPE_CHECKING:
    from datetime import datetime

    import duckdb

    from audit.report.subject.statement import Reading

Said = Literal["read", "may have read", "could not have read"]
READ: Said = "read"
MAY: Said = "may have read"
NOT: Said = "could not have read"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the replay says of a statement and a table, and why."""

    answer: Said
    reason: str


@dataclass(frozen=True, slots=True)
class Replay:
    """The tables of a key, in all the versions that statements have read.

    Attributes:
        connection: to the DuckDB that has the rows.
        tables: by id on record.
        now: UTC without a zone.
    """

    connection: duckdb.DuckDBPyConnection
    tables: Mapping[int, TableVersions]
    now: datetime

    def look_into(self, readings: list[Reading]) -> None:
        """Look for the row in all versions that statements have read."""
        for number, table in self.tables.items():
            of = [one for one in readings if one.object_id == number]
            table.look_into(sorted({version for one in of for version in one.versions}))

    def verdict(self, reading: Reading) -> Verdict:
        """What the replay says of a statement; of several versions the one that says most."""
        if not reading.versions:
            return Verdict(MAY, "no record says which version it read")
        table = self.tables[reading.object_id]
        found = [self._of_version(reading, table.at(version)) for version in reading.versions]
        return min(found, key=lambda one: (READ, MAY, NOT).index(one.answer))

    def _of_version(self, reading: Reading, held: Held | Unknown) -> Verdict:
        if isinstance(held, Unknown):
            return Verdict(MAY, held.reason)
        if not held.rows and not reading.is_of_one_version:
            return Verdict(MAY, "the version has no such row; it may have read others, too")
        if not held.rows:
            return _absent(held, "the version has no such row")
        if not reading.is_plain:
            return Verdict(MAY, "the version has the row; a view, a function or a policy stood between")
        conditions = conditions_of(reading.text, reading.object_name, reading.text_hash, reading.named)
        if conditions.places and all(self._excludes(one, reading, held) for one in conditions.places):
            return _absent(held, "its own condition leaves the row out")
        return self._passes(conditions, reading, held)

    def _passes(self, conditions: Conditions, reading: Reading, held: Held) -> Verdict:
        has = "the version has the row"
        if conditions.reason:
            return Verdict(MAY, f"{has}; {conditions.reason}")
        (place,) = conditions.places
        if reading.hidden_by:
            return Verdict(MAY, f"{has}; {', '.join(reading.hidden_by)} may have hidden it")
        if any(_columns(one) & reading.masked for one in place.conditions):
            return Verdict(MAY, f"{has}; a column of its condition was masked")
        if not all(is_plain(one, place, held.kinds) for one in place.conditions):
            return Verdict(MAY, f"{has}; its condition is more than comparisons of columns with values")
        through = ", and its condition lets it through" if place.conditions else ", and it has no condition"
        return Verdict(READ, has + through)

    def _excludes(self, place: Place, reading: Reading, held: Held) -> bool:
        """Whether no row of the person fulfils those conditions that can be evaluated."""
        plain = [one for one in place.conditions if is_plain(one, place, held.kinds, reading.masked)]
        if not plain:
            return False
        wanted = exp.and_(*(_unqualified(one) for one in plain))
        text = exp.select("count(*)").from_(held.rows).where(wanted).sql("spark")
        [(count,)] = self.connection.execute(to_duckdb(text, self.now, {})).fetchall()
        return not count


def _absent(held: Held, reason: str) -> Verdict:
    # Further rows of the person may be in a file that is gone.
    return Verdict(NOT, reason) if held.is_whole else Verdict(MAY, "the version is no longer kept as a whole")


def _columns(condition: exp.Expr) -> set[str]:
    return {one.name.casefold() for one in condition.find_all(exp.Column)}


def _unqualified(condition: exp.Expr) -> exp.Expr:
    made = condition.copy()
    for column in made.find_all(exp.Column):
        column.set("table", None)
    return made
