"""Plans how to undo a statement: what it wrote, what was derived from that, what to run.

In: recorded changes, the catalog, Delta's logs. Out: an `UndoPlan`. A table has the change from the version
on that the statement wrote. A later statement that read such a version passes the change on to the table that
it wrote, and so on. A table that was overwritten since, or restored to an earlier version, no longer has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.core.errors import TimeTravelError
from audit.spark.delta.commits import Commit, versions_with_change
from audit.spark.delta.values import Table, View
from audit.time_travel.errors import UnknownStatementError
from audit.time_travel.versions.changes import (
    ChangesSince,
    DdlObject,
    ReadTable,
    RecordedChange,
    WrittenObject,
)
from audit.time_travel.versions.undo_plan import Step, UndoPlan
from audit.time_travel.versions.version_lookup import (
    EvaluatedPoint,
    VersionLimits,
    since,
    time_text,
    version_for,
)
from lineage.catalog.object_ids import object_id
from lineage.names import quote_name, split_name, sql_name
from lineage.sql.commands.time_travel.at_before import VersionClause

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.values import DeltaTableState
    from audit.time_travel.dropped.drop_registry import DropRegistry, ObjectEvent
    from audit.time_travel.versions.recorded import Records

_TABLES = frozenset({"Table", "EXTERNAL TABLE"})


@dataclass(slots=True)
class AffectedTable:
    """A table that has, or had, the change.

    Attributes:
        table: from the catalog, or from the event of its drop.
        state: its versions.
        dropped: the event of its drop; None for an existing table.
        commits: from the first one with the change.
        because: the first statement that wrote the change, and its source.
        ids: of the table in records since then.
        bad: versions that added the change.
        clean: versions that overwrote the table from sources without the change.
    """

    table: Table
    state: DeltaTableState
    dropped: ObjectEvent | None
    commits: list[Commit]
    because: str
    ids: set[int] = field(default_factory=set)
    bad: set[int] = field(default_factory=set)
    clean: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """In full."""
        return quote_name(self.table.name)

    def versions_by(self, change: RecordedChange, version: int | None) -> list[int]:
        """The versions that a statement committed: by its id in Delta's log, else by the record."""
        found = [commit.version for commit in self.commits if commit.query_id == change.query_id]
        unmarked = (commit.version for commit in self.commits if commit.query_id is None)
        return found or [each for each in unmarked if each == version]

    def has_change(self) -> dict[int, bool]:
        """By version: whether it has the change."""
        return versions_with_change(self.commits, self.bad, self.clean)

    def had_change_at(self, change: RecordedChange, version: int | None) -> bool:
        """Whether the version that a statement read had the change; by time if no version is recorded."""
        found = self.has_change()
        if version is not None:
            return found.get(version, False)
        before = [commit.version for commit in self.commits if commit.time <= change.time]
        return bool(before) and found[before[-1]]


