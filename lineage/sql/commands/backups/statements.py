"""The typed values of statements about backups.

In: what the readers beside this file have found. Out: a value a kind of statement, and its `Command`, which
lineage traces. The syntax is Snowflake's (CREATE, ALTER, DROP and SHOW of BACKUP POLICY and BACKUP SET, SHOW
BACKUPS IN BACKUP SET, CREATE … FROM BACKUP SET). Names are parts as written, outermost first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lineage.model import Domain
from lineage.sql.commands.command import Change, Command, Name

Setting = Literal["COMMENT", "EXPIRE_AFTER_DAYS", "SCHEDULE"]
"""What ALTER BACKUP POLICY sets and unsets."""


@dataclass(frozen=True, slots=True)
class BackupStatement:
    """Any statement about backups."""


@dataclass(frozen=True, slots=True)
class WrongBackupClause(BackupStatement):
    """A statement about backups with a clause that is none of its own: whoever runs it refuses it.

    Attributes:
        kind: the type of the statement, as CREATE_BACKUP_SET.
        name: of the policy, the set or the object that it is about; () where none was read.
        clause: the text from the clause on; "" for one that is missing.
        problem: what is wrong with it.
        way_out: what to write instead.
    """

    kind: str
    name: Name
    clause: str
    problem: str
    way_out: str


@dataclass(frozen=True, slots=True)
class CreateBackupPolicy(BackupStatement):
    """CREATE BACKUP POLICY.

    Attributes:
        name: of the policy.
        retention_lock: WITH RETENTION LOCK.
        schedule: the text of SCHEDULE; None without one.
        expire_after_days: None without one.
        comment: None without one.
        tags: TAG (…).
        replace: OR REPLACE.
        if_not_exists: IF NOT EXISTS.
    """

    name: Name
    retention_lock: bool = False
    schedule: str | None = None
    expire_after_days: int | None = None
    comment: str | None = None
    tags: tuple[Change, ...] = ()
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterBackupPolicy(BackupStatement):
    """ALTER BACKUP POLICY … SET | UNSET.

    Attributes:
        name: of the policy.
        settings: what is set, with its value; None for what is unset.
        tags: SET TAG, UNSET TAG.
    """

    name: Name
    settings: tuple[tuple[Setting, str | int | None], ...] = ()
    tags: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameBackupPolicy(BackupStatement):
    """ALTER BACKUP POLICY … RENAME TO."""

    name: Name
    new_name: Name


@dataclass(frozen=True, slots=True)
class DropBackupPolicy(BackupStatement):
    """DROP BACKUP POLICY."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateBackupSet(BackupStatement):
    """CREATE BACKUP SET.

    Attributes:
        name: of the set.
        domain: TABLE or SCHEMA: of what. A database is a schema here.
        of: the table or schema.
        policy: WITH BACKUP POLICY; () without one.
        comment: None without one.
        tags: TAG (…).
        replace: OR REPLACE.
        if_not_exists: IF NOT EXISTS.
    """

    name: Name
    domain: Domain
    of: Name
    policy: Name = ()
    comment: str | None = None
    tags: tuple[Change, ...] = ()
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterBackupSet(BackupStatement):
    """ALTER BACKUP SET … SET | UNSET COMMENT | TAG.

    Attributes:
        name: of the set.
        sets_comment: whether it is about the comment.
        comment: the new one; None for none.
        tags: SET TAG, UNSET TAG.
    """

    name: Name
    sets_comment: bool = False
    comment: str | None = None
    tags: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class RenameBackupSet(BackupStatement):
    """ALTER BACKUP SET … RENAME TO."""

    name: Name
    new_name: Name


@dataclass(frozen=True, slots=True)
class DropBackupSet(BackupStatement):
    """DROP BACKUP SET."""

    name: Name
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddBackup(BackupStatement):
    """ALTER BACKUP SET … ADD BACKUP."""

    name: Name


@dataclass(frozen=True, slots=True)
class ApplyBackupPolicy(BackupStatement):
    """ALTER BACKUP SET … APPLY BACKUP POLICY p [FORCE]: FORCE puts it in the place of another."""

    name: Name
    policy: Name
    force: bool = False


@dataclass(frozen=True, slots=True)
class SuspendBackupPolicy(BackupStatement):
    """ALTER BACKUP SET … SUSPEND | RESUME BACKUP [CREATION | EXPIRATION] POLICY.

    Attributes:
        name: of the set.
        resume: RESUME.
        creation: whether it is about scheduled backups.
        expiration: whether it is about their deletion. Without a word it is about both.
    """

    name: Name
    resume: bool = False
    creation: bool = True
    expiration: bool = True


