"""A version of a Delta table as a whole table in a folder of this machine: its log, and its files by name.

In: a location, a version, an empty folder. Out: a log of one commit there, and a file of pairs: each file of
the version, and its path in the folder. Who asks links or copies them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from audit.spark.delta.delta_java import InSession
from audit.spark.delta.log_errors import readable_log


@dataclass(frozen=True, slots=True)
class NewTable:
    """What a copy has that is a table of its own.

    Attributes:
        table_id: Delta's id.
        time: of its first commit, UTC microseconds.
        of_version: what its history says that it is a copy of.
        properties: beside the source's; those of retention are not taken from the source.
        query_id: of the statement that makes it; None outside of one.
    """

    table_id: str
    time: int
    of_version: int
    properties: Mapping[str, str] = field(default_factory=dict)
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class CopiedVersion:
    """A version whose files were listed.

    Attributes:
        table_id: Delta's id of the source at that version.
        version: its number.
        time: when it was made, UTC microseconds.
        files: number of its data files.
        bytes: of its data files and of their deletion vectors.
    """

    table_id: str
    version: int
    time: int
    files: int
    bytes: int


class TableCopies(InSession):
    """Copies of Delta tables, made through a session."""

    def copy_log(
        self,
        source: str,
        version: int | None,
        name: str,
        folder: Path,
        pairs: Path,
        new: NewTable | None = None,
    ) -> CopiedVersion:
        """Write the log of a copy, and the pairs of its files.

        Args:
            source: the location of a Delta table.
            version: of it; None for the newest.
            name: what the copy's history says that it is a copy of.
            folder: of the copy; nobody reads there yet.
            pairs: the file to write, with a line of JSON for each file: where it lies, a path of this machine
                or a URI, and its path in the folder.
            new: makes it a table of its own; None for the same table, with its id, properties and row ids.

        Raises:
            UnreadableTableError: the source's log is damaged, or does not have the version.
        """
        given = None
        if new is not None:
            given = {
                "id": new.table_id, "of": new.of_version, "time": new.time // 1000,
                "properties": dict(new.properties), "mark": new.query_id,
            }  # fmt: skip
        number = -1 if version is None else version
        with readable_log(source):
            found = self._java.copies.copy(
                self._session, source, number, name, str(folder), str(pairs), json.dumps(given)
            )
        return _copied(found)

    def list_copies(self, source: str, version: int | None, folder: Path, pairs: Path) -> CopiedVersion:
        """As `copy_log`, for a table that is there and gets the files by `clone`: no log is written.

        Raises:
            UnreadableTableError: as `copy_log`.
        """
        number = -1 if version is None else version
        with readable_log(source):
            return _copied(self._java.copies.list(self._session, source, number, str(folder), str(pairs)))


def _copied(text: str) -> CopiedVersion:
    found = json.loads(text)
    return CopiedVersion(found["id"], found["version"], found["time"] * 1000, found["files"], found["bytes"])
