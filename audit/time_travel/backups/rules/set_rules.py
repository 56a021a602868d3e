"""The rules of backup sets: CREATE, DROP, RENAME, the policy of a set, and its suspension.

In: the state, a statement and its request. Out: events, or the error that names the rule. The rules are those
of the document (Backups, Retention lock and Legal hold), else Snowflake's (CREATE and ALTER BACKUP SET).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.rules.policy_rules import Events, find_policy, tag_values
from audit.time_travel.backups.rules.requests import (
    CREATE_SET,
    OWNERSHIP,
    BackupSecurable,
    Request,
    of_set,
    schema_of,
)
from audit.time_travel.errors import (
    BackupExistsError,
    BackupHeldError,
    BackupLockedError,
    BackupPolicyInUseError,
    UnknownBackupError,
)
from lineage.model import Domain

if TYPE_CHECKING:
    from audit.time_travel.backups.model.state import BackupSet, BackupState
    from lineage.sql.commands.backups.statements import (
        AlterBackupSet,
        ApplyBackupPolicy,
        CreateBackupSet,
        DropBackupSet,
        RenameBackupSet,
        SuspendBackupPolicy,
    )


def create_set(state: BackupState, command: CreateBackupSet, request: Request) -> Events:
    """CREATE BACKUP SET. Whether there is such a table or schema is known to the catalog alone.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupExistsError: the name is in use.
        BackupHeldError: OR REPLACE would delete a backup under a legal hold.
        BackupLockedError: OR REPLACE would delete a backup under a retention lock.
        UnknownBackupError: there is no such policy.
    """
    name = request.full(command.name)
    known = state.set_named(name)
    if known is not None and command.if_not_exists:
        return ()
    if known is not None and not command.replace:
        raise BackupExistsError(
            f"there is a backup set {name}", "choose another name, or CREATE OR REPLACE BACKUP SET"
        )
    is_schema = command.domain is Domain.SCHEMA
    of = request.full_schema(command.of) if is_schema else request.full(command.of)
    request.require(CREATE_SET, schema_of(name))
    request.require(OWNERSHIP, BackupSecurable(command.domain, of))
    dropped = () if known is None else _dropped(state, known, request)
    details: dict[str, Any] = {
        "domain": command.domain.value, "of": of, "comment": command.comment,
        "tags": tag_values(command.tags, request), "location": request.location,
    }  # fmt: skip
    if command.policy:
        policy = find_policy(state, request.full(command.policy))
        request.require_apply(policy)
        details["policy"] = policy.policy_id
    return (*dropped, BackupEvent.of(request.actor, "CREATE_SET", name=name, **details))


def alter_set(state: BackupState, command: AlterBackupSet, request: Request) -> Events:
    """ALTER BACKUP SET … SET | UNSET COMMENT | TAG.

    Raises:
        BackupDeniedError: a privilege is missing.
        UnknownBackupError: there is no such set.
    """
    known = owned_set(state, command.name, request)
    details: dict[str, Any] = {"comment": command.comment} if command.sets_comment else {}
    if command.tags:
        details["tags"] = tag_values(command.tags, request)
    return (BackupEvent.of(request.actor, "ALTER_SET", of_id=known.set_id, name=known.name, **details),)


def rename_set(state: BackupState, command: RenameBackupSet, request: Request) -> Events:
    """ALTER BACKUP SET … RENAME TO: lock and holds stay.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupExistsError: the new name is in use.
        UnknownBackupError: there is no such set.
    """
    known = owned_set(state, command.name, request)
    name = request.full_new(command.new_name, known.name)
    if state.set_named(name) not in (None, known):
        raise BackupExistsError(f"there is a backup set {name}", "choose another name")
    if schema_of(name) != schema_of(known.name):
        request.require(CREATE_SET, schema_of(name))
    return (BackupEvent.of(request.actor, "RENAME_SET", of_id=known.set_id, name=name),)


def drop_set(state: BackupState, command: DropBackupSet, request: Request) -> Events:
    """DROP BACKUP SET, with its backups.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupHeldError: a backup is under a legal hold.
        BackupLockedError: a backup under a retention lock has not expired.
        UnknownBackupError: there is no such set.
    """
    name = request.full(command.name)
    if command.if_exists and state.set_named(name) is None:
        return ()
    return _dropped(state, find_set(state, name), request)


def apply_policy(state: BackupState, command: ApplyBackupPolicy, request: Request) -> Events:
    """ALTER BACKUP SET … APPLY BACKUP POLICY p [FORCE].

    "Applying a backup policy with a retention lock to a backup set is irreversible" (Backups, Retention
    lock): no other policy takes the place of one with a lock, with FORCE or without, and whoever asks.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupLockedError: the policy of the set has a retention lock.
        BackupPolicyInUseError: the set has a policy, and FORCE is missing.
        UnknownBackupError: there is no such set or policy.
    """
    known = owned_set(state, command.name, request)
    policy = find_policy(state, request.full(command.policy))
    request.require_apply(policy)
    current = state.policy_of(known)
    if current == policy:
        return ()
    if current is not None and current.has_retention_lock:
        raise BackupLockedError(
            f"backup set {known.name} is under the retention lock of policy {current.name}",
            "it stays so; create another backup set for other rules",
        )
    if current is not None and not command.force:
        raise BackupPolicyInUseError(
            f"backup set {known.name} has the backup policy {current.name}", "write FORCE behind the policy"
        )
    return (
        BackupEvent.of(
            request.actor, "APPLY_POLICY", of_id=known.set_id, name=known.name, policy=policy.policy_id
        ),
    )


def suspend_policy(state: BackupState, command: SuspendBackupPolicy, request: Request) -> Events:
    """ALTER BACKUP SET … SUSPEND | RESUME BACKUP [CREATION | EXPIRATION] POLICY.

    Raises:
        BackupDeniedError: a privilege is missing.
        BackupLockedError: the expiration of a set under a retention lock would be suspended.
        UnknownBackupError: there is no such set, or it has no policy.
    """
    known = owned_set(state, command.name, request)
    if known.policy is None:
        raise UnknownBackupError(f"backup set {known.name} has no backup policy", "apply one first")
    if command.expiration and not command.resume and state.is_locked(known):
        raise BackupLockedError(
            f"the expiration of backup set {known.name} is under a retention lock",
            "write SUSPEND BACKUP CREATION POLICY to suspend scheduled backups alone; a backup that is needed"
            " for longer gets a legal hold",
        )
    kind = "RESUME" if command.resume else "SUSPEND"
    return (
        BackupEvent.of(
            request.actor, kind, of_id=known.set_id, name=known.name, creation=command.creation,
            expiration=command.expiration,
        ),
    )  # fmt: skip


def find_set(state: BackupState, name: str) -> BackupSet:
    """A set by its full name.

    Raises:
        UnknownBackupError: there is none.
    """
    found = state.set_named(name)
    if found is None:
        raise UnknownBackupError(f"there is no backup set {name}", "SHOW BACKUP SETS lists all")
    return found


def owned_set(state: BackupState, parts: tuple[str, ...], request: Request) -> BackupSet:
    """A set that the user owns.

    Raises:
        BackupDeniedError: they do not.
        UnknownBackupError: there is none.
    """
    found = find_set(state, request.full(parts))
    request.require(OWNERSHIP, of_set(found))
    return found


def require_unbound(state: BackupState, backup_set: BackupSet, now: int, what: str) -> None:
    """Refuse what would delete all backups of a set while one of them is bound.

    "You can't drop a backup set if there are any unexpired backups in the set" (Backups, Retention lock);
    "Nobody can delete the backup. That's true even if the backup has passed its EXPIRE_AFTER_DAYS period"
    (Legal hold).

    Args:
        state: of all backups.
        backup_set: the set.
        now: by the machine's clock, UTC microseconds.
        what: what is refused, for the message.

    Raises:
        BackupHeldError: one is under a legal hold.
        BackupLockedError: one is under a retention lock.
    """
    backups = state.backups_of(backup_set).values()
    held = next((one for one in backups if one.is_held), None)
    if held is not None:
        raise BackupHeldError(
            f"{what} would delete backup {held.backup_id} of backup set {backup_set.name}, which is under a"
            " legal hold",
            f"who has APPLY LEGAL HOLD can ALTER BACKUP SET {backup_set.name} MODIFY BACKUP IDENTIFIER"
            f" '{held.backup_id}' REMOVE LEGAL HOLD",
        )
    bound = [one for one in backups if state.is_bound(one, now)]
    if bound:
        more = f" and {len(bound) - 1:,} more" if len(bound) > 1 else ""
        raise BackupLockedError(
            f"{what} would delete backup {bound[0].backup_id}{more} of backup set {backup_set.name}, under a"
            " retention lock and not expired",
            "wait until they have expired: SHOW BACKUPS IN BACKUP SET tells when; nobody can do it before",
        )


def _dropped(state: BackupState, known: BackupSet, request: Request) -> Events:
    request.require(OWNERSHIP, of_set(known))
    require_unbound(state, known, request.actor.time, f"to drop backup set {known.name}")
    return (BackupEvent.of(request.actor, "DROP_SET", of_id=known.set_id, name=known.name),)
