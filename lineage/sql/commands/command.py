"""The values of statements that sqlglot lacks.

Out: `Command`, the value that lineage traces. The statements about policies, tags, roles and privileges are
subclasses of it, one a kind of change, so that whoever runs them can look at the type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage.model import Domain, Policy

Name = tuple[str, ...]
"""The parts of a name as written, outermost first; () where there is none."""
Span = tuple[int, int]
"""The first character of a piece of the text, and the first one after it."""


@dataclass(frozen=True, slots=True)
class Change:
    """One clause of DDL about policies and tags: `operation` is its subOperationType.

    `domain` says what is put on, taken off or changed: a policy, a tag, None for an allowed value. An
    empty `name` means whatever is there (UNSET MASKING POLICY, DROP ALL ROW ACCESS POLICIES).
    `column` is the column that it is about, None for the whole object; `columns` those that stand for
    the policy's further parameters; `value` a tag's value or an allowed one; `force` that what is there
    may be replaced; `function` that `name` is a function, which stands for a policy (Databricks' masks and
    row filters).
    """

    operation: str
    domain: Domain | None
    name: Name = ()
    column: str | None = None
    columns: tuple[str, ...] = ()
    value: str | None = None
    force: bool = False
    function: bool = False


@dataclass(frozen=True, slots=True)
class Shows:
    """What a SHOW or DESCRIBE of policies, tags or roles asks for.

    `like` is a pattern of names with % and _, "" for all; `schema` the one asked for, () for the current one,
    None for all; `name` is what DESCRIBE describes.
    """

    domain: Domain
    like: str = ""
    schema: Name | None = ()
    name: Name = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A statement that lineage traces without a tree of sqlglot's.

    `columns` are pairs of a column's name and its subOperationType; `policy` is the definition that a
    CREATE of a policy gives, under the name as it was written; `swap` says that `source` is the other
    object of a SWAP; `shows` is what a SHOW or DESCRIBE of governance asks for; `on` is the table that a row
    access policy of BigQuery's belongs to, `grantees` those whom it lets see the rows that pass; `version` is
    the point in time of the source of a clone, a number where it is one; `lazy` that a table is cached when
    it is first used.
    """

    kind: str
    domain: Domain | None = None
    target: Name = ()
    source: Name = ()
    version: int | str | None = None
    if_clause: bool = False
    replace: bool = False
    new_name: Name = ()
    properties: tuple[tuple[str, str | None], ...] = ()
    text: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    policy: Policy | None = None
    swap: bool = False
    shows: Shows | None = None
    on: Name = ()
    grantees: tuple[str, ...] = ()
    lazy: bool = False
