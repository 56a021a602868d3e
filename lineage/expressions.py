"""Walk over an expression: which columns make its value, which only shape it.

In: a node of sqlglot's tree, the scope it stands in. Out: a `Sink`. One loop with a stack of its own
(a chain of 5,000 ORs must not be 5,000 calls deep); only nodes with a meaning of their own recurse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from lineage.resolve import Resolver, column_parts
from lineage.scope import CALLED_BASE, CALLED_DIRECT, Frame, Lambda, Out, Scope, Sink, Source
from lineage.transformation import AGGREGATED, BELOW, COMPUTED
from lineage.types import element_type, field_type

if TYPE_CHECKING:
    from lineage.model import Function

Node = exp.Expr

# Nodes that hold no column: literals, types, names. An Identifier in an expression is a lambda's
# variable or a struct field's name, since sqlglot wraps every column in a Column.
_LEAVES = frozenset(
    {
        exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.DataType, exp.Identifier, exp.Placeholder,
        exp.Parameter, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentUser, exp.JSONPath,
    }
)  # fmt: skip
_ATOMS = frozenset({str, bool, int, float, type(None)})
# Nodes of two operands, `this` and `expression`, and of one, `this`: the most there are, so without a look
# at what else they might hold.
_PAIRS = frozenset(
    {
        exp.And, exp.Or, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Add, exp.Sub, exp.Mul,
        exp.Div, exp.Mod, exp.Like, exp.Is, exp.DPipe,
    }
)  # fmt: skip
_SINGLES = frozenset({exp.Paren, exp.Not, exp.Neg, exp.Cast, exp.TryCast})
_CASTS = frozenset({exp.Cast, exp.TryCast, exp.Paren})
_KEEPING = _CASTS | {exp.Column, exp.Subquery, exp.Select, exp.Union}


class Expressions(Resolver):
    """The part of the tracer that reads expressions."""

    def subquery(self, node: Node, scope: Scope) -> Frame:
        """The frame of a query inside an expression."""
        raise NotImplementedError

    def values(self, node: Node | Sequence[Node] | None, scope: Scope, sink: Sink) -> None:
        """Gather the sources of an expression, or of several, into `sink`."""
        if node is None:
            return
        stack: list[Node] = list(reversed(node)) if isinstance(node, (list, tuple)) else [node]  # type: ignore[list-item]
        column, special, pairs, leaves = exp.Column, _SPECIAL, _PAIRS, _LEAVES
        while stack:
            item = stack.pop()
            kind = type(item)
            if kind is column:
                self._column(item, scope, sink)
            elif kind in leaves:
                continue
            elif kind in pairs:
                args = item.args
                stack.append(args["expression"])
                stack.append(args["this"])
            elif kind in _SINGLES:
                stack.append(item.args["this"])
            elif kind in special:
                special[kind](self, item, scope, sink)
            else:
                children = _children(item)
                children.reverse()
                stack += children

    def shaping(self, node: Node | Sequence[Node] | None, scope: Scope, sink: Sink) -> None:
        """Gather the sources of an expression as shaping only (filters, keys)."""
        if node is None:
            return
        own = Sink()
        self.values(node, scope, own)
        sink.shape(own)

    def _column(self, node: Node, scope: Scope, sink: Sink) -> None:
        found = self.column(node, scope)
        if found is not None:
            sink.merge(found)
        elif isinstance(node.args["this"], exp.Star):
            for out in self.star(node, scope):
                sink.merge(out)

    def _dot(self, node: Node, scope: Scope, sink: Sink) -> None:
        # `a.b.c.d.e` is Dot(Column(a.b.c.d), e); `db.f(x)` is Dot(Identifier(db), f(x)).
        names: list[str] = []
        item: Node = node
        while isinstance(item, exp.Dot):
            right = item.args["expression"]
            if isinstance(right, exp.Func):
                prefix = [part.name for part in item.args["this"].find_all(exp.Identifier)]
                self.call([*prefix, right.name or right.sql_name()], right, scope, sink)
                return
            names.append(right.name)
            item = item.args["this"]
        names.reverse()
        if isinstance(item, exp.Column):
            if any(isinstance(n.args["expression"], exp.Star) for n in _dots(node)):
                self._column(item, scope, sink)
                return
            out = self.name([*column_parts(item), *names], scope)
            if out is not None:
                sink.merge(out)
            return
        own = self.out_of(item, scope)
        sink.merge(own.field(names))

    def _window(self, node: Node, scope: Scope, sink: Sink) -> None:
        args = node.args
        self.values(args["this"], scope, sink)
        for key in ("partition_by", "order"):
            self.shaping(args.get(key), scope, sink)
        alias = args.get("alias")
        if alias is not None:
            named = scope.windows.get(alias.name.lower())
            if named is not None:
                sink.shape(named)

    def _filter(self, node: Node, scope: Scope, sink: Sink) -> None:
        scope = scope.rows or scope
        self.values(node.args["this"], scope, sink)
        self.shaping(node.args["expression"], scope, sink)

    def _exists(self, node: Node, scope: Scope, sink: Sink) -> None:
        inner = node.args["this"]
        if not isinstance(inner, exp.Query):
            # exists(array, lambda), the higher-order function
            self.values(inner, scope, sink)
            self.values(node.args.get("expression"), scope, sink)
            return
        frame = self.subquery(inner, scope)
        for out in frame.outs:
            sink.shape(out)
        sink.shape(frame.shape)

    def _in(self, node: Node, scope: Scope, sink: Sink) -> None:
        # `a IN (SELECT b …)`: the list steers, as EXISTS does; it gives no value.
        self.values(node.args["this"], scope, sink)
        self.values(node.args.get("expressions"), scope, sink)
        query = node.args.get("query")
        if query is not None:
            self.shaping(query, scope, sink)

    def _star(self, node: Node, scope: Scope, sink: Sink) -> None:
        # coalesce(*), struct(*): only count(*) does not expand it; a lambda's parameters are no columns.
        while isinstance(scope, Lambda) and scope.outer is not None:
            scope = scope.outer
        for out in self.star(node, scope):
            sink.merge(out)

    def _lambda(self, node: Node, scope: Scope, sink: Sink) -> None:
        # Its parameters hide columns, whatever the case of their letters; their values are the array's.
        inner = Lambda(scope, scope.ctes)
        inner.windows, inner.rows = scope.windows, scope.rows
        inner.add(Source("", [Out(parameter.name) for parameter in node.expressions]))
        self.values(node.args["this"], inner, sink)

    def _bracket(self, node: Node, scope: Scope, sink: Sink) -> None:
        index = node.expressions[0] if len(node.expressions) == 1 else None
        if isinstance(index, exp.Literal) and index.is_string:
            sink.merge(self.out_of(node, scope))
        else:
            self.values(_children(node), scope, sink)

    def _order(self, node: Node, scope: Scope, sink: Sink) -> None:
        # listagg(a) WITHIN GROUP (ORDER BY b), array_agg(a ORDER BY b): b steers.
        self.values(node.args.get("this"), scope, sink)
        self.shaping(node.expressions, scope, sink)

    def _within_group(self, node: Node, scope: Scope, sink: Sink) -> None:
        # percentile_cont(0.5) WITHIN GROUP (ORDER BY x) is a value of x.
        inner, scope = Sink(), scope.rows or scope
        self.values(node.args["this"], scope, inner)
        sink.merge(inner)
        keys = node.args["expression"].expressions
        if inner.base or inner.direct:
            self.shaping(keys, scope, sink)
        else:
            self.values(keys, scope, sink)

    def _query_value(self, node: Node, scope: Scope, sink: Sink) -> None:
        frame = self.subquery(node, scope)
        for out in frame.outs:
            sink.merge(out)
        sink.shape(frame.shape)

    def _anonymous(self, node: Node, scope: Scope, sink: Sink) -> None:
        name = node.args["this"]
        if not isinstance(name, str):
            name = name.name
        if name.upper() == "IDENTIFIER":
            self.identifier_clause(node, scope, sink)
            return
        self.call([name.rstrip()], node, scope, sink)

    def identifier_clause(self, node: Node, scope: Scope, sink: Sink) -> None:
        """`IDENTIFIER('a.b')` names a column; anything but a literal is known to Spark alone."""
        literal = node.expressions[0] if node.expressions else None
        if isinstance(literal, exp.Literal) and literal.is_string:
            out = self.name(self.split(literal.name), scope)
            if out is not None:
                sink.merge(out)
            return
        self.doubt("IDENTIFIER() of an expression")

    def _count(self, node: Node, scope: Scope, sink: Sink) -> None:
        # count(*) counts rows and reads no column.
        sink.how |= AGGREGATED
        scope = scope.rows or scope
        if not isinstance(node.args["this"], exp.Star):
            self.values(node.args["this"], scope, sink)
            self.values(node.args.get("expressions"), scope, sink)

    def _grouping(self, node: Node, scope: Scope, sink: Sink) -> None:
        # grouping(a) says which keys a row is grouped by, nothing of their values.
        self.shaping([*node.expressions, *filter(None, [node.args.get("this")])], scope, sink)

    def _aggregate(self, node: Node, scope: Scope, sink: Sink) -> None:
        sink.how |= AGGREGATED
        self.values(_parts(node), scope.rows or scope, sink)

    def call(self, parts: Sequence[str], node: Node, scope: Scope, sink: Sink) -> None:
        """A call of a function that sqlglot does not know: a user's, or one of Spark's own."""
        function = self.function(parts)
        arguments = call_arguments(node)
        if parts[-1].lower() in _WITH_UNIT and arguments and _is_unit(arguments[0]):
            arguments = arguments[1:]
        if function is None:
            if parts[-1].lower() in _AGGREGATES:
                sink.how |= AGGREGATED
                scope = scope.rows or scope
            self.values(arguments, scope, sink)
            return
        sink.call(self.saw_function(function))
        outs = [self.out_of(item, scope) for item in arguments]
        if function.body is None:
            for out in outs:
                sink.merge(out)
            return
        result = self.function_body(function, arguments, outs)
        sink.part()
        for out in outs:
            sink.direct.update(out.direct)
            sink.idirect.update(out.idirect)
            sink.how |= out.how & ~BELOW
            sink.call(out.calls, CALLED_DIRECT)
        for out in result.outs:
            sink.how |= out.how & BELOW
            sink.call(out.calls, CALLED_BASE)
            sink.base.update(out.base)
            sink.ibase.update(out.ibase)
        sink.ibase.update(result.shape.base)
        sink.ibase.update(result.shape.ibase)

    def function_body(self, function: Function, arguments: Sequence[Node], outs: Sequence[Out]) -> Frame:
        """The frame of an SQL function's body with its arguments bound."""
        raise NotImplementedError

    def out_of(self, node: Node, scope: Scope, name: str = "") -> Out:
        """An expression as a column: plain where it is nothing but a column or a field."""
        while type(node) is exp.Paren:
            node = node.args["this"]
        kind = type(node)
        if kind is exp.Column and not isinstance(node.args["this"], exp.Star):
            found = self.column(node, scope)
            return Out(name) if found is None else found.renamed(name or found.name)
        out = Out(name)
        if kind is exp.Subquery:
            return self._of_subquery(node, scope, out)
        if kind is exp.Dot:
            plain = _plain_dot(node)
            if plain is not None:
                found = self.name(plain, scope)
                return out if found is None else found.renamed(name or found.name)
        if kind is exp.Bracket and len(node.expressions) == 1:
            return self._element(node, scope, out)
        self.values(node, scope, out)
        # What has no source, such as a constant in one branch of a UNION, computes nothing from one.
        if (kind not in _KEEPING or not _is_kept(node)) and (out.base or out.direct):
            out.how |= COMPUTED
        if kind is exp.Struct:
            out.fields = self._fields(node, scope)
        elif isinstance(node, exp.Array):
            out.fields = self._element_fields(node, scope)
        return out

    def _of_subquery(self, node: Node, scope: Scope, out: Out) -> Out:
        # (SELECT s FROM t LIMIT 1).x is the field x of s.
        frame = self.subquery(node, scope)
        for value in frame.outs[:1]:
            out.merge(value)
            out.plain, out.type, out.fields = value.plain, value.type, value.fields
        out.shape(frame.shape)
        return out

    def _element(self, node: Node, scope: Scope, out: Out) -> Out:
        # arr[0].f is the field f of arr: an element of an array has the array's fields.
        of = self.out_of(node.args["this"], scope)
        index = node.expressions[0]
        out.merge(of)
        out.how |= COMPUTED
        if isinstance(index, exp.Literal) and index.is_string and field_type(of.type, index.name):
            # s['x'] is s.x, and of an array arr['x'] the field of each element
            return of.field((index.name,)).renamed(out.name or index.name)
        element = element_type(of.type)
        if element is not None and isinstance(index, exp.Literal):
            out.plain, out.type = of.plain, element
        else:
            self.values(index, scope, out)
        return out

    def _element_fields(self, node: Node, scope: Scope) -> dict[str, Out] | None:
        """The fields of `array(struct(…), …)`: by position, under the names of the first."""
        structs = [self._fields(item, scope) for item in node.expressions if isinstance(item, exp.Struct)]
        first = structs[0] if structs and len(structs) == len(node.expressions) else None
        if first is None or any(other is None or len(other) != len(first) for other in structs):
            return None
        for at, field in enumerate(first.values()):
            for other in structs[1:]:
                field.merge(list((other or {}).values())[at])
        return first

    def _fields(self, node: Node, scope: Scope) -> dict[str, Out] | None:
        fields: dict[str, Out] = {}
        for at, item in enumerate(node.expressions, 1):
            if isinstance(item, exp.PropertyEQ):
                name, value = item.args["this"].name, item.args["expression"]
            elif isinstance(item, exp.Column) and not isinstance(item.args["this"], exp.Star):
                name, value = item.name, item
            elif isinstance(item, exp.Column):
                fields.update({out.key: out for out in self.star(item, scope)})
                continue
            else:
                name, value = f"col{at}", item
            fields[name.lower()] = self.out_of(value, scope, name)
        return fields


