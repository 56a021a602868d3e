"""The state of tracing one statement: look-ups in the catalog, what was read, what was not understood.

In: a catalog. Out: a `Trace`: relations and functions looked up once, a `Ledger` of what was named and read,
and the reasons why constructs were not understood. An analysis with such reasons is partial.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from lineage.catalog.protocol import Catalog, governed
from lineage.errors import BadNameError
from lineage.model import Attachment, Column, ColumnRef, Domain, Function, Policy, Relation
from lineage.names import qualify, quote_name, split_name
from lineage.resolve.scope import (
    CALLED_BASE,
    CALLED_DIRECT,
    Calls,
    Entry,
    Frame,
    Ref,
    Refs,
    ResolvedColumn,
    Scope,
    SourceSet,
)


class Ledger:
    """The objects that a statement named and the columns that it read, in order.

    Columns that a call reads, whoever uses what it gives, come behind the others, by `settle`.
    """

    __slots__ = ("_calls", "base", "base_entries", "base_functions", "direct", "direct_entries", "functions")

    def __init__(self) -> None:
        self.direct: Refs = {}
        self.base: Refs = {}
        self.direct_entries: dict[Entry, None] = {}
        self.base_entries: dict[Entry, None] = {}
        self.functions: dict[str, Function] = {}
        self.base_functions: dict[str, Function] = {}
        self._calls: list[SourceSet] = []

    def add_reads(self, sink: SourceSet) -> None:
        """Add columns that were read, as direct or indirect sources."""
        self.direct.update(sink.direct)
        self.base.update(sink.base)
        if sink.base_indirect:
            self.base.update(sink.base_indirect)
        if sink.direct_indirect:
            self.direct.update(sink.direct_indirect)

    def add_argument(self, sink: SourceSet) -> None:
        """Add what an argument reads."""
        self._calls.append(sink)

    def add_body(self, frame: Frame) -> None:
        """Add what a query in a function's body reads: base columns alone."""
        own = SourceSet()
        own.separate()
        for sink in (*frame.columns, frame.indirect):
            own.base.update(sink.base)
            own.base_indirect.update(sink.base_indirect)
        self._calls.append(own)

    def settle(self) -> None:
        """Add what calls read."""
        for sink in self._calls:
            self.add_reads(sink)
        self._calls.clear()


class PolicyMark(Ref):
    """A policy in force on a column (or, without one, on the rows).

    `reached` is what the policy's body named, `covered` what lies below the column that it masks.
    """

    __slots__ = ("attached", "covered", "reached")

    def __init__(
        self, entry: Entry, column: Column, attached: Attachment, reached: Ledger, covered: Refs
    ) -> None:
        super().__init__(entry, column, ())
        self.attached = attached
        self.reached = reached
        self.covered = covered


