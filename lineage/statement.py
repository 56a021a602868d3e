"""A statement of text: what it is, and what it names.

In: what `lineage.parse` found. Out: `Statement`, the value that the front door, the tracer and
QUERY_HISTORY share. Costly answers (names, hashes) are worked out when first asked for.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage.hashing import parameterized_hash, text_hash
from lineage.model import Access, Domain, Policy
from lineage.targets import references_of, targets_of

if TYPE_CHECKING:
    from sqlglot import exp


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
    name: tuple[str, ...] = ()
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
    schema: tuple[str, ...] | None = ()
    name: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A statement that a reader of its own took from the tokens, since sqlglot lacks it.

    `columns` are pairs of a column's name and its subOperationType; `policy` is the definition that a
    CREATE of a policy gives, under the name as it was written; `swap` says that `source` is the other
    object of a SWAP; `shows` is what a SHOW or DESCRIBE of governance asks for; `on` is the table that a row
    access policy of BigQuery's belongs to, `grantees` those whom it lets see the rows that pass.
    """

    kind: str
    domain: Domain | None = None
    target: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    version: str | None = None
    if_clause: bool = False
    replace: bool = False
    new_name: tuple[str, ...] = ()
    properties: tuple[tuple[str, str | None], ...] = ()
    text: str | None = None
    columns: tuple[tuple[str, str], ...] = ()
    changes: tuple[Change, ...] = ()
    policy: Policy | None = None
    swap: bool = False
    shows: Shows | None = None
    on: tuple[str, ...] = ()
    grantees: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """An object that a statement writes, creates, changes or drops."""

    parts: tuple[str, ...]
    domain: Domain


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One statement (or script) of SQL text.

    Attributes:
        text: the text as it was given.
        statement_type: SELECT, INSERT, CREATE_TABLE_AS_SELECT, … in the manner of QUERY_TYPE.
        is_query: Spark runs it when an action asks for its rows, not at once.
        is_ddl: it creates, changes or drops an object.
        changes_session: the current schema, temporary views, variables or settings may differ after it.
        tree: sqlglot's tree, None where there is none that can be trusted.
        reason: why `tree` is None.
        command: what a reader of its own took from the tokens.
        changes: policies and tags that a CREATE sets at once; the tree has none of them.
        seen: what it accessed by version of a catalog and user; `lineage.seen` keeps it.
    """

    text: str
    statement_type: str
    is_query: bool = False
    is_ddl: bool = False
    changes_session: bool = False
    tree: exp.Expr | None = None
    reason: str | None = None
    command: Command | None = None
    temporary: bool = False
    changes: tuple[Change, ...] = ()
    seen: dict[tuple[Hashable, str | None], Access] = field(default_factory=dict, repr=False)
    _memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def references(self) -> tuple[tuple[str, ...], ...]:
        """Names that the statement uses as tables or views, in order, CTEs left out."""
        if "references" not in self._memo:
            self._memo["references"] = references_of(self)
        found: tuple[tuple[str, ...], ...] = self._memo["references"]
        return found

    @property
    def targets(self) -> tuple[Target, ...]:
        """What the statement writes, creates, changes or drops."""
        if "targets" not in self._memo:
            self._memo["targets"] = tuple(Target(p, d) for p, d in targets_of(self))
        found: tuple[Target, ...] = self._memo["targets"]
        return found

    @property
    def query_hash(self) -> str:
        """Hash of the text without comments, white space and the case of keywords (32 hex digits)."""
        if "hash" not in self._memo:
            self._memo["hash"] = text_hash(self.text)
        return str(self._memo["hash"])

    @property
    def query_parameterized_hash(self) -> str:
        """The same with literals left out, so that statements that differ in values alone share it."""
        if "phash" not in self._memo:
            self._memo["phash"] = parameterized_hash(self.text)
        return str(self._memo["phash"])
