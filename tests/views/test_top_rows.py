"""`ORDER BY … LIMIT n` over audit tables gives the same rows where Spark chooses them early."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager

import pytest

from audit.query.tables import TIMES
from tests.views.three_days import ASKED, OF_ALL_DAYS, SCHEMA

pytestmark = pytest.mark.spark

RULE = "io.sparkaccesshistory.reading.TopRowsRule"
EXCLUDED = "spark.sql.optimizer.excludedRules"
LOOKED_AT = "system_access_table_lineage"


@contextmanager
def without_rule(spark):
    """Spark's own plans."""
    spark.conf.set(EXCLUDED, RULE)
    try:
        yield
    finally:
        spark.conf.unset(EXCLUDED)


def rows(spark, text):
    """The rows of an answer, as text: maps and arrays in a row cannot be counted."""
    return [repr(row) for row in spark.sql(text).collect()]


def assert_first(spark, select, orders, numbers):
    """The first rows of a question, of which Spark may choose any that stand equal in an order."""
    with without_rule(spark):
        every = Counter(rows(spark, select))
    for order in orders:
        keys = f"SELECT struct({', '.join(part.split()[0] for part in order)})"
        ordered = ", ".join(order)
        with without_rule(spark):
            sorted_keys = rows(spark, f"{keys} FROM ({select}) ORDER BY {ordered} LIMIT {max(numbers)}")
        for number in numbers:
            top = f"{select} ORDER BY {ordered} LIMIT {number}"
            assert rows(spark, f"{keys} FROM ({top})") == sorted_keys[:number]
            found = Counter(rows(spark, top))
            assert found.total() == min(number, every.total())
            assert found <= every


def plan(spark, text):
    """The optimised plan of a question."""
    return spark.sql(text)._jdf.queryExecution().optimizedPlan().toString()


@pytest.mark.parametrize("name", sorted({*ASKED, *OF_ALL_DAYS}))
def test_of_each_view(three_days, name):
    """Newest first, and oldest first."""
    when = TIMES[name]
    select = f"SELECT * FROM {SCHEMA}.{name} WHERE query_date = DATE'2025-01-02'"
    assert_first(three_days, select, [[f"{when} DESC"], [when, "query_date DESC"]], [7])


SELECTS = {
    "columns over a part without rows": (
        "SELECT upper(user_name) AS u, query_start_time AS t FROM access_history WHERE false"
        " UNION ALL SELECT lower(user_name), query_start_time FROM access_history"
    ),
    "a union in a union": (
        "SELECT concat(u, '!') AS u, t FROM (SELECT user_name AS u, start_time AS t FROM query_history"
        " UNION ALL (SELECT upper(user_name), query_start_time FROM access_history"
        " UNION ALL SELECT user_name || '?', query_start_time FROM access_history"
        " WHERE user_name > 'user_2'))"
    ),
    "a column that is worked out orders a part": (
        "SELECT user_name AS u, start_time AS t FROM query_history"
        " UNION ALL SELECT user_name, query_start_time + INTERVAL 1 HOUR FROM access_history"
    ),
    "rows on the left of a join that stay more than once": (
        "SELECT a.user_name || b.user_name AS u, a.query_start_time AS t FROM access_history a"
        " LEFT JOIN (SELECT * FROM query_history WHERE query_type = 'INSERT') b"
        " ON b.session_id = a.session_id"
    ),
    "the right side of a join orders": (
        "SELECT a.user_name || 'x' AS u, b.start_time AS t FROM access_history a"
        " LEFT JOIN (SELECT * FROM query_history WHERE query_type = 'INSERT') b ON b.query_id = a.query_id"
    ),
    "a right join": (
        "SELECT a.user_name || 'x' AS u, a.query_start_time AS t FROM access_history a"
        " RIGHT JOIN query_history b ON b.query_id = a.query_id AND b.query_type = 'SELECT'"
    ),
    "columns of a DISTINCT": (
        "SELECT upper(u) AS u, t"
        " FROM (SELECT DISTINCT user_name AS u, query_start_time AS t FROM access_history)"
    ),
    "columns of sums": (
        "SELECT upper(user_name) || count(*) AS u, max(query_start_time) AS t FROM access_history"
        " GROUP BY user_name"
    ),
    "groups by lists": (
        "SELECT base_objects_accessed.objectName AS u, t, count(*) AS n FROM (SELECT *,"
        " date_trunc('hour', query_start_time) AS t FROM access_history) GROUP BY t, base_objects_accessed"
    ),
    "rows with lists": "SELECT base_objects_accessed AS u, query_start_time AS t FROM access_history",
    "rows with lists and times that are null": (
        "SELECT base_objects_accessed AS u, if(user_name < 'user_2', NULL, query_start_time) AS t"
        " FROM access_history"
    ),
    "groups by lists and times that are null": (
        "SELECT base_objects_accessed AS u, if(user_name < 'user_2', NULL, query_start_time) AS t,"
        " count(*) AS n FROM access_history GROUP BY ALL"
    ),
    "the first rows of first rows": (
        "SELECT upper(u) AS u, t FROM (SELECT concat(user_name, query_id) AS u, start_time AS t"
        " FROM query_history ORDER BY start_time, query_id LIMIT 20)"
    ),
    "exploded rows": (
        "SELECT upper(o.objectName) AS u, query_start_time AS t FROM access_history"
        " LATERAL VIEW explode(direct_objects_accessed) AS o WHERE o.objectDomain = 'Table'"
    ),
    "times that are null": (
        "SELECT upper(user_name) AS u, if(user_name < 'user_2', NULL, start_time) AS t FROM query_history"
        " UNION ALL SELECT user_name, CAST(NULL AS TIMESTAMP) FROM access_history WHERE user_name > 'user_5'"
    ),
}


