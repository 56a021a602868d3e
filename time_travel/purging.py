"""Purge: what is past retention and Fail-safe, and what nothing needs, goes for good.

In: all tables, the time, the beginning of the oldest statement that still runs. Out: what goes, table by
table. Delta's own VACUUM deletes, and looks for itself at what the table needs; here is decided as of which
moment, and which files it may not even see: those that a clone needs, and those that no log knows and that
are young enough to be somebody's unfinished write. Killed half-way it is run again.

"Once the fail-safe period has passed, … can't recover any of your deleted data" (Fail-safe); "A long-running
Time Travel query will delay moving any data and objects … until the query completes" (Introduction).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from time_travel.damage import JVM_ERRORS, unreadable
from time_travel.lake import Table
from time_travel.registry import Event
from time_travel.retention import DAY, is_pinned
from time_travel.setting import follow
from time_travel.storage import FOREVER, Holding, damaged, fates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from time_travel.by import By
    from time_travel.lake import Lake
    from time_travel.registry import Registry

_ORPHANS = 7 * DAY
"""A file that no log knows is left alone this long: Delta's own default."""
_SETTINGS = {
    # What is kept is decided here, table by table; Delta's check knows one period alone.
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    "spark.databricks.delta.vacuum.logging.enabled": "false",
}


@dataclass(frozen=True, slots=True)
class Purged:
    """What went, or would go.

    Attributes:
        object_name: in full.
        kind: VERSIONS of a table that is there, TABLE, VIEW, FUNCTION or SCHEMA that was dropped.
        files: how many.
        bytes: of them.
        kept_for_clones: bytes that only clones still need, and that stay.
    """

    object_name: str
    kind: str
    files: int
    bytes: int
    kept_for_clones: int = 0


