"""CREATE, ALTER and DROP BACKUP SET, and CREATE … FROM BACKUP SET.

In: a cursor behind BACKUP SET, or on a CREATE. Out: a typed value, or the clause that is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.backups.clauses import BACKUP, Clauses
from lineage.sql.commands.backups.read_policy import take_if_not_exists
from lineage.sql.commands.backups.statements import (
    AddBackup,
    AlterBackupSet,
    ApplyBackupPolicy,
    BackupStatement,
    ChangeLegalHold,
    CreateBackupSet,
    CreateFromBackup,
    DeleteBackup,
    DropBackupSet,
    RenameBackupSet,
    SuspendBackupPolicy,
)

if TYPE_CHECKING:
    from lineage.sql.commands.command import Change, Name
    from lineage.sql.cursor import Cursor

_OBJECTS = {"TABLE": Domain.TABLE, **dict.fromkeys(SCHEMA_NOUNS, Domain.SCHEMA)}
_CREATE = "FOR TABLE t or FOR SCHEMA s, WITH BACKUP POLICY p, COMMENT = '…' or TAG (name = 'value')"
_ALTER = (
    "ADD BACKUP, APPLY BACKUP POLICY p [FORCE], SUSPEND | RESUME BACKUP [CREATION | EXPIRATION] POLICY,"
    " DELETE BACKUP IDENTIFIER '…', MODIFY BACKUP IDENTIFIER '…' ADD | REMOVE LEGAL HOLD,"
    " SET | UNSET COMMENT | TAG or RENAME TO behind the name"
)
# CREATE TABLE t FROM backup set SELECT … is Spark's: a query over a table backup, under the alias set.
_QUERY = frozenset(
    {"SELECT", "WHERE", "JOIN", "LATERAL", "INNER", "LEFT", "CROSS", "MAP", "REDUCE", "INSERT"}
)


def create_set(at: Cursor, *, replace: bool) -> BackupStatement:
    """`[IF NOT EXISTS] s FOR TABLE t` and clauses, in any order.

    >>> from lineage.sql.cursor import Cursor
    >>> from lineage.sql.tokens import tokenize
    >>> sql = "b WITH BACKUP POLICY p FOR DATABASE s"
    >>> found = create_set(Cursor(tokenize(sql), sql), replace=False)
    >>> found.domain.value, found.of, found.policy
    ('SCHEMA', ('s',), ('p',))
    """
    clauses = Clauses(at, "CREATE_BACKUP_SET", _CREATE)
    if_not_exists = take_if_not_exists(at, clauses, replace=replace)
    name = clauses.name("the backup set")
    domain: Domain | None = None
    of, policy, comment, tags = tuple[str, ...](), tuple[str, ...](), None, tuple["Change", ...]()
    while clauses.going:
        if at.take("FOR"):
            clauses.once("FOR")
            domain, of = _object(at, clauses)
        elif at.word() == "WITH" and at.word(1) in BACKUP and at.word(2) == "POLICY":
            at.at += 3
            clauses.once("WITH BACKUP POLICY")
            policy = clauses.name("the backup policy")
        elif at.take("WITH", "TAG") or at.take("TAG"):
            clauses.once("TAG")
            tags = clauses.tags_in_brackets()
        elif at.take("COMMENT"):
            clauses.once("COMMENT")
            comment = clauses.text("COMMENT", "…")
        else:
            clauses.refuse("it goes on as this statement does not")
    if domain is None:
        clauses.refuse("it does not say what is backed up", "write FOR TABLE t or FOR SCHEMA s")
    made = CreateBackupSet(
        name, domain or Domain.TABLE, of, policy, comment, tags, replace, if_not_exists
    )  # fmt: skip
    return clauses.result(made)


def _object(at: Cursor, clauses: Clauses) -> tuple[Domain | None, Name]:
    domain = _OBJECTS.get(at.take_one(*_OBJECTS))
    if domain is None:
        clauses.refuse("a backup is of a table or of a schema", "write FOR TABLE t or FOR SCHEMA s")
        return None, ()
    return domain, clauses.name("what is backed up")


def alter_set(at: Cursor) -> BackupStatement:  # noqa: PLR0911  one branch a form
    """`s` and one of the forms of ALTER BACKUP SET.

    >>> from lineage.sql.cursor import Cursor
    >>> from lineage.sql.tokens import tokenize
    >>> sql = "b SUSPEND BACKUP CREATION POLICY"
    >>> alter_set(Cursor(tokenize(sql), sql))
    SuspendBackupPolicy(name=('b',), resume=False, creation=True, expiration=False)
    """
    clauses = Clauses(at, "ALTER_BACKUP_SET", _ALTER)
    name = clauses.name("the backup set")
    since, verb, what = at.at, at.word(), at.word(1)
    if verb == "RENAME" and at.take("RENAME", "TO"):
        return clauses.result(RenameBackupSet(name, clauses.name("the new name of the set")))
    if verb in ("SET", "UNSET") and what == "TAG":
        at.at += 2
        return clauses.result(AlterBackupSet(name, tags=clauses.tags("ADD" if verb == "SET" else "DROP")))
    if verb in ("SET", "UNSET") and what == "COMMENT":
        at.at += 2
        comment = clauses.text("COMMENT", "…") if verb == "SET" else None
        return clauses.result(AlterBackupSet(name, sets_comment=True, comment=comment))
    if what in BACKUP:
        at.at += 2
        if verb == "ADD":
            return clauses.result(AddBackup(name))
        if verb == "APPLY" and at.take("POLICY"):
            policy = clauses.name("the backup policy")
            return clauses.result(ApplyBackupPolicy(name, policy, at.take("FORCE")))
        if verb in ("SUSPEND", "RESUME"):
            return _suspend(at, clauses, name, resume=verb == "RESUME")
        if verb == "DELETE":
            return clauses.result(DeleteBackup(name, clauses.identifier()))
        if verb == "MODIFY":
            return _hold(at, clauses, name)
        at.at = since
    clauses.refuse("it goes on as this statement does not")
    return clauses.result(AddBackup(name))


def _suspend(at: Cursor, clauses: Clauses, name: Name, *, resume: bool) -> BackupStatement:
    what = at.take_one("CREATION", "EXPIRATION")
    if not at.take("POLICY"):
        clauses.refuse(
            "it does not say what is suspended or resumed",
            "write BACKUP POLICY, BACKUP CREATION POLICY or BACKUP EXPIRATION POLICY",
        )
    return clauses.result(
        SuspendBackupPolicy(name, resume, creation=what != "EXPIRATION", expiration=what != "CREATION")
    )


def _hold(at: Cursor, clauses: Clauses, name: Name) -> BackupStatement:
    identifier = clauses.identifier()
    add = at.take_one("ADD", "REMOVE")
    if not add or not at.take("LEGAL", "HOLD"):
        clauses.refuse("a backup has nothing else to modify", "write ADD LEGAL HOLD or REMOVE LEGAL HOLD")
    return clauses.result(ChangeLegalHold(name, identifier, add=add == "ADD"))


def drop_set(at: Cursor) -> BackupStatement:
    """`[IF EXISTS] s`."""
    clauses = Clauses(at, "DROP_BACKUP_SET", "nothing behind the name")
    if_exists = at.take("IF", "EXISTS")
    return clauses.result(DropBackupSet(clauses.name("the backup set"), if_exists))


def create_from_backup(at: Cursor, *, replace: bool) -> BackupStatement | None:
    """`TABLE | SCHEMA [IF NOT EXISTS] x FROM BACKUP SET s IDENTIFIER 'id'`; None for another CREATE."""
    noun = at.take_one(*_OBJECTS)
    start = at.at
    at.take("IF", "NOT", "EXISTS")
    is_backup = (
        bool(noun and at.name())
        and at.word() == "FROM"
        and at.word(1) in BACKUP
        and at.word(2) == "SET"
        and at.word(3) not in _QUERY
    )
    if not is_backup:
        return None
    domain = _OBJECTS[noun]
    kind = "CREATE_TABLE" if domain is Domain.TABLE else "CREATE_SCHEMA"
    clauses = Clauses(at, kind, "FROM BACKUP SET s IDENTIFIER '…' and no more")
    at.at = start
    if_not_exists = take_if_not_exists(at, clauses, replace=replace)
    name = clauses.name(kind)
    at.at += 3
    backup_set = clauses.name("the backup set")
    identifier = clauses.identifier()
    return clauses.result(CreateFromBackup(domain, name, backup_set, identifier, replace, if_not_exists))
