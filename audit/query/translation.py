"""Spark's SQL as DuckDB's.

In: a query in Spark's SQL, and the present time. Out: the same query in DuckDB's SQL. sqlglot translates;
what it leaves out is here (sqlglot 30.30, DuckDB 2.0).
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.scope import Scope, traverse_scope

from audit.core.errors import QueryFailed

if TYPE_CHECKING:
    from datetime import datetime

PARTITION = "query_date"
"""The day (UTC) of the time column, by which the tables are partitioned."""
_COMPARISONS: Mapping[type[exp.Expr], type[exp.Binary]] = {
    # A day holds later moments than its first: of `>` and `<` the day itself stays.
    exp.GT: exp.GTE, exp.GTE: exp.GTE, exp.LT: exp.LTE, exp.LTE: exp.LTE, exp.EQ: exp.EQ,
}  # fmt: skip
_TURNED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE, exp.EQ: exp.EQ,
}  # fmt: skip
_OUTER = frozenset({"RIGHT", "FULL"})
_ZONED = frozenset({exp.DataType.Type.TIMESTAMPTZ, exp.DataType.Type.TIMESTAMPLTZ})
_NOW = (exp.CurrentTimestamp, exp.CurrentTimestampLTZ, exp.Localtimestamp, exp.CurrentDatetime)


def to_duckdb(
    text: str,
    now: datetime,
    times: Mapping[str, str],
    schema: str = "account_usage",
    fields_of_lists: Container[tuple[str, str]] = (),
) -> str:
    """A query of Spark's SQL in DuckDB's.

    Args:
        text: one query; `:name` is a parameter.
        now: the present, UTC without a zone.
        times: by table and view of the audit, in lower case, the column that its partition is made of.
        schema: of the audit tables.
        fields_of_lists: of arrays of structs: the name of the column or field that holds one, a field of
            its structs; both in lower case.

    Returns:
        DuckDB's SQL; `$name` is a parameter.

    Raises:
        QueryFailed: it is no query, or has a mistake.
    """
    try:
        tree = parse_one(text, read="spark")
    except SqlglotError as error:
        raise QueryFailed(
            f"the query has a mistake{_place(error)}", "mend it; Spark's SQL is expected"
        ) from error
    if isinstance(tree, exp.Block):
        raise QueryFailed("these are several queries", "ask one after the other, or put them into a file")
    if not isinstance(tree, exp.Query):
        raise QueryFailed(
            f"{tree.key.upper()} is no query: the audit tables are read here, and nothing is changed",
            "ask with SELECT",
        )
    _narrow_to_days(tree, times, schema)
    for hint in list(tree.find_all(exp.Hint)):
        hint.pop()  # for Spark's planner alone
    exploded = frozenset(_exploded(tree))
    for zipped in list(tree.find_all(exp.ArraysZip)):
        zipped.replace(_zipped(zipped.expressions))
    for node in reversed(list(tree.walk())):  # what is inside a node, before it
        _mend(node, now)
        if isinstance(node, (exp.Column, exp.Dot)):
            _field_of_each(node, fields_of_lists, exploded)
    for select in reversed(list(tree.find_all(exp.Select))):  # those inside first: the outer ones copy them
        _explode_in_place(select)
    return str(tree.sql("duckdb", comments=False))


def quoted(name: str) -> str:
    """A name as DuckDB quotes it.

    >>> quoted("a b")
    '"a b"'
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def sql_value(text: str) -> str:
    """A text as a literal of DuckDB's.

    >>> sql_value("it's")
    "'it''s'"
    """
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _place(error: SqlglotError) -> str:
    """Where a mistake is, without the names of sqlglot's own classes."""
    if not isinstance(error, ParseError) or not error.errors:
        return ": a quote or a comment in it has no end"  # of all that it cannot divide into words
    found = error.errors[0]
    # At the end of a text sqlglot (30.30) has no word there.
    near = f", near {found['highlight']!r}" if found.get("highlight") else ""
    return f" at line {found['line']}, column {found['col']}{near}"


def _mend(node: exp.Expr, now: datetime) -> None:
    if isinstance(node, _NOW) or (isinstance(node, exp.Anonymous) and node.name.lower() == "now"):
        # A constant, so that files are left out by their day before they are opened.
        node.replace(exp.cast(exp.Literal.string(f"{now:%Y-%m-%d %H:%M:%S.%f}"), "timestamp"))
    elif isinstance(node, exp.CurrentDate):
        node.replace(exp.cast(exp.Literal.string(f"{now:%Y-%m-%d}"), "date"))
    elif isinstance(node, exp.DataType) and node.this in _ZONED:
        # Spark's TIMESTAMP; all times of the audit are UTC, and have no zone in DuckDB.
        node.set("this", exp.DataType.Type.TIMESTAMP)
    elif isinstance(node, (exp.ArrayAgg, exp.ArrayUniqueAgg)):
        _collect(node)
    elif isinstance(node, exp.Lateral) and node.args.get("outer"):
        _keep_empty(node)
    elif isinstance(node, exp.Exists) and isinstance(node.expression, exp.Lambda):
        found = exp.func("list_filter", node.this, node.expression)
        node.replace(exp.GT(this=exp.func("len", found), expression=exp.Literal.number(0)))
    elif isinstance(node, exp.CountIf):
        # Of no rows, and of NULLs alone, DuckDB's has NULL, where Spark counts none.
        node.replace(exp.Count(this=exp.case().when(node.this, "1")))
    elif isinstance(node, exp.FromJson):
        node.replace(_from_json(node))


