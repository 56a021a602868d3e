"""Questions about single nodes of sqlglot's tree: the parts of a name, the arguments of a call, its kind.

In: a node. Out: names, nodes, yes or no. Knows no catalog and no scope.
"""

from __future__ import annotations

from sqlglot import exp

Node = exp.Expr

_ATOMS = frozenset({str, bool, int, float, type(None)})
_CASTS = frozenset({exp.Cast, exp.TryCast, exp.Paren})
_KEEPING = _CASTS | {exp.Column, exp.Subquery, exp.Select, exp.Union}


# Functions whose first argument is the name of a unit. sqlglot does not know all of them.
_WITH_UNIT = frozenset(
    {"timediff", "datediff", "date_diff", "dateadd", "date_add", "timestampadd", "timestampdiff"}
)
_UNITS = frozenset(
    {"year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond",
     "microsecond"}
)  # fmt: skip


# Aggregates of Spark 4.2 that are no classes of sqlglot's (or not for every dialect).
_AGGREGATES = frozenset(
    {"count_min_sketch", "every", "histogram_numeric", "hll_sketch_agg", "hll_union_agg", "mean",
     "percentile", "schema_of_variant_agg", "some", "std", "try_avg", "try_sum", "kll_sketch_agg_bigint",
     "kll_sketch_agg_double", "kll_sketch_agg_float", "theta_sketch_agg", "theta_union_agg",
     "theta_intersection_agg", "tuple_sketch_agg", "vector_avg", "vector_sum"}
)  # fmt: skip


def column_parts(node: exp.Expr) -> list[str]:
    """The dotted parts of a Column, outermost first.

    >>> import sqlglot
    >>> column_parts(sqlglot.parse_one("s.t.a"))
    ['s', 't', 'a']
    """
    args = node.args
    parts = [args["this"].args["this"] if type(args["this"]) is exp.Identifier else args["this"].name]
    for key in ("table", "db", "catalog"):
        part = args.get(key)
        if part is None:
            break
        parts.append(part.name)
    parts.reverse()
    return parts


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


def child_nodes(node: Node) -> list[Node]:
    """The nodes right below one, in order; texts and flags are none."""
    found: list[Node] = []
    for value in node.args.values():
        if value.__class__ is list:
            found += [v for v in value if v.__class__ not in _ATOMS]
        elif value.__class__ not in _ATOMS and isinstance(value, exp.Expr):
            found.append(value)
    return found


def call_arguments(node: Node) -> list[Node]:
    """The arguments of a call, in order."""
    return [value for _, value in named_arguments(node)]


def named_arguments(node: Node) -> list[tuple[str, Node]]:
    """The arguments of a call, in order, each with the name that the call gives it: `a => 1`; "" by place.

    >>> import sqlglot
    >>> call = sqlglot.parse_one("f(1, b => c)", "spark")
    >>> [(name, value.sql()) for name, value in named_arguments(call)]
    [('', '1'), ('b', 'c')]
    """
    found: list[Node] = []
    for key, value in node.args.items():
        if isinstance(value, list):
            found += [v for v in value if isinstance(v, exp.Expr)]
        elif isinstance(value, exp.Expr) and not (key == "this" and isinstance(node, exp.Anonymous)):
            found.append(value)
    return [(v.name, v.args["expression"]) if isinstance(v, exp.Kwarg) else ("", v) for v in found]


def function_title(call: Node) -> str:
    """The lower-case name of the function that a node calls (sqlglot's class `_ExplodeOuter` too)."""
    name = call.name if isinstance(call, exp.Anonymous) else type(call).__name__
    return name.lower().lstrip("_")


def value_arguments(name: str, node: Node) -> list[Node]:
    """The arguments of a call without the name of a unit that `date_add(DAY, 1, d)` begins with."""
    arguments = call_arguments(node)
    with_unit = name.lower() in _WITH_UNIT and arguments and _is_unit(arguments[0])
    return arguments[1:] if with_unit else arguments


def _is_unit(node: Node) -> bool:
    return isinstance(node, exp.Column) and not node.args.get("table") and node.name.lower() in _UNITS


def keeps_value(node: Node) -> bool:
    """Whether the value is that of a column unchanged.

    A cast keeps the value: Spark casts what it writes, too. A scalar subquery yields a value as it is.

    >>> import sqlglot
    >>> [keeps_value(node) for node in sqlglot.parse_one("SELECT a, CAST(a AS INT), a + 1").expressions]
    [True, True, False]
    """
    while type(node) in _CASTS:
        node = node.args["this"]
    return type(node) in _KEEPING


def dots_of(node: Node) -> list[exp.Dot]:
    """The dots of `a.b.c`, the outermost first."""
    found: list[exp.Dot] = []
    while isinstance(node, exp.Dot):
        found.append(node)
        node = node.args["this"]
    return found


def path_of(node: Node) -> list[str] | None:
    """The parts of a dotted path that begins with a column, None for any other expression."""
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


def _subclasses(of: type) -> list[type]:
    classes: list[type] = of.__subclasses__()
    return [kind for below in classes for kind in (below, *_subclasses(below))]


# lag and lead give another row's value, grouping() says how a row was made: they aggregate nothing.
AGGREGATE_CLASSES = frozenset(_subclasses(exp.AggFunc)) - {exp.Lag, exp.Lead, exp.Grouping, exp.GroupingId}
"""The classes of sqlglot that aggregate."""


def is_aggregate_name(name: str) -> bool:
    """Whether a function that sqlglot does not know aggregates."""
    return name.lower().rstrip() in _AGGREGATES


def is_aggregate(node: Node) -> bool:
    """Whether a node aggregates the rows of a group; over a window it does not.

    >>> import sqlglot
    >>> is_aggregate(sqlglot.parse_one("sum(a)")), is_aggregate(sqlglot.parse_one("sum(a) OVER ()").this)
    (True, False)
    """
    if isinstance(node.parent, exp.Window) and node.arg_key == "this":
        return False
    return type(node) in AGGREGATE_CLASSES or (type(node) is exp.Anonymous and is_aggregate_name(node.name))
