"""Rows of an old version in today's columns, as SQL expressions; and values made comparable."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    VariantType,
)

from audit.time_travel.versions.columns import in_todays_columns, of_view
from audit.time_travel.versions.diff import comparable
from audit.time_travel.versions.reading import in_full

INT, LONG, TEXT = IntegerType(), LongType(), StringType()


def columns(*fields, ids=()):
    """A schema of (name, type) pairs; `ids` are those of Delta's column mapping."""
    made = StructType()
    for at, (name, kind) in enumerate(fields):
        found = {"delta.columnMapping.id": ids[at]} if ids else {}
        made.add(name, kind, metadata=found)
    return made


def test_columns_that_have_not_changed_need_no_expression():
    """Nothing is read through a query then."""
    kinds = [("a", INT), ("s", columns(("x", TEXT))), ("m", MapType(TEXT, ArrayType(INT)))]
    assert in_todays_columns(columns(*kinds), columns(*kinds)) is None
    assert in_todays_columns(columns(*kinds, ids=(1, 2, 3)), columns(*kinds, ids=(1, 2, 3))) is None
    assert in_todays_columns(columns(), columns()) is None


@pytest.mark.parametrize(
    ("then", "today", "expressions"),
    [
        # A column that was added later is NULL, one that is gone is left out.
        ([("a", INT)], [("a", INT), ("b", TEXT)], ("`a` AS `a`", "CAST(NULL AS STRING) AS `b`")),
        ([("a", INT), ("b", TEXT)], [("b", TEXT)], ("`b` AS `b`",)),
        ([("a", INT), ("b", TEXT)], [("b", TEXT), ("a", INT)], ("`b` AS `b`", "`a` AS `a`")),
        ([("a", INT)], [("a", LONG)], ("CAST(`a` AS BIGINT) AS `a`",)),
        ([("A", INT)], [("a", INT)], ("`A` AS `a`",)),
        ([("a`b.c", INT)], [("a`b.c", LONG)], ("CAST(`a``b.c` AS BIGINT) AS `a``b.c`",)),
        ([("d", DecimalType(5, 2))], [("d", DecimalType(9, 2))], ("CAST(`d` AS DECIMAL(9,2)) AS `d`",)),
        ([], [("n", TimestampNTZType())], ("CAST(NULL AS TIMESTAMP_NTZ) AS `n`",)),
        (
            [("a", ArrayType(INT))],
            [("a", ArrayType(LONG))],
            ("transform(`a`, e -> CAST(e AS BIGINT)) AS `a`",),
        ),
        (
            [("m", MapType(TEXT, INT))],
            [("m", MapType(TEXT, LONG))],
            ("transform_values(`m`, (k, v) -> CAST(v AS BIGINT)) AS `m`",),
        ),
        (
            [("m", MapType(INT, INT))],
            [("m", MapType(LONG, INT))],
            ("transform_keys(`m`, (k, v) -> CAST(k AS BIGINT)) AS `m`",),
        ),
        (
            [("s", columns(("x", INT)))],
            [("s", columns(("x", LONG), ("it's", TEXT)))],
            (
                (
                    "CASE WHEN `s` IS NOT NULL THEN named_struct('x', CAST(`s`.`x` AS BIGINT), 'it\\'s',"
                    " CAST(NULL AS STRING)) END AS `s`"
                ),
            ),
        ),
        (
            [],
            [("s", columns(("x y", ArrayType(MapType(TEXT, columns(("z", INT)))))))],
            ("CAST(NULL AS STRUCT<`x y`: ARRAY<MAP<STRING, STRUCT<`z`: INT>>>>) AS `s`",),
        ),
    ],
)  # fmt: skip
def test_old_rows_in_todays_columns(then, today, expressions):
    """By name, whatever its case, down into structs, arrays and maps."""
    assert in_todays_columns(columns(*then), columns(*today)) == expressions


@pytest.mark.parametrize(
    ("then", "today", "expressions"),
    [
        # Renamed: the id is the same.
        (columns(("old", INT), ids=[1]), columns(("new", INT), ids=[1]), ("`old` AS `new`",)),
        # Two columns have exchanged their names.
        (
            columns(("a", INT), ("b", INT), ids=[1, 2]),
            columns(("b", INT), ("a", INT), ids=[1, 2]),
            ("`a` AS `b`", "`b` AS `a`"),
        ),
        # Dropped and added again: the same name, another column, without a value in old rows.
        (columns(("a", INT), ids=[1]), columns(("a", INT), ids=[2]), ("CAST(NULL AS INT) AS `a`",)),
        # The version is older than column mapping: there are names alone.
        (columns(("a", INT)), columns(("a", LONG), ids=[1]), ("CAST(`a` AS BIGINT) AS `a`",)),
    ],
)
def test_with_column_mapping_the_id_counts(then, today, expressions):
    """A rename keeps it, and a new column has another one."""
    assert in_todays_columns(then, today) == expressions


