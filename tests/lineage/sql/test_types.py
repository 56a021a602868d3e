"""Types as catalogs write them: fields, elements and keys, with comments, quotes and nesting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.names import sql_name
from lineage.types import element_type, field_name, field_type, map_types, struct_fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("struct<a:int,b:string>", [("a", "int"), ("b", "string")]),
        ("STRUCT<a: INT, b: STRING>", [("a", "INT"), ("b", "STRING")]),
        ("struct<a int, b string>", [("a", "int"), ("b", "string")]),
        (" Struct < a : int > ", [("a", "int")]),
        ("struct<>", []),
        ("struct<a:decimal(10,2),b:int>", [("a", "decimal(10,2)"), ("b", "int")]),
        (
            "struct<a:map<string,array<int>>,b:struct<c:int,d:int>>",
            [("a", "map<string,array<int>>"), ("b", "struct<c:int,d:int>")],
        ),
        ("struct<`a,b`:int,`c:d`:int,`e<f`:int>", [("a,b", "int"), ("c:d", "int"), ("e<f", "int")]),
        ("struct<`a``b`:int,`it's`:int>", [("a`b", "int"), ("it's", "int")]),
        ("struct<größe:int,`表 1`:int>", [("größe", "int"), ("表 1", "int")]),
        ("STRUCT<a: INT NOT NULL, b: INT>", [("a", "INT"), ("b", "INT")]),
        ("STRUCT<a: INT NOT NULL COMMENT 'x'>", [("a", "INT")]),
        ("STRUCT<a: INT Comment 'x', b: int not null>", [("a", "INT"), ("b", "int")]),
        ("STRUCT<a: ARRAY<INT> COMMENT 'x', b: INT>", [("a", "ARRAY<INT>"), ("b", "INT")]),
        ("STRUCT<a: STRUCT<b: INT> NOT NULL, c: INT>", [("a", "STRUCT<b: INT>"), ("c", "INT")]),
        ("STRUCT<a: INT COMMENT 'x, y > 3', b: INT>", [("a", "INT"), ("b", "INT")]),
        (r"STRUCT<a: INT COMMENT 'it\'s, b', c: INT>", [("a", "INT"), ("c", "INT")]),
        (r"STRUCT<a: INT COMMENT 'ends in \\', c: INT>", [("a", "INT"), ("c", "INT")]),
        ("STRUCT<a: INT COMMENT 'COMMENT NOT NULL'>", [("a", "INT")]),
        ("STRUCT<comment: INT, `not null`: INT>", [("comment", "INT"), ("not null", "INT")]),
        ("STRUCT<a: STRUCT<b: INT COMMENT 'x'>>", [("a", "STRUCT<b: INT COMMENT 'x'>")]),
        ("array<struct<a:int>>", []),
        ("structure<a:int>", []),
        ("struct<a:int", []),
        ("int", []),
        ("", []),
    ],
)
def test_a_struct_has_its_fields(text, fields):
    """Names without back-ticks, types without what is said about the field; any other type has none."""
    assert struct_fields(text) == fields


SIMPLE = st.sampled_from(["int", "STRING", "decimal(10,2)", "timestamp_ntz"])
NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name == name.strip())
COMMENTS = st.text(max_size=8)


def spelled(name, kind, comment):
    """A field as Spark's DDL spells it."""
    escaped = comment.replace("\\", "\\\\").replace("'", "\\'")
    return f"{sql_name((name,))}: {kind}" + (f" COMMENT '{escaped}'" if comment else "")


TYPES = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        inner.map("array<{}>".format),
        st.tuples(SIMPLE, inner).map(lambda pair: f"map<{pair[0]},{pair[1]}>"),
        st.lists(st.tuples(NAMES, inner, COMMENTS), max_size=3).map(
            lambda fields: f"STRUCT<{', '.join(spelled(*field) for field in fields)}>"
        ),
    ),
    max_leaves=6,
)


@given(st.lists(st.tuples(NAMES, TYPES, COMMENTS), max_size=4))
def test_any_struct_that_ddl_spells_is_read_back(fields):
    """Whatever stands in names and comments, at any depth."""
    text = f"STRUCT<{', '.join(spelled(*field) for field in fields)}>"
    assert struct_fields(text) == [(name, kind) for name, kind, _ in fields]


@given(TYPES, TYPES)
def test_arrays_and_maps_hold_what_they_were_made_of(key, value):
    """An array is no map, and a map is no array."""
    assert element_type(f"ARRAY<{value}>") == value
    assert map_types(f"MAP< {key}, {value} >") == (key, value)
    assert element_type(f"map<{key},{value}>") is None
    assert map_types(f"array<{value}>") is None


@pytest.mark.parametrize("text", ["map<string>", "map<>", "map<a,b,c>", "map", "map<string,int"])
def test_a_map_has_two_types(text):
    """What has fewer or more is no map."""
    assert map_types(text) is None


@pytest.mark.parametrize(
    ("text", "name", "kind", "spelling"),
    [
        ("struct<Ab:int>", "aB", "int", "Ab"),
        ("array<struct<Ab:int>>", "ab", "array<int>", "Ab"),
        ("struct<a:struct<b:int>>", "a", "struct<b:int>", "a"),
        ("struct<a:struct<b:int>>", "b", None, "b"),
        ("map<string,struct<a:int>>", "a", None, "a"),
        ("int", "A", None, "A"),
        ("", "a", None, "a"),
    ],
)
def test_a_field_is_found_whatever_the_case(text, name, kind, spelling):
    """Of an array of structs it is an array; the type's spelling wins; a missing field keeps its own."""
    assert field_type(text, name) == kind
    assert field_name(text, name) == spelling
