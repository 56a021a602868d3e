"""Types as a catalog writes them: the fields of structs."""

from __future__ import annotations

import pytest

from lineage.types import field_name, field_type, struct_fields

FIELDS = {
    "struct<`a``b`:int,c:string>": [("a`b", "int"), ("c", "string")],
    "struct<```x```:int>": [("`x`", "int")],
    "struct<`a``, b:c`:array<struct<`d``e`:int>>>": [("a`, b:c", "array<struct<`d``e`:int>>")],
    "STRUCT<`a` INT COMMENT 'x', b: DECIMAL(3, 1) NOT NULL>": [("a", "INT"), ("b", "DECIMAL(3, 1)")],
    "struct<>": [],
    "int": [],
}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_back_tick_in_a_name_is_doubled(kind):
    """A name ends at the first back-tick that stands alone, and is given without what quotes it."""
    assert struct_fields(kind) == FIELDS[kind]


def test_a_field_is_found_by_its_name():
    """In a struct, and in an array of structs."""
    assert field_type("array<struct<`a``b`:int>>", "A`b") == "array<int>"
    assert field_name("struct<`a``B`:int>", "a`b") == "a`B"
