"""Values as literals of SQL, and texts with values in the place of their parameters."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.sql.parameters import SqlLiteral, bind_arguments, literal_sql, unbound_arguments, with_literals
from lineage.sql.parse import parse

UTC = timezone.utc
EAST, WEST = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
INTERVAL = re.compile(r"INTERVAL '(-?)(\d+) (\d\d):(\d\d):(\d\d\.\d{6})' DAY TO SECOND")


@pytest.mark.parametrize(
    "value",
    [
        Decimal("NaN"),
        Decimal("-Infinity"),
        datetime.min.replace(tzinfo=EAST),
        datetime.max.replace(tzinfo=WEST),
        b"x",
        time(1),
        {"a": 1},
        {1},
        Ellipsis,
    ],
    ids=repr,
)
def test_a_value_without_a_literal_stays_a_parameter(value):
    """No such number, no such moment in UTC, or no such type: Spark says so itself."""
    assert literal_sql(value) is None
    assert with_literals("SELECT :a, ?", {"a": value}) == "SELECT :a, ?"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Decimal("1E+3"), "1000BD"),
        (Decimal("-0.10"), "-0.10BD"),
        (Decimal("1E-7"), "0.0000001BD"),
        (-(2**63), "-9223372036854775808"),
        (float("nan"), "CAST('nan' AS DOUBLE)"),
        (float("-inf"), "CAST('-inf' AS DOUBLE)"),
        (5e-324, "CAST('5e-324' AS DOUBLE)"),
        (date.min, "DATE '0001-01-01'"),
        (date.max, "DATE '9999-12-31'"),
        (datetime.min.replace(tzinfo=UTC), "TIMESTAMP '0001-01-01 00:00:00+00:00'"),
        (datetime.max.replace(tzinfo=UTC), "TIMESTAMP '9999-12-31 23:59:59.999999+00:00'"),
        (SqlLiteral("current_date() - 1"), "current_date() - 1"),
        ("", "''"),
        ("'; DROP TABLE t; --", "'\\'; DROP TABLE t; --'"),
        ("\\", "'\\\\'"),
    ],
)
def test_the_ends_of_each_type_have_literals(value, said):
    """No exponent in a decimal, no quote that ends a text, no year outside of the calendar."""
    assert literal_sql(value) == said


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)), st.integers(-14 * 60, 14 * 60))  # noqa: DTZ001
def test_a_moment_keeps_its_instant(local, minutes):
    """Whatever its zone, the literal is the same instant in UTC."""
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    said = literal_sql(moment)
    assert said.endswith("+00:00'")
    assert datetime.fromisoformat(said.removeprefix("TIMESTAMP '").removesuffix("'")) == moment


@given(st.timedeltas())
def test_a_duration_keeps_its_length(value):
    """Days, hours, minutes and seconds with six digits add up to it, the sign in front of all."""
    sign, days, hours, minutes, seconds = INTERVAL.fullmatch(literal_sql(value)).groups()
    whole, micros = seconds.split(".")
    assert int(hours) < 24
    assert max(int(minutes), int(whole)) < 60
    size = timedelta(int(days), int(whole), int(micros), minutes=int(minutes), hours=int(hours))
    assert value == (-size if sign else size)


@pytest.mark.parametrize(
    ("text", "values", "said"),
    [
        ("SELECT :a, :`b c`, :a", {"a": 1, "b c": "x"}, "SELECT 1, 'x', 1"),
        ("SELECT ?, ?, ?", [1, "?", None], "SELECT 1, '?', NULL"),
        ("SELECT ?, ?", (True,), "SELECT TRUE, ?"),
        ("SELECT ?", [1, 2], "SELECT 1"),
        ("SELECT ':a', `:a`, \"?\" /* :a ? */ -- ?", {"a": 1}, "SELECT ':a', `:a`, \"?\" /* :a ? */ -- ?"),
        ("SELECT '😀', :a", {"a": "😀"}, "SELECT '😀', '😀'"),
        ("SELECT :a::INT, b::a", {"a": 1}, "SELECT 1::INT, b::a"),
        ("SELECT x[:a], f(:a)", {"a": 1}, "SELECT x[1], f(1)"),
        ("SELECT v:a.b, v[0]:a, f(v):a", {"a": 1}, "SELECT v:a.b, v[0]:a, f(v):a"),
        ("SELECT :a:b", {"a": SqlLiteral("parse_json('{}')"), "b": 1}, "SELECT parse_json('{}'):b"),
        ("SELECT CAST(x AS STRUCT<a:int,b:string>)", {"int": 1, "string": 2}, None),
        ("SELECT :A", {"a": 1}, None),
        ("SELECT : a", {"a": 1}, None),
        ("SELECT ':a", {"a": 1}, None),
        ("", [1], None),
        ("SELECT 1", {}, None),
    ],
)
def test_parameters_are_replaced_where_they_stand(text, values, said):
    """Not in quotes and comments, not where a colon is a path into a VARIANT or a field's type."""
    assert with_literals(text, values) == (text if said is None else said)


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6), st.timedeltas())


@given(st.lists(VALUES, max_size=5))
def test_values_by_place_and_by_name_give_the_same_text(values):
    """No value is read as a parameter again."""
    named = {f"p{n}": value for n, value in enumerate(values)}
    by_place = with_literals("SELECT " + ", ".join("?" for _ in values), values)
    by_name = with_literals("SELECT " + ", ".join(f":{name}" for name in named), named)
    assert by_place == by_name == "SELECT " + ", ".join(literal_sql(value) for value in values)


@given(st.lists(st.sampled_from(["a = ?", "FROM t AT (OFFSET => ?) JOIN", "'?'"]), min_size=1, max_size=6))
def test_each_value_is_bound_once(pieces):
    """What a clause takes Spark is not given, and what stays keeps its order."""
    text = "SELECT * FROM u WHERE " + " ".join(pieces)
    marks = [piece for piece in pieces if piece != "'?'"]
    values = list(range(1, len(marks) + 1))
    statement = bind_arguments(parse(text), values)
    taken = [str(point) for point in statement.points]
    assert taken == [f"AT (OFFSET => {n})" for n, mark in zip(values, marks, strict=True) if "AT" in mark]
    left = unbound_arguments(statement, text.replace("AT (OFFSET => ?)", "VERSION AS OF 3"), values)
    assert left == [n for n, mark in zip(values, marks, strict=True) if "AT" not in mark]
