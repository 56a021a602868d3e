"""Parameters in points in time, with the values that `spark.sql` was given."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from lineage.sql.parameters import at_time, bind_arguments, literal_sql, unbound_arguments
from lineage.sql.parse import parse

UTC = timezone.utc


@pytest.mark.parametrize(
    ("text", "arguments", "said", "left"),
    [
        ("SELECT * FROM t AT (TIMESTAMP => :t)", {"t": "x"}, "AT (TIMESTAMP => 'x')", {"t": "x"}),
        ("SELECT * FROM t AT (OFFSET => -60 * :`n`)", {"n": 5}, "AT (OFFSET => -60 * 5)", {"n": 5}),
        ("SELECT ? FROM t BEFORE (OFFSET => ?) WHERE a = ?", [1, -2, 3], "BEFORE (OFFSET => -2)", [1, 3]),
        ("SELECT '?' FROM t AT (OFFSET => ? + ?) -- ?", [-1, -2], "AT (OFFSET => -1 + -2)", []),
        ("SELECT * FROM t VERSION AS OF ? a", [3], "VERSION AS OF 3", []),
        (
            "SELECT * FROM t AT (OFFSET => -?)",
            [timedelta(minutes=5)],
            "AT (OFFSET => -CAST('300.0' AS DOUBLE))",
            [],
        ),
        ("SELECT * FROM t AT (OFFSET => :t)", {"u": 1}, "AT (OFFSET => :t)", {"u": 1}),
        ("SELECT * FROM t AT (OFFSET => ?)", [], "AT (OFFSET => ?)", []),
        ("SELECT * FROM t AT (TIMESTAMP => '2024'::timestamp)", {"t": 1}, None, {"t": 1}),
    ],
)
def test_binds_by_name_and_by_place(text, arguments, said, left):
    """What Spark does not see any more it is not given by place."""
    statement = bind_arguments(parse(text), arguments)
    assert [str(one) for one in statement.points] == [said or str(parse(text).points[0])]
    (point,) = parse(text).points
    assert unbound_arguments(statement, text[: point.start] + text[point.stop :], arguments) == left


@pytest.mark.parametrize(
    "text",
    [
        "RESTORE TABLE t TO AT (OFFSET => ?)",
        "CREATE SCHEMA a CLONE b AT (OFFSET => ?)",
        "CREATE TABLE a CLONE b AT (OFFSET => ?)",
    ],
)
def test_binds_in_statements_of_one_point(text):
    """These act on their typed value."""
    statement = bind_arguments(parse(text), [-5])
    assert str(statement.typed.point) == "AT (OFFSET => -5)"
    assert unbound_arguments(statement, "RESTORE TABLE t TO VERSION AS OF 3", [-5]) == []
    assert statement.text == text
    assert str(parse(text).typed.point) == "AT (OFFSET => ?)"


def test_leaves_the_rest_alone():
    """No arguments, no clause, a clause that cannot be read."""
    statement = parse("SELECT ? FROM t")
    assert bind_arguments(statement, [1]) is statement
    assert unbound_arguments(statement, "SELECT ? FROM t VERSION AS OF 3", [1]) == [1]
    at_v3 = parse("SELECT ? FROM t@v3")
    assert unbound_arguments(at_v3, "SELECT ? FROM t VERSION AS OF 3", [1]) == [1]
    assert unbound_arguments(at_v3, at_v3.text, None) is None
    unreadable = parse("SELECT * FROM t AT (NUMBER => ?)")
    assert unbound_arguments(bind_arguments(unreadable, [1]), unreadable.text, [1]) == [1]


@pytest.mark.parametrize("sent", ["RESTORE TABLE u TO VERSION AS OF ?", "RESTORE u TO VERSION AS OF ?"])
def test_a_parameter_that_stays_keeps_its_value(sent):
    """A RESTORE that Spark runs itself still has its parameter."""
    statement = bind_arguments(parse("RESTORE TABLE u TO VERSION AS OF ?"), [3])
    assert unbound_arguments(statement, sent, [3]) == [3]


@pytest.mark.parametrize(
    ("expression", "then"),
    [
        ("current_timestamp - INTERVAL 1 DAY", "m - INTERVAL 1 DAY"),
        ("CURRENT_TIMESTAMP /* now() */ ( )", "m"),
        ("now() - f('now()')", "m - f('now()')"),
        ("s.now()", "s.now()"),
        ("now", "now"),
        ("`current_timestamp`", "`current_timestamp`"),
    ],
)
def test_another_moment_stands_for_now(expression, then):
    """Where it is called, not where a text or a name has its letters."""
    (clause,) = parse(f"SELECT * FROM t AT (TIMESTAMP => {expression})").points
    assert at_time(clause, "m").expression == then


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "NULL"),
        (True, "TRUE"),
        (-60, "-60"),
        (1.5, "CAST('1.5' AS DOUBLE)"),
        (Decimal("1.50"), "1.50BD"),
        ("a'b", "'a\\'b'"),
        (date(2024, 1, 2), "DATE '2024-01-02'"),
        (
            datetime(2024, 1, 2, 3, tzinfo=timezone(timedelta(hours=1))),
            "TIMESTAMP '2024-01-02 02:00:00+00:00'",
        ),
        (timedelta(hours=-1), "INTERVAL '-0 01:00:00.000000' DAY TO SECOND"),
        (timedelta(2, 3, microseconds=4), "INTERVAL '2 00:00:03.000004' DAY TO SECOND"),
        (object(), None),
        ([1], None),
    ],
)
def test_literals(value, said):
    """Of the type that PySpark gives the literal of such a value."""
    assert literal_sql(value) == said


def test_a_moment_without_a_zone_is_in_that_of_the_process():
    """As PySpark takes it."""
    moment = datetime(2024, 7, 1, 12)  # noqa: DTZ001
    assert literal_sql(moment) == literal_sql(moment.astimezone(UTC))