def test_a_column_older_than_column_mapping_has_its_first_name():
    """Delta keeps it as the physical name, under which the old version has the column."""
    renamed = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "first"}
    today = StructType().add("second", INT, metadata=renamed)
    assert in_todays_columns(columns(("first", INT)), today) == ("`first` AS `second`",)


@pytest.mark.parametrize(
    ("then", "today", "held"),
    [
        (INT, LONG, True), (LONG, INT, False), (DoubleType(), INT, False), (INT, DoubleType(), True),
        (LONG, DoubleType(), False), (INT, DecimalType(10, 0), True), (LONG, DecimalType(19, 0), False),
        (DecimalType(5, 2), DecimalType(5, 1), False), (DecimalType(5, 2), DecimalType(5, 3), False),
        (DateType(), TimestampNTZType(), True), (TimestampNTZType(), DateType(), False),
        (TEXT, INT, False), (INT, TEXT, True), (ArrayType(INT), TEXT, False),
        (ArrayType(LONG), ArrayType(INT), False), (MapType(TEXT, LONG), MapType(TEXT, INT), False),
        (columns(("x", LONG)), columns(("x", INT)), False), (columns(("x", INT)), INT, False),
        (columns(("x", LONG)), columns(("y", INT)), True),
    ],
)  # fmt: skip
def test_no_value_is_cut_off(then, today, held):
    """A type that could not hold each old value leaves the version its own columns; a view says so."""
    was, now = columns(("a", then), ("b", INT)), columns(("a", today), ("c", INT))
    assert (in_todays_columns(was, now) is not None) == held
    shown = of_view(was, now, "t at version 1", by_name=False)
    assert ("raise_error('column `a` of t at version 1 is " in shown[0]) == (not held)
    assert shown[1] == "CAST(NULL AS INT) AS `c`"


def test_ids_of_a_replaced_table_say_nothing():
    """A REPLACE counts columns anew: a view finds them by name, inside of structs, too."""
    then = columns(("a", INT), ("s", columns(("x", INT), ids=[3])), ids=[1, 2])
    today = columns(("s", columns(("x", LONG), ids=[1])), ("a", INT), ids=[5, 6])
    assert of_view(then, today, "t", by_name=True) == (
        "CASE WHEN `s` IS NOT NULL THEN named_struct('x', CAST(`s`.`x` AS BIGINT)) END AS `s`",
        "`a` AS `a`",
    )
    assert of_view(then, today, "t", by_name=False)[1] == "CAST(NULL AS INT) AS `a`"


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        (INT, "c"),
        (TEXT, "c"),
        (StringType("UTF8_LCASE"), "collate(c, 'UTF8_BINARY')"),
        (VariantType(), "to_json(c)"),
        (ArrayType(INT), "c"),
        (ArrayType(ArrayType(VariantType())), "transform(c, e -> transform(e, e -> to_json(e)))"),
        (MapType(TEXT, INT), "array_sort(map_entries(c))"),
        (
            MapType(TEXT, VariantType()),
            "array_sort(transform(map_entries(c), e -> struct(e.key, to_json(e.value))))",
        ),
        (columns(("x", INT)), "c"),
        (columns(("a`b", VariantType())), "IF(c IS NULL, NULL, struct(to_json(c.`a``b`)))"),
        (
            columns(("x", INT), ("m", MapType(INT, INT))),
            "IF(c IS NULL, NULL, struct(c.`x`, array_sort(map_entries(c.`m`))))",
        ),
    ],
)
def test_values_that_spark_cannot_group_by_are_made_comparable(kind, sql):
    """What is as it is stays as it is."""
    assert comparable(kind, "c") == sql


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("t",), ("spark_catalog", "mart", "t")),
        (("s", "t"), ("spark_catalog", "s", "t")),
        (("other", "s", "t"), ("other", "s", "t")),
        (("delta", "/data/t"), ("delta", "/data/t")),
        (("delta", "t"), ("spark_catalog", "delta", "t")),
    ],
)
def test_names_of_a_recorded_text_are_those_of_its_schema(parts, name):
    """In the schema that was current then; a path is a name in full."""
    assert in_full(parts, ("spark_catalog", "mart")) == name
