"""The FROM clause: tables, views, subqueries, joins, laterals, generators, pivots.

In: the items of a FROM and the scope to fill. Out: nothing but the filled scope; join keys go to the
scope's shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from lineage.expressions import Expressions, call_arguments
from lineage.generators import FIXED_ROWS, function_title, generated, is_generator
from lineage.model import Column, Function
from lineage.pivots import pivoted
from lineage.scope import CALLED_BASE, CALLED_DIRECT, Entry, Frame, Merged, Out, Owned, Scope, Sink, Source
from lineage.transformation import BELOW, COMPUTED
from lineage.types import struct_fields

Node = exp.Expr


class Sources(Expressions):
    """The part of the tracer that reads FROM clauses."""

    def governed(self, entry: Entry, source: Source, scope: Scope) -> Source:
        """The source as the policies on its relation leave it."""
        raise NotImplementedError

    def open_view(self, entry: Entry) -> Frame:
        """The frame of a view's query, columns renamed to the view's."""
        raise NotImplementedError

    def query(self, node: Node, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
        """The frame of a query."""
        raise NotImplementedError

    def from_clause(self, node: Node, scope: Scope) -> None:
        """Fill the scope with the sources of a SELECT (or of any node with from_, joins, laterals)."""
        args = node.args
        source = args.get("from_")
        joins = args.get("joins") or ()
        laterals = args.get("laterals") or ()
        if source is not None:
            self.add(source.args["this"], scope)
        # ON may use a LATERAL VIEW's columns: sqlglot keeps no order between the two.
        late: list[Node] = []
        for join in joins:
            self._join(join, scope, late if laterals else None)
        for lateral in laterals:
            self._lateral_view(lateral, scope)
        for condition in late:
            self.shaping(condition, scope, scope.shape)

    def add(self, node: Node, scope: Scope, *, pivots: bool = True) -> None:
        """Bring one item of a FROM into scope, as one step of it."""
        is_group = _is_join_group(node) and not node.args.get("alias")
        if is_group or node.args.get("joins"):
            inner = Scope(scope.outer, scope.ctes)
            if is_group:
                self.add(node.args["this"], inner)
            else:
                inner.add(self.source(node, inner))
            for join in node.args.get("joins") or ():
                self._join(join, inner, None)
            scope.shape.shape(inner.shape)
            scope.add_group(inner)
        else:
            scope.add(self.source(node, scope))
        for pivot in node.args.get("pivots") or () if pivots else ():
            self._turn(pivot, scope)
        for lateral in node.args.get("laterals") or ():
            self._lateral_view(lateral, scope)
        sample = node.args.get("sample")
        if sample is not None and any(sample.find_all(exp.Column)):
            self.doubt("TABLESAMPLE over columns")

    def _turn(self, pivot: Node, scope: Scope) -> None:
        """PIVOT and UNPIVOT turn whatever has been joined so far (AstBuilder.withRelationExtensions)."""
        scope.turn(pivoted(self, pivot, scope))

    def source(self, node: Node, scope: Scope) -> Source:
        """One item of a FROM as a source under its alias."""
        if isinstance(node, exp.Table):
            return self._table(node, scope)
        if isinstance(node, exp.Subquery):
            return self._subquery_source(node, scope, None)
        if isinstance(node, exp.Values):
            frame = self.values_frame(node, scope)
            return self._framed(frame, node, scope)
        if isinstance(node, exp.Lateral):
            return self._lateral(node, scope)
        if isinstance(node, exp.Query):
            return self._framed(self.query(node, scope.outer, scope.ctes), node, scope)
        self.doubt(f"{type(node).__name__} in FROM")
        return Source("", [], open_=True)

    def _table(self, node: exp.Table, scope: Scope) -> Source:
        args = node.args
        this = args["this"]
        alias = args.get("alias")
        if not isinstance(this, exp.Identifier):
            return self._table_function(node, scope)
        parts = table_parts(node)
        name = alias.name if alias is not None and alias.args.get("this") else ""
        if alias is not None and isinstance(alias.args.get("this"), exp.Parameter):
            self.doubt("table version after @")
            name = ""
        if len(parts) == 1:
            frame = scope.ctes.get(parts[0].lower())
            if frame is not None and not args.get("version"):
                scope.shape.shape(frame.shape)
                outs = self._aliased(frame.outs, alias)
                return Source(name or parts[0], outs, view=frame, open_=frame.open)
        entry = self.entry(parts, self._version(args))
        return self.named(entry, name or parts[-1], () if name else tuple(parts), scope, alias)

    def _version(self, args: dict[str, object]) -> object:
        version = args.get("version")
        if not isinstance(version, exp.Version):
            return None
        value = version.args.get("expression")
        if version.name == "VERSION" and isinstance(value, exp.Literal) and value.name.isdigit():
            return int(value.name)
        return version.sql("spark")

    def named(
        self, entry: Entry, alias: str, parts: tuple[str, ...], scope: Scope, columns: Node | None = None
    ) -> Source:
        """A relation of the catalog as a source: recorded as named, opened where it is a view."""
        relation = entry.relation
        # Columns may be qualified by the full name, too, where no alias hides it.
        full = relation.name if parts and relation.name and not relation.temporary else parts
        if relation.system:
            without_sources = [Out(c.name, c.type) for c in relation.columns]
            return Source(alias, without_sources, parts=parts, open_=entry.open)
        if relation.view_text is not None or relation.view_access is not None:
            frame = self.open_view(entry)
            self._take(entry, frame, scope)
            source = Source(alias, list(frame.outs), view=frame, parts=full, open_=frame.open)
        else:
            if self.keep or not relation.temporary:
                self.ledger.direct_entries.setdefault(entry)
            self.ledger.base_entries.setdefault(entry)
            source = Source(alias, entry=entry, parts=full)
        source = self.governed(entry, source, scope)
        if columns is not None and columns.args.get("columns"):
            if source.open:
                self.doubt("column aliases over unknown columns")
            return Source(alias, self._aliased(source.all(), columns), parts=parts)
        return source

    def _take(self, entry: Entry, frame: Frame, scope: Scope) -> None:
        if not entry.relation.temporary:
            self.ledger.direct_entries.setdefault(entry)
        scope.shape.shape(frame.shape)

    def _aliased(self, outs: list[Out], alias: Node | None) -> list[Out]:
        columns = alias.args.get("columns") if alias is not None else None
        if not columns:
            return outs
        if len(columns) != len(outs):
            self.doubt("column aliases that do not fit the columns")
        return [o.renamed(c.name) for o, c in zip(outs, columns, strict=False)]

    def _framed(self, frame: Frame, node: Node, scope: Scope) -> Source:
        scope.shape.shape(frame.shape)
        alias = node.args.get("alias")
        return Source(
            alias.name if alias else "", self._aliased(frame.outs, alias), view=frame, open_=frame.open
        )

    def _subquery_source(self, node: exp.Subquery, scope: Scope, outer: Scope | None) -> Source:
        inner = node.args["this"]
        if _is_join_group(node):
            # (a JOIN b ON …) AS j, or (t) AS j
            held = Scope(scope.outer, scope.ctes)
            self.add(inner, held)
            scope.shape.shape(held.shape)
            frame = Frame(held.star(), open_=any(s.open for s in held.sources))
            return self._framed(frame, node, scope)
        frame = self.query(node.unnest() if _bare(node) else node, outer or scope.outer, scope.ctes)
        return self._framed(frame, node, scope)

    def _lateral(self, node: exp.Lateral, scope: Scope) -> Source:
        inner = node.args["this"]
        alias = node.args.get("alias")
        if isinstance(inner, (exp.Subquery, exp.Query)):
            query = inner.args["this"] if isinstance(inner, exp.Subquery) and _bare(inner) else inner
            frame = self.query(query, scope, scope.ctes)
            scope.shape.shape(frame.shape)
            name = alias.name if alias is not None else ""
            return Source(name, self._aliased(frame.outs, alias), view=frame, open_=frame.open)
        return self._generator(inner, alias, scope)

    def _lateral_view(self, node: Node, scope: Scope) -> None:
        scope.add(self._generator(node.args["this"], node.args.get("alias"), scope))

    def _table_function(self, node: exp.Table, scope: Scope) -> Source:
        call = node.args["this"]
        alias = node.args.get("alias")
        if isinstance(call, exp.Anonymous) and call.name.upper() == "IDENTIFIER":
            return self._identifier(call, alias, scope)
        prefix = [node.args[k].name for k in ("catalog", "db") if node.args.get(k)]
        return self._generator(call, alias, scope, prefix)

    def _identifier(self, call: Node, alias: Node | None, scope: Scope) -> Source:
        literal = call.expressions[0] if call.expressions else None
        if not isinstance(literal, exp.Literal):
            self.doubt("IDENTIFIER() of an expression")
            return Source("", [], open_=True)
        parts = self.split(literal.name)
        name = alias.name if alias is not None else ""
        return self.named(self.entry(parts), name or parts[-1], tuple(parts), scope, alias)

    def _generator(self, call: Node, alias: Node | None, scope: Scope, prefix: Sequence[str] = ()) -> Source:
        names = [c.name for c in (alias.args.get("columns") or ())] if alias is not None else []
        name = alias.name if alias is not None and alias.args.get("this") else ""
        outs = self.generate(call, names, scope, prefix)
        if not name and self.function([*prefix, function_title(call)]) is not None:
            name = function_title(call)  # a user's function stands under its own name
        return Source(name, outs, open_=outs is None)

    def generate(
        self, call: Node, names: Sequence[str], scope: Scope, prefix: Sequence[str] = ()
    ) -> list[Out] | None:
        """The columns that a table-valued function or generator yields, None where unknown."""
        arguments = self.turned(call, scope)
        title = function_title(call)
        function = self.function([*prefix, title])
        outs: list[Out] | None
        if function is not None:
            outs = self._user_table(function, call, arguments)
        else:
            outs = generated(title, call, arguments)
        if outs is None or (names and len(names) != len(outs) and is_generator(title)):
            # The type of the argument is not known: the aliases say how many columns there are.
            if not names:
                self.doubt(f"table function {title}")
                return None
            whole = Out("")
            whole.how = COMPUTED
            for argument in arguments:
                whole.merge(argument)
            outs = [whole.renamed(n) for n in names]
        if names and len(names) == len(outs):
            return [o.renamed(n) for o, n in zip(outs, names, strict=True)]
        if names:
            self.doubt(f"column aliases that do not fit {title}")
        return outs

    def turned(self, call: Node, scope: Scope) -> list[Out]:
        """The arguments of what makes rows of a value; how many rows there are depends on them."""
        arguments = [self._table_argument(a, scope) for a in call_arguments(call)]
        if function_title(call) not in FIXED_ROWS:
            for argument in arguments:
                scope.shape.shape(argument)
        return arguments

    def _user_table(self, function: Function, call: Node, arguments: list[Out]) -> list[Out] | None:
        whole = Sink()
        whole.how = COMPUTED
        whole.call(self.saw_function(function))
        for argument in arguments:
            whole.merge(argument)
        outs: list[Out] = []
        if function.body is None:
            for name, _ in struct_fields(function.data_type):
                out = Out(name)
                out.merge(whole)
                outs.append(out)
            return outs or None
        frame = self.function_body(function, call_arguments(call), arguments)
        declared = [name for name, _ in struct_fields(function.data_type)]
        names = declared if len(declared) == len(frame.outs) else [inner.name for inner in frame.outs]
        for name, inner in zip(names, frame.outs, strict=True):
            out = Out(name)
            out.direct = whole.direct
            out.how = (whole.how & ~BELOW) | (inner.how & BELOW)
            out.call(whole.calls, CALLED_DIRECT)
            out.call(inner.calls, CALLED_BASE)
            out.base, out.ibase = inner.base, {**inner.ibase, **frame.shape.ibase}
            outs.append(out)
        return outs

    def _table_argument(self, node: Node, scope: Scope) -> Out:
        # f(TABLE(t)) and f(TABLE(SELECT …)): the whole table is an argument.
        if isinstance(node, exp.Anonymous) and node.name.upper() == "TABLE" and node.expressions:
            inner = node.expressions[0]
            out = Out("")
            if isinstance(inner, exp.Column):
                parts = [p.name for p in inner.parts]
                source = self.named(self.entry(parts), parts[-1], (), scope)
                if source.open:
                    self.doubt("TABLE() over unknown columns")
                for column in source.all():
                    out.merge(column)
                return out
            self.values(inner, scope, out)
            return out
        return self.out_of(node, scope)

    # -- joins -------------------------------------------------------------------------------

    def _join(self, join: Node, scope: Scope, late: list[Node] | None) -> None:
        # Spark joins from left to right, a comma like any JOIN (spark.sql.ansi.relationPrecedence is off).
        args = join.args
        kind = (args.get("kind") or "").upper()
        natural = (args.get("method") or "").upper() == "NATURAL"
        keys = [k.name.lower() for k in args.get("using") or ()]
        before, left = len(scope.sources), scope.joined()[0] if keys or natural else []
        self.add(args["this"], scope, pivots=False)
        if natural:
            if any(s.open for s in scope.sources):
                self.doubt("NATURAL JOIN over unknown columns")
            right = [out.key for _, out in scope.last()]
            mine = set(right)
            named = [out.key for _, out in left if out.key in mine]
            keys = list(dict.fromkeys(named))
            if len(keys) < len(named) and len(mine) < len(right):
                self.doubt("NATURAL JOIN of columns that share a name on both sides")
        if keys:
            self._using(keys, left, before, (args.get("side") or "").upper(), scope)
        pivots = [*_pivots(args["this"]), *(args.get("pivots") or ())]
        condition = args.get("on")
        semi = kind in ("SEMI", "ANTI")
        if condition is not None:
            if late is not None and not semi and not pivots:
                late.append(condition)
            else:
                self.shaping(condition, scope, scope.shape)
        if semi:
            scope.drop_last()
        for pivot in pivots:
            self._turn(pivot, scope)

    def _using(self, keys: list[str], left: Owned, before: int, side: str, scope: Scope) -> None:
        merges = Merged(side=side)
        right = scope.last()
        sources, added = scope.sources[:before], scope.sources[before:]
        for key in dict.fromkeys(keys):
            one, two = self._key_of(key, left, sources), self._key_of(key, right, added)
            scope.shape.shape(one)
            scope.shape.shape(two)
            merged = one
            if side == "RIGHT":
                merged = two
            elif side == "FULL":
                merged = Out(one.name)
                merged.merge(one)
                merged.merge(two)
                merged.how |= COMPUTED  # coalesce of both
            merges[key] = merged
        scope.merge_keys(merges)

    def _key_of(self, key: str, outs: Owned, sources: list[Source]) -> Out:
        for _, out in outs:
            if out.key == key:
                return out
        for source in sources:
            if source.open:
                return source.invent(key)
        self.doubt(f"unknown column {key} in USING")
        return Out(key)

    def _cell(self, cell: Node, scope: Scope, out: Out) -> None:
        value = self.out_of(cell, scope)
        first = not (out.direct or out.base or out.fields)
        out.merge(value)
        if first:
            out.fields = value.fields
        elif out.fields is not None and value.fields is not None and value.fields.keys() == out.fields.keys():
            out.fields = {key: _both(field, value.fields[key]) for key, field in out.fields.items()}
        else:
            out.fields = None

    # -- VALUES ------------------------------------------------------------------------------

    def values_frame(self, node: exp.Values, scope: Scope) -> Frame:
        """`VALUES (…), (…)`: a column's sources are those of its cells."""
        outs: list[Out] = []
        for row in node.expressions:
            cells = row.expressions if isinstance(row, exp.Tuple) else [row]
            while len(outs) < len(cells):
                outs.append(Out(f"col{len(outs) + 1}"))
            for out, cell in zip(outs, cells, strict=False):
                if not isinstance(cell, exp.Literal):
                    self._cell(cell, scope, out)
        return Frame(outs)