def _children(node: Node) -> list[Node]:
    found: list[Node] = []
    for value in node.args.values():
        if value.__class__ is list:
            found += [v for v in value if v.__class__ not in _ATOMS]
        elif value.__class__ not in _ATOMS and isinstance(value, exp.Expr):
            found.append(value)
    return found


def call_arguments(node: Node) -> list[Node]:
    """The arguments of a call, in order."""
    found: list[Node] = []
    for key, value in node.args.items():
        if isinstance(value, list):
            found += [v for v in value if isinstance(v, exp.Expr)]
        elif isinstance(value, exp.Expr) and not (key == "this" and isinstance(node, exp.Anonymous)):
            found.append(value)
    return [v.args["expression"] if isinstance(v, exp.Kwarg) else v for v in found]


# Functions whose first argument is the name of a unit, of which sqlglot does not know all.
_WITH_UNIT = frozenset(
    {"timediff", "datediff", "date_diff", "dateadd", "date_add", "timestampadd", "timestampdiff"}
)
_UNITS = frozenset(
    {"year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond",
     "microsecond"}
)  # fmt: skip


def _is_unit(node: Node) -> bool:
    return isinstance(node, exp.Column) and not node.args.get("table") and node.name.lower() in _UNITS


def _parts(node: Node) -> list[Node]:
    found: list[Node] = []
    for value in node.args.values():
        if value.__class__ is list:
            found += [v for v in value if v.__class__ not in _ATOMS]
        elif isinstance(value, exp.Expr):
            found.append(value)
    return found


