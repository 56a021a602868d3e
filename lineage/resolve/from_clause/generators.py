"""The output columns of Spark's table-valued functions and generators.

In: the name of a function, its call, its arguments with their sources. Out: its columns, or None for
a function that is not known (its column aliases then name what it yields). Names and shapes are those
of Spark 4.2's function reference.
"""

from __future__ import annotations

from sqlglot import exp

from lineage.resolve.nodes import function_title
from lineage.resolve.scope import ResolvedColumn, SourceSet
from lineage.transformation import COMPUTED
from lineage.types import element_type, map_types, struct_fields

_FIXED = {
    "range": ("id",),
    "explode": ("col",),
    "explode_outer": ("col",),
    "explodeouter": ("col",),
    "variant_explode": ("pos", "key", "value"),
    "variant_explode_outer": ("pos", "key", "value"),
    "sql_keywords": ("keyword", "reserved"),
    "collations": ("CATALOG", "SCHEMA", "NAME", "LANGUAGE", "COUNTRY", "ACCENT_SENSITIVITY",
                   "CASE_SENSITIVITY", "PAD_ATTRIBUTE", "ICU_VERSION"),
}  # fmt: skip
_GENERATORS = frozenset(
    {
        "explode", "explode_outer", "explodeouter", "posexplode", "posexplode_outer", "posexplodeouter",
        "inline", "inline_outer", "inlineouter", "stack", "json_tuple", "variant_explode",
        "variant_explode_outer",
    }
)  # fmt: skip

FIXED_ROWS = frozenset({"stack", "json_tuple"})
"""Generators whose number of rows does not depend on their arguments."""


def is_generator(name: str) -> bool:
    """Whether a function in a select list yields rows and (maybe) several columns."""
    return name in _GENERATORS


def generated(name: str, call: exp.Expr, arguments: list[ResolvedColumn]) -> list[ResolvedColumn] | None:
    """The columns that a built-in yields."""
    first = arguments[0] if arguments else ResolvedColumn("")
    if name.startswith("explode"):
        return _exploded(first, call)
    if name.startswith("posexplode"):
        return [ResolvedColumn("pos"), *_exploded(first, call)]
    if name.startswith("inline"):
        return _inlined(first)
    if name == "stack":
        return _stacked(call, arguments)
    if name == "json_tuple":
        outs = [_derived(f"c{n}", first) for n in range(len(arguments) - 1)]
        for out, path in zip(outs, arguments[1:], strict=True):
            out.merge(path)
        return outs
    fixed = _FIXED.get(name)
    return None if fixed is None else [_derived(column, first) for column in fixed]


def _derived(name: str, source: SourceSet, type_text: str = "") -> ResolvedColumn:
    out = ResolvedColumn(name, type_text)
    out.merge(source)
    out.transformation |= COMPUTED
    return out


# Functions that make a map, as sqlglot's classes and as names.
_MAPS = (exp.Map, exp.VarMap, exp.MapFromEntries, exp.StrToMap, exp.ToMap)
_MAP_NAMES = frozenset(
    {"map", "map_from_arrays", "map_from_entries", "map_concat", "map_filter", "map_zip_with", "str_to_map",
     "transform_keys", "transform_values"}
)  # fmt: skip


def _is_map(call: exp.Expr) -> bool:
    argument = (
        call.expressions[0] if isinstance(call, exp.Anonymous) and call.expressions else call.args.get("this")
    )
    if isinstance(argument, exp.Kwarg):
        argument = argument.args["expression"]
    return isinstance(argument, _MAPS) or (
        isinstance(argument, exp.Func) and function_title(argument) in _MAP_NAMES
    )


def _exploded(source: ResolvedColumn, call: exp.Expr) -> list[ResolvedColumn]:
    pair = map_types(source.type) or (("", "") if _is_map(call) else None)
    if pair is not None:
        return [_derived("key", source, pair[0]), _derived("value", source, pair[1])]
    # An element of an array has the array's fields.
    out = _derived("col", source, element_type(source.type) or "")
    out.layout = element_type(source.layout) or ""
    out.plain, out.fields = source.plain, source.fields
    return [out]


def _inlined(source: ResolvedColumn) -> list[ResolvedColumn] | None:
    fields = struct_fields(element_type(source.type or source.layout) or "")
    if not fields and source.fields:
        return [out.renamed(out.name) for out in source.fields.values()]
    if not fields:
        return None
    return [source.field((name,)).renamed(name) for name, _ in fields]


def _stacked(call: exp.Expr, arguments: list[ResolvedColumn]) -> list[ResolvedColumn] | None:
    # stack(n, e1, …, ek): n rows, so column i holds every width-th expression.
    rows = call.args.get("this")
    if isinstance(call, exp.Anonymous):
        rows = call.expressions[0] if call.expressions else None
    if not isinstance(rows, exp.Literal) or not rows.name.isdigit() or int(rows.name) < 1:
        return None
    cells = arguments[1:]
    width = -(-len(cells) // int(rows.name))
    outs = [ResolvedColumn(f"col{n}") for n in range(width)]
    for at, cell in enumerate(cells):
        outs[at % width].merge(cell)
    return outs
