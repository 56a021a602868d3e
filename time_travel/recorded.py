"""A statement as it is on record: its text, where its names resolved, the versions that it read.

In: what the audit's tables hold of it. Out: `Recorded`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionRead:
    """A version of a table that a statement has read.

    Attributes:
        name: of the table at that time, in full.
        version: as Delta counts.
        object_id: what a rename keeps; None where it is not on record.
    """

    name: str
    version: int
    object_id: int | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """A statement of query_history and access_history.

    Attributes:
        query_id: its id.
        text: as the user wrote it; of a DataFrame's action the call and its plan.
        action: the Python call that ran it.
        status: SUCCESS or another.
        current: the catalog and schema in force.
        start: UTC microseconds.
        versions: what it read; one table may be there with several.
    """

    query_id: str
    text: str
    action: str
    status: str
    current: tuple[str, str]
    start: int
    versions: tuple[VersionRead, ...]

    def newest(self) -> dict[str, int]:
        """The version that it read of each table, by name in lower case; the newest of several.

        >>> two = VersionRead("c.s.T", 3, None), VersionRead("c.s.T", 1, None)
        >>> Recorded("q", "SELECT 1", "", "SUCCESS", ("c", "s"), 0, two).newest()
        {'c.s.t': 3}
        """
        in_order = sorted(self.versions, key=lambda read: read.version)
        return {read.name.lower(): read.version for read in in_order}


Records = Callable[[str], Recorded | None]
"""What is on record of a query id; None for an unknown one."""
