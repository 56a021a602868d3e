"""Backups of one root: runs the statements about them, scheduled backups and expiration.

In: a typed statement, a session, its actor. Out: the statement's DataFrame. Rules decide on the state of
`BackupLog`, `contents` makes and restores files. The files of a backup are there before its event, and go
after the event that deletes it: a killed driver leaves files without a backup, which `sweep` removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from audit.spark.delta.values import Table
from audit.spark.pyspark_api import frames
from audit.time_travel.backups.files import publish
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.rules import backup_rules, container_rules
from audit.time_travel.backups.rules.backup_rules import DueRun, NewBackup
from audit.time_travel.backups.rules.decide import events_of, look_at_clocks
from audit.time_travel.backups.rules.requests import Privileges, Request
from audit.time_travel.backups.rules.set_rules import find_set
from audit.time_travel.backups.show_backups import describe, show
from audit.time_travel.errors import UnknownObjectError
from lineage.model import Domain
from lineage.names import quote_name, split_name
from lineage.sql.commands.backups import statements as backups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.backups.backup_log import BackupLog
    from audit.time_travel.backups.model.state import Backup, BackupSet, BackupState
    from audit.time_travel.backups.model.trusted_time import Observation

FOLDER = "backups"
"""Below the root: one folder a set, in it one a backup."""
_ON_ITS_WAY = 86_400_000_000
"""Microseconds: no backup takes longer to be made."""
_DELETES = frozenset({"DELETE_BACKUP", "DROP_SET", "EXPIRE_BACKUP"})


class Contents(Protocol):
    """Makes the files of backups, and objects from them."""

    def take(self, backup_set: BackupSet, folder: Path) -> Mapping[str, Any]:
        """Make all files of a backup in a folder and publish it; what it returns is noted with the backup.

        Raises:
            BackupIncompleteError: a file cannot be taken.
            UnknownObjectError: there is no such table or schema any more.
        """
        ...

    def restore(
        self, command: backups.CreateFromBackup, backup_set: BackupSet, folder: Path, session: SparkSession,
        actor: Actor,
    ) -> str:  # fmt: skip
        """CREATE … FROM BACKUP SET; returns a message for the user."""
        ...


@dataclass(frozen=True, slots=True)
class BackupRun:
    """What a run of the schedules did with one backup.

    Attributes:
        what: CREATED, EXPIRED or FAILED.
        backup_set: its full name.
        backup_id: "" for one that failed.
        bytes: of its files; 0 where unknown.
        problem: why it failed.
    """

    what: str
    backup_set: str
    backup_id: str = ""
    bytes: int = 0
    problem: str = ""


@dataclass(frozen=True)
class Backups:
    """All backups under a root.

    Attributes:
        log: of their events.
        root: a folder of this machine.
        catalog_of: the catalog as a session sees it.
        privileges_of: what an actor may do.
        observe: what the clocks say now.
        contents: makes and restores files.
    """

    log: BackupLog
    root: Path
    catalog_of: Callable[[SparkSession], DeltaCatalog]
    privileges_of: Callable[[Actor], Privileges]
    observe: Callable[[], Observation]
    contents: Contents

    def run(self, typed: backups.BackupStatement, spark: SparkSession, actor: Actor) -> DataFrame:
        """Run a statement about backups.

        Raises:
            BackupError: a rule forbids it, or a privilege is missing.
            UnknownObjectError: there is no such table or schema.
        """
        catalog = self.catalog_of(spark)
        request = Request(actor, self.privileges_of(actor), catalog.current)
        match typed:
            case backups.ShowBackups():
                columns, rows = show(typed, self.log.state(), request)
                return spark.createDataFrame(rows, columns)
            case backups.DescribeBackups():
                columns, rows = describe(typed, self.log.state(), request)
                return spark.createDataFrame(rows, columns)
            case backups.AddBackup():
                return frames.message_frame(spark, self._add(typed, request))
            case backups.CreateFromBackup():
                return frames.message_frame(spark, self._restore(typed, spark, request))
            case backups.CreateBackupSet():
                _require_object(typed, catalog)
        before = self._change(typed, request)
        return frames.message_frame(spark, *self._messages(typed, request, before))

    # -- statements ----------------------------------------------------------------------------

    def _change(self, typed: backups.BackupStatement, request: Request) -> bool:
        """Append the events of a statement, and delete files that nobody has any more; whether it changed."""
        appended: list[BackupEvent] = []

        def decide(state: BackupState) -> Sequence[BackupEvent]:
            appended[:] = events_of(state, typed, request, self.observe())
            return appended

        self.log.change(decide)
        if any(event.event in _DELETES for event in appended):
            self._remove_deleted(appended)
        return bool(appended)

    def _messages(
        self,
        typed: backups.BackupStatement,
        request: Request,
        changed: bool,  # noqa: FBT001  one caller
    ) -> Iterator[str]:
        command = backups.command_of_backups(typed)
        noun = "Backup policy" if command.domain is Domain.BACKUP_POLICY else "Backup set"
        name = request.full(command.target)
        if not changed:
            yield f"{noun} {name}: nothing to do, statement succeeded."
            return
        verb = command.kind.partition("_")[0]
        said = {"CREATE": "created", "DROP": "dropped"}.get(verb)
        yield f"{noun} {name} successfully {said}." if said else "Statement executed successfully."

    def _add(self, typed: backups.AddBackup, request: Request) -> str:
        state = self.log.state()
        events_of(state, typed, request, self.observe())  # refused before any file is made
        known = find_set(state, request.full(typed.name))
        made = self._made(known, request.actor)
        try:
            self.log.change(lambda now: events_of(now, typed, request, self.observe(), made))
        except BaseException:
            publish.remove(self.folder(known.set_id, made.backup_id))
            raise
        return f"Backup {made.backup_id} of backup set {known.name} successfully created."

    def _restore(self, typed: backups.CreateFromBackup, spark: SparkSession, request: Request) -> str:
        state = self.log.state()
        events_of(state, typed, request, self.observe())
        backup = backup_rules.backup_to_restore(state, typed, request)
        folder = self.folder(backup.set_id, backup.backup_id)
        return self.contents.restore(typed, state.sets[backup.set_id], folder, spark, request.actor)

    def _made(self, backup_set: BackupSet, actor: Actor) -> NewBackup:
        backup_id = actor.new_id()
        return NewBackup(backup_id, self.contents.take(backup_set, self.folder(backup_set.set_id, backup_id)))

    def folder(self, set_id: str, backup_id: str) -> Path:
        """Where a backup lies."""
        return self.root / FOLDER / set_id / backup_id

    # -- schemas -------------------------------------------------------------------------------

    def require_schema_drop(self, name: str, actor: Actor) -> None:
        """Refuse to drop a schema with backups that nobody may delete.

        Args:
            name: in full.
            actor: who drops it.

        Raises:
            BackupHeldError: a backup in it is under a legal hold.
            BackupLockedError: a backup in it is under a retention lock and has not expired.
            BackupPolicyInUseError: a policy in it is applied to a set elsewhere.
        """
        container_rules.drop_container(self._looked(actor), name, actor)

    def schema_dropped(self, name: str, actor: Actor) -> None:
        """The backup sets and policies of a schema go with it."""
        events = self._appended(lambda state: container_rules.drop_container(state, name, actor), actor)
        self._remove_deleted(events)

    def schema_renamed(self, old: str, new: str, actor: Actor) -> None:
        """The backup sets and policies of a schema have new names."""
        self._appended(lambda state: container_rules.rename_container(state, old, new, actor), actor)

    # -- runs ----------------------------------------------------------------------------------

    def run_schedules(self, actor: Actor) -> Iterator[BackupRun]:
        """Make the backups that are due, and delete those that have expired; safe twice at once.

        Args:
            actor: who runs it, and when.
        """
        # The trusted time advances at each run: a lock that nobody looks at would last for ever.
        self._appended(lambda _: (look_at_clocks(self.observe(), actor),), actor, looks=False)
        for due in backup_rules.runs_due(self.log.state(), actor.time):
            yield self._scheduled(due, actor)
        expired = self._appended(lambda state: backup_rules.expire_backups(state, actor), actor)
        for event in expired:
            if event.event == "EXPIRE_BACKUP":
                yield BackupRun("EXPIRED", event.name, event.details["backup"])
        self._remove_deleted(expired)
        self.sweep(actor.time)

    def _scheduled(self, due: DueRun, actor: Actor) -> BackupRun:
        name = due.backup_set.name
        try:
            made = self._made(due.backup_set, actor)
        except UnknownObjectError as error:
            return BackupRun("FAILED", name, problem=str(error))
        events = self._appended(lambda state: backup_rules.scheduled_backup(state, due, made, actor), actor)
        if not any(event.event == "ADD_BACKUP" for event in events):
            # Another runner was faster, or nobody wants it any more.
            publish.remove(self.folder(due.backup_set.set_id, made.backup_id))
            return BackupRun("SKIPPED", name)
        return BackupRun("CREATED", name, made.backup_id, int(made.content.get("bytes", 0)))

    def due(self, actor: Actor) -> list[BackupRun]:
        """What a run would make and delete now; nothing is changed."""
        state = self._looked(actor)
        made = [BackupRun("DUE", one.backup_set.name) for one in backup_rules.runs_due(state, actor.time)]
        gone = [
            BackupRun("EXPIRED", state.sets[one.set_id].name, one.backup_id, int(one.content.get("bytes", 0)))
            for one in backup_rules.expired_backups(state, actor.time)
        ]
        return [*made, *gone]

    def sweep(self, now: int) -> list[Path]:
        """Remove folders of no backup that a killed driver has left; younger ones may be on their way.

        Args:
            now: UTC microseconds.

        Returns:
            The folders that are gone.
        """
        state, removed = self.log.state(), []
        for parent in _folders(self.root / FOLDER):
            known = state.backups.get(parent.name, {})
            for folder in _folders(parent):
                if folder.name not in known and folder.stat().st_mtime_ns // 1000 < now - _ON_ITS_WAY:
                    publish.remove(folder)
                    removed.append(folder)
        return removed

    def all_backups(self) -> Iterator[tuple[BackupSet, Backup, Path]]:
        """Each backup with its set and its folder."""
        state = self.log.state()
        for backup in state.all_backups():
            yield state.sets[backup.set_id], backup, self.folder(backup.set_id, backup.backup_id)

    # -- events and files ----------------------------------------------------------------------

    def _looked(self, actor: Actor) -> BackupState:
        """The state after a look at the clocks, which is not appended."""
        return state_after([look_at_clocks(self.observe(), actor)], self.log.state())

    def _appended(
        self,
        decide: Callable[[BackupState], Sequence[BackupEvent]],
        actor: Actor,
        *,
        looks: bool = True,
    ) -> list[BackupEvent]:
        """Append events behind a look at the clocks; nothing where there are none."""
        appended: list[BackupEvent] = []

        def decided(state: BackupState) -> Sequence[BackupEvent]:
            look = [look_at_clocks(self.observe(), actor)] if looks else []
            found = decide(state_after(look, state))
            appended[:] = [*look, *found] if found else []
            return appended

        self.log.change(decided)
        return appended

    def _remove_deleted(self, events: Sequence[BackupEvent]) -> None:
        for event in events:
            if event.event == "DROP_SET":
                for folder in _folders(self.root / FOLDER / (event.of_id or "")):
                    publish.remove(folder)
            elif event.event in _DELETES:
                publish.remove(self.folder(event.of_id or "", event.details["backup"]))


def _folders(parent: Path) -> list[Path]:
    return sorted(one for one in parent.iterdir() if one.is_dir()) if parent.is_dir() else []


def _require_object(typed: backups.CreateBackupSet, catalog: DeltaCatalog) -> None:
    """Refuse a set of what is not there, or has no versions."""
    if typed.domain is Domain.SCHEMA:
        if catalog.schema_facts(typed.of[-1]) is None:
            raise UnknownObjectError(f"there is no schema {quote_name(typed.of)}", "check its name")
        return
    found = catalog.find(typed.of)
    if not isinstance(found, Table):
        raise UnknownObjectError(f"there is no table {quote_name(typed.of)}", "check its name")
    if found.provider != "delta":
        raise UnknownObjectError(
            f"table {quote_name(split_name(quote_name(found.name)))} is of {found.provider}, which has no"
            " versions",
            "make it a Delta table: CONVERT TO DELTA, or CREATE TABLE … USING delta AS SELECT",
        )