def _exploded(tree: exp.Expr) -> Iterator[str]:
    """The names that a query gives to the elements of an array, in lower case."""
    for lateral in tree.find_all(exp.Lateral):
        yield from (column.name.lower() for column in lateral.args["alias"].columns)
    for alias in tree.find_all(exp.Alias):
        if isinstance(alias.this, (exp.Explode, exp.Unnest)):
            yield alias.alias.lower()


def _field_of_each(
    node: exp.Expr, fields_of_lists: Container[tuple[str, str]], exploded: Container[str]
) -> None:
    """`columns.columnName` of an array of structs, which is an array of the fields in Spark."""
    if isinstance(node, exp.Column):
        *before, field = node.parts
        places = ("this", "table", "db", "catalog")
        above: exp.Expr = exp.Column(**dict(zip(places, reversed(before), strict=False)))
    else:
        above, field = node.this, node.expression
    name = _last_name(above)
    if name not in exploded and (name, field.name.lower()) in fields_of_lists:
        one = exp.Dot(this=exp.to_identifier("_each"), expression=field.copy())
        each = exp.Lambda(this=one, expressions=[exp.to_identifier("_each")])
        node.replace(exp.func("list_transform", above.copy(), each))


def _zipped(arrays: Sequence[exp.Expr]) -> exp.Expr:
    # A field is called as the column or field that is zipped, else by its place; sqlglot has `$1`.
    one = exp.to_identifier("_each")
    fields = [
        exp.PropertyEQ(
            this=exp.to_identifier(_last_name(array) or str(place), quoted=True),
            expression=exp.Bracket(this=one.copy(), expressions=[exp.Literal.number(place + 1)], offset=1),
        )
        for place, array in enumerate(arrays)
    ]
    each = exp.Lambda(this=exp.Struct(expressions=fields), expressions=[one])
    zipped = exp.Anonymous(this="list_zip", expressions=[array.copy() for array in arrays])
    is_null = exp.or_(*(exp.Is(this=array.copy(), expression=exp.Null()) for array in arrays))
    made = exp.func("list_transform", zipped, each)
    return exp.If(this=is_null, true=exp.Null(), false=made)


def _last_name(node: exp.Expr) -> str:
    return (node.expression.name if isinstance(node, exp.Dot) else node.name).lower()


def _from_json(node: exp.Expr) -> exp.Expr:
    # Not a cast, which fails on a key that the type lacks: Spark leaves it out, and what is missing is NULL.
    made = exp.DataType.build(node.expression.name, dialect="spark").sql("duckdb")
    text = exp.TryCast(this=node.this, to=exp.DataType.build("json"))
    return exp.Anonymous(this="from_json", expressions=[text, exp.Literal.string(json.dumps(made))])


def _collect(node: exp.Expr) -> None:
    # They leave NULLs out. sqlglot has a FILTER of its own for that, beside that of the query.
    value, outer = node.this, node.parent
    wanted: exp.Expr = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    inner = exp.Distinct(expressions=[value]) if isinstance(node, exp.ArrayUniqueAgg) else value
    listed = exp.Anonymous(this="list", expressions=[inner])
    if isinstance(outer, exp.Filter):
        wanted, node = exp.and_(outer.expression.this, wanted), outer
    # Of no rows it is an empty list, where DuckDB has NULL.
    filtered = exp.Filter(this=listed, expression=exp.Where(this=wanted))
    node.replace(exp.func("coalesce", filtered, exp.Array(expressions=[])))


def _keep_empty(lateral: exp.Expr) -> None:
    # LATERAL VIEW OUTER: an empty array gives one row, whose element is NULL. sqlglot forgets OUTER.
    exploded = lateral.this
    items = exploded.this
    none = exp.EQ(
        this=exp.func("coalesce", exp.func("len", items.copy()), exp.Literal.number(0)),
        expression=exp.Literal.number(0),
    )
    exploded.set("this", exp.If(this=none, true=exp.Array(expressions=[exp.Null()]), false=items.copy()))


def _explode_in_place(select: exp.Select) -> None:
    """LATERAL VIEW explode as `unnest` in a select list: DuckDB takes no filter below a lateral join."""
    laterals = select.args.get("laterals") or []
    if not laterals or not all(map(_is_plain_explode, laterals)):
        return
    source = _exploded_source(select, laterals)
    if source is None:
        return
    alias, made = source.alias_or_name, source.copy()
    for lateral in laterals:
        (name,) = lateral.args["alias"].columns
        unnested = exp.alias_(exp.Unnest(expressions=[lateral.this.this]), name.copy())
        made = exp.select("*", unnested).from_(made).subquery(alias or None)
        alias = made.alias_or_name
    source.replace(made)
    select.set("laterals", None)


