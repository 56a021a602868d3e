"""The typed values of statements, and what lineage traces of those that are more than a `Command`.

In: what a reader of `lineage.sql.commands` has found. Out: its `Command`, where lineage has no tree of
sqlglot's to go by.
"""

from __future__ import annotations

from lineage.model import Domain
from lineage.sql.commands.backups.statements import BackupStatement, command_of_backups
from lineage.sql.commands.command import Command
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.show import ShowObjects
from lineage.sql.commands.time_travel.at_before import Point, VersionClause
from lineage.sql.commands.time_travel.clone import CloneSchema, CloneTable
from lineage.sql.commands.time_travel.drop import Drop, Undrop
from lineage.sql.commands.time_travel.restore import Restore
from lineage.sql.commands.time_travel.retention import AlterRetention, ShowParameters
from lineage.sql.commands.time_travel.statement_chain import StatementChain
from lineage.sql.commands.time_travel.vacuum import Vacuum
from lineage.sql.function_definition import CreateFunction

OfTimeTravel = (
    AlterRetention | CloneSchema | CloneTable | CreateSchema | CreateTable | Drop | StatementChain | Restore
    | ShowObjects | ShowParameters | Undrop | Vacuum
)  # fmt: skip
Typed = BackupStatement | Command | CreateFunction | OfTimeTravel
"""What a statement is, by its type."""
_NOUNS = {
    Domain.TABLE: "TABLE", Domain.VIEW: "VIEW", Domain.SCHEMA: "SCHEMA", Domain.FUNCTION: "FUNCTION",
}  # fmt: skip
_LEVELS = {"TABLE": Domain.TABLE, "SCHEMA": Domain.SCHEMA, "ACCOUNT": None}


def command_of(typed: Typed | None) -> Command | None:  # noqa: C901, PLR0911  one return a type
    """What lineage traces; None for what sqlglot reads.

    >>> command_of(Vacuum(("s", "t"), None, dry=False)).target
    ('s', 't')
    """
    match typed:
        case Command() | None:
            return typed
        case BackupStatement():
            return command_of_backups(typed)
        case Restore(table):
            return Command("RESTORE", target=table)
        case CloneTable():
            return _cloned_table(typed)
        case CloneSchema(name, source):
            return Command(
                "CREATE_SCHEMA", Domain.SCHEMA, name, source, version=_version(typed.point),
                if_clause=typed.if_not_exists, replace=typed.replace,
            )  # fmt: skip
        case Undrop(domain, name):
            return Command(f"UNDROP_{_NOUNS[domain]}", domain, name)
        case Vacuum(name):
            return Command("VACUUM", target=name)
        case AlterRetention(level, name, values, if_exists):
            return Command(f"ALTER_{level}", _LEVELS[level], name, if_clause=if_exists, properties=values)
        case ShowObjects() | ShowParameters():
            return Command("SHOW")
        case StatementChain(kind=kind):
            return Command(kind)
        case Drop() | CreateFunction() | CreateTable() | CreateSchema():
            return None


def _cloned_table(clone: CloneTable) -> Command:
    return Command(
        "REPLACE_TABLE" if clone.replace else "CREATE_TABLE", Domain.TABLE, clone.name, clone.source,
        version=_version(clone.point), if_clause=clone.if_not_exists, replace=clone.replace,
        properties=(("creationMode", "CLONE"),),
    )  # fmt: skip


def _version(point: Point | None) -> int | str | None:
    # A parameter or an expression has no number before it is bound: the record has its text.
    if isinstance(point, VersionClause) and point.kind == "VERSION" and point.expression.isdigit():
        return int(point.expression)
    return None if point is None else str(point)
