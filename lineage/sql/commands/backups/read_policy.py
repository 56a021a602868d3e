"""CREATE, ALTER and DROP BACKUP POLICY.

In: a cursor behind BACKUP POLICY. Out: a typed value, or the clause that is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lineage.sql.commands.backups.clauses import Clauses
from lineage.sql.commands.backups.statements import (
    AlterBackupPolicy,
    BackupStatement,
    CreateBackupPolicy,
    DropBackupPolicy,
    RenameBackupPolicy,
)

if TYPE_CHECKING:
    from lineage.sql.commands.backups.statements import Setting
    from lineage.sql.commands.command import Change
    from lineage.sql.cursor import Cursor

_SETTINGS = "SCHEDULE = '…', EXPIRE_AFTER_DAYS = n, COMMENT = '…'"
_CREATE = f"WITH RETENTION LOCK, {_SETTINGS} or TAG (name = 'value') behind the name"
_ALTER = f"SET {_SETTINGS}, UNSET one of them, SET TAG, UNSET TAG or RENAME TO behind the name"
_DAYS = "30"
_SCHEDULE = "60 MINUTE | 24 HOUR | USING CRON 0 2 * * * UTC"
_LOCK_IS_SET_ONCE = (
    "a retention lock is put on a policy when it is created",
    "create another policy WITH RETENTION LOCK and apply it to the backup set",
)


def create_policy(at: Cursor, *, replace: bool) -> BackupStatement:
    """`[IF NOT EXISTS] p` and clauses.

    >>> from lineage.sql.cursor import Cursor
    >>> from lineage.sql.tokens import tokenize
    >>> sql = "p EXPIRE_AFTER_DAYS = 90 WITH RETENTION LOCK"
    >>> found = create_policy(Cursor(tokenize(sql), sql), replace=False)
    >>> found.retention_lock, found.expire_after_days
    (True, 90)
    """
    clauses = Clauses(at, "CREATE_BACKUP_POLICY", _CREATE)
    if_not_exists = take_if_not_exists(at, clauses, replace=replace)
    name = clauses.name("the backup policy")
    locked, tags, settings = False, tuple["Change", ...](), dict["Setting", "str | int | None"]()
    while clauses.going:
        with_word = at.take("WITH")
        if with_word and at.take("RETENTION", "LOCK"):
            clauses.once("RETENTION LOCK")
            locked = True
        elif at.take("TAG"):
            clauses.once("TAG")
            tags = clauses.tags_in_brackets()
        elif with_word or not _take_setting(at, clauses, settings):
            at.at -= with_word
            clauses.refuse("it goes on as this statement does not")
        at.take(",")
    days = settings.get("EXPIRE_AFTER_DAYS")
    made = CreateBackupPolicy(
        name,
        locked,
        _text(settings.get("SCHEDULE")),
        days if isinstance(days, int) else None,
        _text(settings.get("COMMENT")),
        tags,
        replace,
        if_not_exists,
    )
    return clauses.result(made)


def alter_policy(at: Cursor) -> BackupStatement:
    """`p SET … | UNSET … | RENAME TO q`."""
    clauses = Clauses(at, "ALTER_BACKUP_POLICY", _ALTER)
    name = clauses.name("the backup policy")
    if at.take("RENAME", "TO"):
        return clauses.result(RenameBackupPolicy(name, clauses.name("the new name of the policy")))
    since, verb = at.at, at.take_one("SET", "UNSET")
    if verb and at.take("TAG"):
        return clauses.result(AlterBackupPolicy(name, tags=clauses.tags("ADD" if verb == "SET" else "DROP")))
    settings: dict[Setting, str | int | None] = {}
    while verb and clauses.going:
        if at.take("RETENTION", "LOCK") or at.take("WITH", "RETENTION", "LOCK"):
            clauses.refuse(*_LOCK_IS_SET_ONCE, since=since)
        elif not _take_setting(at, clauses, settings, unset=verb == "UNSET"):
            clauses.refuse("it goes on as this statement does not")
        at.take(",")
    if not settings:
        clauses.refuse("nothing of the policy is changed", since=since)
    return clauses.result(AlterBackupPolicy(name, tuple(settings.items())))


def drop_policy(at: Cursor) -> BackupStatement:
    """`[IF EXISTS] p`."""
    clauses = Clauses(at, "DROP_BACKUP_POLICY", "nothing behind the name")
    if_exists = at.take("IF", "EXISTS")
    return clauses.result(DropBackupPolicy(clauses.name("the backup policy"), if_exists))


def take_if_not_exists(at: Cursor, clauses: Clauses, *, replace: bool) -> bool:
    """`IF NOT EXISTS`, which excludes OR REPLACE (Snowflake, CREATE BACKUP POLICY)."""
    since = at.at
    found = at.take("IF", "NOT", "EXISTS")
    if found and replace:
        clauses.refuse(
            "OR REPLACE and IF NOT EXISTS exclude each other", "leave one of them out", since=since
        )
    return found


def _take_setting(
    at: Cursor, clauses: Clauses, settings: dict[Setting, str | int | None], *, unset: bool = False
) -> bool:
    """One of SCHEDULE, EXPIRE_AFTER_DAYS and COMMENT, with its value; False where none stands here."""
    if at.take("SCHEDULE"):
        clauses.once("SCHEDULE")
        settings["SCHEDULE"] = None if unset else clauses.text("SCHEDULE", _SCHEDULE)
    elif at.take("EXPIRE_AFTER_DAYS"):
        clauses.once("EXPIRE_AFTER_DAYS")
        settings["EXPIRE_AFTER_DAYS"] = None if unset else clauses.number("EXPIRE_AFTER_DAYS", _DAYS)
    elif at.take("COMMENT"):
        clauses.once("COMMENT")
        settings["COMMENT"] = None if unset else clauses.text("COMMENT", "…")
    else:
        return False
    return True


def _text(value: str | int | None) -> str | None:
    return value if isinstance(value, str) else None