class Trace:
    """The state of one analysis: its catalog, what it has read so far, and why it is partial.

    Args:
        catalog: names to objects.
        read_query: reads a query. Expressions, views and FROM clauses hold queries, and queries hold them.
            They call it through this value, so that the imports make no circle.
    """

    def __init__(self, catalog: Catalog, read_query: QueryReader) -> None:
        self.catalog = catalog
        self.read_query = read_query
        self.current: tuple[str, str] | None = None
        self.ledger = Ledger()
        self.partial_reasons: dict[str, None] = {}
        # Session variables that earlier statements of a script declared.
        self.variables: Container[str] = getattr(catalog, "variables", frozenset())
        # True while the statement's own text is read: whatever it names is accessed. Inside a view
        # only what the used columns need is (Snowflake records columns that the plan evaluates).
        self.is_own_text = True
        # True in the body of a function that the own text calls: what its queries read is accessed, too.
        self.is_called = False
        self.depth = 0
        self.entries: dict[tuple[object, ...], Entry | None] = {}
        self.view_frames: dict[Entry, Frame] = {}
        # The direct objects of the view, function or policy that was read last.
        self.named_inside: dict[Entry, None] = {}
        self.governance = governed(catalog)
        self.marks: dict[tuple[Entry, Policy, str], PolicyMark] = {}
        self.policy_effects: dict[Entry, tuple[dict[str, ResolvedColumn], SourceSet]] = {}
        self.inside_policy = False
        # The rows of the loops of a script around the statement, the innermost in front.
        self.loops: Scope | None = None
        # What shaped these rows: how often the statement runs.
        self.loop_rows = SourceSet()
        self.column_refs: dict[Ref, ColumnRef] = {}
        self._functions: dict[tuple[str, ...], Function | None] = {}

    def mark_partial(self, reason: str) -> None:
        """Note a construct that is not understood."""
        self.partial_reasons.setdefault(reason)

    def split_literal(self, text: str) -> list[str]:
        """The parts of a name inside a literal."""
        try:
            return list(split_name(text))
        except BadNameError:
            self.mark_partial(f"name {text!r}")
            return [text]

    def entry(self, parts: Sequence[str], version: object = None) -> Entry:
        """The entry of a table's name; an unknown one is kept with unknown columns."""
        # Inside a view the same name may mean another object.
        key = (*parts, version, self.current)
        found = self.entries.get(key)
        if found is None:
            relation = self.lookup(parts)
            if relation is None:
                self.mark_partial(f"unknown table {quote_name(parts)}")
                full = qualify(parts, self.current or self.catalog.current)
                relation = Relation(quote_name(full))
            # Two spellings of one name are one object.
            named = (relation.name, relation.domain, version)
            found = self.entries.get(named)
            if found is None:
                found = Entry(relation, version if isinstance(version, int) else None)
                self.entries[named] = found
            self.entries[key] = found
        return found

    def lookup(self, parts: Sequence[str]) -> Relation | None:
        """The catalog's relation of a name; `delta.`/p`` is a path."""
        if len(parts) == 2 and ("/" in parts[1] or ":" in parts[1]) and parts[0].isidentifier():  # noqa: PLR2004
            return self.catalog.path(parts[0].lower(), parts[1])
        return self.catalog.relation(parts, self.current)

    def function(self, parts: Sequence[str]) -> Function | None:
        """The user's function of that name, None for a built-in."""
        key = tuple(parts)
        if key not in self._functions:
            self._functions[key] = self.catalog.function(key, self.current)
        return self._functions[key]

    def record_call(self, function: Function) -> Calls:
        """Record a function: direct where the statement names it, base where its body is not SQL."""
        kinds = 0
        if self.is_own_text:
            self.ledger.functions.setdefault(function.name, function)
            kinds = CALLED_DIRECT
        if function.body is None or function.domain is Domain.PROCEDURE:
            self.ledger.base_functions.setdefault(function.name, function)
            kinds |= CALLED_BASE
        return {function.name: (function, kinds)} if kinds else {}

    def subquery(self, node: exp.Expr, scope: Scope) -> Frame:
        """A query inside an expression sees the columns around it."""
        frame = self.read_query(self, node, scope, scope.ctes)
        if self.is_called:
            self.ledger.add_body(frame)
        return frame

    @contextmanager
    def inside(self, current: tuple[str, str] | None, *, called: bool = False) -> Iterator[None]:
        """A block that reads other text, of a view or policy: in its own schema, without direct objects.

        `called` says that it is the body of a function that stands in an expression.
        """
        ledger = self.ledger
        kept = (self.is_own_text, self.current, ledger.direct_entries, self.depth, self.is_called)
        self.is_called = called and (self.is_own_text or self.is_called)
        self.is_own_text, self.depth = False, self.depth + 1
        self.current = current or self.current
        ledger.direct_entries = {}
        try:
            yield
        finally:
            self.named_inside = ledger.direct_entries
            self.is_own_text, self.current, ledger.direct_entries, self.depth, self.is_called = kept

    @contextmanager
    def separate_ledger(self) -> Iterator[Ledger]:
        """Walk a query without recording its reads: the definition of a view. Gives their ledger."""
        saved, self.ledger = self.ledger, Ledger()
        try:
            yield self.ledger
        finally:
            self.ledger = saved


QueryReader = Callable[[Trace, exp.Expr, "Scope | None", dict[str, Frame]], Frame]
"""Reads a query: its node, the scope around it, the CTEs it may name."""
