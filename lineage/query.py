"""Queries: SELECT, set operations, CTEs, VALUES, and the views that they open.

In: a query of sqlglot's tree and the scope around it. Out: a `Frame`, its columns with their sources.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from lineage.expressions import is_aggregate
from lineage.generators import function_title, generated, is_generator
from lineage.naming import column_name, niladic_name
from lineage.scope import Frame, Out, Scope, Sink, Source
from lineage.transformation import COMPUTED
from lineage.views import Views

Node = exp.Expr

_UNREAD = ("connect", "match", "prewhere", "into", "locks", "settings", "for_", "pivots")
_AFTER = ("having", "qualify", "order", "sort", "distribute", "cluster")
_ROUNDS = 25


class Queries(Views):
    """The part of the tracer that reads queries."""

    def subquery(self, node: Node, scope: Scope) -> Frame:
        """A query inside an expression sees the columns around it."""
        return self.query(node, scope, scope.ctes)

    def query(self, node: Node, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
        """The frame of any query."""
        with_ = node.args.get("with_")
        if with_ is not None:
            ctes = self.ctes(with_, outer, ctes)
        if isinstance(node, exp.Select):
            return self._select(node, outer, ctes)
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, outer, ctes)
        if isinstance(node, exp.Subquery):
            return self._parenthesised(node, outer, ctes)
        if isinstance(node, exp.Values):
            scope = Scope(outer, ctes)
            frame = self.values_frame(node, scope)
            alias = node.args.get("alias")
            return Frame(self._aliased(frame.outs, alias), frame.shape)
        if isinstance(node, exp.Table):
            scope = Scope(outer, ctes)
            self.add(node, scope)
            return self._closed(Frame(self._all(scope), scope.shape))
        self.doubt(f"{type(node).__name__} as a query")
        return Frame([], open_=True)

    def ctes(self, with_: Node, outer: Scope | None, ctes: dict[str, Frame]) -> dict[str, Frame]:
        """The CTEs around a query, each seeing those before it."""
        known = dict(ctes)
        for cte in with_.expressions:
            alias = cte.args["alias"]
            name = alias.name.lower()
            body = cte.args["this"]
            if with_.args.get("recursive") and isinstance(body, exp.SetOperation) and _names(body, name):
                frame = self._recursive(body, alias, outer, known)
            else:
                frame = self.query(body, outer, known)
            known[name] = Frame(self._aliased(frame.outs, alias), frame.shape, open_=frame.open)
        return known

    def _recursive(self, body: Node, alias: Node, outer: Scope | None, known: dict[str, Frame]) -> Frame:
        # The anchor gives the columns; the step is read until it adds no source.
        with_ = body.args.get("with_")
        if with_ is not None:
            known = self.ctes(with_, outer, known)
        frame = self.query(body.args["this"], outer, known)
        for _ in range(_ROUNDS):
            inner = dict(known)
            inner[alias.name.lower()] = Frame(self._aliased(frame.outs, alias), frame.shape)
            step = self.query(body.args["expression"], outer, inner)
            grown = self._united(frame, step, both=True)
            if _size(grown) == _size(frame):
                return grown
            frame = grown
        self.doubt("recursive CTE that keeps growing")
        return frame

    # -- set operations ------------------------------------------------------------------------

    def _set_operation(self, node: Node, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
        # A chain of 3,000 UNIONs is a left-deep tree: its spine is walked by a loop.
        spine: list[Node] = [node]
        left = node.args["this"]
        while isinstance(left, exp.SetOperation) and not left.args.get("with_"):
            spine.append(left)
            left = left.args["this"]
        frame = self.query(left, outer, ctes)
        for item in reversed(spine):
            frame = self._combine(item, frame, self.query(item.args["expression"], outer, ctes))
            self._tail(item, frame, outer, ctes)
        return self._closed(frame)

    def _combine(self, node: Node, left: Frame, right: Frame) -> Frame:
        if node.args.get("side") or node.args.get("kind"):
            self.doubt("set operation with a side")
        if node.args.get("by_name"):
            right = self._by_name(left, right)
        frame = self._united(left, right, both=not isinstance(node, exp.Except))
        if node.args.get("distinct"):
            for out in frame.outs:
                frame.shape.shape(out)
        return frame

    def _by_name(self, left: Frame, right: Frame) -> Frame:
        # Spark wants the same names on both sides (allowMissingColumns is the DataFrame's alone).
        index = {out.key: out for out in right.outs}
        outs = [index.pop(out.key, Out(out.name)) for out in left.outs]
        if index:
            self.doubt("UNION BY NAME of other names")
        return Frame(outs, right.shape, open_=right.open)

    def _united(self, left: Frame, right: Frame, *, both: bool) -> Frame:
        if len(left.outs) != len(right.outs) and not (left.open or right.open):
            self.doubt("set operation over different numbers of columns")
        outs: list[Out] = []
        shape = Sink()
        shape.shape(left.shape)
        shape.shape(right.shape)
        for at, one in enumerate(left.outs):
            two = right.outs[at] if at < len(right.outs) else None
            if two is None:
                outs.append(one)
                continue
            out = Out(one.name, one.type)
            out.merge(one)
            if both:
                out.merge(two)
            else:
                shape.shape(two)
            outs.append(out)
        return Frame(outs, shape, open_=left.open or right.open)

    def _parenthesised(self, node: Node, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
        inner = node.args["this"]
        if isinstance(inner, exp.Table):
            scope = Scope(outer, ctes)
            self.add(inner, scope)
            return self._closed(Frame(self._all(scope), scope.shape))
        frame = self.query(inner, outer, ctes)
        frame = Frame(frame.outs, frame.shape, open_=frame.open)
        self._tail(node, frame, outer, ctes)
        return frame

    def _tail(self, node: Node, frame: Frame, outer: Scope | None, ctes: dict[str, Frame]) -> None:
        # ORDER BY, SORT BY … after a set operation see its columns alone.
        keys = [node.args[k] for k in ("order", "sort", "distribute", "cluster") if node.args.get(k)]
        if not keys:
            return
        scope = Scope(outer, ctes)
        scope.add(Source("", frame.outs, open_=frame.open))
        own = Sink()
        for key in keys:
            self._keys(key.expressions, frame.outs, scope, own)
        shape = Sink()
        shape.merge(frame.shape)
        shape.shape(own)
        frame.shape = shape

    # -- SELECT --------------------------------------------------------------------------------

    def _select(self, node: exp.Select, outer: Scope | None, ctes: dict[str, Frame]) -> Frame:
        scope = Scope(outer, ctes)
        args = node.args
        self.from_clause(node, scope)
        return self.projected(scope, args)

    def projected(self, scope: Scope, args: dict[str, Any]) -> Frame:
        """The frame of a SELECT whose FROM is already in scope."""
        for key in _UNREAD:
            if args.get(key):
                self.doubt(f"{key.rstrip('_').upper()} in SELECT")
        shape = scope.shape
        where = args.get("where")
        if where is not None:
            self.shaping(where.args["this"], scope, shape)
        for window in args.get("windows") or ():
            self._named_window(window, scope)
        outs = self._outputs(args["expressions"], scope)
        self._group(args.get("group"), args["expressions"], outs, scope)
        self._after(args, outs, scope)
        distinct = args.get("distinct")
        if distinct is not None:
            for out in outs:
                shape.shape(out)
            self.shaping(distinct.args.get("on"), scope, shape)
        return self._closed(Frame(outs, shape, open_=any(s.open for s in scope.sources) and _starred(args)))

    def _closed(self, frame: Frame) -> Frame:
        if self.keep:
            for out in frame.outs:
                self.ledger.touch(out)
            self.ledger.touch(frame.shape)
        return frame

    def _after(self, args: dict[str, Any], outs: list[Out], scope: Scope) -> None:
        # HAVING, QUALIFY and ORDER BY look at the output first, then at what was selected from.
        clauses = [(key, clause) for key in _AFTER if (clause := args.get(key)) is not None]
        if not clauses:
            return
        output = Scope(scope, scope.ctes)
        output.windows = scope.windows
        # A struct's field hides no column of its name.
        output.add(Source("", sorted(outs, key=_is_field)))
        for key, clause in clauses:
            if key == "having":
                self.shaping(
                    clause.args["this"], self._grouped(args.get("group"), output, scope), scope.shape
                )
            elif key == "qualify":
                self.shaping(clause.args["this"], output, scope.shape)
            else:
                self._keys(clause.expressions, outs, output, scope.shape)

    def _grouped(self, group: Node | None, output: Scope, scope: Scope) -> Scope:
        """HAVING: a name is a group key before it is an output; inside an aggregate it is of the rows."""
        keys = [] if group is None or group.args.get("all") else _group_keys(group)
        columns = [self.column(key, scope) for key in keys if type(key) is exp.Column]
        inner = Scope(output, output.ctes)
        inner.windows, inner.rows = output.windows, scope
        inner.add(Source("", [out for out in columns if out is not None]))
        return inner

    def _named_window(self, window: Node, scope: Scope) -> None:
        own = Sink()
        for key in ("partition_by", "order"):
            self.shaping(window.args.get(key), scope, own)
        base = window.args.get("alias")
        if base is not None and base.name.lower() in scope.windows:
            own.shape(scope.windows[base.name.lower()])
        scope.windows[window.name.lower()] = own

    def _outputs(self, expressions: list[Node], scope: Scope) -> list[Out]:
        outs: list[Out] = []
        for item in expressions:
            kind = type(item)
            if kind is exp.Alias:
                out = self._aliased_output(item, scope)
                outs.append(out)
                scope.aliases.setdefault(out.key, out)
            elif kind is exp.Star or (kind is exp.Column and type(item.args["this"]) is exp.Star):
                outs += self.star(item, scope)
            elif kind is exp.Column:
                out = self.out_of(item, scope)
                # Spark 4.2 names an output as the query spells it (AttributeSeq.resolve, withName).
                outs.append(out.renamed(item.name if out.name else niladic_name(item.name)))
            else:
                several = self._unnamed(item, scope)
                outs += several
                if kind is exp.Aliases:
                    for out in several:
                        scope.aliases.setdefault(out.key, out)
        return outs

    def _aliased_output(self, item: Node, scope: Scope) -> Out:
        inner, name = item.args["this"], item.args["alias"].name
        generator = self._generator_name(inner)
        if generator is not None:
            outs = generated(generator, inner, self.turned(inner, scope))
            if outs is not None and len(outs) == 1:
                return outs[0].renamed(name)
        return self.out_of(inner, scope, name)

    def _unnamed(self, item: Node, scope: Scope) -> list[Out]:
        if isinstance(item, exp.Aliases):
            names = [i.name for i in item.expressions]
            return self.generate(item.args["this"], names, scope) or []
        if isinstance(item, exp.QueryTransform):
            return self._script_transform(item, scope)
        if isinstance(item, exp.Dot) and isinstance(item.args["expression"], exp.Star):
            return self._struct_star(self.out_of(item.args["this"], scope))
        generator = self._generator_name(item)
        if generator is not None:
            outs = generated(generator, item, self.turned(item, scope))
            if outs is not None:
                return outs
            self.doubt(f"columns of {generator}")
        return [self.out_of(item, scope, column_name(item))]

    def _generator_name(self, node: Node) -> str | None:
        name = function_title(node)
        return name if is_generator(name) else None

    def _script_transform(self, item: Node, scope: Scope) -> list[Out]:
        # A script sees every input for every output (Hive's TRANSFORM … USING).
        whole = Out("")
        whole.how = COMPUTED
        self.values(item.expressions, scope, whole)
        schema = item.args.get("schema")
        names = [c.name for c in schema.expressions] if schema is not None else ["key", "value"]
        return [whole.renamed(name) for name in names]

    def _group(self, group: Node | None, items: list[Node], outs: list[Out], scope: Scope) -> None:
        if group is None:
            return
        if group.args.get("all"):
            for item in items:
                self._group_by(item, scope)
            return
        self._keys(_group_keys(group), outs, scope, scope.shape)

    def _group_by(self, item: Node, scope: Scope) -> None:
        # GROUP BY ALL: what aggregates nothing. What does may name no column outside (MISSING_AGGREGATION).
        if type(item) is exp.Star or (type(item) is exp.Column and type(item.args["this"]) is exp.Star):
            for out in self.star(item, scope):
                scope.shape.shape(out)
        elif not any(map(is_aggregate, item.walk(prune=lambda node: isinstance(node, exp.Query)))):
            self.shaping(item, scope, scope.shape)

    def _keys(self, keys: list[Node], outs: list[Out], scope: Scope, sink: Sink) -> None:
        for key in keys:
            inner = key.args["this"] if isinstance(key, exp.Ordered) else key
            if isinstance(inner, exp.Literal) and not inner.is_string and inner.name.isdigit():
                at = int(inner.name) - 1
                if 0 <= at < len(outs):
                    sink.shape(outs[at])
            elif isinstance(inner, exp.Var) and inner.name.upper() == "ALL":
                for out in outs:
                    sink.shape(out)
            else:
                self.shaping(inner, scope, sink)


def _group_keys(group: Node) -> list[Node]:
    """The keys, those in GROUPING SETS, CUBE and ROLLUP among them."""
    keys: list[Node] = list(group.expressions)
    for key in ("grouping_sets", "cube", "rollup"):
        keys += [item for item in group.args.get(key) or () if isinstance(item, exp.Expr)]
    return _flat(keys)


def _flat(keys: list[Node]) -> list[Node]:
    found: list[Node] = []
    for key in keys:
        if isinstance(key, (exp.Cube, exp.Rollup, exp.GroupingSets, exp.Tuple)):
            found += _flat(key.expressions)
        elif isinstance(key, exp.Paren):
            found += _flat([key.args["this"]])
        else:
            found.append(key)
    return found


def _is_field(out: Out) -> bool:
    return out.plain and any(ref.path for ref in out.direct)


def _names(node: Node, name: str) -> bool:
    return any(t.name.lower() == name for t in node.find_all(exp.Table))


def _size(frame: Frame) -> int:
    return sum(len(o.direct) + len(o.base) + len(o.ibase) for o in frame.outs) + len(frame.shape.ibase)


def _starred(args: dict[str, Any]) -> bool:
    expressions = args.get("expressions")
    return isinstance(expressions, list) and any(
        isinstance(e, exp.Star) or (isinstance(e, exp.Column) and isinstance(e.args["this"], exp.Star))
        for e in expressions
    )
