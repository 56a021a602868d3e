"""The names that Spark gives to expressions without an alias.

In: an expression of a select list. Out: its column name, as Spark's `toPrettySQL` writes it: operators in
brackets, functions as the text calls them, strings bare. What Spark adds on its own account (default
arguments, the values of folded literals) is known to its plan alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from lineage.sql.tokens import CALLED, spark
from lineage.sqlglot_log import spark_sql

Node = exp.Expr

_OPERATORS: dict[type, str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=",
    exp.GT: ">", exp.LT: "<", exp.GTE: ">=", exp.LTE: "<=", exp.And: "AND", exp.Or: "OR",
    exp.NullSafeEQ: "<=>", exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>",
}  # fmt: skip
_SHIFTS = (exp.BitwiseLeftShift, exp.BitwiseRightShift)  # functions, too: shiftleft, shiftright
_FUNCTIONS: dict[type, str] = {
    exp.Sum: "sum", exp.Max: "max", exp.Min: "min", exp.Avg: "avg", exp.Abs: "abs", exp.Upper: "upper",
    exp.Lower: "lower", exp.Length: "length", exp.Coalesce: "coalesce",
    exp.RowNumber: "row_number", exp.First: "first", exp.Last: "last", exp.Sqrt: "sqrt",
    exp.Substring: "substring", exp.Ceil: "ceil", exp.Floor: "floor", exp.GroupConcat: "listagg",
    exp.LogicalOr: "any", exp.LogicalAnd: "every", exp.Decode: "decode", exp.DecodeCase: "decode",
}  # fmt: skip
_NILADIC: dict[type, str] = {
    exp.CurrentDate: "current_date()", exp.CurrentTimestamp: "current_timestamp()",
    exp.CurrentUser: "current_user()", exp.SessionUser: "session_user()",
}  # fmt: skip
# Spark 4.2 writes mathematical functions in capitals (MathExpression, sql-expression-schema.md).
_IN_CAPITALS = frozenset(
    {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "cot", "csc",
     "degrees", "e", "exp", "expm1", "hypot", "log", "log10", "log1p", "log2", "pi", "power", "radians",
     "regexp", "regexp_like", "rlike", "sec", "signum", "sin", "sinh", "spark_partition_id", "sqrt", "tan",
     "tanh"}
)  # fmt: skip
_ROUNDING = frozenset({"ceil", "floor"})  # in capitals without a scale
_LIKE: dict[type, str] = {exp.Like: "{} LIKE {}", exp.ILike: "ilike({}, {})"}
_TYPED = {
    exp.DType.DATE: "DATE", exp.DType.TIMESTAMP: "TIMESTAMP", exp.DType.TIMESTAMPTZ: "TIMESTAMP",
    exp.DType.TIMESTAMPLTZ: "TIMESTAMP", exp.DType.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
    exp.DType.TIME: "TIME",
}  # fmt: skip
# Functions that cast, of those that sqlglot does not know as such.
_CASTS = frozenset({"bigint", "binary", "decimal", "smallint", "tinyint"})
# What sqlglot wraps around an argument of its own accord, or adds as a last one.
_WRAPPERS = (exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.TimeStrToTime)
_ADDED = frozenset({"unit", "format", "zone", "safe", "style", "typed", "ignore_nulls"})


def column_name(node: Node) -> str:
    """The name of an output column.

    >>> import sqlglot
    >>> [column_name(e) for e in sqlglot.parse_one("SELECT a.b, SUM(x + 1), count(*), NOT a").expressions]
    ['b', 'sum((x + 1))', 'count(1)', '(NOT a)']
    """
    # Spark 4.2, ResolveAliases: a cast column keeps its name.
    if type(node) in (exp.Cast, exp.TryCast) and type(node.args["this"]) is exp.Column:
        return node.args["this"].name
    if type(node) is exp.Anonymous and node.name.lower() in _CASTS and len(node.expressions) == 1:
        return column_name(node.expressions[0])
    return _shown(node)


def niladic_name(name: str) -> str:
    """The name of an output that no column of that name stands behind: a function without parentheses.

    >>> niladic_name("CURRENT_DATE"), niladic_name("a")
    ('current_date()', 'a')
    """
    shown = f"{name.lower()}()"
    return shown if shown in _NILADIC.values() else name


def _shown(node: Node) -> str:
    kind = type(node)
    if kind in (exp.Alias, exp.Column):
        return node.alias_or_name
    shape = _SHAPES.get(kind)
    if shape is not None:
        return shape(node)
    operator = _OPERATORS.get(kind)
    if operator is not None and not (kind in _SHIFTS and CALLED in node.meta):
        return f"({_inner(node.args['this'])} {operator} {_inner(node.args['expression'])})"
    function = _called(node)
    if function is not None:
        return _call(function, _arguments(node))
    return spark_sql(node)


def _concat(node: Node) -> str:
    # Literals that follow each other are one to Spark; sqlglot makes a concat of them, which no name calls.
    if CALLED not in node.meta and all(type(item) is exp.Literal for item in node.expressions):
        return "".join(item.name for item in node.expressions)
    return f"concat({', '.join(_arguments(node))})"


def _call(name: str, arguments: list[str]) -> str:
    capitals = name in _IN_CAPITALS or (name in _ROUNDING and len(arguments) == 1)
    return f"{name.upper() if capitals else name}({', '.join(arguments)})"


def _called(node: Node) -> str | None:
    """The name of a function as Spark shows it: as the text calls it, in lower case."""
    called = node.meta.get(CALLED) if isinstance(node, (exp.Func, *_SHIFTS)) else None
    return called.lower() if called else _FUNCTIONS.get(type(node))


def _inner(node: Node) -> str:
    # Inside an expression Spark writes a column with the qualifier that the user wrote.
    if isinstance(node, exp.Column) and not isinstance(node.args["this"], exp.Star):
        return ".".join(part.name for part in node.parts)
    return _shown(node)


def _arguments(node: Node) -> list[str]:
    this = node.args.get("this")
    if isinstance(this, exp.Distinct):
        return ["DISTINCT " + _list(this.expressions)]
    items: list[Node] = []
    for key, value in node.args.items():
        if key not in _ADDED:
            items += value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []
    names = [_inner(item.args["this"] if isinstance(item, _WRAPPERS) else item) for item in items]
    if isinstance(node.args.get("format"), exp.Literal):
        # sqlglot keeps strftime's form of a pattern.
        names.append((spark().generator().format_time(node) or "")[1:-1])
    return names


def _list(nodes: Iterable[Node]) -> str:
    return ", ".join(map(_inner, nodes))


def _count(node: Node) -> str:
    return (
        "count(1)" if isinstance(node.args.get("this"), exp.Star) else f"count({', '.join(_arguments(node))})"
    )


def _dot(node: Node) -> str:
    this, field = node.args["this"], node.args["expression"]
    if not isinstance(field, exp.Identifier):
        return spark_sql(node)
    while isinstance(this, exp.Paren):
        this = this.args["this"]
    return field.name if isinstance(this, (exp.Column, exp.Dot)) else f"{_inner(this)}.{field.name}"


def _cast(node: Node) -> str:
    this, to = node.args["this"], node.args["to"]
    if type(node) is exp.Cast:
        # int(a), DATE '2020-01-01', 25Y: in Spark's dialect sqlglot's Cast is no CAST(…), which is a TryCast.
        typed = isinstance(this, exp.Literal) and this.is_string and to.this in _TYPED
        return f"{_TYPED[to.this]} '{this.name}'" if typed else _inner(this)
    to_text = spark_sql(to).replace(", ", ",")
    return f"CAST({_inner(this)} AS {'DECIMAL(10,0)' if to_text == 'DECIMAL' else to_text})"


def _case(node: Node) -> str:
    parts = ["CASE"]
    subject = node.args.get("this")
    for branch in node.args["ifs"]:
        when = _inner(branch.args["this"])
        asked = when if subject is None else f"({_inner(subject)} = {when})"
        parts.append(f"WHEN {asked} THEN {_inner(branch.args['true'])}")
    default = node.args.get("default")
    if default is not None:
        parts.append(f"ELSE {_inner(default)}")
    return " ".join([*parts, "END"])


def _if(node: Node) -> str:
    branches = [node.args["this"], node.args["true"], node.args.get("false") or exp.Null()]
    return f"(IF({_list(branches)}))"


def _in(node: Node) -> str:
    items = "listquery()" if node.args.get("query") else _list(node.args.get("expressions") or ())
    return f"({_inner(node.args['this'])} IN ({items}))"


def _between(node: Node) -> str:
    return f"between({_list(node.args[k] for k in ('this', 'low', 'high'))})"


def _not(node: Node) -> str:
    inner = node.args["this"]
    if isinstance(inner, exp.Is) and isinstance(inner.args["expression"], exp.Null):
        return f"({_inner(inner.args['this'])} IS NOT NULL)"
    return f"(NOT {_inner(inner)})"


def _logarithm(node: Node) -> str:
    # log2(x), log10(x): sqlglot adds the base in front.
    called = _called(node) or "log"
    return _call(called, _arguments(node)[-1:] if called in ("log2", "log10") else _arguments(node))


def _like(node: Node) -> str:
    return _LIKE[type(node)].format(_inner(node.args["this"]), _inner(node.args["expression"]))


def _negative(node: Node) -> str:
    inner = node.args["this"]
    return f"-{inner.name}" if isinstance(inner, exp.Literal) else f"(- {_inner(inner)})"


def _struct(node: Node) -> str:
    called = _called(node) or "struct"
    if called == "named_struct":
        pairs = [
            (i.args["this"].name, i.args["expression"]) for i in node.expressions if type(i) is exp.PropertyEQ
        ]
        return f"named_struct({', '.join(f'{name}, {_inner(value)}' for name, value in pairs)})"
    return f"{called}({', '.join(map(_field, node.expressions))})"


def _map(node: Node) -> str:
    keys, values = (node.args.get(k) for k in ("keys", "values"))
    if not (isinstance(keys, exp.Array) and isinstance(values, exp.Array)):
        return f"map({_list(n for n in (keys, values) if n is not None)})"
    pairs = zip(keys.expressions, values.expressions, strict=False)
    return f"map({', '.join(f'{_inner(k)}, {_inner(v)}' for k, v in pairs)})"


def _days(node: Node) -> str:
    # date_sub(d, n): sqlglot keeps n * -1.
    called, by = _called(node) or "date_add", node.args["expression"]
    if called == "date_sub" and isinstance(by, exp.Mul):
        by = by.args["this"]
    start = node.args["this"]
    return f"{called}({_inner(start.args['this'] if isinstance(start, _WRAPPERS) else start)}, {_inner(by)})"


def _by_unit(node: Node, name: str) -> str:
    unit, args = node.args.get("unit"), _arguments(node)
    if unit is None:
        return f"{_called(node) or name}({', '.join(args)})"
    return f"{name}({unit.name}, {', '.join(reversed(args))})"


def _field(node: Node) -> str:
    if not isinstance(node, exp.PropertyEQ):
        return _inner(node)
    name, value = node.args["this"].name, node.args["expression"]
    return (
        _inner(value)
        if isinstance(value, exp.Column) and value.name == name
        else f"{_inner(value)} AS {name}"
    )


def _window(node: Node) -> str:
    args = node.args
    parts = []
    if args.get("partition_by"):
        parts.append(f"PARTITION BY {_list(args['partition_by'])}")
    order = args.get("order")
    if order is not None:
        parts.append(f"ORDER BY {_list(order.expressions)}")
    return f"{_inner(args['this'])} OVER ({' '.join([*parts, _frame(node, ordered=order is not None)])})"


def _frame(node: Node, *, ordered: bool) -> str:
    spec = node.args.get("spec")
    if spec is None:
        by_rows = not ordered or isinstance(
            node.args["this"], (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile)
        )
        end = "CURRENT ROW" if ordered else "UNBOUNDED FOLLOWING"
        return f"{'ROWS' if by_rows else 'RANGE'} BETWEEN UNBOUNDED PRECEDING AND {end}"
    start, end = (_bound(spec, side) for side in ("start", "end"))
    return f"{spec.args['kind'].upper()} BETWEEN {start} AND {end or 'CURRENT ROW'}"


def _bound(spec: Node, side: str) -> str:
    value = spec.args.get(side)
    text = value.upper() if isinstance(value, str) else _inner(value) if value is not None else ""
    return f"{text} {(spec.args.get(side + '_side') or '').upper()}".strip()


def _ordered(node: Node) -> str:
    descending = bool(node.args.get("desc"))
    first = node.args.get("nulls_first")
    nulls = "FIRST" if (not descending if first is None else first) else "LAST"
    return f"{_inner(node.args['this'])} {'DESC' if descending else 'ASC'} NULLS {nulls}"


def _filter(node: Node) -> str:
    return f"{_inner(node.args['this'])} FILTER (WHERE {_inner(node.args['expression'].args['this'])})"


def _tuple(node: Node) -> str:
    pairs = (f"{_label(item, at)}, {_inner(item)}" for at, item in enumerate(node.expressions, 1))
    return f"named_struct({', '.join(pairs)})"


def _label(node: Node, at: int) -> str:
    return node.alias_or_name if isinstance(node, (exp.Column, exp.Alias)) else f"col{at}"


def _anonymous(node: Node) -> str:
    name = node.name.lower().rstrip()
    if name in ("isnull", "isnotnull") and len(node.expressions) == 1:
        return f"({_inner(node.expressions[0])} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
    return _call(name, list(map(_inner, node.expressions)))


_SHAPES: dict[type, Callable[[Node], str]] = {
    **dict.fromkeys(_NILADIC, lambda node: _NILADIC[type(node)]),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys(_LIKE, _like),
    exp.Paren: lambda node: column_name(node.args["this"]),
    exp.Literal: lambda node: node.name,
    exp.Boolean: lambda node: "true" if node.args["this"] else "false",
    exp.Null: lambda _: "NULL",
    exp.Concat: _concat,
    exp.Dot: _dot,
    exp.Count: _count,
    exp.Case: _case,
    exp.If: _if,
    exp.In: _in,
    exp.Between: _between,
    exp.Not: _not,
    exp.NEQ: lambda node: f"(NOT ({_inner(node.args['this'])} = {_inner(node.args['expression'])}))",
    exp.Is: lambda node: f"({_inner(node.args['this'])} IS {_inner(node.args['expression'])})",
    exp.Neg: _negative,
    exp.BitwiseNot: lambda node: f"~{_inner(node.args['this'])}",
    exp.DPipe: lambda node: f"concat({_inner(node.args['this'])}, {_inner(node.args['expression'])})",
    exp.Struct: _struct,
    **dict.fromkeys((exp.Map, exp.VarMap), _map),
    exp.TsOrDsAdd: _days,
    exp.TimestampAdd: lambda node: _by_unit(node, "timestampadd"),
    exp.TimestampDiff: lambda node: _by_unit(node, "timestampdiff"),
    exp.DateDiff: lambda node: _by_unit(node, "timestampdiff"),
    exp.Window: _window,
    exp.Ordered: _ordered,
    exp.Filter: _filter,
    exp.Tuple: _tuple,
    exp.Extract: lambda node: f"extract({node.name.lower()} FROM {_inner(node.args['expression'])})",
    exp.Bracket: lambda node: f"{_inner(node.args['this'])}[{_list(node.expressions)}]",
    exp.Distinct: lambda node: "DISTINCT " + _list(node.expressions),
    exp.Log: _logarithm,
    exp.RegexpLike: lambda node: _call(_called(node) or "rlike", _arguments(node)),
    exp.Collate: lambda node: f"collate({_inner(node.args['this'])}, {node.args['expression'].name})",
    exp.Subquery: lambda _: "scalarsubquery()",
    exp.Anonymous: _anonymous,
}