@pytest.mark.parametrize("what", SELECTS)
def test_of_each_shape(three_days, what):
    """Shapes that no view has, too."""
    three_days.sql(f"USE {SCHEMA}")
    try:
        orders = (["t DESC"], ["t DESC NULLS FIRST", "u"])
        assert_first(three_days, f"SELECT * FROM ({SELECTS[what]})", orders, [7, 10_000])
    finally:
        three_days.sql("USE default")


def test_columns_are_worked_out_for_the_rows_that_stay(three_days):
    """Below each choice of rows no column is worked out any more, in no part of the view."""
    top = f"SELECT * FROM {SCHEMA}.{LOOKED_AT} ORDER BY event_time DESC LIMIT 5"
    _, *below = plan(three_days, top).split("Sort [")
    assert len(below) == 3
    parts = [part.split("GlobalLimit")[0] for part in below]
    assert not any("regexp_extract" in part for part in parts)
    with without_rule(three_days):
        _, own = plan(three_days, top).split("Sort [")
    assert "regexp_extract" in own


OTHERS = {
    "a table of users": "SELECT upper(name) AS name, at FROM other ORDER BY at DESC LIMIT 5",
    "a table of users beside one of the audit": (
        "SELECT upper(o.name) AS name, start_time FROM query_history q LEFT JOIN other o"
        " ON o.name = q.user_name ORDER BY start_time DESC LIMIT 5"
    ),
    "too many rows": (
        "SELECT upper(user_name) AS name, start_time FROM query_history ORDER BY start_time DESC LIMIT 10001"
    ),
    "all rows": "SELECT upper(user_name) AS name, start_time FROM query_history ORDER BY start_time DESC",
    "columns that are others each time": (
        "SELECT user_name || rand(1) AS name, start_time FROM query_history ORDER BY start_time DESC LIMIT 5"
    ),
    "an order by what is worked out": (
        "SELECT user_name, start_time + INTERVAL 1 DAY AS t FROM query_history ORDER BY t DESC LIMIT 5"
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_plans_stay_as_they_are(three_days, what):
    """Spark plans them as without the rule."""
    text = OTHERS[what]
    three_days.sql(f"USE {SCHEMA}")
    three_days.range(3).selectExpr("'a' AS name", "timestamp_micros(id) AS at").createOrReplaceTempView(
        "other"
    )
    try:
        found = plan(three_days, text)
        with without_rule(three_days):
            assert shape(found) == shape(plan(three_days, text))
    finally:
        three_days.sql("USE default")
        three_days.catalog.dropTempView("other")


def shape(text):
    """The operators of a plan."""
    return [line.lstrip(" :+-").split(" ")[0] for line in text.splitlines()]


def test_rows_with_lists_are_chosen_by_their_time(three_days):
    """Spark asks for the times alone first, then for the rows from one of them on."""
    found = plan(three_days, f"SELECT * FROM {SCHEMA}.access_history ORDER BY query_start_time DESC LIMIT 5")
    narrow = f"SELECT query_id, query_start_time FROM {SCHEMA}.access_history"
    assert "scalar-subquery" in found
    assert "scalar-subquery" not in plan(three_days, f"{narrow} ORDER BY query_start_time DESC LIMIT 5")
