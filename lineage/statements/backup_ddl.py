"""object_modified_by_ddl of backup policies and backup sets, and of what is created from a backup.

In: a statement with a value of `lineage.sql.commands.backups`. Out: an `Access`. Shapes are those of the
access-history document: atomic properties `{"value": …}`, compound ones by name with their subOperationType.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from lineage.catalog.object_ids import object_id
from lineage.model import Access, AccessedObject, Domain, Json, ModifiedObject, ObjectDdl, Relation
from lineage.names import qualify, quote_name
from lineage.resolve.context import Trace
from lineage.sql.commands.backups import statements as backups
from lineage.sql.commands.command import Name
from lineage.sql.statement import Statement
from lineage.statements.access_builder import build_access
from lineage.statements.governance_ddl import with_policies

_Operation = Literal["ALTER", "CREATE", "DROP", "REPLACE"]
_KEYS = {"COMMENT": "comment", "EXPIRE_AFTER_DAYS": "expireAfterDays", "SCHEDULE": "schedule"}


def trace_backups(
    trace: Trace, statement: Statement, typed: backups.BackupStatement, *, existed: bool | None
) -> Access:
    """What a statement about backups makes, changes or drops; a restore also reads its backup set."""
    kind = statement.statement_type
    match typed:
        case backups.CreateFromBackup():
            return _restored(trace, kind, typed, existed=existed)
        case backups.WrongBackupClause(problem=problem):
            return Access(kind, analysis="opaque", reason=problem)
        case backups.ShowBackups() | backups.DescribeBackups():
            return build_access(trace, kind)
    command = backups.command_of_backups(typed)
    # Where nobody can tell, the statement is taken to have done something.
    if (getattr(typed, "if_not_exists", False) and existed is True) or (
        getattr(typed, "if_exists", False) and existed is False
    ):
        return build_access(trace, kind)
    name, domain = _full(trace, command.target), command.domain or Domain.BACKUP_SET
    operation = _operation(kind, replaces=getattr(typed, "replace", False))
    properties = _properties(trace, typed)
    if command.new_name:
        # A name of one part stays in the schema of the old one.
        new = command.new_name if len(command.new_name) > 1 else (*command.target[:-1], *command.new_name)
        properties["objectName"] = {"value": _full(trace, new)}
    ddl = ObjectDdl(name, domain, operation, _identity(trace, domain, name), properties)
    return with_policies(trace, build_access(trace, kind, ddl=ddl), getattr(typed, "tags", ()))


def _operation(kind: str, *, replaces: bool) -> _Operation:
    operations: dict[str, _Operation] = {"CREATE": "REPLACE" if replaces else "CREATE", "DROP": "DROP"}
    return operations.get(kind.partition("_")[0], "ALTER")


def _properties(trace: Trace, typed: backups.BackupStatement) -> Json:  # noqa: PLR0911  one return a type
    match typed:
        case backups.CreateBackupPolicy(retention_lock=locked, schedule=schedule, expire_after_days=days):
            return {
                **_told("hasRetentionLock", locked or None),
                **_told("schedule", schedule),
                **_told("expireAfterDays", days),
                **_told("comment", typed.comment),
            }
        case backups.AlterBackupPolicy(settings=settings):
            return {_KEYS[key]: {"value": value} for key, value in settings}
        case backups.CreateBackupSet(policy=policy, comment=comment):
            applied = _policy(trace, policy) if policy else {}
            return {"backupObject": _backed_up(trace, typed), **applied, **_told("comment", comment)}
        case backups.AlterBackupSet(sets_comment=True, comment=comment):
            return {"comment": {"value": comment}}
        case backups.ApplyBackupPolicy(policy=policy):
            return _policy(trace, policy)
        case backups.SuspendBackupPolicy(resume=resume, creation=creation, expiration=expiration):
            state = {"value": "STARTED" if resume else "SUSPENDED"}
            what = {"backupCreation": creation, "backupExpiration": expiration}
            return {key: state for key, concerned in what.items() if concerned}
        case backups.AddBackup():
            # Its id is made when the statement runs, so the text has none.
            return {"backups": {"subOperationType": "ADD"}}
        case backups.DeleteBackup(identifier=identifier):
            return {"backups": {identifier: {"subOperationType": "DROP"}}}
        case backups.ChangeLegalHold(identifier=identifier, add=add):
            return {"backups": {identifier: {"subOperationType": "ALTER", "legalHold": {"value": add}}}}
    return {}


def _told(key: str, value: str | int | None) -> Json:
    return {} if value is None else {key: {"value": value}}


def _policy(trace: Trace, policy: Name) -> Json:
    name = _full(trace, policy)
    identity = _identity(trace, Domain.BACKUP_POLICY, name)
    return {"backupPolicies": {name: {"objectId": {"value": identity}, "subOperationType": "ADD"}}}


def _backed_up(trace: Trace, typed: backups.CreateBackupSet) -> Json:
    relation = _relation(trace, typed.domain, typed.of)
    identity = {} if relation.object_id is None else {"objectId": relation.object_id}
    return {"objectName": relation.name, "objectDomain": relation.domain.value, **identity}


def _restored(trace: Trace, kind: str, typed: backups.CreateFromBackup, *, existed: bool | None) -> Access:
    """The object that is created, and the backup set, which is read."""
    made = _relation(trace, typed.domain, typed.name)
    if typed.if_not_exists and existed is not False and (existed or trace.lookup(typed.name) is not None):
        return build_access(trace, kind)
    source = _full(trace, typed.backup_set)
    identity = _identity(trace, Domain.BACKUP_SET, source)
    properties = {
        "creationMode": {"value": "BACKUP"},
        "creationSource": {
            "objectName": source, "objectDomain": Domain.BACKUP_SET.value, "objectId": identity,
            "backupId": typed.identifier,
        },
    }  # fmt: skip
    operation: _Operation = "REPLACE" if typed.replace and existed is not False else "CREATE"
    access = build_access(
        trace,
        kind,
        modified=[ModifiedObject(made.name, made.domain, made.object_id)],
        ddl=ObjectDdl(made.name, made.domain, operation, made.object_id, properties),
    )
    # Access to a backup under a legal hold is on record (Backups, Legal hold), as that to any other.
    read = (AccessedObject(source, Domain.BACKUP_SET, identity),)
    return replace(access, direct_objects_accessed=read, base_objects_accessed=read)


# -- names -------------------------------------------------------------------------------------


def _current(trace: Trace) -> tuple[str, str]:
    return trace.current or trace.catalog.current


def _full(trace: Trace, parts: Name) -> str:
    return quote_name(qualify(parts, _current(trace)))


def _relation(trace: Trace, domain: Domain, parts: Name) -> Relation:
    if domain is Domain.SCHEMA:
        name = quote_name((_current(trace)[0], *parts) if len(parts) == 1 else parts)
        return Relation(name, domain, object_id(domain.value, name))
    known = trace.lookup(parts)
    return known if known is not None else Relation(_full(trace, parts), domain)


def _identity(trace: Trace, domain: Domain, name: str) -> int:
    known = trace.governance.governance_id(domain, name) if trace.governance is not None else None
    return object_id(domain.value, name) if known is None else known
