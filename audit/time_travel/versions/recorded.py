"""The values of a statement on record: its text, its current schema, the versions that it read and wrote.

In: what `audit.store.records.versions` reads. Out: `RecordedStatement`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordedVersion:
    """A version of a table that a statement read or wrote.

    Attributes:
        name: of the table at that time, in full.
        version: as Delta counts.
        object_id: of the record, which a rename keeps; None if not recorded.
    """

    name: str
    version: int
    object_id: int | None


@dataclass(frozen=True, slots=True)
class RecordedStatement:
    """A statement of query_history and access_history.

    Attributes:
        query_id: its id.
        text: as the user wrote it; for a DataFrame's action the call and its plan.
        action: the Python call that ran it.
        status: SUCCESS or another.
        current: the current catalog and schema.
        start: UTC microseconds.
        end: UTC microseconds; None for a statement that has not ended, or whose end nobody has seen.
        read: the versions that it read; a table may have several.
        written: the versions that it wrote, and those of statements that it ran.
    """

    query_id: str
    text: str
    action: str
    status: str
    current: tuple[str, str]
    start: int
    end: int | None = None
    read: tuple[RecordedVersion, ...] = ()
    written: tuple[RecordedVersion, ...] = ()


Records = Callable[[str], RecordedStatement | None]
"""Gives the recorded statement of a query id; None for an unknown one."""