@dataclass(frozen=True, slots=True)
class UndoPlanner:
    """Makes one plan.

    Attributes:
        catalog: the user's session.
        registry: what was dropped.
        limits: the limits of a table's versions.
        records: gives statements on record.
        changes: gives the changes of recorded statements.
        now: UTC microseconds.
    """

    catalog: DeltaCatalog
    registry: DropRegistry
    limits: Callable[[Table], VersionLimits]
    records: Records
    changes: ChangesSince
    now: int
    affected_tables: list[AffectedTable] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def plan(self, query_id: str) -> UndoPlan:
        """See `time_travel.plan_undo`.

        Raises:
            UnknownStatementError: no recorded statement has the id.
        """
        changes = self.changes(query_id)
        if changes is None:
            raise UnknownStatementError(
                f"no statement on record has the query id {query_id!r}",
                "look it up in query_history, column query_id",
            )
        # A script or a procedure is undone with its statements, which name it as their parent.
        own = {query_id}
        for change in changes:
            if change.query_id in own or own & change.parents:
                own.add(change.query_id)
                self._undo_statement(change)
            elif change.status == "SUCCESS":
                self._pass_on(change)
        for affected in self.affected_tables:
            self._plan_restore(affected, {change.query_id: change for change in changes})
        if not self.steps and not self.warnings:
            self.warnings.append(f"nothing is left of what {query_id} did, if it changed anything")
        return UndoPlan(query_id, tuple(self.steps), tuple(self.warnings))

    # ---- the statement's own changes

    def _undo_statement(self, change: RecordedChange) -> None:
        if change.status == "RUNNING":
            self.warnings.append(f"{change} is still running: plan again when it has ended")
        objects = [*change.written]
        defined = change.defined
        if defined is not None and defined.domain in _TABLES:
            objects.append(WrittenObject(defined.name, defined.object_id, defined.domain))
        # A failed statement may have committed before its error; only the names in its text are known.
        if change.status != "SUCCESS":
            objects += (WrittenObject(name, None, "Table") for name in change.tried)
        found = [self._note_write(change, written, "") for written in objects]
        if defined is not None and not any(found):
            self._undo_ddl(change, defined)
        elif change.status == "SUCCESS":
            for written, holds in zip(objects, found, strict=True):
                if not holds:
                    self._no_versions(change, written)

    def _undo_ddl(self, change: RecordedChange, defined: DdlObject) -> None:
        """Undo DDL that committed no version of a table."""
        there = self._exists(defined)
        if defined.operation == "DROP":
            self._undrop(change, defined)
        elif defined.operation in ("CREATE", "UNDROP") and there and defined.domain != "SCHEMA":
            noun = (
                "VIEW"
                if defined.domain == "VIEW"
                else "TABLE"
                if defined.domain in _TABLES
                else defined.domain
            )
            self._step(defined.name, f"DROP {noun} {_sql(defined.name)}", f"{change} made it")
        elif there:
            self.warnings.append(f"{defined.name}: {change} left no version to restore; undo it by hand")

    def _exists(self, defined: DdlObject) -> bool:
        parts = split_name(defined.name)
        if defined.domain == "SCHEMA":
            return self.catalog.schema_facts(parts[-1]) is not None
        return self.catalog.find(parts) is not None

    def _undrop(self, change: RecordedChange, defined: DdlObject) -> None:
        noun = {"VIEW": "VIEW", "SCHEMA": "SCHEMA"}.get(defined.domain, "TABLE")
        dropped = [
            event for event in self.registry.state(self.catalog).dropped
            if event.container_event is None and event.domain == noun
        ]  # fmt: skip
        event = next((event for event in dropped if event.query_id == change.query_id), None)
        if event is None:
            if not self._exists(defined):
                self.warnings.append(f"{defined.name}: {change} dropped it, and nothing of it is kept")
            return
        newest = next(each for each in dropped if _same(each.name, event.name))
        if self._exists(defined):
            what = "the name is taken: rename what has it (ALTER … RENAME TO), then plan again"
        elif newest is not event:
            what = (
                f"it was dropped again at {time_text(newest.time)}: UNDROP and rename that first, then plan"
                " again"
            )
        elif event.retained_until < self.now:
            what = (
                f"it was retained until {time_text(event.retained_until)}: the administrator has it until"
                f" {time_text(event.kept_until)}"
            )
        else:
            within = "" if noun == "SCHEMA" else sql_name(event.name[:-1])
            name = quote_name(event.name)
            self._step(name, f"UNDROP {noun} {sql_name(event.name)}", f"{change} dropped it", within)
            return
        self.warnings.append(f"{quote_name(event.name)}: {change} dropped it, and {what}")

    # ---- derived tables

    def _pass_on(self, change: RecordedChange) -> None:
        """Pass the change on through a later statement."""
        for written in change.written:
            reads = [
                (source, affected) for source in written.sources if (affected := self._affected_table(source))
            ]
            carried = [
                (source, affected)
                for source, affected in reads
                if affected.had_change_at(change, source.version)
            ]
            into = self._affected_table(ReadTable(written.name, written.object_id))
            others = sorted({affected.name for _, affected in carried if affected is not into})
            if others and written.domain in _TABLES:
                if not self._note_write(change, written, " from " + ", ".join(others)):
                    self._no_versions(change, written)
            # Views and functions hold no rows: they show the restored tables.
            elif others and written.domain not in ("VIEW", "FUNCTION"):
                self._no_versions(change, written)
            elif into is not None and written.overwrites and not carried:
                into.clean.update(into.versions_by(change, written.version))

    def _no_versions(self, change: RecordedChange, written: WrittenObject) -> None:
        """Warn about another table than Delta's, a file, or a missing table."""
        if written.domain in ("VIEW", "FUNCTION"):
            return
        self.warnings.append(
            f"{written.name}: {change} wrote it, and no version of a Delta table tells of that"
        )

    def _affected_table(self, source: ReadTable) -> AffectedTable | None:
        for affected in self.affected_tables:
            if source.object_id in affected.ids:
                return affected
            if source.object_id is None and source.name.casefold() == affected.name.casefold():
                return affected
        return None

    def _note_write(self, change: RecordedChange, written: WrittenObject, origin: str) -> bool:
        """Note that a statement wrote the change to a table; False if no version of it is found."""
        affected = self._affected_table(ReadTable(written.name, written.object_id))
        if affected is None:
            affected = next(self._written_table(change, written, origin), None)
            if affected is None:
                return False
            self.affected_tables.append(affected)
        affected.bad.update(affected.versions_by(change, written.version))
        if written.object_id is not None:
            affected.ids.add(written.object_id)
        return True

    def _written_table(
        self, change: RecordedChange, written: WrittenObject, origin: str
    ) -> Iterator[AffectedTable]:
        """The table that a statement wrote: by name, by id, or among dropped tables."""
        for table, dropped in self._candidates(written):
            location = table.location or ""
            state = self.catalog.state(location) if table.provider == "delta" and location else None
            if state is None or any(affected.table.location == location for affected in self.affected_tables):
                continue
            first = self._first(change, written, location, state)
            if first is None:
                continue
            commits = self.catalog.commits(location, first, state.latest)
            ids = {object_id("TABLE", one) for one in self._table_ids(location, state, commits)}
            yield AffectedTable(table, state, dropped, commits, f"{change} wrote it{origin}", ids)

    def _first(
        self, change: RecordedChange, written: WrittenObject, location: str, state: DeltaTableState
    ) -> int | None:
        """The first version of a table that a statement committed."""
        began = since(change.query_id, location, state, self.catalog)
        marked = self.catalog.written_by(location, state, change.query_id, began)
        if marked is not None:
            return marked[0]
        same = written.object_id == object_id("TABLE", state.table_id)
        known = same and written.version is not None and state.earliest <= written.version <= state.latest
        return written.version if known else None

    def _table_ids(self, location: str, state: DeltaTableState, commits: Sequence[Commit]) -> Iterator[str]:
        yield state.table_id
        for commit in commits:
            # A REPLACE TABLE gives a table another id, and a RESTORE may bring back the former one (Delta
            # 4.4).
            if commit is commits[0] or "REPLACE" in commit.operation or commit.restored is not None:
                yield self.catalog.id_at(location, commit.version)

    def _candidates(self, written: WrittenObject) -> Iterator[tuple[Table, ObjectEvent | None]]:
        named = self.catalog.find(split_name(written.name))
        if isinstance(named, Table):
            yield named, None
        if written.object_id is not None:
            yield from ((table, None) for table in self._renamed(written.object_id))
        for event in self.registry.state(self.catalog).dropped:
            if event.domain == "TABLE" and event.location and event.object_id:
                known = written.object_id in (None, object_id("TABLE", event.object_id))
                if known or quote_name(event.name).casefold() == written.name.casefold():
                    yield Table(event.name, event.location, "delta", managed=False), event

    def _renamed(self, wanted: int) -> Iterator[Table]:
        for schema in self.catalog.schemas():
            for table in self.catalog.tables(schema):
                if isinstance(table, View) or table.provider != "delta" or not table.location:
                    continue
                state = self.catalog.state(table.location)
                if state is not None and object_id("TABLE", state.table_id) == wanted:
                    yield table

    # ---- the steps

    def _plan_restore(self, affected: AffectedTable, changes: dict[str, RecordedChange]) -> None:
        """Plan the step that restores a table to before the change."""
        found, name = affected.has_change(), affected.name
        if not found[affected.state.latest]:
            last = next(commit for commit in reversed(affected.commits) if found[commit.version])
            self.warnings.append(
                f"{name}: {affected.because}, and nothing of that is in it since version {last.version + 1}:"
                " it stays as it is"
            )
            return
        if affected.dropped is not None:
            self.warnings.append(
                f"{name}: {affected.because}, and it was dropped at {time_text(affected.dropped.time)}:"
                " UNDROP would bring it back with that in it"
            )
            return
        first = affected.commits[0].version
        to = next((c.version for c in reversed(affected.commits) if not found[c.version]), first - 1)
        # The change came with version 0, so nothing lies before it.
        if to < 0:
            self._step(
                name,
                f"DROP TABLE {sql_name(affected.table.name)}",
                affected.because,
                latest=affected.state.latest,
            )
        elif not self._restore(affected, to):
            return
        for commit in affected.commits:
            if commit.version > to and commit.version not in affected.bad and not commit.is_maintenance:
                change = (
                    changes.get(commit.query_id or "")
                    or f"{commit.operation} {commit.query_id or 'from elsewhere'}"
                )
                self.warnings.append(f"{name}: version {commit.version} is lost, too: {change}")

    def _restore(self, affected: AffectedTable, to: int) -> bool:
        table, location = affected.table, affected.table.location or ""
        at = VersionClause(table.name, "VERSION", before=False, expression=str(to), own=False)
        limits = self.limits(table)
        try:
            version_for(EvaluatedPoint(at, version=to), table, self.catalog, limits, self.records)
            lost = self.catalog.reason_not_restorable(location, to, enforced=limits.horizon is None)
        except TimeTravelError as error:
            lost = f"{error.problem}; {error.way_out}"
        if lost:
            self.warnings.append(f"{affected.name}: {affected.because}, and version {to} is gone: {lost}")
            return False
        sql = f"RESTORE TABLE {sql_name(table.name)} TO VERSION AS OF {to}"
        self.steps.append(Step(affected.name, affected.state.latest, to, sql, affected.because))
        return True

    def _step(self, table: str, sql: str, because: str, within: str = "", latest: int | None = None) -> None:
        self.steps.append(Step(table, latest, None, sql, because, within))


def _sql(name: str) -> str:
    return sql_name(split_name(name))


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return quote_name(one).casefold() == quote_name(other).casefold()
