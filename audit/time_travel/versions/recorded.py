"""The values of a statement on record: its text, its current schema, the versions that it read.

In: what `audit.store.versions` reads. Out: `RecordedStatement`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionRead:
    """A version of a table that a statement read.

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
        versions: the versions that it read; a table may have several.
    """

    query_id: str
    text: str
    action: str
    status: str
    current: tuple[str, str]
    start: int
    versions: tuple[VersionRead, ...]

    def newest(self) -> dict[str, int]:
        """The newest version that it read of each table, by name in lower case.

        >>> two = VersionRead("c.s.T", 3, None), VersionRead("c.s.T", 1, None)
        >>> RecordedStatement("q", "SELECT 1", "", "SUCCESS", ("c", "s"), 0, two).newest()
        {'c.s.t': 3}
        """
        # The later of two equal keys stays in a dictionary: the newest version.
        in_order = sorted(self.versions, key=lambda read: read.version)
        return {read.name.lower(): read.version for read in in_order}


Records = Callable[[str], RecordedStatement | None]
"""Gives the recorded statement of a query id; None for an unknown one."""
