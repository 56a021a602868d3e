"""The rules of CREATE, ALTER, RENAME and DROP BACKUP POLICY.

In: the state, a statement and its request. Out: events, or the error that names the rule. The rules are
Snowflake's (CREATE and ALTER BACKUP POLICY; Backups, Retention lock).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.model.schedule import LONGEST_DAYS, parse_schedule
from audit.time_travel.backups.rules.requests import (
    ACCOUNT,
    APPLY_LOCK,
    CREATE_POLICY,
    OWNERSHIP,
    Request,
    of_policy,
    schema_of,
)
from audit.time_travel.errors import (
    BackupExistsError,
    BackupLockedError,
    BackupPolicyInUseError,
    BadBackupPolicyError,
    UnknownBackupError,
)

if TYPE_CHECKING:
    from audit.time_travel.backups.model.state import BackupPolicy, BackupState
    from lineage.sql.commands.backups.statements import (
        AlterBackupPolicy,
        CreateBackupPolicy,
        DropBackupPolicy,
        RenameBackupPolicy,
    )
    from lineage.sql.commands.command import Change

Events = tuple[BackupEvent, ...]
_FIELDS = {"COMMENT": "comment", "EXPIRE_AFTER_DAYS": "expire_after_days", "SCHEDULE": "schedule"}
_WAY_OUT_OF_NONE = "give it a SCHEDULE, EXPIRE_AFTER_DAYS, or both"


def create_policy(state: BackupState, command: CreateBackupPolicy, request: Request) -> Events:
    """CREATE BACKUP POLICY.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupExistsError: the name is in use.
        BackupPolicyInUseError: OR REPLACE of a policy that is applied.
        BadBackupPolicyError: schedule and expiration are missing or invalid.
    """
    name = request.full(command.name)
    known = state.policy_named(name)
    if known is not None and command.if_not_exists:
        return ()
    if known is not None and not command.replace:
        raise BackupExistsError(
            f"there is a backup policy {name}", "choose another name, or CREATE OR REPLACE BACKUP POLICY"
        )
    request.require(CREATE_POLICY, schema_of(name))
    if command.retention_lock:
        request.require(APPLY_LOCK, ACCOUNT)
    _require_valid(name, command.schedule, command.expire_after_days, locked=command.retention_lock)
    dropped = () if known is None else _dropped(state, known, request)
    made = BackupEvent.of(
        request.actor,
        "CREATE_POLICY",
        name=name,
        schedule=command.schedule,
        expire_after_days=command.expire_after_days,
        has_retention_lock=command.retention_lock,
        comment=command.comment,
        tags=tag_values(command.tags, request),
    )
    return (*dropped, made)


def alter_policy(state: BackupState, command: AlterBackupPolicy, request: Request) -> Events:
    """ALTER BACKUP POLICY … SET | UNSET.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupLockedError: the policy has a retention lock, and the period would become shorter.
        BadBackupPolicyError: schedule and expiration would be missing or invalid.
        UnknownBackupError: there is no such policy.
    """
    known = find_policy(state, request.full(command.name))
    request.require(OWNERSHIP, of_policy(known))
    changed: dict[str, Any] = {_FIELDS[key]: value for key, value in command.settings}
    after = replace(known, **changed)
    if known.has_retention_lock and after.expire_after_days != known.expire_after_days:
        _require_longer(known, after.expire_after_days)
        # What is longer cannot be made shorter again, so it asks for what the lock itself asks for.
        request.require(APPLY_LOCK, ACCOUNT)
    _require_valid(known.name, after.schedule, after.expire_after_days, locked=known.has_retention_lock)
    if command.tags:
        changed["tags"] = tag_values(command.tags, request)
    return (BackupEvent.of(request.actor, "ALTER_POLICY", of_id=known.policy_id, name=known.name, **changed),)


def rename_policy(state: BackupState, command: RenameBackupPolicy, request: Request) -> Events:
    """ALTER BACKUP POLICY … RENAME TO: sets keep it.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupExistsError: the new name is in use.
        UnknownBackupError: there is no such policy.
    """
    known = find_policy(state, request.full(command.name))
    request.require(OWNERSHIP, of_policy(known))
    name = request.full_new(command.new_name, known.name)
    if state.policy_named(name) not in (None, known):
        raise BackupExistsError(f"there is a backup policy {name}", "choose another name")
    if schema_of(name) != schema_of(known.name):
        request.require(CREATE_POLICY, schema_of(name))
    return (BackupEvent.of(request.actor, "RENAME_POLICY", of_id=known.policy_id, name=name),)


def drop_policy(state: BackupState, command: DropBackupPolicy, request: Request) -> Events:
    """DROP BACKUP POLICY.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupPolicyInUseError: the policy is applied to a set.
        UnknownBackupError: there is no such policy.
    """
    name = request.full(command.name)
    if command.if_exists and state.policy_named(name) is None:
        return ()
    return _dropped(state, find_policy(state, name), request)


def find_policy(state: BackupState, name: str) -> BackupPolicy:
    """A policy by its full name.

    Raises:
        UnknownBackupError: there is none.
    """
    found = state.policy_named(name)
    if found is None:
        raise UnknownBackupError(f"there is no backup policy {name}", "SHOW BACKUP POLICIES lists all")
    return found


def tag_values(tags: tuple[Change, ...], request: Request) -> dict[str, str | None]:
    """Values by the full name of the tag, None for one that is taken off."""
    return {request.full(one.name): one.value for one in tags}


def _dropped(state: BackupState, known: BackupPolicy, request: Request) -> Events:
    request.require(OWNERSHIP, of_policy(known))
    users = state.users_of(known)
    if users:
        raise BackupPolicyInUseError(
            f"backup policy {known.name} is applied to {len(users)} backup sets, as {users[0].name}",
            "a policy with a retention lock stays as long as they do"
            if known.has_retention_lock
            else "apply another policy to them, or drop them, first",
        )
    return (BackupEvent.of(request.actor, "DROP_POLICY", of_id=known.policy_id, name=known.name),)


def _require_valid(name: str, schedule: str | None, days: int | None, *, locked: bool) -> None:
    # A policy without either would do nothing (Snowflake, ALTER BACKUP POLICY).
    if schedule is None and days is None:
        raise BadBackupPolicyError(
            f"backup policy {name} would have neither schedule nor expiration", _WAY_OUT_OF_NONE
        )
    if schedule is not None:
        parse_schedule(schedule)
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise BadBackupPolicyError(
            f"EXPIRE_AFTER_DAYS = {days} of backup policy {name} is out of range",
            f"give it a number of days from 1 to {LONGEST_DAYS}",
        )
    # A lock lasts until the backup expires: without that it would last for ever.
    if locked and days is None:
        raise BadBackupPolicyError(
            f"backup policy {name} has a retention lock and no expiration", "give it EXPIRE_AFTER_DAYS"
        )


def _require_longer(known: BackupPolicy, days: int | None) -> None:
    # "You can't decrease the backup expiration period, although you can increase the expiration period"
    # (Backups, Retention lock).
    if days is None or days < (known.expire_after_days or 0):
        wanted = "without a period" if days is None else f"with {days} days"
        raise BackupLockedError(
            f"backup policy {known.name} has a retention lock of {known.expire_after_days} days and does not"
            f" go on {wanted}",
            "the period can be made longer only; create another policy for other backup sets",
        )
