"""Purge: deletes files past retention and Fail-safe, and orphaned files.

In: all tables, the time, the start of the oldest running statement. Out: the purged objects, table by table.
One plan lists the files to delete of all tables: past Fail-safe and needed by no clone, or in no log and too
old for an unfinished write. Delta's own VACUUM deletes from that list, table by table, and checks again what
the table needs. A killed purge can be run again.

"Once the fail-safe period has passed, … can't recover any of your deleted data" (Fail-safe); "A long-running
Time Travel query will delay moving any data and objects … until the query completes" (Introduction).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from audit.core.file_paths import FILE_SCHEME
from audit.spark.delta.log_errors import unreadable
from audit.spark.delta.values import Table
from audit.spark.java_errors import JVM_ERRORS
from audit.spark.sessions import new_session
from audit.time_travel.dropped.drop_registry import ObjectEvent
from audit.time_travel.retention.periods import DAY, DELTAS_LOG, days_of
from audit.time_travel.retention.set_retention import apply_retention
from audit.time_travel.retention.storage import FOREVER, StoredTable, file_lifetimes, unreadable_tables
from audit.time_travel.retention.table_properties import DELTAS_LOG_DAYS, is_pinned, owners
from lineage.names import delta_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry

_ORPHANS = 7 * DAY
"""The age from which a file in no log is orphaned: Delta's default retention of deleted files (4.4)."""
_SETTINGS = {
    # Delta's check refuses VACUUM below the table's one retention period; here each file has a period of its
    # own.
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # VACUUM START and END commits would make a new version of each table (Delta 4.4).
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class PurgedObject:
    """Deleted files of one object, or, in a dry run, files that would be deleted.

    Attributes:
        object_name: in full.
        kind: VERSIONS of an existing table; TABLE, VIEW, FUNCTION or SCHEMA that was dropped.
        files: their number.
        bytes: their size.
        kept_for_clones: bytes that only clones need; they stay.
    """

    object_name: str
    kind: str
    files: int
    bytes: int
    kept_for_clones: int = 0


@dataclass(frozen=True)
class Purge:
    """One purge.

    Attributes:
        catalog: a session of the system's own.
        registry: has the drops; takes the events.
        stored_tables: all tables.
        actor: who asks, and when.
        running_since: when the oldest running statement began, UTC microseconds; None for none.
        owns: whether a purge may delete a folder.
        unreadable: drops of tables with damaged logs, by event; they are not purged.
    """

    catalog: DeltaCatalog
    registry: DropRegistry
    stored_tables: Sequence[StoredTable]
    actor: Actor
    running_since: int | None
    owns: Callable[[ObjectEvent], bool]
    unreadable: frozenset[str] = frozenset()

    @cached_property
    def at(self) -> int:
        """The moment of the purge: the start of the oldest running statement, which may read old versions."""
        return self.actor.time if self.running_since is None else min(self.actor.time, self.running_since)

    @cached_property
    def _session(self) -> SparkSession:
        session = new_session(self.catalog.spark)
        for key, value in _SETTINGS.items():
            session.conf.set(key, value)
        return session

    @cached_property
    def _fates(self) -> DataFrame:
        """Each file in a log, whether it is past Fail-safe, and whether it was not at the last purge."""
        # Not cached by Spark: CacheManager (4.2) recomputes cached plans whenever a table in them changes.
        return self._session.sql(
            """SELECT {fates}.*, coalesce(went, gone) <= until AS is_past,
                      coalesce(went, gone) > done AS is_new
               FROM {fates} LEFT JOIN {limits} ON owner = no""",
            fates=file_lifetimes(self._session, self.stored_tables),
            limits=self._limits,
            # Computed once: several statements read it, and the logs may grow meanwhile.
        ).localCheckpoint()

    @cached_property
    def _limits(self) -> DataFrame:
        """By table: when it was dropped, the end of Fail-safe, and the moment up to which it is purged."""
        rows = []
        for number, one in enumerate(self.stored_tables):
            gone, until = None, one.horizons(self.at)[1] // 1000 if one.has_retention else -1
            if one.dropped is not None:
                gone = one.dropped.time // 1000
                # The Fail-safe of a dropped table ends for all its versions at once.
                until = FOREVER if one.dropped.kept_until <= self.at else -1
            rows.append((number, one.root, gone, until, one.purged[0] // 1000, self._is_unswept(one)))
        columns = "no INT, root STRING, gone BIGINT, until BIGINT, done BIGINT, is_unswept BOOLEAN"
        return self._session.createDataFrame(rows, columns)

    def _is_unswept(self, one: StoredTable) -> bool:
        return one.dropped is None and one.has_retention and one.purged[1] <= self.actor.time - _ORPHANS

    @cached_property
    def _files_to_delete(self) -> DataFrame:
        """The single files to delete: owner, path, size; whole folders are deleted separately."""
        # max_by(no, length(root)): the longest root wins, as a table may lie in the folder of another.
        return self._session.sql(
            f"""WITH listed AS (
                  SELECT /*+ BROADCAST(t) */ path, max(length) AS size, max_by(no, length(root)) AS owner,
                         max_by(is_unswept, length(root)) AS is_unswept
                  FROM {{files}} JOIN {{limits}} t ON startswith(path, concat(root, '/'))
                  WHERE unix_micros(modificationTime) < {self.at - _ORPHANS} GROUP BY path
                )
                SELECT owner, file AS path, size FROM {{fates}}
                WHERE is_past AND is_new AND others <= {self.at // 1000}
                UNION ALL
                SELECT owner, path, size FROM listed ANTI JOIN {{fates}} ON file = path
                WHERE is_unswept""",  # noqa: S608  numbers of our own
            files=self._files(),
            fates=self._fates,
            limits=self._limits,
        ).localCheckpoint()

    def _files(self) -> DataFrame:
        """All files in the folders to purge: path, length, modificationTime."""
        places = [one.location for one in self.stored_tables if self._is_unswept(one)]
        if not places:
            return self._session.createDataFrame([], "path STRING, length BIGINT, modificationTime TIMESTAMP")
        # binaryFile lists path, length and time; its column `content` is not read, so no file is opened.
        reader = self._session.read.format("binaryFile").option("recursiveFileLookup", "true")
        return (
            # An internal option of Spark's file sources (4.2, DataSource.GLOB_PATHS_KEY): a path with `[` or
            # `*` is literal.
            reader.option("__globPaths__", "false")
            .load(places)
            .selectExpr(
                f"regexp_replace(path, '{FILE_SCHEME}', 'file:') AS path", "length", "modificationTime"
            )
        )

    @cached_property
    def _due(self) -> dict[int, Any]:
        """By table: the files to delete, the bytes that only clones need, and whether clones need any."""
        if not self.stored_tables:
            return {}
        rows = self._session.sql(
            f"""SELECT no, coalesce(files, 0) AS files, coalesce(size, 0) AS size,
                       coalesce(cloned, 0) AS cloned, coalesce(is_cloned, false) AS is_cloned
                FROM {{limits}}
                LEFT JOIN (SELECT owner AS no, count(*) AS files, sum(size) AS size
                           FROM {{doomed}} GROUP BY owner) USING (no)
                LEFT JOIN (SELECT owner AS no, max(true) AS is_cloned, sum(IF(is_past, size, 0)) AS cloned
                           FROM {{fates}} WHERE others > {self.at // 1000} GROUP BY owner) USING (no)""",  # noqa: S608
            doomed=self._files_to_delete,
            fates=self._fates,
            limits=self._limits,
        ).collect()
        return {row.no: row for row in rows}

    def run(self, *, dry: bool, progress: Callable[[int, int], None]) -> Iterator[PurgedObject]:
        """Purge, or list the files of a dry run; yields each table when it is done.

        Args:
            dry: delete nothing, change nothing.
            progress: told how many tables are done, and of how many.
        """
        self._refuse_damaged()
        half = self.registry.state(self.catalog).half_purged
        going = self._folders_to_delete()
        gone: list[ObjectEvent] = []
        swept: list[ObjectEvent] = []
        try:
            if not dry:
                # Written first: a table whose folder is partly deleted must not be restored any more.
                self._tell(self._about("PURGING", going.values()))
            for event in half:
                yield from self._finish_interrupted(event, gone, dry=dry)
            for number, one in enumerate(self.stored_tables):
                progress(number, len(self.stored_tables))
                if one.dropped is None:
                    yield from self._purge_versions(number, one, swept, dry=dry)
                elif number in going:
                    yield self._delete_folder(number, one, one.dropped, gone, dry=dry)
                elif one.dropped.kept_until <= self.at:
                    yield from self._all_but_needed(number, one, swept, dry=dry)
            yield from self._drops_without_files(gone)
            progress(len(self.stored_tables), len(self.stored_tables))
        finally:
            if not dry:
                self._tell([*self._about("PURGED", gone), *swept])

    def _purge_versions(
        self, number: int, one: StoredTable, swept: list[ObjectEvent], *, dry: bool
    ) -> Iterator[PurgedObject]:
        """Delete the files of old versions, and of unfinished writes."""
        if not one.has_retention:
            return
        due, until = self._due[number], one.horizons(self.at)[1]
        if not dry:
            if due.files:
                self._vacuum(number, one, until)
            if due.files or self._is_unswept(one):
                swept.append(self._purged_event(one, until))
            if not (is_pinned(one.log["properties"]) and due.is_cloned):
                self._shorten_delta_periods(one)
            self._clean_log(one, until)
        if due.files:
            yield PurgedObject(".".join(one.name), "VERSIONS", due.files, due["size"], due.cloned)

    def _vacuum(self, number: int, one: StoredTable, until: int) -> None:
        """Run Delta's VACUUM over the listed files; it keeps those that the table needs."""
        inventory = self._session.sql(
            # nullif makes the columns nullable, as the schema that Delta (4.4) demands of an inventory.
            f"""SELECT nullif(path, '') AS path, nullif(size, -1L) AS length, nullif(false, true) AS isDir,
                       nullif(0L, -1L) AS modificationTime
                FROM {{doomed}} WHERE owner = {number}""",  # noqa: S608  a number of our own
            doomed=self._files_to_delete,
        )
        self.catalog.within(self._session).vacuum(one.location, until // 1000, inventory)

    def _shorten_delta_periods(self, one: StoredTable) -> None:
        """Set Delta's properties to the periods in force, after files of a longer former period are gone."""
        table = Table(one.name, one.location, "delta", managed=False)
        apply_retention(self._session, self.catalog, table, one.periods, self.at, unpin=True)

    def _clean_log(self, one: StoredTable, until: int) -> None:
        """Delete what Delta would delete of the log by itself, but for what was current at `until`."""
        if int(one.log["checkpoint_version"]) > 0:  # Delta deletes nothing that no checkpoint replaces
            own = owners(one.log["properties"], is_kept=True).get(DELTAS_LOG, "")
            days = max(DELTAS_LOG_DAYS, days_of(own))
            self.catalog.within(self._session).clean_log(
                one.location, min(until, self.at - round(days * DAY)) // 1000
            )

    def _refuse_damaged(self) -> None:
        try:
            _ = self._due
        except JVM_ERRORS:
            for number, error in unreadable_tables(self._session, self.stored_tables).items():
                one = self.stored_tables[number]
                raise unreadable(one.location, error, one.name) from error
            raise

    def _folders_to_delete(self) -> dict[int, ObjectEvent]:
        """Dropped tables whose folders can be deleted: no clone needs a file, and no table lies inside."""
        going: dict[int, ObjectEvent] = {}
        staying: list[str] = []
        # Longest first: whether a folder can go depends on the tables inside it.
        for number, one in sorted(enumerate(self.stored_tables), key=lambda pair: -len(pair[1].root)):
            # A sorted list: the first root at or after this one's folder lies inside, if any does.
            first = bisect_left(staying, f"{one.root}/")
            holds_another = first < len(staying) and staying[first].startswith(f"{one.root}/")
            is_needed = holds_another or self._due[number].is_cloned
            if one.dropped is not None and one.dropped.kept_until <= self.at and not is_needed:
                going[number] = one.dropped
            else:
                insort(staying, one.root)
        return going

    def _delete_folder(
        self, number: int, one: StoredTable, event: ObjectEvent, gone: list[ObjectEvent], *, dry: bool
    ) -> PurgedObject:
        """Delete the folder of a dropped table, unless the user chose its location."""
        is_own, due = self.owns(event), self._due[number]
        if is_own and not dry:
            self.catalog.delete(one.location)
        gone.append(event)
        # A folder that the user chose is left alone, and the drop is forgotten.
        files, size = (due.files, due["size"]) if is_own else (0, 0)
        return PurgedObject(".".join(one.name), "TABLE", files, size)

    def _finish_interrupted(
        self, event: ObjectEvent, gone: list[ObjectEvent], *, dry: bool
    ) -> Iterator[PurgedObject]:
        """Delete the rest of folders that a killed purge was deleting."""
        place = event.location
        taken = {one.location for one in self.stored_tables} | {one.root for one in self.stored_tables}
        if place is not None and place not in taken and self.owns(event):
            files, size = self.catalog.amount(place)
            if files and not dry:
                self.catalog.delete(place)
            if files:
                yield PurgedObject(".".join(event.name), event.domain, files, size)
        gone.append(event)

    def _all_but_needed(
        self, number: int, one: StoredTable, swept: list[ObjectEvent], *, dry: bool
    ) -> Iterator[PurgedObject]:
        """Delete the files of a dropped table that clones do not need; its log stays."""
        due = self._due[number]
        if not due.files or one.dropped is None or not self.owns(one.dropped):
            return
        if not dry:
            # Removed in the log as well, so that the log lists the files that clones need.
            self._session.sql(f"DELETE FROM {delta_path(one.location)}")  # noqa: S608  a path of our own, quoted
            now = self.catalog.described(one.location)
            # VACUUM keeps files that were removed after its moment: it must be later than the DELETE.
            until = max(self.at, (0 if now is None else now["changed"]) * 1000) + 1000
            self._vacuum(number, one, until)
            swept.append(self._purged_event(one, until))
        yield PurgedObject(".".join(one.name), "TABLE", due.files, due["size"], due.cloned)

    def _drops_without_files(self, gone: list[ObjectEvent]) -> Iterator[PurgedObject]:
        """Drops without files: views, functions, schemas, and tables whose folders are gone."""
        unpurged = {one.dropped.event_id for one in self.stored_tables if one.dropped is not None}
        alive = {one.location for one in self.stored_tables if one.dropped is None}
        for event in self.registry.state(self.catalog).dropped:
            is_known = event.event_id in unpurged | self.unreadable or not alive.isdisjoint(event.places)
            if event.kept_until <= self.at and not is_known:
                gone.append(event)
                yield PurgedObject(".".join(event.name), event.domain, 0, 0)

    def _purged_event(self, one: StoredTable, until: int) -> ObjectEvent:
        actor = self.actor
        return ObjectEvent(
            actor.time, "PURGED_VERSIONS", actor.new_id(), "TABLE", one.name, object_id=one.log["id"],
            location=one.location, user=actor.user, query_id=actor.query_id, details={"until": until},
        )  # fmt: skip

    def _about(self, kind: str, drops: Iterable[ObjectEvent]) -> list[ObjectEvent]:
        return [
            replace(
                of, time=self.actor.time, event=kind, event_id=self.actor.new_id(), of_event=of.event_id,
                user=self.actor.user, query_id=self.actor.query_id, details={},
            )
            for of in drops
        ]  # fmt: skip

    def _tell(self, events: Sequence[ObjectEvent]) -> None:
        if events:
            self.registry.append(self.catalog, events)