@dataclass(frozen=True, slots=True)
class DeleteBackup(BackupStatement):
    """ALTER BACKUP SET … DELETE BACKUP IDENTIFIER 'id'."""

    name: Name
    identifier: str


@dataclass(frozen=True, slots=True)
class ChangeLegalHold(BackupStatement):
    """ALTER BACKUP SET … MODIFY BACKUP IDENTIFIER 'id' ADD | REMOVE LEGAL HOLD."""

    name: Name
    identifier: str
    add: bool


@dataclass(frozen=True, slots=True)
class CreateFromBackup(BackupStatement):
    """CREATE TABLE | SCHEMA | DATABASE x FROM BACKUP SET s IDENTIFIER 'id'.

    Attributes:
        domain: TABLE or SCHEMA.
        name: of the object that is made.
        backup_set: where the backup is.
        identifier: of the backup.
        replace: OR REPLACE: in the place of the object that is there.
        if_not_exists: IF NOT EXISTS.
    """

    domain: Domain
    name: Name
    backup_set: Name
    identifier: str
    replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ShowBackups(BackupStatement):
    """SHOW BACKUP POLICIES, SHOW BACKUP SETS or SHOW BACKUPS IN BACKUP SET.

    Attributes:
        what: of what.
        backup_set: whose backups; () for policies and sets.
        like: a pattern of names, with % and _; "" for all.
        schema: `CURRENT_SCHEMA`, a name, () for the current catalog, None for all.
        starts_with: how names begin, with regard to case; "" for any.
        limit: how many rows; None for all.
        following: LIMIT … FROM: names from the first one on that begins so; "" for all.
    """

    what: Literal["POLICIES", "SETS", "BACKUPS"]
    backup_set: Name = ()
    like: str = ""
    schema: Name | None = ()
    starts_with: str = ""
    limit: int | None = None
    following: str = ""


@dataclass(frozen=True, slots=True)
class DescribeBackups(BackupStatement):
    """DESCRIBE BACKUP POLICY | SET.

    Attributes:
        domain: BACKUP_POLICY or BACKUP_SET.
        name: of the policy or set.
    """

    domain: Domain
    name: Name


def command_of_backups(typed: BackupStatement) -> Command:
    """What lineage traces; `lineage.statements.backup_ddl` asks the typed value for the rest.

    >>> command_of_backups(AddBackup(("s", "b"))).kind
    'ALTER_BACKUP_SET'
    """
    match typed:
        case ShowBackups():
            return Command("SHOW")
        case DescribeBackups():
            return Command("DESCRIBE")
        case CreateFromBackup(domain, name, backup_set):
            return Command(f"CREATE_{_NOUNS[domain]}", domain, name, backup_set)
        case WrongBackupClause(kind, name):
            domains = {noun: domain for domain, noun in _NOUNS.items()}
            return Command(kind, domains.get(kind.partition("_")[2]), name)
    kind, domain = _KINDS.get(type(typed), ("ALTER", Domain.BACKUP_SET))
    return Command(
        f"{kind}_{_NOUNS[domain]}", domain, getattr(typed, "name", ()), getattr(typed, "of", ()),
        new_name=getattr(typed, "new_name", ()),
    )  # fmt: skip


_NOUNS = {
    Domain.BACKUP_POLICY: "BACKUP_POLICY", Domain.BACKUP_SET: "BACKUP_SET", Domain.TABLE: "TABLE",
    Domain.SCHEMA: "SCHEMA",
}  # fmt: skip
_KINDS: dict[type, tuple[str, Domain]] = {
    AlterBackupPolicy: ("ALTER", Domain.BACKUP_POLICY),
    CreateBackupPolicy: ("CREATE", Domain.BACKUP_POLICY),
    CreateBackupSet: ("CREATE", Domain.BACKUP_SET),
    DropBackupPolicy: ("DROP", Domain.BACKUP_POLICY),
    DropBackupSet: ("DROP", Domain.BACKUP_SET),
    RenameBackupPolicy: ("RENAME", Domain.BACKUP_POLICY),
    RenameBackupSet: ("RENAME", Domain.BACKUP_SET),
}
"""The verb and the domain of a statement's type; any other alters a backup set."""
