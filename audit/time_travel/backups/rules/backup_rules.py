"""The rules of single backups: made, read, held, deleted, expired.

In: the state, a statement or a run of the schedule. Out: events, or the error that names the rule. The rules
are those of the document (Backups, Retention lock and Legal hold), else Snowflake's (ALTER BACKUP SET).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.model.schedule import parse_schedule, run_due
from audit.time_travel.backups.rules.requests import ACCOUNT, APPLY_HOLD, Request
from audit.time_travel.backups.rules.set_rules import find_set, owned_set
from audit.time_travel.errors import BackupHeldError, BackupLockedError, UnknownBackupError

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.time_travel.backups.model.state import Backup, BackupSet, BackupState
    from audit.time_travel.backups.rules.policy_rules import Events
    from lineage.sql.commands.backups.statements import (
        AddBackup,
        ChangeLegalHold,
        CreateFromBackup,
        DeleteBackup,
    )


@dataclass(frozen=True, slots=True)
class NewBackup:
    """A backup whose files are there, with their manifest.

    Attributes:
        backup_id: its identifier.
        content: what its maker notes of it, as JSON: folder, bytes, versions.
    """

    backup_id: str
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DueRun:
    """A backup that the schedule of a set asks for now; `planned` is the run, UTC microseconds."""

    backup_set: BackupSet
    planned: int


def add_backup(state: BackupState, command: AddBackup, request: Request, made: NewBackup | None) -> Events:
    """ALTER BACKUP SET … ADD BACKUP: the checks before the files are made, the event when they are there.

    Raises:
        BackupDeniedError: a privilege is missing.
        UnknownBackupError: there is no such set.
    """
    known = owned_set(state, command.name, request)
    return () if made is None else (_added(request.actor, known, made),)


def runs_due(state: BackupState, now: int) -> tuple[DueRun, ...]:
    """The backups that schedules ask for now; of missed runs of a set the newest alone.

    Args:
        state: of all backups.
        now: by the machine's clock, UTC microseconds.
    """
    found = ((one, _run_due(state, one, now)) for one in state.sets.values())
    return tuple(DueRun(one, planned) for one, planned in found if planned is not None)


def scheduled_backup(state: BackupState, due: DueRun, made: NewBackup, actor: Actor) -> Events:
    """The event of a scheduled backup; none where another runner was faster, or nobody wants it any more.

    Args:
        state: the newest.
        due: what was asked for when the runner began.
        made: its files.
        actor: the runner.
    """
    known = state.sets.get(due.backup_set.set_id)
    if known is None or _run_due(state, known, max(actor.time, due.planned)) is None:
        return ()
    return (_added(actor, known, made, planned=due.planned),)


def expired_backups(state: BackupState, now: int) -> tuple[Backup, ...]:
    """The backups to delete now: expired, under no legal hold, their set's expiration not suspended.

    Args:
        state: of all backups, whose trusted time has been advanced.
        now: by the machine's clock, UTC microseconds.
    """
    return tuple(
        one
        for one in state.all_backups()
        if not one.is_held
        and not state.sets[one.set_id].is_expiration_suspended
        and state.is_expired(one, now)
    )


def expire_backups(state: BackupState, actor: Actor) -> Events:
    """The events of all backups to delete now. Their files go afterwards.

    Args:
        state: the newest, whose trusted time has been advanced.
        actor: the runner.
    """
    return tuple(
        BackupEvent.of(
            actor, "EXPIRE_BACKUP", of_id=one.set_id, name=state.sets[one.set_id].name, backup=one.backup_id
        )
        for one in expired_backups(state, actor.time)
    )


def unread_backups(state: BackupState) -> tuple[Backup, ...]:
    """The backups of which large files have no hash yet."""
    return tuple(one for one in state.all_backups() if one.content.get("unread"))


def complete_backup(state: BackupState, backup: Backup, manifest: str, actor: Actor) -> Events:
    """The event of a backup whose files all have their hash; none where it is gone or complete by now.

    Args:
        state: the newest.
        backup: as it was when the runner began.
        manifest: the hash of its manifest.
        actor: the runner.
    """
    known = state.backups.get(backup.set_id, {}).get(backup.backup_id)
    if known is None or not known.content.get("unread"):
        return ()
    return (
        BackupEvent.of(
            actor, "COMPLETE_BACKUP", of_id=known.set_id, name=state.sets[known.set_id].name,
            backup=known.backup_id, content={"manifest": manifest, "unread": 0},
        ),
    )  # fmt: skip


def delete_backup(state: BackupState, command: DeleteBackup, request: Request) -> Events:
    """ALTER BACKUP SET … DELETE BACKUP IDENTIFIER 'id'.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupHeldError: it is under a legal hold.
        BackupLockedError: it is under a retention lock and has not expired.
        UnknownBackupError: there is no such set or backup.
    """
    known = owned_set(state, command.name, request)
    backup = find_backup(state, known, command.identifier)
    if backup.is_held:
        raise BackupHeldError(
            f"backup {backup.backup_id} of backup set {known.name} is under a legal hold",
            "who has APPLY LEGAL HOLD can remove it: MODIFY BACKUP IDENTIFIER … REMOVE LEGAL HOLD",
        )
    if state.is_bound(backup, request.actor.time):
        raise BackupLockedError(
            f"backup {backup.backup_id} of backup set {known.name} is under a retention lock and has not"
            " expired",
            "wait until it has expired: SHOW BACKUPS IN BACKUP SET tells when; nobody can do it before",
        )
    return (_about(request.actor, "DELETE_BACKUP", known, backup),)


def change_hold(state: BackupState, command: ChangeLegalHold, request: Request) -> Events:
    """ALTER BACKUP SET … MODIFY BACKUP IDENTIFIER 'id' ADD | REMOVE LEGAL HOLD.

    "The legal hold can be removed by a privileged user, unlike a retention lock" (Backups, Legal hold): who
    has the privilege need not own the set, and who owns it does not have it by that.

    Raises:
        BackupDeniedError: APPLY LEGAL HOLD is missing.
        UnknownBackupError: there is no such set or backup.
    """
    known = find_set(state, request.full(command.name))
    request.require(APPLY_HOLD, ACCOUNT)
    backup = find_backup(state, known, command.identifier)
    if backup.is_held == command.add:
        return ()
    kind = "ADD_LEGAL_HOLD" if command.add else "REMOVE_LEGAL_HOLD"
    return (_about(request.actor, kind, known, backup),)


def backup_to_restore(state: BackupState, command: CreateFromBackup, request: Request) -> Backup:
    """The backup of CREATE … FROM BACKUP SET. One that has expired and is there still can be read.

    Raises:
        BackupDeniedError: a privilege is missing.
        UnknownBackupError: there is no such set or backup, or it is of another kind of object.
    """
    known = owned_set(state, command.backup_set, request)
    if known.domain is not command.domain:
        raise UnknownBackupError(
            f"backup set {known.name} is of a {known.domain.value.lower()}, not of a"
            f" {command.domain.value.lower()}",
            f"write CREATE {known.domain.value.upper()} … FROM BACKUP SET",
        )
    return find_backup(state, known, command.identifier)


def find_backup(state: BackupState, backup_set: BackupSet, identifier: str) -> Backup:
    """A backup of a set by its identifier.

    Raises:
        UnknownBackupError: there is none.
    """
    found = state.backups_of(backup_set).get(identifier)
    if found is None:
        raise UnknownBackupError(
            f"backup set {backup_set.name} has no backup {identifier}",
            f"SHOW BACKUPS IN BACKUP SET {backup_set.name} lists all",
        )
    return found


def _run_due(state: BackupState, backup_set: BackupSet, now: int) -> int | None:
    policy = state.policy_of(backup_set)
    if policy is None or policy.schedule is None or backup_set.is_creation_suspended:
        return None
    made = () if backup_set.last_run is None else (backup_set.last_run,)
    return run_due(parse_schedule(policy.schedule), backup_set.scheduled_since, now, made)


def _added(actor: Actor, known: BackupSet, made: NewBackup, planned: int | None = None) -> BackupEvent:
    return BackupEvent.of(
        actor, "ADD_BACKUP", of_id=known.set_id, name=known.name, backup=made.backup_id, planned=planned,
        content=dict(made.content),
    )  # fmt: skip


def _about(actor: Actor, kind: str, known: BackupSet, backup: Backup) -> BackupEvent:
    return BackupEvent.of(actor, kind, of_id=known.set_id, name=known.name, backup=backup.backup_id)
