"""An assignment to a field of a struct reads what is assigned, not the fields that stay."""

from __future__ import annotations

from lineage.plan.untouched_fields import without_untouched

LITERAL = {"class": "Literal", "num-children": 0}


def column(number):
    """A column of the target."""
    return [{"class": "AttributeReference", "num-children": 0, "exprId": {"id": number}, "name": "s"}]


def field(name, *below):
    """A field of a struct."""
    return [{"class": "GetStructField", "num-children": 1, "name": name}, *below]


def struct(*parts):
    """named_struct(name, value, …)."""
    made = [{"class": "CreateNamedStruct", "num-children": 2 * len(parts)}]
    for name, value in parts:
        made += [{**LITERAL, "dataType": "string", "value": name}, *value]
    return made


def test_fields_that_stay_are_literals():
    """By name and by path, through casts; a field under another name, or of another column, is read."""
    alias = {"class": "Alias", "num-children": 1}
    other = field("a", *column(2))
    tree = struct(
        ("a", field("a", *column(1))),
        ("b", field("a", *column(1))),
        ("c", other),
        ("d", [alias, *struct(("x", field("x", *field("d", *column(1)))), ("y", field("y", *column(1))))]),
    )
    expected = struct(
        ("a", [LITERAL]),
        ("b", field("a", *column(1))),
        ("c", other),
        ("d", [alias, *struct(("x", [LITERAL]), ("y", field("y", *column(1))))]),
    )
    assert without_untouched([alias, *tree], 1) == [alias, *expected]
    assert without_untouched(other, 2) == other