def _is_kept(node: Node) -> bool:
    # A cast keeps the value (Spark casts what it writes, too), a scalar subquery yields one as it is.
    while type(node) in _CASTS:
        node = node.args["this"]
    return type(node) in _KEEPING


def _dots(node: Node) -> list[exp.Dot]:
    found: list[exp.Dot] = []
    while isinstance(node, exp.Dot):
        found.append(node)
        node = node.args["this"]
    return found


def _plain_dot(node: Node) -> list[str] | None:
    names: list[str] = []
    while isinstance(node, exp.Dot):
        right = node.args["expression"]
        if not isinstance(right, exp.Identifier):
            return None
        names.append(right.name)
        node = node.args["this"]
    if not isinstance(node, exp.Column) or isinstance(node.args["this"], exp.Star):
        return None
    return [*column_parts(node), *reversed(names)]


# Aggregates of Spark 4.2 that are no classes of sqlglot's (or not for every dialect).
_AGGREGATES = frozenset(
    {"count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg", "hll_union_agg", "mean",
     "percentile", "schema_of_variant_agg", "some", "std", "try_avg", "try_sum", "kll_sketch_agg_bigint",
     "kll_sketch_agg_double", "kll_sketch_agg_float", "theta_sketch_agg", "theta_union_agg",
     "theta_intersection_agg", "tuple_sketch_agg", "vector_avg", "vector_sum"}
)  # fmt: skip


