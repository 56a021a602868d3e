"""Takes out what an assignment to a struct leaves as it is: no source of what it writes.

In: the expression that Delta makes of `SET s.a = 1`, and the id of the column. Out: the expression that
reads no field that stays.
"""

from __future__ import annotations

from lineage.plan.tree import Node, Tree, children, kind

_SAME = ("Alias", "Cast", "UpCast", "CheckOverflowInTableWrite")
_NOTHING: Node = {"class": "Literal", "num-children": 0}


def without_untouched(tree: Tree, number: int, path: tuple[str, ...] = ()) -> Tree:
    """The expression of an assigned column, with a literal for each field that stays.

    Delta (4.4) writes all of a struct: `SET s.a = 1` is `SET s = named_struct('a', 1, 'b', s.b)`.

    Args:
        tree: the expression.
        number: the expression id of the column.
        path: the fields down to the struct that the expression makes.
    """
    if kind(tree[0]) in _SAME:
        return [tree[0], *without_untouched(tree[1:], number, path)]
    if kind(tree[0]) != "CreateNamedStruct":
        return tree
    found, parts = [tree[0]], children(tree)
    for name, value in zip(parts[::2], parts[1::2], strict=True):
        field = (*path, str(name[0].get("value")))
        stays = _path(value, number) == field
        found += [*name, *([_NOTHING] if stays else without_untouched(value, number, field))]
    return found


def _path(tree: Tree, number: int) -> tuple[str, ...] | None:
    """The fields down to what an expression reads of a column; None where it is anything else."""
    head = tree[0]
    if kind(head) in _SAME:
        return _path(tree[1:], number)
    if kind(head) == "AttributeReference":
        return () if head["exprId"]["id"] == number else None
    name = head.get("name") or head.get("fieldName")
    above = _path(tree[1:], number) if kind(head) == "GetStructField" and name else None
    return None if above is None else (*above, str(name))
