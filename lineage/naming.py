"""The names that Spark gives to expressions without an alias.

In: an expression of a select list. Out: its column name, as Spark's `toPrettySQL` writes it for the
common shapes; for the rest sqlglot's Spark text, close enough to read.
"""

from __future__ import annotations

from sqlglot import exp

from lineage.tokens import CALLED

_OPERATORS: dict[type, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.EQ: "=", exp.GT: ">",
    exp.LT: "<", exp.GTE: ">=", exp.LTE: "<=", exp.And: "AND", exp.Or: "OR", exp.NullSafeEQ: "<=>",
}  # fmt: skip
_FUNCTIONS: dict[type, str] = {
    exp.Sum: "sum", exp.Max: "max", exp.Min: "min", exp.Avg: "avg", exp.Abs: "abs", exp.Upper: "upper",
    exp.Lower: "lower", exp.Length: "length", exp.Coalesce: "coalesce", exp.Concat: "concat",
    exp.RowNumber: "row_number", exp.First: "first", exp.Last: "last", exp.Sqrt: "sqrt",
}  # fmt: skip
_NILADIC: dict[type, str] = {
    exp.CurrentDate: "current_date()", exp.CurrentTimestamp: "current_timestamp()",
    exp.CurrentUser: "current_user()", exp.SessionUser: "session_user()",
}  # fmt: skip


def column_name(node: exp.Expr) -> str:  # noqa: C901, PLR0911
    """The name of an output column.

    >>> import sqlglot
    >>> [column_name(e) for e in sqlglot.parse_one("SELECT a.b, SUM(x + 1), count(*)").expressions]
    ['b', 'sum((x + 1))', 'count(1)']
    """
    kind = type(node)
    if kind in (exp.Alias, exp.Column):
        return node.alias_or_name
    if kind is exp.Paren:
        return column_name(node.args["this"])
    if kind is exp.Literal:
        return node.name
    if kind is exp.Null:
        return "NULL"
    if kind is exp.Dot and isinstance(node.args["expression"], exp.Identifier):
        return node.args["expression"].name
    if kind is exp.Count:
        return _count(node)
    if kind in _NILADIC:
        return _NILADIC[kind]
    operator = _OPERATORS.get(kind)
    if operator is not None:
        return f"({_inner(node.args['this'])} {operator} {_inner(node.args['expression'])})"
    function = _called(node)
    if function is not None:
        return f"{function}({', '.join(_arguments(node))})"
    if kind is exp.Anonymous:
        return f"{node.name.lower()}({', '.join(map(_inner, node.expressions))})"
    if kind is exp.Subquery:
        return "scalarsubquery()"
    return node.sql("spark")


def _called(node: exp.Expr) -> str | None:
    """The name of a function as Spark shows it: as the text calls it, in lower case."""
    called = node.meta.get(CALLED) if isinstance(node, exp.Func) else None
    return called.lower() if called else _FUNCTIONS.get(type(node))


def _inner(node: exp.Expr) -> str:
    # Inside an expression Spark writes a column with the qualifier that the user wrote.
    if isinstance(node, exp.Column) and not isinstance(node.args["this"], exp.Star):
        return ".".join(part.name for part in node.parts)
    return column_name(node)


def _arguments(node: exp.Expr) -> list[str]:
    this = node.args.get("this")
    if isinstance(this, exp.Distinct):
        return ["DISTINCT " + ", ".join(map(_inner, this.expressions))]
    items: list[exp.Expr] = []
    for value in node.args.values():
        items += value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []
    return [_inner(item) for item in items]


def _count(node: exp.Expr) -> str:
    if isinstance(node.args.get("this"), exp.Star):
        return "count(1)"
    return f"count({', '.join(_arguments(node))})"
