"""Planning how to take a statement back: what it wrote, what was made of that since, what to run.

In: changes on record, the catalog, Delta's logs. Out: an `UndoPlan`. A table holds the change from the
version on that the statement wrote; a later statement that read such a version carries it into the table that
it wrote, and so on. A table that was overwritten since, or restored to before, holds it no longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage.names import quote_name, split_name, sql_name
from lineage.object_ids import object_id
from time_travel.changes import Change, ChangesSince, Defined, Source, Written
from time_travel.clause import Clause
from time_travel.errors import TimeTravelError, UnknownStatementError
from time_travel.held import Commit, held
from time_travel.lake import Table, View
from time_travel.point import Asked, Rule, VersionsRead, show, since, version_for
from time_travel.undo_plan import Step, UndoPlan

if TYPE_CHECKING:
    from time_travel.lake import Lake, State
    from time_travel.registry import Event, Registry

_TABLES = frozenset({"Table", "EXTERNAL TABLE"})


@dataclass(slots=True)
class Holder:
    """A table that holds, or held, the change.

    Attributes:
        table: as it is in the catalog, or was when it was dropped.
        state: its versions.
        dropped: its drop, None while it is there.
        commits: from the first one that brought the change in.
        because: the first statement that did, and what it came from.
        ids: of the table in records since then.
        bad: versions that brought it in.
        clean: versions of which nothing came from before.
    """

    table: Table
    state: State
    dropped: Event | None
    commits: list[Commit]
    because: str
    ids: set[int] = field(default_factory=set)
    bad: set[int] = field(default_factory=set)
    clean: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """In full."""
        return quote_name(self.table.name)

    def made_by(self, change: Change, version: int | None) -> list[int]:
        """The versions that a statement made, by its id, else by the one on record."""
        found = [commit.version for commit in self.commits if commit.query_id == change.query_id]
        unmarked = (commit.version for commit in self.commits if commit.query_id is None)
        return found or [each for each in unmarked if each == version]

    def held(self) -> dict[int, bool]:
        """Whether its versions hold the change."""
        return held(self.commits, self.bad, self.clean)

    def held_when(self, change: Change, version: int | None) -> bool:
        """Whether what a statement read of it held the change; by its time where no version is on record."""
        found = self.held()
        if version is not None:
            return found.get(version, False)
        before = [commit.version for commit in self.commits if commit.time <= change.time]
        return bool(before) and found[before[-1]]


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes one plan.

    Attributes:
        lake: the user's session.
        registry: what was dropped.
        rule: what a table's versions are subject to.
        versions_read: what a statement on record has read.
        changes: of statements on record.
        now: UTC microseconds.
    """

    lake: Lake
    registry: Registry
    rule: Callable[[Table], Rule]
    versions_read: VersionsRead
    changes: ChangesSince
    now: int
    holders: list[Holder] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def plan(self, query_id: str) -> UndoPlan:
        """See `time_travel.plan_undo`.

        Raises:
            UnknownStatementError: no statement on record has the id.
        """
        changes = self.changes(query_id)
        if changes is None:
            raise UnknownStatementError(
                f"no statement on record has the query id {query_id!r}",
                "look it up in query_history, column query_id",
            )
        own = {query_id}
        for change in changes:
            if change.query_id in own or own & change.parents:
                own.add(change.query_id)
                self._did(change)
            elif change.status == "SUCCESS":
                self._carried(change)
        for holder in self.holders:
            self._back(holder, {change.query_id: change for change in changes})
        if not self.steps and not self.warnings:
            self.warnings.append(f"nothing is left of what {query_id} did, if it changed anything")
        return UndoPlan(query_id, tuple(self.steps), tuple(self.warnings))

    # ---- what the statement did

    def _did(self, change: Change) -> None:
        if change.status == "RUNNING":
            self.warnings.append(f"{change} is still running: plan again when it has ended")
        objects = [*change.written]
        defined = change.defined
        if defined is not None and defined.domain in _TABLES:
            objects.append(Written(defined.name, defined.object_id, defined.domain))
        if change.status != "SUCCESS":
            objects += (Written(name, None, "Table") for name in change.tried)
        found = [self._brings(change, written, "") for written in objects]
        if defined is not None and not any(found):
            self._undefine(change, defined)
        elif change.status == "SUCCESS":
            for written, holds in zip(objects, found, strict=True):
                if not holds:
                    self._no_versions(change, written)

    def _undefine(self, change: Change, defined: Defined) -> None:
        """Take back DDL that left no version of a table."""
        there = self._there(defined)
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

    def _there(self, defined: Defined) -> bool:
        parts = split_name(defined.name)
        if defined.domain == "SCHEMA":
            return self.lake.schema_facts(parts[-1]) is not None
        return self.lake.find(parts) is not None

    def _undrop(self, change: Change, defined: Defined) -> None:
        noun = {"VIEW": "VIEW", "SCHEMA": "SCHEMA"}.get(defined.domain, "TABLE")
        dropped = [
            event for event in self.registry.objects(self.lake).dropped
            if event.container_event is None and event.domain == noun
        ]  # fmt: skip
        event = next((event for event in dropped if event.query_id == change.query_id), None)
        if event is None:
            if not self._there(defined):
                self.warnings.append(f"{defined.name}: {change} dropped it, and nothing of it is kept")
            return
        newest = next(each for each in dropped if _same(each.name, event.name))
        if self._there(defined):
            what = "the name is taken: rename what has it (ALTER … RENAME TO), then plan again"
        elif newest is not event:
            what = (
                f"it was dropped again at {show(newest.time)}: UNDROP and rename that first, then plan again"
            )
        elif event.retained_until < self.now:
            what = (
                f"it was retained until {show(event.retained_until)}: the administrator has it until"
                f" {show(event.kept_until)}"
            )
        else:
            within = "" if noun == "SCHEMA" else sql_name(event.name[:-1])
            name = quote_name(event.name)
            self._step(name, f"UNDROP {noun} {sql_name(event.name)}", f"{change} dropped it", within)
            return
        self.warnings.append(f"{quote_name(event.name)}: {change} dropped it, and {what}")

    # ---- what was made of it

    def _carried(self, change: Change) -> None:
        """Follow the change through a later statement."""
        for written in change.written:
            reads = [(source, holder) for source in written.sources if (holder := self._holder(source))]
            carried = [
                (source, holder) for source, holder in reads if holder.held_when(change, source.version)
            ]
            into = self._holder(Source(written.name, written.object_id))
            others = sorted({holder.name for _, holder in carried if holder is not into})
            if others and written.domain in _TABLES:
                if not self._brings(change, written, " from " + ", ".join(others)):
                    self._no_versions(change, written)
            elif others and written.domain not in ("VIEW", "FUNCTION"):
                self._no_versions(change, written)
            elif into is not None and written.overwrites and not carried:
                into.clean.update(into.made_by(change, written.version))

    def _no_versions(self, change: Change, written: Written) -> None:
        """A table that is none of Delta's, a file, or one that is gone."""
        if written.domain in ("VIEW", "FUNCTION"):
            return
        self.warnings.append(
            f"{written.name}: {change} wrote it, and no version of a Delta table tells of that"
        )

    def _holder(self, source: Source) -> Holder | None:
        for holder in self.holders:
            if source.object_id in holder.ids:
                return holder
            if source.object_id is None and source.name.casefold() == holder.name.casefold():
                return holder
        return None

    def _brings(self, change: Change, written: Written, origin: str) -> bool:
        """Note that a statement has brought the change into a table; False where no version says so."""
        holder = self._holder(Source(written.name, written.object_id))
        if holder is None:
            holder = next(self._found(change, written, origin), None)
            if holder is None:
                return False
            self.holders.append(holder)
        holder.bad.update(holder.made_by(change, written.version))
        if written.object_id is not None:
            holder.ids.add(written.object_id)
        return True

    def _found(self, change: Change, written: Written, origin: str) -> Iterator[Holder]:
        """The table that a statement has written: by name, by id, among what was dropped."""
        for table, dropped in self._candidates(written):
            location = table.location or ""
            state = self.lake.state(location) if table.provider == "delta" and location else None
            if state is None or any(holder.table.location == location for holder in self.holders):
                continue
            first = self._first(change, written, location, state)
            if first is None:
                continue
            commits = self.lake.commits(location, first, state.latest)
            ids = {object_id("TABLE", one) for one in self._table_ids(location, state, commits)}
            yield Holder(table, state, dropped, commits, f"{change} wrote it{origin}", ids)

    def _first(self, change: Change, written: Written, location: str, state: State) -> int | None:
        """The first version of a table that a statement made."""
        began = since(change.query_id, location, state, self.lake)
        marked = self.lake.written_by(location, state, change.query_id, began)
        if marked is not None:
            return marked[0]
        same = written.object_id == object_id("TABLE", state.table_id)
        known = same and written.version is not None and state.earliest <= written.version <= state.latest
        return written.version if known else None

    def _table_ids(self, location: str, state: State, commits: Sequence[Commit]) -> Iterator[str]:
        yield state.table_id
        for commit in commits:
            if commit is commits[0] or "REPLACE" in commit.operation or commit.restored is not None:
                yield self.lake.id_at(location, commit.version)

    def _candidates(self, written: Written) -> Iterator[tuple[Table, Event | None]]:
        named = self.lake.find(split_name(written.name))
        if isinstance(named, Table):
            yield named, None
        if written.object_id is not None:
            yield from ((table, None) for table in self._renamed(written.object_id))
        for event in self.registry.objects(self.lake).dropped:
            if event.domain == "TABLE" and event.location and event.object_id:
                known = written.object_id in (None, object_id("TABLE", event.object_id))
                if known or quote_name(event.name).casefold() == written.name.casefold():
                    yield Table(event.name, event.location, "delta", managed=False), event

    def _renamed(self, wanted: int) -> Iterator[Table]:
        for schema in self.lake.schemas():
            for table in self.lake.tables(schema):
                if isinstance(table, View) or table.provider != "delta" or not table.location:
                    continue
                state = self.lake.state(table.location)
                if state is not None and object_id("TABLE", state.table_id) == wanted:
                    yield table

    # ---- what to run

    def _back(self, holder: Holder, changes: dict[str, Change]) -> None:
        """How a table loses the change again."""
        found, name = holder.held(), holder.name
        if not found[holder.state.latest]:
            last = next(commit for commit in reversed(holder.commits) if found[commit.version])
            self.warnings.append(
                f"{name}: {holder.because}, and nothing of that is in it since version {last.version + 1}: it"
                " stays as it is"
            )
            return
        if holder.dropped is not None:
            self.warnings.append(
                f"{name}: {holder.because}, and it was dropped at {show(holder.dropped.time)}: UNDROP would"
                " bring it back with that in it"
            )
            return
        first = holder.commits[0].version
        to = next((c.version for c in reversed(holder.commits) if not found[c.version]), first - 1)
        if to < 0:
            self._step(
                name, f"DROP TABLE {sql_name(holder.table.name)}", holder.because, latest=holder.state.latest
            )
        elif not self._restore(holder, to):
            return
        for commit in holder.commits:
            if commit.version > to and commit.version not in holder.bad and not commit.is_upkeep:
                by = (
                    changes.get(commit.query_id or "")
                    or f"{commit.operation} {commit.query_id or 'from elsewhere'}"
                )
                self.warnings.append(f"{name}: version {commit.version} is lost, too: {by}")

    def _restore(self, holder: Holder, to: int) -> bool:
        table, location = holder.table, holder.table.location or ""
        at = Clause(
            table.name, "VERSION", before=False, expression=str(to), own=False, first=0, start=0, stop=0
        )
        rule = self.rule(table)
        try:
            version_for(Asked(at, version=to), table, self.lake, rule, self.versions_read)
            lost = self.lake.lost(location, to, enforced=rule.horizon is None)
        except TimeTravelError as error:
            lost = f"{error.problem}; {error.way_out}"
        if lost:
            self.warnings.append(f"{holder.name}: {holder.because}, and version {to} is gone: {lost}")
            return False
        sql = f"RESTORE TABLE {sql_name(table.name)} TO VERSION AS OF {to}"
        self.steps.append(Step(holder.name, holder.state.latest, to, sql, holder.because))
        return True

    def _step(self, table: str, sql: str, because: str, within: str = "", latest: int | None = None) -> None:
        self.steps.append(Step(table, latest, None, sql, because, within))


def _sql(name: str) -> str:
    return sql_name(split_name(name))


def _same(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return quote_name(one).casefold() == quote_name(other).casefold()
