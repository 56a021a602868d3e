"""The types of values that built-in functions make, as far as the names of their fields need it.

In: a node of sqlglot's tree and what its arguments are. Out: Spark's type text, without the types of fields;
"" where it is not known. `inline` and `s.*` name columns by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sqlglot import exp

from lineage.names import sql_name
from lineage.resolve.nodes import call_arguments, function_title
from lineage.types import element_type, struct_fields

Node = exp.Expr
TypeOf = Callable[[Node], str]
"""The type of an argument."""

# Arrays that hold the elements of their first argument.
_SAME = frozenset(
    {"filter", "arrayfilter", "array_sort", "sortarray", "sort_array", "slice", "arrayslice", "arraydistinct",
     "array_distinct", "arrayreverse", "reverse", "shuffle", "arraycompact", "array_compact", "arrayconcat",
     "concat", "coalesce", "arrayremove", "array_remove", "arrayappend", "array_append", "arrayprepend",
     "array_prepend", "arrayexcept", "array_except", "arrayintersect", "array_intersect", "array_union"}
)  # fmt: skip
_COLLECTING = frozenset(
    {"arrayagg", "array_agg", "collect_list", "collect_set", "arrayuniqueagg", "array_repeat"}
)
_FROM_TEXT = frozenset({"from_json", "from_csv", "from_xml", "fromjson", "fromcsv"})
_ZIP = frozenset({"arrays_zip", "arrayszip"})


_CLASSES = frozenset(
    {exp.Transform, exp.ArrayFilter, exp.ArraySort, exp.ArraySlice, exp.ArrayDistinct, exp.ArrayAgg,
     exp.ArrayUniqueAgg, exp.ArraysZip, exp.Flatten, exp.FromJson, exp.Concat, exp.Reverse, exp.Anonymous,
     exp.Coalesce}
)  # fmt: skip


def makes_arrays(node: Node) -> bool:
    """Whether a function may make an array of structs; most do not."""
    return type(node) in _CLASSES or (type(node) is exp.Filter and makes_arrays(node.args["this"]))


def made_type(node: Node, type_of: TypeOf) -> str:  # noqa: PLR0911  one return a family
    """The type of what a function or a constructor makes, "" where it is not known."""
    if type(node) is exp.Filter:
        return made_type(node.args["this"], type_of)
    title = function_title(node)
    arguments = call_arguments(node)
    if not arguments:
        return ""
    if title in _ZIP:
        return _array_of(struct_of(_zipped(item, at) for at, item in enumerate(arguments)))
    if title in _FROM_TEXT:
        return _said(arguments[1:2])
    if title == "transform":
        return _array_of(_mapped(arguments[-1]))
    inner = arguments[0]
    found = type_of(inner.expressions[0] if isinstance(inner, exp.Distinct) else inner)
    if title in _COLLECTING:
        return _array_of(found)
    if title == "flatten":
        return element_type(found) or ""
    return (found if element_type(found) else _array_of(found)) if title in _SAME else ""


def _mapped(function: Node) -> str:
    body = function.args.get("this") if isinstance(function, exp.Lambda) else None
    return _struct_type(body) if isinstance(body, exp.Struct) else ""


def _struct_type(node: exp.Struct) -> str:
    names = []
    for at, item in enumerate(node.expressions, 1):
        if isinstance(item, exp.PropertyEQ):
            names.append(item.args["this"].name)
        elif isinstance(item, exp.Column) and isinstance(item.args["this"], exp.Star):
            return ""
        # A lambda's variable is an identifier; Spark names the field as it is spelled.
        elif isinstance(item, (exp.Column, exp.Identifier)):
            names.append(item.name)
        else:
            names.append(f"col{at}")
    return struct_of(names)


def struct_of(names: Iterable[str]) -> str:
    """The type of a struct with fields of these names.

    >>> struct_of(["a", "b,c"]), struct_fields(struct_of(["a", "b,c"]))
    ('struct<`a`:,`b,c`:>', [('a', ''), ('b,c', '')])
    """
    return f"struct<{','.join(f'{sql_name((name,))}:' for name in names)}>"


def _zipped(item: Node, at: int) -> str:
    return item.name if isinstance(item, exp.Column) else str(at)


def _array_of(element: str) -> str:
    return f"array<{element}>" if element else ""


def _said(schema: list[Node]) -> str:
    """`a INT, b STRING`, `struct<a: INT>`, `array<…>`, as a literal."""
    text = schema[0].name if schema and isinstance(schema[0], exp.Literal) else ""
    is_type = "<" in text.split(" ")[0].split(":")[0]
    found = text if is_type or not text else f"struct<{text}>"
    return found if struct_fields(element_type(found) or found) else ""
