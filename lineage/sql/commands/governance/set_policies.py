"""Statements about policies and tags, SWAP and RENAME, which Spark lacks.

In: the tokens of a statement. Out: a `Command` of its own type, None where the statement is none of these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from lineage.model import Domain
from lineage.names import SCHEMA_NOUNS
from lineage.sql.commands.command import Change, Command
from lineage.sql.commands.governance.policy import (
    alter_policy,
    column_policy,
    create_policy,
    drop_policy,
    row_policy,
    take_comment,
    take_if,
    take_policy,
)
from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token


@dataclass(frozen=True, slots=True)
class TagChange(Command):
    """CREATE, ALTER, RENAME, DROP or UNDROP of a tag."""


@dataclass(frozen=True, slots=True)
class SetPolicies(Command):
    """An ALTER of a table, view or schema whose `changes` are about policies and tags alone."""


_OBJECTS = {
    "TABLE": Domain.TABLE, "VIEW": Domain.VIEW, **dict.fromkeys(SCHEMA_NOUNS, Domain.SCHEMA),
}  # fmt: skip
# Pairs: TAG, POLICY, MASK and ROW alone may be names, as Spark reserves none of them.
_CLAUSES = frozenset(
    {
        ("MASKING", "POLICY"),
        ("ACCESS", "POLICY"),
        ("ACCESS", "POLICIES"),
        ("SET", "TAG"),
        ("UNSET", "TAG"),
        ("SET", "MASK"),
        ("ROW", "FILTER"),
    }
)
_NOUNS = {Domain.TABLE: "TABLE", Domain.VIEW: "VIEW", Domain.SCHEMA: "SCHEMA"}


def read_governance(tokens: list[Token], text: str) -> Command | None:
    """The command that CREATE, ALTER, DROP or UNDROP announce, if it is about governance."""
    at = Cursor(tokens, text)
    if at.take("CREATE"):
        return _create(at)
    if at.take("DROP"):
        return _drop(at)
    if at.take("UNDROP"):
        return _undrop_tag(at)
    return _alter(at) if at.take("ALTER") else None


def speaks_of_governance(tokens: list[Token]) -> bool:
    """Whether a text has a clause about policies or tags, which other readers must not ignore."""
    words = [token.text.upper() for token in tokens]
    return any(pair in _CLAUSES for pair in pairwise(words))


def _create(at: Cursor) -> Command | None:
    replace = at.take("OR", "REPLACE")
    domain = take_policy(at)
    if domain is not None:
        return create_policy(at, domain, replace=replace)
    if at.take("TAG"):
        return _create_tag(at, replace=replace)
    return None


def _create_tag(at: Cursor, *, replace: bool) -> Command | None:
    if_clause = take_if(at)
    name = at.name()
    values = at.strings() if at.take("ALLOWED_VALUES") else ()
    comment: tuple[tuple[str, str | None], ...] = ()
    if at.take("COMMENT"):
        at.take("=")
        comment = (("comment", at.string()),)
    # Snowflake's grammar wants a value behind ALLOWED_VALUES; without any the tag would take all.
    if not name or not at.done or at.tokens[-1].text.upper() == "ALLOWED_VALUES":
        return None
    changes = tuple(Change("ADD", None, value=value) for value in values)
    return TagChange(
        "CREATE_TAG", Domain.TAG, name, if_clause=if_clause, replace=replace, changes=changes,
        properties=comment,
    )  # fmt: skip


def _drop(at: Cursor) -> Command | None:
    # BigQuery's form. In Snowflake's the table comes first: ALTER TABLE t DROP ALL ROW ACCESS POLICIES.
    if at.take("ALL", "ROW", "ACCESS", "POLICIES", "ON"):
        table, changes = at.name(), (Change("DROP", Domain.ROW_ACCESS_POLICY),)
        return SetPolicies("ALTER_TABLE", Domain.TABLE, table, changes=changes) if table and at.done else None
    domain = take_policy(at)
    if domain is not None:
        return drop_policy(at, domain)
    if not at.take("TAG"):
        return None
    if_clause = take_if(at)
    name = at.name()
    return TagChange("DROP_TAG", Domain.TAG, name, if_clause=if_clause) if name and at.done else None


def _undrop_tag(at: Cursor) -> TagChange | None:
    name = at.name() if at.take("TAG") else ()
    return TagChange("UNDROP_TAG", Domain.TAG, name) if name and at.done else None


def _alter(at: Cursor) -> Command | None:
    domain = take_policy(at)
    if domain is not None:
        return alter_policy(at, domain)
    if at.take("TAG"):
        return _alter_tag(at)
    noun = at.take_one(*_OBJECTS)
    return _alter_object(at, _OBJECTS[noun]) if noun else None


def _alter_object(at: Cursor, domain: Domain) -> Command | None:
    if_clause = take_if(at)
    name = at.name()
    kind = _NOUNS[domain]
    # ALTER … SWAP WITH is for TABLE, SCHEMA and DATABASE (Usage Notes: object_modified_by_ddl).
    if domain is not Domain.VIEW and at.take("SWAP", "WITH"):
        other = at.name()
        return Command(f"SWAP_{kind}", domain, name, other, if_clause=if_clause, swap=True) if other else None
    # Spark renames tables and views, and has no ALTER SCHEMA … RENAME.
    if domain is Domain.SCHEMA and at.take("RENAME", "TO"):
        return Command("RENAME_SCHEMA", domain, name, if_clause=if_clause, new_name=at.name())
    changes = _clauses(at) if name else ()
    return (
        SetPolicies(f"ALTER_{kind}", domain, name, if_clause=if_clause, changes=changes) if changes else None
    )


def _clauses(at: Cursor) -> tuple[Change, ...]:
    """Clauses about policies and tags, parted by commas; () where anything else is among them."""
    found: list[Change] = []
    column: str | None = None
    while not at.done:
        # Of several columns the later ones stand without ALTER: `…, COLUMN b SET MASKING POLICY p`.
        another = column is not None and at.word() not in ("ADD", "DROP")
        if at.take_one("ALTER", "MODIFY", "CHANGE") or another:
            at.take("COLUMN")
            column = _last(at.name())
        clause = row_policy(at) if column is None else column_policy(at, column)
        added = _tags(at, column) if clause is None else (clause,)
        found += added
        if not added or not (at.take(",") or at.done):
            return ()
    return tuple(found)


def _last(name: tuple[str, ...]) -> str | None:
    return name[-1] if name else None


def _tags(at: Cursor, column: str | None) -> tuple[Change, ...]:
    """`SET TAG a = 'x', b = 'y'` or `UNSET TAG a, b`."""
    operation = "ADD" if at.take("SET", "TAG") else "DROP" if at.take("UNSET", "TAG") else ""
    if not operation:
        return ()
    found: list[Change] = []
    while name := at.name():
        value = at.string() if operation == "ADD" and at.take("=") else None
        found.append(Change(operation, Domain.TAG, name, column, value=value))
        # Behind this comma stands the next column, not the next tag.
        if at.word(1) == "COLUMN" or not at.take(","):
            break
    return tuple(found)


def _alter_tag(at: Cursor) -> Command | None:
    if_clause = take_if(at)
    name = at.name()
    if not name:
        return None
    if at.take("RENAME", "TO"):
        return TagChange("RENAME_TAG", Domain.TAG, name, if_clause=if_clause, new_name=at.name())
    properties = take_comment(at)
    if properties is not None:
        return TagChange("ALTER_TAG", Domain.TAG, name, if_clause=if_clause, properties=properties)
    changes = _tag_values(at) or _tag_policies(at)
    if not changes or not at.done:
        return None
    return TagChange("ALTER_TAG", Domain.TAG, name, if_clause=if_clause, changes=changes)


def _tag_values(at: Cursor) -> tuple[Change, ...]:
    operation = at.word()
    if operation in ("ADD", "DROP") and at.take(operation, "ALLOWED_VALUES"):
        return tuple(Change(operation, None, value=value) for value in at.strings())
    return (Change("DROP", None),) if at.take("UNSET", "ALLOWED_VALUES") else ()


def _tag_policies(at: Cursor) -> tuple[Change, ...]:
    """`SET MASKING POLICY p, MASKING POLICY q [FORCE]` or `UNSET MASKING POLICY p, …`."""
    operation = {"SET": "ADD", "UNSET": "DROP"}.get(at.take_one("SET", "UNSET"), "")
    found: list[Change] = []
    while operation and at.take("MASKING", "POLICY"):
        found.append(Change(operation, Domain.MASKING_POLICY, at.name()))
        if not at.take(","):
            break
    # FORCE stands once, at the end, and holds for all policies of the clause.
    force = at.take("FORCE")
    return tuple(replace(change, force=force) for change in found)