def _exploded_source(select: exp.Select, laterals: Sequence[exp.Expr]) -> exp.Expr | None:
    """What stands in the FROM and has the arrays; None where the answer would not be the same."""
    stands, joins = select.args.get("from_"), select.args.get("joins") or []
    views = {lateral.args["alias"].name.lower() for lateral in laterals}
    columns = list(select.find_all(exp.Column))
    # `t.o` of LATERAL VIEW explode(…) t AS o; and a star, which would have the element as well.
    if stands is None or any(column.table.lower() in views - {""} for column in columns):
        return None
    if any(isinstance(one, exp.Column) and one.is_star for one in select.expressions):
        return None
    return _joined_source(select, laterals, stands.this) if joins else stands.this


def _joined_source(select: exp.Select, laterals: Sequence[exp.Expr], first: exp.Expr) -> exp.Expr | None:
    """The one of several tables that has the arrays; None where that is in doubt."""
    joins = select.args["joins"]
    elements = {lateral.args["alias"].columns[0].name.lower() for lateral in laterals}
    exploded = [column for lateral in laterals for column in lateral.this.this.find_all(exp.Column)]
    named = {column.table.lower() or column.name.lower() for column in exploded} - elements
    # A LEFT JOIN keeps rows without an element.
    inner = (join.this for join in joins if join.side != "LEFT")
    found: list[exp.Expr] = [one for one in (first, *inner) if one.alias_or_name.lower() in named]
    is_plain = (
        len(found) == len(named) == 1
        # In its place in the row an element would come before the columns of the other tables.
        and not any(isinstance(one, exp.Star) for one in select.expressions)
        and not any(join.side in _OUTER or join.method == "NATURAL" for join in joins)
        and not any(column.args.get("db") for column in select.find_all(exp.Column))
        # Not a column of another table that is called as one of the tables is.
        and all(column.table or column.name.lower() in elements for column in exploded)
        and not any(column.name.lower() in elements and column.table.lower() in named for column in exploded)
        and not any(one.name.lower() in elements for join in joins for one in _of_condition(join))
    )
    return found[0] if is_plain else None


def _of_condition(join: exp.Expr) -> Iterator[exp.Expr]:
    """The columns without a table that the condition of a join names."""
    condition = join.args.get("on")
    if condition is not None:
        yield from (column for column in condition.find_all(exp.Column) if not column.table)
    yield from join.args.get("using") or ()


def _is_plain_explode(lateral: exp.Expr) -> bool:
    return type(lateral.this) is exp.Explode and len(lateral.args["alias"].columns) == 1


def _narrow_to_days(tree: exp.Expr, times: Mapping[str, str], schema: str) -> None:
    """Beside a comparison of a time with a constant put that of its day: no other day's files are opened."""
    for scope in traverse_scope(tree):
        for node in list(scope.find_all(*_COMPARISONS, exp.Between)):
            for condition in _of_days(scope, node, times, schema):
                node.replace(exp.paren(exp.and_(node.copy(), condition), copy=False))


def _of_days(scope: Scope, node: exp.Expr, times: Mapping[str, str], schema: str) -> Iterator[exp.Expr]:
    sides = (node.this, node.args.get("low") or node.expression)
    bounds = [side for side in (*sides[1:], node.args.get("high")) if side is not None]
    column, kind = node.this, type(node)
    if isinstance(node, exp.Between):
        kinds: list[type[exp.Binary]] = [exp.GTE, exp.LTE]
    elif isinstance(node.expression, exp.Column) and not isinstance(node.this, exp.Column):
        column, bounds, kinds = node.expression, [node.this], [_COMPARISONS[_TURNED[kind]]]
    else:
        kinds = [_COMPARISONS[kind]]
    if not isinstance(column, exp.Column) or any(one.find(exp.Column, exp.Query) for one in bounds):
        return
    if not _is_a_time(scope, column, times, schema):
        return
    day = exp.column(PARTITION, table=column.args.get("table"))
    conditions = [
        compared(this=day.copy(), expression=exp.cast(bound.copy(), "date"))
        for compared, bound in zip(kinds, bounds, strict=True)
    ]
    yield exp.and_(*conditions)


def _is_a_time(scope: Scope, column: exp.Column, times: Mapping[str, str], schema: str) -> bool:
    """Whether a column is what the partition of its table is made of."""
    if column.table:
        source = scope.sources.get(column.table)
    else:
        # What a LATERAL VIEW makes has no column of such a name.
        sources = [one for one in scope.sources.values() if not _is_lateral(one)]
        source = sources[0] if len(sources) == 1 else None
    if not isinstance(source, exp.Table) or source.db.lower() != schema.lower():
        return False
    return times.get(source.name.lower()) == column.name.lower()


def _is_lateral(source: exp.Expr | Scope) -> bool:
    return isinstance(source, Scope) and isinstance(source.expression, exp.Lateral)
