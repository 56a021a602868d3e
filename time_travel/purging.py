"""Purge: what is past retention and Fail-safe, and what nothing needs, goes for good.

In: all tables, the time, the beginning of the oldest statement that still runs. Out: what goes, table by
table. One plan lists the files of all tables that are doomed: past it all and needed by no clone, or known to
no log and too old to be somebody's unfinished write. Delta's own VACUUM deletes from that list, table by
table, and looks for itself at what the table still needs. Killed half-way it is run again.

"Once the fail-safe period has passed, … can't recover any of your deleted data" (Fail-safe); "A long-running
Time Travel query will delay moving any data and objects … until the query completes" (Introduction).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
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

    from audit.by import By
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
        """Each file that a log knows, whether the time of its keeping is past, and whether that is new."""
        # Not in Spark's cache, which is filled anew when a table changes.
        return self._session.sql(
            """SELECT {fates}.*, coalesce(went, gone) <= until AS is_past,
                      coalesce(went, gone) > done AS is_new
               FROM {fates} LEFT JOIN {limits} ON owner = no""",
            fates=fates(self._session, self.holdings),
            limits=self._limits,
        ).localCheckpoint()

    @cached_property
    def _limits(self) -> DataFrame:
        """When each table was dropped, what left until when is past it all, and is deleted already."""
        rows = []
        for number, one in enumerate(self.holdings):
            gone, until = None, one.horizons(self.at)[1] // 1000 if one.is_under_rule else -1
            if one.dropped is not None:
                gone = one.dropped.time // 1000
                until = FOREVER if one.dropped.kept_until <= self.at else -1
            rows.append((number, one.root, gone, until, one.purged[0] // 1000, self._is_unswept(one)))
        columns = "no INT, root STRING, gone BIGINT, until BIGINT, done BIGINT, is_unswept BOOLEAN"
        return self._session.createDataFrame(rows, columns)

    def _is_unswept(self, one: Holding) -> bool:
        return one.dropped is None and one.is_under_rule and one.purged[1] <= self.by.time - _ORPHANS

    @cached_property
    def _doomed(self) -> DataFrame:
        """The files that go, but for whole folders: owner, path, size."""
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
        """What lies in the folders that are to be swept: path, length, modificationTime."""
        places = [one.location for one in self.holdings if self._is_unswept(one)]
        if not places:
            return self._session.createDataFrame([], "path STRING, length BIGINT, modificationTime TIMESTAMP")
        reader = self._session.read.format("binaryFile").option("recursiveFileLookup", "true")
        return (
            reader.option("__globPaths__", "false")
            .load(places)
            .selectExpr("regexp_replace(path, '^file:/+', 'file:/') AS path", "length", "modificationTime")
        )

    @cached_property
    def _due(self) -> dict[int, Any]:
        """By table: what goes, the bytes past it all that clones keep, and whether they keep any."""
        if not self.holdings:
            return {}
        rows = self._session.sql(
            f"""SELECT no, coalesce(files, 0) AS files, coalesce(size, 0) AS size,
                       coalesce(cloned, 0) AS cloned, coalesce(is_cloned, false) AS is_cloned
                FROM {{limits}}
                LEFT JOIN (SELECT owner AS no, count(*) AS files, sum(size) AS size
                           FROM {{doomed}} GROUP BY owner) USING (no)
                LEFT JOIN (SELECT owner AS no, max(true) AS is_cloned, sum(IF(is_past, size, 0)) AS cloned
                           FROM {{fates}} WHERE others > {self.at // 1000} GROUP BY owner) USING (no)""",  # noqa: S608
            doomed=self._doomed,
            fates=self._fates,
            limits=self._limits,
        ).collect()
        return {row.no: row for row in rows}

    def run(self, *, dry: bool, progress: Callable[[int, int], None]) -> Iterator[Purged]:
        """Purge, or tell what would go; each table when it is done.

        Args:
            dry: delete nothing, change nothing.
            progress: told how many tables are done, and of how many.
        """
        self._refuse_damaged()
        half = self.registry.objects(self.lake).half_purged
        going = self._going()
        gone: list[Event] = []
        swept: list[Event] = []
        try:
            if not dry:
                # A folder that is deleted in part is no table any more: nobody may be offered it.
                self._tell(self._about("PURGING", going.values()))
            for event in half:
                yield from self._resumed(event, gone, dry=dry)
            for number, one in enumerate(self.holdings):
                progress(number, len(self.holdings))
                if one.dropped is None:
                    yield from self._there(number, one, swept, dry=dry)
                elif number in going:
                    yield self._whole(number, one, one.dropped, gone, dry=dry)
                elif one.dropped.kept_until <= self.at:
                    yield from self._all_but_needed(number, one, swept, dry=dry)
            yield from self._forgotten(gone)
            progress(len(self.holdings), len(self.holdings))
        finally:
            if not dry:
                self._tell([*self._about("PURGED", gone), *swept])

    def _there(self, number: int, one: Holding, swept: list[Event], *, dry: bool) -> Iterator[Purged]:
        """Delete the files of past versions, and of writes that never ended."""
        if not one.is_under_rule:
            return
        due, until = self._due[number], one.horizons(self.at)[1]
        if not dry:
            if due.files:
                self._vacuum(number, one, until)
            if due.files or self._is_unswept(one):
                swept.append(self._swept(one, until))
            if not (is_pinned(one.log["properties"]) and due.is_cloned):
                self._settle(one)
        if due.files:
            yield Purged(".".join(one.name), "VERSIONS", due.files, due["size"], due.cloned)

    def _vacuum(self, number: int, one: Holding, until: int) -> None:
        """Have Delta delete what is doomed, but for what it sees a need for."""
        inventory = self._session.sql(
            f"""SELECT nullif(path, '') AS path, nullif(size, -1L) AS length, nullif(false, true) AS isDir,
                       nullif(0L, -1L) AS modificationTime
                FROM {{doomed}} WHERE owner = {number}""",  # noqa: S608  a number of our own
            doomed=self._doomed,
        )
        self.lake.within(self._session).vacuum(one.location, until // 1000, inventory)

    def _settle(self, one: Holding) -> None:
        """Let Delta's properties say what is in force, now that less is to be kept."""
        table = Table(one.name, one.location, "delta", managed=False)
        follow(self._session, self.lake, table, one.periods, self.at, unpin=True)

    def _refuse_damaged(self) -> None:
        try:
            _ = self._due
        except JVM_ERRORS:
            for number, error in damaged(self._session, self.holdings).items():
                one = self.holdings[number]
                raise unreadable(one.location, error, one.name) from error
            raise

    def _going(self) -> dict[int, Event]:
        """The tables that were dropped and of whose folders nothing is needed, nor of what lies in them."""
        going: dict[int, Event] = {}
        staying: list[str] = []
        for number, one in sorted(enumerate(self.holdings), key=lambda pair: -len(pair[1].root)):
            first = bisect_left(staying, f"{one.root}/")
            holds_another = first < len(staying) and staying[first].startswith(f"{one.root}/")
            is_needed = holds_another or self._due[number].is_cloned
            if one.dropped is not None and one.dropped.kept_until <= self.at and not is_needed:
                going[number] = one.dropped
            else:
                insort(staying, one.root)
        return going

    def _whole(self, number: int, one: Holding, event: Event, gone: list[Event], *, dry: bool) -> Purged:
        """Delete the folder of a table that was dropped, unless the user has put it where it is."""
        is_own, due = self.owns(event), self._due[number]
        if is_own and not dry:
            self.lake.delete(one.location)
        gone.append(event)
        files, size = (due.files, due["size"]) if is_own else (0, 0)
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

    def _all_but_needed(
        self, number: int, one: Holding, swept: list[Event], *, dry: bool
    ) -> Iterator[Purged]:
        """Delete what clones do not need of a table that was dropped; its log stays, too."""
        due = self._due[number]
        if not due.files or one.dropped is None or not self.owns(one.dropped):
            return
        if not dry:
            # In the log, too: what is left there is what clones need.
            path = one.location.replace("`", "``")
            self._session.sql(f"DELETE FROM delta.`{path}`")  # noqa: S608  a path of our own, quoted
            now = self.lake.described(one.location)
            until = max(self.at, (0 if now is None else now["changed"]) * 1000) + 1000
            self._vacuum(number, one, until)
            swept.append(self._swept(one, until))
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

    def _swept(self, one: Holding, until: int) -> Event:
        return Event(
            self.by.time, "PURGED_VERSIONS", self.by.new_id(), "TABLE", one.name, object_id=one.log["id"],
            location=one.location, user=self.by.user, query_id=self.by.query_id, details={"until": until},
        )  # fmt: skip

    def _about(self, kind: str, drops: Iterable[Event]) -> list[Event]:
        return [
            replace(
                of, time=self.by.time, event=kind, event_id=self.by.new_id(), of_event=of.event_id,
                user=self.by.user, query_id=self.by.query_id, details={},
            )
            for of in drops
        ]  # fmt: skip

    def _tell(self, events: Sequence[Event]) -> None:
        if events:
            self.registry.append(self.lake, events)
