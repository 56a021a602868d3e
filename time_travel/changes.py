"""What statements on record have written, and from what: the lineage that a plan to undo one follows.

In: a query id. Out: `Change`s, that statement's and all later ones', as the audit tables have them. Names are
fully qualified; ids are those of the records, which a rename keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from time_travel.point import show


@dataclass(frozen=True, slots=True)
class Source:
    """A table that a statement read for what it wrote; `version` is None where it is not on record."""

    name: str
    object_id: int | None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """An object that a statement wrote.

    Attributes:
        name: in full.
        object_id: its id then.
        domain: Table, VIEW, STAGE ….
        overwrites: nothing stayed of what was in it.
        version: that it made, None where it is not on record.
        sources: what was read for it.
    """

    name: str
    object_id: int | None
    domain: str
    overwrites: bool = False
    version: int | None = None
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Defined:
    """An object that a statement of DDL was about; `operation` is CREATE, REPLACE, ALTER, DROP, UNDROP …."""

    name: str
    object_id: int | None
    domain: str
    operation: str


@dataclass(frozen=True, slots=True)
class Change:
    """A statement on record.

    Attributes:
        query_id: its id.
        time: when it began, UTC microseconds.
        user: who ran it.
        kind: INSERT, MERGE, CREATE_TABLE_AS_SELECT ….
        status: SUCCESS, FAIL, RUNNING, INCOMPLETE ….
        parents: the ids of the statement that ran it, and of the topmost one.
        written: what it wrote.
        defined: what it created, altered or dropped.
        tried: the names in it, where no more is known of it.
    """

    query_id: str
    time: int
    user: str
    kind: str
    status: str
    parents: frozenset[str] = frozenset()
    written: tuple[Written, ...] = ()
    defined: Defined | None = None
    tried: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.query_id} of {self.user} at {show(self.time)}"


ChangesSince = Callable[[str], "Sequence[Change] | None"]
"""A statement and all later ones that changed something, by time; None for an unknown query id."""
