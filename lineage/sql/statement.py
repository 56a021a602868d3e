"""A parsed statement, as `lineage.parse` returns it: its type, its tree, and the names in it.

In: what the parser has found. Out: `Statement`, the value that stages, tracer and QUERY_HISTORY share.
Costly properties (names, hashes) are computed on first use.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage.sql.fingerprint import parameterized_hash, text_hash
from lineage.sql.targets import references_of, targets_of

if TYPE_CHECKING:
    from sqlglot import exp

    from lineage.model import Access, Domain
    from lineage.sql.commands.command import Change, Command
    from lineage.sql.commands.time_travel.at_before import Point
    from lineage.sql.typed import Typed


@dataclass(frozen=True, slots=True)
class Target:
    """An object that a statement writes, creates, changes or drops."""

    parts: tuple[str, ...]
    domain: Domain


# Compared by identity: `seen` and `_memo` are dictionaries, and a hash over fields would need theirs.
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
        command: what lineage traces where there is no tree.
        typed: what the statement is, by its type: a command, or what Time Travel acts on.
        points: the points in time that it asks tables for, in order.
        changes: policies and tags that a CREATE sets at once; the tree has none of them.
        without_changes: the text with blanks in the place of what sets them; "" where nothing does.
        seen: what it accessed by version of a catalog and user; `lineage.result_cache` keeps it.
    """

    text: str
    statement_type: str
    is_query: bool = False
    is_ddl: bool = False
    changes_session: bool = False
    tree: exp.Expr | None = None
    reason: str | None = None
    command: Command | None = None
    typed: Typed | None = None
    points: tuple[Point, ...] = ()
    temporary: bool = False
    changes: tuple[Change, ...] = ()
    without_changes: str = ""
    seen: dict[tuple[Hashable, str | None], Access] = field(default_factory=dict, repr=False)
    # `cached_property` needs a `__dict__`, which a class with slots does not have.
    _memo: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def references(self) -> tuple[tuple[str, ...], ...]:
        """Names that the statement uses as tables or views, in order, CTEs left out."""
        if "references" not in self._memo:
            self._memo["references"] = references_of(self.tree, self.command)
        found: tuple[tuple[str, ...], ...] = self._memo["references"]
        return found

    @property
    def targets(self) -> tuple[Target, ...]:
        """What the statement writes, creates, changes or drops."""
        if "targets" not in self._memo:
            self._memo["targets"] = tuple(Target(p, d) for p, d in targets_of(self.tree, self.command))
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