def _pivots(node: Node) -> list[Node]:
    inner = node.args["this"] if isinstance(node, exp.Lateral) else None
    below = inner.args.get("pivots") if isinstance(inner, exp.Subquery) else None
    return [*(node.args.get("pivots") or ()), *(below or ())]


def _both(one: Out, two: Out) -> Out:
    # A new column: the two may be a table's own.
    out = Out(one.name)
    out.merge(one)
    out.merge(two)
    return out


def table_parts(node: Node) -> list[str]:
    """The parts of a table's name, outermost first; deeper ones stand as dots inside `this`."""
    args = node.args
    parts = [args[k].name for k in ("catalog", "db") if args.get(k)]
    this = args.get("this")
    if isinstance(this, exp.Dot):
        parts += [i.name for i in this.find_all(exp.Identifier)]
    elif this is not None:
        parts.append(this.name)
    return parts


def _is_join_group(node: Node) -> bool:
    """Whether parentheses hold tables and joins, not a query: `(t)`, `((a JOIN b) JOIN c)`."""
    if not isinstance(node, exp.Subquery):
        return False
    inner = node.args["this"]
    return isinstance(inner, exp.Table) or (
        isinstance(inner, exp.Subquery) and (bool(inner.args.get("joins")) or _is_join_group(inner))
    )


def _bare(node: exp.Subquery) -> bool:
    return not any(node.args.get(k) for k in ("order", "limit", "with_", "sort", "distribute", "cluster"))


def column_list(names: Sequence[str]) -> tuple[Column, ...]:
    """Columns of which only the names are known."""
    return tuple(Column(name) for name in names)