@dataclass(frozen=True)
class Purge:
    """One run.

    Attributes:
        lake: a session of the system's own.
        registry: what was dropped; takes note.
        holdings: all tables.
        by: who asks, and when.
        running_since: when the oldest statement began that still runs, UTC microseconds; None for none.
        owns: whether a folder is this system's to delete.
        unreadable: drops of tables whose logs are damaged, by event: they stay as they are.
    """

    lake: Lake
    registry: Registry
    holdings: Sequence[Holding]
    by: By
    running_since: int | None
    owns: Callable[[Event], bool]
    unreadable: frozenset[str] = frozenset()

    @cached_property
    def at(self) -> int:
        """The moment that counts: what the oldest statement may read is kept."""
        return self.by.time if self.running_since is None else min(self.by.time, self.running_since)

    @cached_property
    def _session(self) -> SparkSession:
        session = self.lake.spark.newSession()
        for key, value in _SETTINGS.items():
            session.conf.set(key, value)
        return session

    @cached_property
    def _fates(self) -> DataFrame:
        return fates(self._session, self.holdings).persist()

    @cached_property
    def _due(self) -> dict[int, Any]:
        """By table: files and bytes that are past it all, and what clones alone keep."""
        if not self.holdings:
            return {}
        rows = self._session.sql(
            f"""SELECT owner, count_if(NOT is_needed AND gone_at > done) AS files,
                       coalesce(sum(size) FILTER (WHERE NOT is_needed AND gone_at > done), 0) AS size,
                       coalesce(sum(size) FILTER (WHERE is_needed), 0) AS cloned, max(is_needed) AS is_needed
                FROM (SELECT *, coalesce(went, gone) AS gone_at, others > {self.at // 1000} AS is_needed
                      FROM {{fates}} JOIN {{limits}} ON owner = no)
                WHERE gone_at <= until GROUP BY owner""",  # noqa: S608  a number of our own
            fates=self._fates,
            limits=self._session.createDataFrame(
                [self._limits(number, one) for number, one in enumerate(self.holdings)],
                "no INT, gone BIGINT, until BIGINT, done BIGINT",
            ),
        ).collect()
        return {row.owner: row for row in rows}

    def _limits(self, number: int, one: Holding) -> tuple[int, int | None, int, int]:
        """When a table was dropped, until when what left is past it all, and is deleted; in milliseconds."""
        done = one.purged[0] // 1000
        if one.dropped is None:
            return number, None, one.horizons(self.at)[1] // 1000, done
        return number, one.dropped.time // 1000, FOREVER if one.dropped.kept_until <= self.at else -1, done

    def run(self, *, dry: bool, progress: Callable[[int, int], None]) -> Iterator[Purged]:
        """Purge, or tell what would go; each table when it is done.

        Args:
            dry: delete nothing, change nothing.
            progress: told how many tables are done, and of how many.
        """
        self._refuse_damaged()
        half = self.registry.objects(self.lake).half_purged
        going = {number: one.dropped for number, one in enumerate(self.holdings) if self._goes(number, one)}
        gone: list[Event] = []
        try:
            if not dry:
                # A folder that is deleted in part is no table any more: nobody may be offered it.
                self._tell("PURGING", [event for event in going.values() if event is not None])
            for event in half:
                yield from self._resumed(event, gone, dry=dry)
            for number, one in enumerate(self.holdings):
                progress(number, len(self.holdings))
                if one.dropped is None:
                    yield from self._there(number, one, dry=dry)
                elif number in going:
                    yield self._whole(number, one, one.dropped, gone, dry=dry)
                elif one.dropped.kept_until <= self.at:
                    yield from self._all_but_needed(number, one, dry=dry)
            yield from self._forgotten(gone)
            progress(len(self.holdings), len(self.holdings))
        finally:
            if not dry:
                self._tell("PURGED", gone)
            if "_fates" in self.__dict__:
                self._fates.unpersist()

    def _there(self, number: int, one: Holding, *, dry: bool) -> Iterator[Purged]:
        if not one.is_under_rule:
            return
        due, until = self._due.get(number), one.horizons(self.at)[1]
        swept = one.purged[1] > self.by.time - _ORPHANS
        found = None
        if not swept or (due is not None and due.files):
            found = self._versions(number, one, until, dry=dry)
            if not dry:
                self._note(one, until)
        if not dry:
            self._settle(number, one)
        if found is not None:
            yield replace(found, kept_for_clones=due.cloned if due is not None else 0)

    def _versions(self, number: int, one: Holding, until: int, *, dry: bool) -> Purged | None:
        """Delete the files of past versions, and of writes that never ended."""
        lake = self.lake.within(self._session)
        inventory = self._inventory(number, one).persist()
        try:
            doomed = lake.vacuumed(one.location, until // 1000, inventory, dry=True)
            found = self._session.sql(
                "SELECT count(*) AS files, coalesce(sum(length), 0) AS size"
                " FROM {inventory} JOIN {doomed} USING (path)",
                inventory=inventory,
                doomed=doomed,
            ).head()
            if found is None or not found.files:
                return None
            if not dry:
                lake.vacuumed(one.location, until // 1000, inventory, dry=False).collect()
        finally:
            inventory.unpersist()
        return Purged(".".join(one.name), "VERSIONS", found.files, found["size"])

    def _inventory(self, number: int, one: Holding) -> DataFrame:
        """The files in a table's folder that VACUUM may look at, in the columns that it wants."""
        listed = (
            self._session.read.format("binaryFile")
            .option("recursiveFileLookup", "true")
            .option("__globPaths__", "false")
            .load(one.location)
            .select("path", "length", "modificationTime")
        )
        now = self.at // 1000
        nested = self._session.createDataFrame([(root,) for root in self._inside(one)], "root STRING")
        return self._session.sql(
            f"""SELECT nullif(l.path, '') AS path, nullif(l.length, -1L) AS length,
                       nullif(false, true) AS isDir,
                       nullif(unix_millis(l.modificationTime), -1L) AS modificationTime
                FROM {{listed}} l
                LEFT JOIN (SELECT file, others FROM {{fates}} WHERE owner = {number}) f
                  ON f.file = regexp_replace(l.path, '^file:/+', 'file:/')
                WHERE IF(f.file IS NULL, unix_micros(l.modificationTime) < {self.at - _ORPHANS},
                         f.others <= {now})
                  AND NOT EXISTS (
                    SELECT 1 FROM {{nested}} n WHERE startswith(l.path, concat(n.root, '/')))""",  # noqa: S608
            listed=listed,
            fates=self._fates,
            nested=nested,
        )

    def _settle(self, number: int, one: Holding) -> None:
        """Let Delta's properties say what is in force, now that less is to be kept."""
        if is_pinned(one.log["properties"]) and self._is_cloned(number):
            return
        table = Table(one.name, one.location, "delta", managed=False)
        follow(self._session, self.lake, table, one.periods, self.at, unpin=True)

    def _is_cloned(self, number: int) -> bool:
        return bool(self._fates.where(f"owner = {number} AND others > {self.at // 1000}").limit(1).count())

    def _refuse_damaged(self) -> None:
        try:
            _ = self._due
        except JVM_ERRORS:
            for number, error in damaged(self._session, self.holdings).items():
                one = self.holdings[number]
                raise unreadable(one.location, error, one.name) from error
            raise

    def _inside(self, one: Holding) -> list[str]:
        """The folders of other tables in that of one."""
        return [other.root for other in self.holdings if other.root.startswith(f"{one.root}/")]

    def _goes(self, number: int, one: Holding) -> bool:
        """Whether a table was dropped and nothing needs any of its folder."""
        if one.dropped is None or one.dropped.kept_until > self.at:
            return False
        due = self._due.get(number)
        if due is not None and due.is_needed:
            return False
        return all(
            self._goes(other, self.holdings[other])
            for other in range(len(self.holdings))
            if self.holdings[other].root.startswith(f"{one.root}/")
        )

    def _whole(self, number: int, one: Holding, event: Event, gone: list[Event], *, dry: bool) -> Purged:
        """Delete the folder of a table that was dropped, unless the user has put it where it is."""
        due, files, size = self._due.get(number), 0, 0
        if self.owns(event):
            files, size = (due.files, due["size"]) if due is not None else (0, 0)
            if not dry:
                self.lake.delete(one.location)
        gone.append(event)
        return Purged(".".join(one.name), "TABLE", files, size)

    def _resumed(self, event: Event, gone: list[Event], *, dry: bool) -> Iterator[Purged]:
        """Delete what is left of a folder, where a purge was killed before it could say that all is gone."""
        place = event.location
        taken = {one.location for one in self.holdings} | {one.root for one in self.holdings}
        if place is not None and place not in taken and self.owns(event):
            files, size = self.lake.amount(place)
            if files and not dry:
                self.lake.delete(place)
            if files:
                yield Purged(".".join(event.name), event.domain, files, size)
        gone.append(event)

    def _all_but_needed(self, number: int, one: Holding, *, dry: bool) -> Iterator[Purged]:
        """Delete what clones do not need of a table that was dropped; its log stays, too."""
        due = self._due.get(number)
        if due is None or not due.files or one.dropped is None or not self.owns(one.dropped):
            return
        if not dry:
            # In the log, too: what is left there is what clones need.
            path = one.location.replace("`", "``")
            self._session.sql(f"DELETE FROM delta.`{path}`")  # noqa: S608  a path of our own, quoted
            now = self.lake.described(one.location)
            until = max(self.at, (0 if now is None else now["changed"]) * 1000) + 1000
            self._versions(number, one, until, dry=False)
            self._note(one, until)
        yield Purged(".".join(one.name), "TABLE", due.files, due["size"], due.cloned)

    def _forgotten(self, gone: list[Event]) -> Iterator[Purged]:
        """What was dropped and has no files, or none any more."""
        held = {one.dropped.event_id for one in self.holdings if one.dropped is not None}
        alive = {one.location for one in self.holdings if one.dropped is None}
        for event in self.registry.objects(self.lake).dropped:
            is_known = event.event_id in held | self.unreadable or not alive.isdisjoint(event.places)
            if event.kept_until <= self.at and not is_known:
                gone.append(event)
                yield Purged(".".join(event.name), event.domain, 0, 0)

    def _note(self, one: Holding, until: int) -> None:
        event = Event(
            self.by.time, "PURGED_VERSIONS", self.by.new_id(), "TABLE", one.name, object_id=one.log["id"],
            location=one.location, user=self.by.user, query_id=self.by.query_id, details={"until": until},
        )  # fmt: skip
        self.registry.append(self.lake, [event])

    def _tell(self, kind: str, drops: Sequence[Event]) -> None:
        events = [
            replace(
                of, time=self.by.time, event=kind, event_id=self.by.new_id(), of_event=of.event_id,
                user=self.by.user, query_id=self.by.query_id, details={},
            )
            for of in drops
        ]  # fmt: skip
        if events:
            self.registry.append(self.lake, events)
