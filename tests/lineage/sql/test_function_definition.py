"""Functions out of the text that creates them."""

from __future__ import annotations

import pytest

from lineage import MemoryCatalog, analyze
from lineage.errors import BadFunctionError
from lineage.sql.function_definition import read_function
from lineage.types import struct_fields


@pytest.mark.parametrize(
    ("text", "name", "signature", "data_type"),
    [
        ("CREATE FUNCTION f(n INT) RETURNS INT RETURN n + 1", "f", "(n INT)", "INT"),
        ("create or replace function s.f() return 1", "f", "()", ""),
        (
            """CREATE FUNCTION f(a DECIMAL(10, 2) DEFAULT 0.5, b ARRAY<STRUCT<c: INT>> COMMENT 'x, y')
            RETURNS DECIMAL(10, 2) DETERMINISTIC RETURN a""",
            "f",
            "(a DECIMAL(10, 2), b ARRAY<STRUCT<c: INT>>)",
            "DECIMAL(10, 2)",
        ),
        ("CREATE TEMP FUNCTION IF NOT EXISTS `a.b` AS 'x.Y' USING JAR '/y.jar'", "a.b", "()", ""),
    ],
)
def test_name_parameters_and_type_are_read(text, name, signature, data_type):
    """Types as they are written, without defaults and comments."""
    found = read_function(text)
    assert (found.name, found.argument_signature, found.data_type) == (name, signature, data_type)
    assert not found.is_table


@pytest.mark.parametrize(
    ("behind", "body"),
    [
        ("RETURNS INT RETURN n + 1", "n + 1"),
        ("RETURNS INT RETURN n + 1 ; ; -- x", "n + 1"),
        ("RETURNS INT COMMENT 'RETURN 1' RETURN n", "n"),
        ("RETURNS INT LANGUAGE SQL CONTAINS SQL RETURN (SELECT max(a) FROM t)", "(SELECT max(a) FROM t)"),
        ("RETURNS STRING RETURN CASE n WHEN 1 THEN 'RETURN' END", "CASE n WHEN 1 THEN 'RETURN' END"),
        ("RETURNS INT LANGUAGE PYTHON AS 'return n'", None),
        ("RETURNS INT LANGUAGE PYTHON RETURN n", None),
        ("AS 'a.B'", None),
        ("RETURNS INT", None),
    ],
)
def test_a_function_in_sql_keeps_its_body(behind, body):
    """Without the semicolon of its statement; a function in another language has none."""
    assert read_function(f"CREATE FUNCTION f(n INT) {behind}").body == body


def test_columns_of_a_table_function_are_fields_of_what_it_returns():
    """Back-ticks in a column's name come out of the type as they went in."""
    text = "CREATE FUNCTION f() RETURNS TABLE (`a``b` INT COMMENT 'x', `c.d` MAP<INT, INT>) RETURN SELECT 1"
    found = read_function(text)
    assert found.is_table
    assert struct_fields(found.data_type) == [("a`b", "INT"), ("c.d", "MAP<INT, INT>")]
    assert read_function("CREATE FUNCTION f() RETURNS TABLE RETURN SELECT 1").data_type == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "'",
        "SELECT 1",
        "CREATE FUNCTION",
        "CREATE FUNCTION 1",
        "DROP FUNCTION f",
        "CREATE TABLE f (n INT)",
    ],
)
def test_any_other_text_is_refused(text):
    """The error holds the text and an example."""
    with pytest.raises(BadFunctionError, match="CREATE FUNCTION f") as raised:
        read_function(text)
    assert raised.value.subject == text


def test_an_error_shows_the_beginning_of_a_long_text():
    """A hundred characters tell which text it was."""
    with pytest.raises(BadFunctionError) as raised:
        read_function("SELECT " + "x" * 10_000)
    assert raised.value.subject == "SELECT " + "x" * 93


def test_a_catalog_takes_the_text_with_its_semicolon():
    """A function that is given as text leads to what its body reads."""
    text = "CREATE FUNCTION s.f(n INT) RETURNS INT RETURN n + (SELECT max(b) FROM s.u);"
    catalog = MemoryCatalog(
        {"s.t": {"a": "int"}, "s.u": {"b": "int"}}, functions={"s.f": text}, current_schema="s"
    )
    access = analyze("SELECT f(a) AS x FROM t", catalog)
    assert access.analysis == "full"
    assert {o.name for o in access.base_objects_accessed} >= {"spark_catalog.s.t", "spark_catalog.s.u"}
