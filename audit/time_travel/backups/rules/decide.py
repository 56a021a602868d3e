"""One question for all statements about backups: which events does it make, or why not.

In: the state, a statement, its request, and what the clocks say. Out: events, or an error. Nothing is written
here: who appends the events does so only if nobody else has written since the state was read, and asks again
otherwise. So two statements never decide on the same state, as a DELETE BACKUP and an ADD LEGAL HOLD.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import BackupEvent
from audit.time_travel.backups.rules import backup_rules, policy_rules, set_rules
from audit.time_travel.errors import BadBackupClauseError
from lineage.sql.commands.backups import statements as backups

if TYPE_CHECKING:
    from audit.core.actor import Actor
    from audit.time_travel.backups.model.state import BackupState
    from audit.time_travel.backups.model.trusted_time import Observation
    from audit.time_travel.backups.rules.backup_rules import NewBackup
    from audit.time_travel.backups.rules.policy_rules import Events
    from audit.time_travel.backups.rules.requests import Request


def look_at_clocks(seen: Observation, actor: Actor) -> BackupEvent:
    """The event that advances the trusted time: the first one of each statement and of each run.

    Args:
        seen: what the clocks say; how far that counts is decided when the event is applied.
        actor: the statement or the runner.
    """
    boot = None if seen.boot is None else (seen.boot.identity, seen.boot.age)
    return BackupEvent.of(actor, "OBSERVED", machine=seen.machine, boot=boot, store=seen.store)


def events_of(
    state: BackupState,
    statement: backups.BackupStatement,
    request: Request,
    seen: Observation,
    made: NewBackup | None = None,
) -> Events:
    """The events of a statement, the look at the clocks first; () where it changes nothing.

    Args:
        state: the newest.
        statement: what is asked.
        request: by whom and when.
        seen: what the clocks say.
        made: the files of ADD BACKUP, once they are there; before, the statement is checked alone.

    Raises:
        BackupError: a rule forbids it, or a privilege is missing.
    """
    look = look_at_clocks(seen, request.actor)
    found = _decided(state_after([look], state), statement, request, made)
    return (look, *found) if found else ()


def _decided(
    state: BackupState, statement: backups.BackupStatement, request: Request, made: NewBackup | None
) -> Events:
    match statement:
        case backups.WrongBackupClause(kind, name, clause, problem, way_out):
            what = " ".join((kind.replace("_", " "), ".".join(name))).rstrip()
            raise BadBackupClauseError(f"{what}: {problem}" + (f": {clause}" if clause else ""), way_out)
        case backups.AddBackup():
            return backup_rules.add_backup(state, statement, request, made)
        case backups.CreateFromBackup():
            # A restore in place replaces tables: backup sets and policies of the schema are none of them.
            backup_rules.backup_to_restore(state, statement, request)
            return ()
    rule = _RULES.get(type(statement))
    return () if rule is None else rule(state, statement, request)


_RULES: dict[type, Callable[..., Events]] = {
    backups.AlterBackupPolicy: policy_rules.alter_policy,
    backups.AlterBackupSet: set_rules.alter_set,
    backups.ApplyBackupPolicy: set_rules.apply_policy,
    backups.ChangeLegalHold: backup_rules.change_hold,
    backups.CreateBackupPolicy: policy_rules.create_policy,
    backups.CreateBackupSet: set_rules.create_set,
    backups.DeleteBackup: backup_rules.delete_backup,
    backups.DropBackupPolicy: policy_rules.drop_policy,
    backups.DropBackupSet: set_rules.drop_set,
    backups.RenameBackupPolicy: policy_rules.rename_policy,
    backups.RenameBackupSet: set_rules.rename_set,
    backups.SuspendBackupPolicy: set_rules.suspend_policy,
}
"""Statements that change something; SHOW and DESCRIBE are not among them."""
