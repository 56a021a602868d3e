"""Backups of one root: runs the statements about them, scheduled backups and expiration.

In: a typed statement, a session, its actor. Out: the statement's DataFrame. Rules decide on the state of
`BackupLog`, `contents` makes and restores files. The files of a backup are there before its event, and go
after the event that deletes it: a killed driver leaves files without a backup, which a run removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from audit.core.errors import AuditError
from audit.spark.delta.values import Table
from audit.spark.pyspark_api import frames
from audit.time_travel.backups.backup_files import LOCATION
from audit.time_travel.backups.content.take_backup import NOBODY, Watch
from audit.time_travel.backups.estimate import LockEstimate, estimate_lock
from audit.time_travel.backups.files.parallel import WORKERS
from audit.time_travel.backups.hashing_thread import HashingThread
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.rules import backup_rules, container_rules
from audit.time_travel.backups.rules.backup_rules import DueRun, NewBackup
from audit.time_travel.backups.rules.decide import events_of, look_at_clocks
from audit.time_travel.backups.rules.requests import BackupSecurable, Request, of_policy, of_set
from audit.time_travel.backups.rules.set_rules import find_set
from audit.time_travel.backups.show_backups import describe, show
from audit.time_travel.errors import BackupDamagedError, BackupError, UnknownObjectError
from lineage.model import Domain
from lineage.names import quote_name, split_name
from lineage.sql.commands.backups import statements as backups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.handler import Run
    from audit.time_travel.backups.backup_files import BackupFiles
    from audit.time_travel.backups.backup_log import BackupLog
    from audit.time_travel.backups.content.contents import Contents
    from audit.time_travel.backups.content.take_backup import BackupFolder
    from audit.time_travel.backups.files.manifest import Done
    from audit.time_travel.backups.model.state import Backup, BackupPolicy, BackupSet, BackupState
    from audit.time_travel.backups.model.trusted_time import Observation
    from audit.time_travel.ports import Governance
    from audit.time_travel.retention.maintenance import Maintenance
    from audit.time_travel.retention.storage import StoredTable
    from lineage.sql.commands.time_travel.drop import Drop

_DELETES = frozenset({"DELETE_BACKUP", "EXPIRE_BACKUP"})


@dataclass(frozen=True, slots=True)
class BackupRun:
    """What a run of the schedules did with one backup.

    Attributes:
        what: CREATED, HASHED (its large files), EXPIRED, SKIPPED (another run was faster) or FAILED; DUE of a
            run that only looks.
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
        files: of all of them.
        catalog_of: the catalog as a session sees it.
        governance: knows who may do what, and who owns a policy or a set.
        observe: what the clocks say now, given the store's date.
        contents: makes and restores files.
        care: knows the files of all tables; for estimates.
        hashing: reads what was too large to be hashed by ADD BACKUP.
    """

    log: BackupLog
    files: BackupFiles
    catalog_of: Callable[[SparkSession], DeltaCatalog]
    governance: Governance
    observe: Callable[[int | None], Observation]
    contents: Contents
    care: Callable[[], Maintenance]
    hashing: HashingThread = field(default_factory=HashingThread)

    def run(self, typed: backups.BackupStatement, spark: SparkSession, actor: Actor) -> DataFrame:
        """Run a statement about backups.

        Raises:
            BackupError: a rule forbids it, or a privilege is missing.
            UnknownObjectError: there is no such table or schema.
        """
        catalog = self.catalog_of(spark)
        request = Request(actor, self.governance.backup_privileges(spark, actor), catalog.current)
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
                request = replace(request, location=_place_of(typed, catalog))
        changed = self._change(typed, spark, request)
        return frames.message_frame(spark, *self._messages(typed, request, changed=changed))

    # -- statements ----------------------------------------------------------------------------

    def _change(self, typed: backups.BackupStatement, spark: SparkSession, request: Request) -> bool:
        """Append the events of a statement, and what follows from them; whether it changed anything."""
        appended: list[BackupEvent] = []

        def decide(state: BackupState) -> Sequence[BackupEvent]:
            appended[:] = events_of(state, typed, request, self._seen())
            return appended

        before = self.log.state()
        after = self.log.change(decide)
        self.files.bind(after)
        self._remove_deleted(appended, before)
        self._forget(before, request.actor)
        # Another driver may have made others meanwhile.
        for made in _objects(after).keys() & {event.event_id for event in appended}:
            self.governance.own_backup(_objects(after)[made], spark, request.actor)
        return bool(appended)

    def _messages(self, typed: backups.BackupStatement, request: Request, *, changed: bool) -> Iterator[str]:
        command = backups.command_of_backups(typed)
        noun = "Backup policy" if command.domain is Domain.BACKUP_POLICY else "Backup set"
        name = request.full(command.target)
        if not changed:
            yield f"{noun} {name}: nothing to do, statement succeeded."
            return
        verb = command.kind.partition("_")[0]
        said = {"CREATE": "created", "DROP": "dropped"}.get(verb)
        yield f"{noun} {name} successfully {said}." if said else "Statement executed successfully."
        if isinstance(typed, backups.CreateBackupPolicy) and typed.retention_lock:
            yield (
                f"Nobody can take the retention lock of {name} off a backup set. `audit backup estimate TABLE"
                f" --days {typed.expire_after_days or 0}` says what it will bind: ask before you apply it."
            )
        for known, policy in self._locked_by(typed, request):
            yield self._bound_by(known, policy, request.actor)

    def _locked_by(
        self, typed: backups.BackupStatement, request: Request
    ) -> Iterator[tuple[BackupSet, BackupPolicy]]:
        """The sets on which a statement has put a retention lock, or on which it has made one last longer."""
        state = self.log.state()
        concerned: Iterable[BackupSet | None] = ()
        match typed:
            case backups.ApplyBackupPolicy() | backups.CreateBackupSet():
                concerned = [state.set_named(request.full(typed.name))]
            case backups.AlterBackupPolicy(settings=settings) if "EXPIRE_AFTER_DAYS" in dict(settings):
                altered = state.policy_named(request.full(typed.name))
                concerned = () if altered is None else state.users_of(altered)
        for known in concerned:
            policy = None if known is None else state.policy_of(known)
            if known is not None and policy is not None and policy.has_retention_lock:
                yield known, policy

    def _bound_by(self, known: BackupSet, policy: BackupPolicy, actor: Actor) -> str:
        """What a retention lock will bind: a warning."""
        days = policy.expire_after_days or 0
        said = f"The retention lock of {policy.name} is on {known.name} for good: nobody can take it off."
        is_schema = known.domain is Domain.SCHEMA
        try:
            found = self.estimate(split_name(known.of), days, actor.time, is_schema=is_schema)
        except AuditError as error:
            # The lock is on already: what it will bind is not known, as of a table that is dropped.
            return f"{said} What daily backups will bind is not known: {error.problem}."
        return (
            f"{said} Daily backups will bind about {found.bytes_bound:,} bytes in {days} days:"
            f" {found.bytes_now:,} now, and {found.bytes_a_day:,} that change a day."
        )

    def estimate(self, name: Sequence[str], days: int, now: int, *, is_schema: bool) -> LockEstimate:
        """What daily backups will bind under a retention lock.

        Args:
            name: of the table or schema; what is missing in front is not compared.
            days: EXPIRE_AFTER_DAYS.
            now: UTC microseconds.
            is_schema: whether it names a schema.

        Raises:
            UnknownObjectError: no Delta table has that name, or is in that schema.
        """
        wanted = [part.casefold() for part in name]

        def is_wanted(one: StoredTable) -> bool:
            parts = [part.casefold() for part in (one.name[:-1] if is_schema else one.name)]
            return parts[-len(wanted) :] == wanted

        return estimate_lock(self.care(), is_wanted, now, days, quote_name(name))

    def _add(self, typed: backups.AddBackup, request: Request) -> str:
        state = self.log.state()
        events_of(state, typed, request, self._seen())  # refused before any file is made
        known = find_set(state, request.full(typed.name))
        place, made = self._made(state, known, request.actor, NOBODY)
        try:
            after = self.log.change(lambda now: events_of(now, typed, request, self._seen(), made))
        except BaseException:
            place.store.remove(place.folder)
            raise
        self.files.bind(after)
        added = after.backups[known.set_id][made.backup_id]
        if added.content.get("unread"):
            self.hashing.add(lambda done: self._problem_of_hashing(added, request.actor, done))
        return f"Backup {made.backup_id} of backup set {known.name} successfully created."

    def _restore(self, typed: backups.CreateFromBackup, spark: SparkSession, request: Request) -> str:
        state = self.log.state()
        events_of(state, typed, request, self._seen())
        backup = backup_rules.backup_to_restore(state, typed, request)
        self.governance.require_restore(typed.domain, typed.name, spark, request.actor)
        restored = self.contents.restore(typed, self.files.of(backup), spark, request.actor)
        self.governance.own_restored(restored.made, restored.grants, spark, request.actor)
        return restored.message

    def _made(
        self, state: BackupState, backup_set: BackupSet, actor: Actor, watch: Watch
    ) -> tuple[BackupFolder, NewBackup]:
        backup_id = actor.new_id()
        place = self.files.new(state, backup_set, backup_id)
        noted = {LOCATION: self.files.location} if self.files.location else {}
        try:
            return place, NewBackup(backup_id, {**self.contents.take(backup_set, place, watch), **noted})
        except BaseException:
            place.store.remove(place.folder)
            raise

    # -- schemas -------------------------------------------------------------------------------

    def drop_schema(self, drop: Drop, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        """DROP SCHEMA: its backup sets and policies go with it.

        Args:
            drop: the statement.
            spark: the session.
            text: for Spark.
            actor: who drops it.
            run: drops it.

        Raises:
            BackupHeldError: a backup in it is under a legal hold.
            BackupLockedError: a backup in it is under a retention lock and has not expired.
            BackupPolicyInUseError: a policy in it is applied to a set elsewhere.
        """
        before = self.log.state()
        if not (before.sets or before.policies):
            return run(spark, text)
        current = self.catalog_of(spark).current
        name = quote_name(drop.name if len(drop.name) > 1 else (current[0], *drop.name))

        def decide(state: BackupState) -> Sequence[BackupEvent]:
            return container_rules.drop_container(state, name, actor)

        decide(self._looked(actor))  # refused before anything is dropped
        answer = run(spark, text)
        self._remove_deleted(self._appended(decide, actor), before)
        self._forget(before, actor)
        return answer

    def _forget(self, before: BackupState, actor: Actor) -> None:
        """Grants on what is gone since a state hold for nothing more."""
        was, now = _objects(before), _objects(self.log.state())
        for identity in was.keys() - now.keys():
            self.governance.forget_backup(was[identity], actor)

    def bytes_bound(self) -> int:
        """Bytes that nothing but backups needs: no table has them any longer, or they are copies.

        Raises:
            BackupStoreError: a store cannot be reached.
        """
        return self.files.bytes_bound(self.log.state())

    # -- runs ----------------------------------------------------------------------------------

    def run_schedules(self, actor: Actor, watch: Watch = NOBODY) -> Iterator[BackupRun]:
        """Make the backups that are due, and delete those that have expired; safe twice at once.

        Args:
            actor: who runs it, and when.
            watch: is told how each backup goes on.
        """
        # The trusted time advances at each run: a lock that nobody looks at would last for ever.
        self._appended(lambda _: (look_at_clocks(self._seen(), actor),), actor, looks=False)
        for due in backup_rules.runs_due(self.log.state(), actor.time):
            yield self._scheduled(due, actor, watch)
        for unread in backup_rules.unread_backups(self.log.state()):
            hashed = self._hashed(unread, actor, watch.read)
            if hashed is not None:
                yield hashed
        before = self.log.state()
        expired = self._appended(lambda state: backup_rules.expire_backups(state, actor), actor)
        for event in expired:
            if event.event == "EXPIRE_BACKUP":
                yield BackupRun("EXPIRED", event.name, event.details["backup"])
        try:
            self.files.bind(self.log.state())
            self._remove_deleted(expired, before)
            self.files.sweep(self.log.state(), actor.time)
        except BackupError as error:
            # The next run tries again.
            yield BackupRun("FAILED", "", problem=str(error))

    def _scheduled(self, due: DueRun, actor: Actor, watch: Watch) -> BackupRun:
        name = due.backup_set.name
        try:
            place, made = self._made(self.log.state(), due.backup_set, actor, watch)
        except AuditError as error:
            # The other sets have their backups all the same.
            return BackupRun("FAILED", name, problem=str(error))
        events = self._appended(lambda state: backup_rules.scheduled_backup(state, due, made, actor), actor)
        if not any(event.event == "ADD_BACKUP" for event in events):
            # Another runner was faster, or nobody wants it any more.
            place.store.remove(place.folder)
            return BackupRun("SKIPPED", name)
        return BackupRun("CREATED", name, made.backup_id, int(made.content.get("bytes", 0)))

    def _hashed(self, backup: Backup, actor: Actor, done: Done, workers: int = WORKERS) -> BackupRun | None:
        """Hash the files of a backup that were too large for the moment when it was made.

        None where it is deleted, or another was faster.
        """
        place = self.files.of(backup)
        try:
            found = place.store.complete(place.folder, done, workers)
        except BackupDamagedError as error:
            state = self.log.state()
            if backup.backup_id not in state.backups.get(backup.set_id, {}):
                return None
            # A matter for `audit backup verify`.
            return BackupRun("FAILED", state.sets[backup.set_id].name, backup.backup_id, problem=str(error))
        now = replace(actor, time=self._seen().machine)
        events = self._appended(
            lambda state: backup_rules.complete_backup(state, backup, found.digest, now), now
        )
        return BackupRun("HASHED", events[-1].name, backup.backup_id, found.size) if events else None

    def _problem_of_hashing(self, backup: Backup, actor: Actor, done: Done) -> str:
        """Hash a backup's files on the caller's thread alone: the driver's cores are Spark's."""
        done_with = self._hashed(backup, actor, done, workers=1)
        return "" if done_with is None else done_with.problem

    def due(self, actor: Actor) -> list[BackupRun]:
        """What a run would make and delete now, with its bytes; nothing is changed."""
        state = self._looked(actor)
        made = [self._due(one.backup_set) for one in backup_rules.runs_due(state, actor.time)]
        gone = [
            BackupRun("EXPIRED", state.sets[one.set_id].name, one.backup_id, int(one.content.get("bytes", 0)))
            for one in backup_rules.expired_backups(state, actor.time)
        ]
        return [*made, *gone]

    def _due(self, backup_set: BackupSet) -> BackupRun:
        try:
            return BackupRun("DUE", backup_set.name, bytes=self.contents.estimate(backup_set))
        except AuditError as error:
            return BackupRun("FAILED", backup_set.name, problem=str(error))

    # -- events and files ----------------------------------------------------------------------

    def _looked(self, actor: Actor) -> BackupState:
        """The state after a look at the clocks, which is not appended."""
        return state_after([look_at_clocks(self._seen(), actor)], self.log.state())

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
            look = [look_at_clocks(self._seen(), actor)] if looks else []
            found = decide(state_after(look, state))
            appended[:] = [*look, *found] if found else []
            return appended

        self.log.change(decided)
        return appended

    def _remove_deleted(self, events: Sequence[BackupEvent], before: BackupState) -> None:
        for event in events:
            set_id = event.of_id or ""
            there = before.backups.get(set_id, {})
            if event.event == "DROP_SET":
                self.files.remove(there.values())
            elif event.event in _DELETES:
                self.files.remove([there[event.details["backup"]]])

    def _seen(self) -> Observation:
        return self.observe(self.files.clock())


def _objects(state: BackupState) -> dict[str, BackupSecurable]:
    """The policies and sets of a state by their ids, as privileges are asked on them."""
    found = (*map(of_policy, state.policies.values()), *map(of_set, state.sets.values()))
    return {one.identity: one for one in found}


def _place_of(typed: backups.CreateBackupSet, catalog: DeltaCatalog) -> str | None:
    """Where the table of a new set lies; None for a schema.

    Raises:
        UnknownObjectError: there is no such table or schema, or it has no versions.
    """
    if typed.domain is Domain.SCHEMA:
        if catalog.schema_facts(typed.of[-1]) is None:
            raise UnknownObjectError(f"there is no schema {quote_name(typed.of)}", "check its name")
        return None
    found = catalog.find(typed.of)
    if not isinstance(found, Table):
        raise UnknownObjectError(f"there is no table {quote_name(typed.of)}", "check its name")
    if found.provider != "delta":
        raise UnknownObjectError(
            f"table {quote_name(found.name)} is of {found.provider}, which has no versions",
            "make it a Delta table: CONVERT TO DELTA, or CREATE TABLE … USING delta AS SELECT",
        )
    return found.location
