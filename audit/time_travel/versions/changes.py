"""The writes of recorded statements with their sources: the lineage that an undo plan follows.

In: a query id. Out: `RecordedChange`s of that statement and all later ones, from the audit tables. Names are
fully qualified; ids are those of the records, which a rename keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.time_travel.versions.version_lookup import time_text


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table that a statement read for what it wrote; `version` is None where it is not on record."""

    name: str
    object_id: int | None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object that a statement wrote.

    Attributes:
        name: in full.
        object_id: its id then.
        domain: Table, VIEW, STAGE ….
        overwrites: no earlier row stayed.
        version: the version that it committed; None if not recorded.
        sources: the tables that were read for it.
    """

    name: str
    object_id: int | None
    domain: str
    overwrites: bool = False
    version: int | None = None
    sources: tuple[ReadTable, ...] = ()


@dataclass(frozen=True, slots=True)
class DdlObject:
    """The object of a DDL statement; `operation` is CREATE, REPLACE, ALTER, DROP, UNDROP …."""

    name: str
    object_id: int | None
    domain: str
    operation: str


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A recorded statement.

    Attributes:
        query_id: its id.
        time: when it began, UTC microseconds.
        user: who ran it.
        kind: INSERT, MERGE, CREATE_TABLE_AS_SELECT ….
        status: SUCCESS, FAIL, RUNNING, INCOMPLETE ….
        parents: the ids of the statement that ran it, and of the topmost one.
        written: the objects that it wrote.
        defined: the objects that it created, altered or dropped.
        tried: the names in its text, if nothing else is known.
    """

    query_id: str
    time: int
    user: str
    kind: str
    status: str
    parents: frozenset[str] = frozenset()
    written: tuple[WrittenObject, ...] = ()
    defined: DdlObject | None = None
    tried: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.query_id} of {self.user} at {time_text(self.time)}"


ChangesSince = Callable[[str], "Sequence[RecordedChange] | None"]
"""Gives a statement and all later ones that changed something, by time; None for an unknown query id."""
