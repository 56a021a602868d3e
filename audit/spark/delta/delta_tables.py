"""Delta tables by their location: versions, times, properties, sizes, clones.

In: locations. Out: versions and what Delta's log says of them. Delta counts times in milliseconds.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from audit.spark.delta.commits import Commit
from audit.spark.delta.delta_java import InSession
from audit.spark.delta.log_errors import readable_log
from audit.spark.delta.values import DeltaTableState, NewCopy, Table, TableSize
from lineage.names import quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEPT_SIZES = 10_000
ClonedFiles = Literal["shared", "copied", "there"]
"""What becomes of the files of a clone: it shares them, gets copies, or somebody has copied them already,
under the names of `TableCopies.list_copies`."""


class DeltaTables(InSession):
    """Delta tables, read through a session."""

    def state(self, location: str) -> DeltaTableState | None:
        """The versions of what lies at a location; None where it is no Delta table.

        Raises:
            UnreadableTableError: its log is damaged.
        """
        with readable_log(location):
            text = self._java.commits.state(self._session, location)
        if not text:
            return None
        table_id, latest, earliest, timed = text.split()
        return DeltaTableState(table_id, int(latest), int(earliest), int(timed))

    def place_of(self, places: Iterable[str], first: str) -> str:
        """Of the places where a Delta table may lie the one where it does; the first where none has one."""
        found = (place for place in (first, *places) if self.state(place) is not None)
        return next(found, first)

    def committed_at(self, location: str, state: DeltaTableState, version: int) -> int:
        """When a version was made, in milliseconds; -1 where its commit is gone."""
        return int(self._java.commits.time(self._session, location, version, version >= state.timed))

    def version_at(self, location: str, state: DeltaTableState, millis: int) -> int:
        """The newest version made by a time, in milliseconds; one below the earliest where there is none."""
        # With in-commit timestamps from the first commit on, some commits are opened by their names. Else
        # Delta (4.4) goes by the times of files and corrects those that do not grow: it is asked itself.
        if state.timed <= state.earliest:
            first = state.earliest
            return int(self._java.commits.lastBy(self._session, location, first, state.latest, millis))
        # For a time before the first commit, Delta would give the first one.
        if millis < self.committed_at(location, state, state.earliest):
            return state.earliest - 1
        return int(self._java.commits.delta(self._session, location, millis))

    def written_by(
        self, location: str, state: DeltaTableState, query_id: str, since: int
    ) -> tuple[int, int] | None:
        """The first and the last version that carry a statement's id, looked for from a version on."""
        low = max(since, state.earliest)
        text = self._java.commits.written(self._session, location, low, state.latest, query_id)
        if not text:
            return None
        first, last = text.split()
        return int(first), int(last)

    def commits(self, location: str, first: int, last: int) -> list[Commit]:
        """The commits of a Delta table between two versions, in order; those that are gone are missing."""
        found = json.loads(self._java.commits.commits(self._session, location, first, last))
        return [
            Commit(
                version,
                millis * 1000,
                operation,
                query_id,
                # Delta keeps it as JSON: null for a RESTORE to a time.
                None if restored in (None, "null") else int(restored),
            )
            for version, millis, operation, query_id, restored in found
        ]

    def id_at(self, location: str, version: int) -> str:
        """Delta's own id of a table at a version; a REPLACE gives it another."""
        return str(self._java.commits.id(self._session, location, version))

    def reason_not_restorable(self, location: str, version: int, *, enforced: bool) -> str:
        """Why a version cannot be restored, "" where it can; a Spark job, and a look for each file.

        Args:
            location: of a Delta table.
            version: as `state` has seen it last, or older.
            enforced: Delta itself (4.4) restores nothing that was committed before its files' retention.
        """
        return str(self._java.commits.lost(self._session, location, version, enforced))

    def properties(self, location: str, prefix: str, version: int | None = None) -> dict[str, str]:
        """Those of a Delta table that begin with a prefix: of a version, or as `state` has seen it last."""
        with readable_log(location):
            text = (
                self._java.commits.properties(self._session, location, prefix)
                if version is None
                else self._java.commits.propertiesAt(self._session, location, version, prefix)
            )
        pairs = (line.partition("=") for line in text.splitlines())
        return {name: value for name, _, value in pairs}

    def size(self, location: str) -> TableSize:
        """How large the newest version of a Delta table is, and how it lies; a Spark job for each new one."""
        state = self.state(location)
        version = (state.table_id, state.latest) if state is not None else ("", 0)
        # A version never changes, so a size that is cached stays true.
        if version not in self._java.sizes:
            with readable_log(location):
                numbers, _, columns = self._java.commits.size(self._session, location).partition("\n")
            size, rows, created = map(int, numbers.split())
            if len(self._java.sizes) >= _KEPT_SIZES:
                self._java.sizes.clear()
            self._java.sizes[version] = TableSize(size, rows if rows >= 0 else None, created * 1000, columns)
        return self._java.sizes[version]

    def described(self, location: str) -> dict[str, Any] | None:
        """What `TableFiles.java` says of a Delta table and of its log's files; None where none lies.

        Raises:
            UnreadableTableError: its log is damaged.
        """
        with readable_log(location):
            found: dict[str, Any] | None = json.loads(self._java.logs.described(self._session, location))
        return found

    def vacuum(self, location: str, millis: int, inventory: DataFrame) -> None:
        """Delta's VACUUM as of a moment, over some of a table's files.

        Args:
            location: of the table.
            millis: what was replaced later than this stays, and so does what was written later.
            inventory: path, length, isDir, modificationTime; what is not in it stays, too.
        """
        self._java.logs.vacuum(self._session, location, millis, inventory._jdf)

    def clean_log(self, location: str, millis: int) -> None:
        """Delete from a table's log what no version needs that was current at a moment, or came later.

        Args:
            location: of the table.
            millis: the moment, by the clock of the files.

        Raises:
            Py4JJavaError: the store refuses.
        """
        self._java.logs.cleanLog(self._session, location, millis)

    def amount(self, location: str) -> tuple[int, int]:
        """Files and bytes in a folder and below it; zeros where there is none."""
        files, size = str(self._java.logs.amount(self._session, location)).split()
        return int(files), int(size)

    def delete(self, location: str) -> None:
        """Delete a folder with all that is in it.

        Raises:
            Py4JJavaError: the store refuses.
        """
        self._java.logs.delete(self._session, location)

    def clone(
        self,
        source: Table,
        version: int | None,
        target: str,
        overrides: Mapping[str, str],
        *,
        name: tuple[str, ...] | None,
        files: ClonedFiles,
    ) -> dict[str, int]:
        """Commit the files of a version at another location.

        Args:
            source: a Delta table with a location.
            version: None for the newest.
            target: of a Delta table, which is replaced, or of nothing yet.
            overrides: properties of the clone beside the source's.
            name: of the clone in full; None: it has its source's policies already.
            files: what becomes of them.

        Returns:
            The metrics of Delta's CLONE by name, in files and bytes.
        """
        there, here = self.state(target), self.state(source.location or "")
        identity = str(uuid.uuid4()) if there is None else there.table_id
        if here is not None and name is not None:
            of = (
                here.table_id
                if version is None
                else self._java.clones(self.spark.sparkContext).idAt(self._session, source.location, version)
            )
            # Now, and not after the commit: at no moment is the clone without its source's policies.
            self._java.cloned(NewCopy(of, identity, name, target, version is not None))
        number, of_name = -1 if version is None else version, quote_name(source.name)
        given = json.dumps(dict(overrides))
        run = self._java.clones(self.spark.sparkContext).run
        metrics: dict[str, int] = json.loads(
            run(self._session, source.location, number, of_name, target, identity, given, files, False)  # noqa: FBT003  Java's
        )
        return metrics

    def replace(self, source: str, target: str, overrides: Mapping[str, str]) -> None:
        """Commit all of a Delta table in the place of another, at once; it keeps its id.

        Args:
            source: the location of the one.
            target: of the other.
            overrides: properties beside the one's.
        """
        state = self.state(source)
        identity, name = "" if state is None else state.table_id, quote_name(("delta", source))
        given, run = json.dumps(dict(overrides)), self._java.clones(self.spark.sparkContext).run
        run(self._session, source, -1, name, target, identity, given, "copied", True)  # noqa: FBT003  Java's

    def set_properties(self, location: str, properties: Mapping[str, str | None]) -> None:
        """Set properties of a Delta table in one commit, without a statement of Spark's; None unsets one."""
        self._java.clones(self.spark.sparkContext).set(self._session, location, json.dumps(dict(properties)))

    def forget(self, location: str) -> None:
        """Let go of what Delta remembers of a table: some megabytes each."""
        self._java.clones(self.spark.sparkContext).forget(self._session, location)

    def schema(self, location: str, version: int | None) -> str:
        """The columns of a version as JSON; None for the newest, as `state` has seen it last."""
        return str(self._java.commits.schema(self._session, location, -1 if version is None else version))
