"""Opening what a name hides: views, temporary views, SQL functions.

In: an entry of the catalog. Out: the frame of its query, told apart into what the statement names
(the view's own columns) and what lies below (the base tables' columns).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lineage.model import AccessedObject, Column, ColumnRef, Domain, Function, Relation
from lineage.parse import parse
from lineage.resolve import Ledger
from lineage.scope import Entry, Frame, Out, Refs, Scope, Sink, Source
from lineage.sources import Sources
from lineage.transformation import BELOW, bits

if TYPE_CHECKING:
    from sqlglot import exp

_MAX_DEPTH = 100  # Spark's spark.sql.view.maxNestedViewDepth


class Views(Sources):
    """The part of the tracer that opens views and functions."""

    def open_view(self, entry: Entry) -> Frame:
        """The frame of a view, its columns under the view's names; opened once a trace."""
        frame = self._frames.get(entry)
        if frame is None:
            inner = self._view_frame(entry.relation)
            frame = self._frames[entry] = self._faced(entry, inner)
        return frame

    def _view_frame(self, relation: Relation) -> Frame:
        if relation.view_access is not None:
            return self._from_access(relation)
        text = relation.view_text or ""
        if self.depth >= _MAX_DEPTH:
            self.doubt(f"views nested deeper than {_MAX_DEPTH}")
            return Frame([], open_=True)
        statement = parse(text)
        if statement.tree is None or not statement.is_query:
            self.doubt(f"view {relation.name}: {statement.reason or 'not a query'}")
            return Frame([], open_=True)
        with self._inside(relation.view_current):
            return self.query(statement.tree, None, {})

    @contextmanager
    def _inside(self, current: tuple[str, str] | None) -> Iterator[None]:
        """Read text that is not the statement's own: under its own schema, naming no direct object."""
        ledger = self.ledger
        kept = (self.keep, self.current, ledger.direct_entries, self.depth)
        self.keep, self.depth = False, self.depth + 1
        self.current = current or self.current
        ledger.direct_entries = {}
        try:
            yield
        finally:
            self._named_inside = ledger.direct_entries
            self.keep, self.current, ledger.direct_entries, self.depth = kept

    @contextmanager
    def set_aside(self) -> Iterator[Ledger]:
        """Walk a query without recording its reads: the definition of a view. Gives their ledger."""
        held, self.ledger = self.ledger, Ledger()
        try:
            yield self.ledger
        finally:
            self.ledger = held

    def _faced(self, entry: Entry, inner: Frame) -> Frame:
        relation = entry.relation
        columns = relation.columns or tuple(Column(o.name) for o in inner.outs)
        bodies = self._by_column(relation, columns, inner)
        if relation.temporary:
            # A temporary view is no object: what it reads stands in its place.
            for named in getattr(self, "_named_inside", {}):
                self.ledger.direct_entries.setdefault(named)
            outs = [body.renamed(c.name) for c, body in zip(columns, bodies, strict=True)]
            return Frame(outs, inner.shape, open_=inner.open)
        shape = Sink()
        shape.ibase = {**inner.shape.ibase, **inner.shape.base}
        outs = [self._face(entry, c, body) for c, body in zip(columns, bodies, strict=True)]
        return Frame(outs, shape, open_=inner.open and not relation.columns)

    def _face(self, entry: Entry, column: Column, body: Out) -> Out:
        out = Out(column.name, column.type or body.type)
        out.direct = {entry.ref(column): None}
        out.base, out.ibase, out.how = body.base, body.ibase, body.how & BELOW
        out.plain, out.calls = body.plain, body.calls
        return out

    def _by_column(self, relation: Relation, columns: Sequence[Column], inner: Frame) -> list[Out]:
        # By position; a view over `*` keeps the columns that it had when it was made, so by name
        # where the table has grown since (Spark stores the query's output names with the view).
        if len(columns) == len(inner.outs):
            return inner.outs
        index = {out.key: out for out in inner.outs}
        found = [index.get(c.name.lower()) for c in columns]
        if inner.open or None in found:
            self.doubt(f"columns of view {relation.name}")
        return [out if out is not None else Out(c.name) for c, out in zip(columns, found, strict=True)]

    # -- views over DataFrames -----------------------------------------------------------------

    def _from_access(self, relation: Relation) -> Frame:
        access = relation.view_access
        if access is None:
            return Frame([], open_=True)
        if access.analysis != "full":
            self.doubt(f"view {relation.name}: {access.reason or access.analysis}")
        named = {o.name: self._object_entry(o) for o in access.direct_objects_accessed}
        below = {o.name: self._object_entry(o) for o in access.base_objects_accessed}
        self._named_inside = dict.fromkeys(named.values())
        for entry in below.values():
            self.ledger.base_entries.setdefault(entry)
        outs: list[Out] = []
        shape = Sink()
        for column in access.columns:
            out = Out(column.name)
            out.direct = self._refs(column.direct_sources, named)
            out.base = self._refs(column.base_sources, below)
            out.ibase = self._refs(column.indirect_sources, below)
            out.plain = len(out.direct) == 1 and len(out.base) == 1
            out.how = bits(column.direct_transformation, column.base_transformation)
            outs.append(out)
        # Columns that shaped the rows stand in the objects but in no column's sources.
        shape.part()
        _rest(access.direct_objects_accessed, named, outs, shape.idirect, base=False)
        _rest(access.base_objects_accessed, below, outs, shape.ibase, base=True)
        return Frame(outs, shape)

    def _object_entry(self, accessed: AccessedObject) -> Entry:
        key = (accessed.name, accessed.domain, accessed.version)
        entry = self._entries.get(key)
        if entry is None:
            relation = Relation(
                accessed.name, accessed.domain, accessed.object_id, accessed.columns,
                location=accessed.location, version=accessed.version,
            )  # fmt: skip
            entry = self._entries[key] = Entry(relation)
        return entry

    def _refs(self, refs: Sequence[ColumnRef], entries: dict[str, Entry]) -> Refs:
        found: Refs = {}
        for ref in refs:
            entry = entries.get(ref.object_name)
            if entry is None:
                entry = self._object_entry(AccessedObject(ref.object_name, ref.object_domain, ref.object_id))
                entries[ref.object_name] = entry
            column = entry.index.get(ref.column_name.lower())
            if column is None:
                column = Column(ref.column_name, "", ref.column_id)
            found[entry.ref(column, ref.field_path)] = None
        return found

    # -- SQL functions -------------------------------------------------------------------------

    def function_body(self, function: Function, arguments: Sequence[exp.Expr], outs: Sequence[Out]) -> Frame:
        """The frame of an SQL function's body, its parameters standing for the arguments."""
        del arguments
        body = (function.body or "").strip()
        if body.upper().startswith("RETURN "):
            body = body[7:].strip()
        statement = parse(body)
        if statement.tree is None or not statement.is_query:
            statement = parse("SELECT " + body)
        if statement.tree is None or self.depth >= _MAX_DEPTH:
            self.doubt(f"body of function {function.name}")
            return Frame([])
        scope = Scope()
        bound = [o.renamed(p.name) for p, o in zip(function.parameters, outs, strict=False)]
        # A parameter that the call leaves out has its default, which reads nothing.
        bound += [Out(p.name, p.type) for p in function.parameters[len(bound) :]]
        scope.add(Source(function.name.split(".")[-1], bound))
        with self._inside(None):
            return self.query(statement.tree, scope, {})


def _rest(
    objects: Sequence[AccessedObject],
    entries: dict[str, Entry],
    outs: Sequence[Out],
    into: Refs,
    *,
    base: bool,
) -> None:
    sources = {ref.column.name for out in outs for ref in (out.base if base else out.direct)}
    for accessed in objects:
        entry = entries[accessed.name]
        for column in accessed.columns:
            if column.name not in sources:
                into[entry.ref(column)] = None


__all__ = ["Domain", "Views"]