def is_aggregate(node: Node) -> bool:
    """Whether a node aggregates the rows of a group; over a window it does not."""
    kind = type(node)
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        return False
    return _SPECIAL.get(kind) in _AGGREGATING or (
        kind is exp.Anonymous and node.name.lower().rstrip() in _AGGREGATES
    )


def _aggregates(of: type) -> list[type]:
    classes: list[type] = of.__subclasses__()
    return [kind for below in classes for kind in (below, *_aggregates(below))]


_Handler = Callable[[Expressions, Node, Scope, Sink], None]
_SPECIAL: dict[type, _Handler] = {
    # lag and lead give another row's value, grouping() says how a row was made: they aggregate nothing.
    **{
        kind: Expressions._aggregate  # noqa: SLF001  the table belongs to the class
        for kind in _aggregates(exp.AggFunc)
        if kind not in (exp.Lag, exp.Lead, exp.Grouping, exp.GroupingId)
    },
    exp.Column: Expressions._column,  # noqa: SLF001
    exp.Dot: Expressions._dot,  # noqa: SLF001
    exp.Window: Expressions._window,  # noqa: SLF001
    exp.Filter: Expressions._filter,  # noqa: SLF001
    exp.Exists: Expressions._exists,  # noqa: SLF001
    exp.In: Expressions._in,  # noqa: SLF001
    exp.Star: Expressions._star,  # noqa: SLF001
    exp.Lambda: Expressions._lambda,  # noqa: SLF001
    exp.Bracket: Expressions._bracket,  # noqa: SLF001
    exp.Order: Expressions._order,  # noqa: SLF001
    exp.WithinGroup: Expressions._within_group,  # noqa: SLF001
    exp.Anonymous: Expressions._anonymous,  # noqa: SLF001
    exp.Count: Expressions._count,  # noqa: SLF001
    exp.Grouping: Expressions._grouping,  # noqa: SLF001
    exp.GroupingId: Expressions._grouping,  # noqa: SLF001
    **dict.fromkeys(
        (exp.Select, exp.Subquery, exp.Union, exp.Except, exp.Intersect),
        Expressions._query_value,  # noqa: SLF001
    ),
}

_AGGREGATING = (Expressions._aggregate, Expressions._count)  # noqa: SLF001

__all__ = ["Expressions", "Source", "call_arguments", "is_aggregate"]
