"""The readers of statements about backups, by their first word, and SHOW and DESCRIBE of them.

In: the tokens of a statement. Out: a typed value, a `WrongBackupClause`, or None where the statement is none
of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.backups.clauses import BACKUP, Clauses
from lineage.sql.commands.backups.read_policy import alter_policy, create_policy, drop_policy
from lineage.sql.commands.backups.read_set import alter_set, create_from_backup, create_set, drop_set
from lineage.sql.commands.backups.statements import BackupStatement, DescribeBackups, ShowBackups
from lineage.sql.commands.command import CURRENT_SCHEMA
from lineage.sql.commands.show import schema_asked
from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from lineage.sql.commands.command import Name

_SHOW = "LIKE '…', IN SCHEMA s, IN ACCOUNT, STARTS WITH '…' or LIMIT n [FROM '…']"
_PLURAL = ("BACKUPS", "SNAPSHOTS")
_SHOWN: dict[str, Literal["POLICIES", "SETS"]] = {"POLICIES": "POLICIES", "SETS": "SETS"}


def read_backup_ddl(tokens: list[Token], text: str) -> BackupStatement | None:
    """CREATE, ALTER and DROP of backup policies and sets, and CREATE … FROM BACKUP SET.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "CREATE TABLE x FROM BACKUP SET b IDENTIFIER '7'"
    >>> found = read_backup_ddl(tokenize(sql), sql)
    >>> found.name, found.backup_set, found.identifier
    (('x',), ('b',), '7')
    """
    at = Cursor(tokens, text)
    verb = at.take_one("CREATE", "ALTER", "DROP")
    replace = verb == "CREATE" and at.take("OR", "REPLACE")
    if at.word() in BACKUP and at.word(1) in ("POLICY", "SET"):
        is_policy = at.word(1) == "POLICY"
        at.at += 2
        if verb == "CREATE":
            return (create_policy if is_policy else create_set)(at, replace=replace)
        if verb == "ALTER":
            return (alter_policy if is_policy else alter_set)(at)
        if verb == "DROP":
            return (drop_policy if is_policy else drop_set)(at)
    return create_from_backup(at, replace=replace) if verb == "CREATE" else None


def read_show_backups(tokens: list[Token], text: str) -> BackupStatement | None:
    """`SHOW BACKUP POLICIES | SETS …` or `SHOW BACKUPS IN BACKUP SET s …`."""
    at = Cursor(tokens, text, 1)
    if at.word() in BACKUP and at.word(1) in _SHOWN:
        what = _SHOWN[at.word(1)]
        at.at += 2
        return _show(at, what)
    return _show(at, "BACKUPS") if at.take_one(*_PLURAL) else None


def _show(at: Cursor, what: Literal["POLICIES", "SETS", "BACKUPS"]) -> BackupStatement:
    clauses = Clauses(at, "SHOW", _SHOW)
    backup_set = _set_asked(at, clauses) if what == "BACKUPS" else ()
    like, starts_with, following = "", "", ""
    schema: Name | None = ()
    limit: int | None = None
    while clauses.going:
        if at.take("LIKE"):
            clauses.once("LIKE")
            like = clauses.text("LIKE", "pattern%")
        elif what != "BACKUPS" and at.word() in ("IN", "FROM"):
            clauses.once("IN")
            schema = _schema_asked(at)
        elif at.take("STARTS", "WITH"):
            clauses.once("STARTS WITH")
            starts_with = clauses.text("STARTS WITH", "name")
        elif at.take("LIMIT"):
            clauses.once("LIMIT")
            limit = clauses.number("LIMIT", "10")
            following = clauses.text("FROM", "name") if at.take("FROM") else ""
        else:
            clauses.refuse("it goes on as this statement does not")
    return clauses.result(ShowBackups(what, backup_set, like, schema, starts_with, limit, following))


def _schema_asked(at: Cursor) -> Name | None:
    # IN SCHEMA without a name means the current one, also where the next clause follows it.
    ends = at.word(2) in ("LIKE", "LIMIT", "STARTS") and at.at + 3 < len(at.tokens)
    if ends and at.word(1) in (*SCHEMA_NOUNS, "CATALOG"):
        at.at += 2
        return CURRENT_SCHEMA if at.word(-1) == "SCHEMA" else ()
    return schema_asked(at)


def _set_asked(at: Cursor, clauses: Clauses) -> Name:
    if at.take_one("IN", "FROM") and at.word() in BACKUP and at.word(1) == "SET":
        at.at += 2
        return clauses.name("the backup set")
    clauses.refuse("it does not say of which backup set", "write SHOW BACKUPS IN BACKUP SET s")
    return ()


def read_describe_backups(tokens: list[Token], text: str) -> BackupStatement | None:
    """`DESCRIBE | DESC BACKUP POLICY | SET p`; without a name it may be a column of a table."""
    at = Cursor(tokens, text, 1)
    domains = {"POLICY": Domain.BACKUP_POLICY, "SET": Domain.BACKUP_SET}
    domain = domains.get(at.word(1)) if at.word() in BACKUP else None
    at.at += 2
    name = at.name() if domain is not None else ()
    if domain is None or not name:
        return None
    clauses = Clauses(at, "DESCRIBE", "nothing behind the name")
    return clauses.result(DescribeBackups(domain, name))
