"""Spark's SQL as DuckDB's."""

from __future__ import annotations

from datetime import datetime

import duckdb
import pytest

from audit.core.errors import QueryFailed
from audit.query.functions import MACROS
from audit.query.translation import to_duckdb

NOW = datetime.fromisoformat("2026-11-25T12:30")
TEN = datetime.fromisoformat("2026-01-01T10:00")
TIMES = {"access_history": "query_start_time", "query_history": "start_time"}


def translated(text):
    """As DuckDB's, at noon."""
    return to_duckdb(text, NOW, TIMES)


def answer(text, fields_of_lists=()):
    """What DuckDB says to it."""
    with duckdb.connect() as connection:
        for macro in MACROS:
            connection.execute(macro)
        return connection.execute(to_duckdb(text, NOW, TIMES, fields_of_lists=fields_of_lists)).fetchall()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT current_timestamp()", [(NOW,)]),
        ("SELECT now() - make_dt_interval(1, 2)", [(datetime.fromisoformat("2026-11-24T10:30"),)]),
        ("SELECT current_date()", [(NOW.date(),)]),
        ("SELECT timestamp_micros(unix_micros(TIMESTAMP '2026-01-01 10:00') DIV 10 * 10)", [(TEN,)]),
        ("SELECT get(array(7, 8), 1)", [(8,)]),
        ("SELECT arrays_overlap(array(1, 2), array(2, 3))", [(True,)]),
        ("SELECT size(array(1, 2))", [(2,)]),
        (("SELECT arrays_zip(p.x, p.y), arrays_zip(p.x, NULL)"
          " FROM (SELECT named_struct('x', array(1), 'y', array(NULL, 2)) AS p)"),
         [([{"x": 1, "y": None}, {"x": None, "y": 2}], None)]),
        ("SELECT transform(arrays_zip(a, b), o -> o.b) FROM VALUES (array(1, 2), array('c', 'd')) AS v(a, b)",
         [(["c", "d"],)]),
        ("SELECT sort_array(collect_set(a)) FROM VALUES (1), (NULL), (1), (2) AS v(a)", [([1, 2],)]),
        ("SELECT collect_list(a) FILTER (WHERE a > 1) FROM VALUES (1), (NULL), (2) AS v(a)", [([2],)]),
        ("SELECT collect_list(a) FROM VALUES (1) AS v(a) WHERE a > 1", [([],)]),
        ("SELECT collect_list(a) FILTER (WHERE a > 1) FROM VALUES (1) AS v(a)", [([],)]),
        ("SELECT sort_array(map_keys(from_json('{\"b\": {\"c\": 1}, \"a\": 2}', 'map<string,string>')))",
         [(["a", "b"],)]),
        (("SELECT o.* FROM VALUES ('[{\"table\": 1, \"z\": 2}, {}]'), ('no json') AS v(a)"
          " LATERAL VIEW explode(from_json(a, 'array<struct<`table`:int,b:string>>')) AS o ORDER BY 1"),
         [(None, None), (1, None)]),
        ("SELECT get_json_object('{\"a\": {\"b\": \"x\"}}', '$.a.b')", [("x",)]),
        ("SELECT o.x FROM VALUES (array(named_struct('x', 1))) AS v(a) LATERAL VIEW explode(a) AS o", [(1,)]),
        ("SELECT o FROM VALUES (array()), (array(5)) v(l) LATERAL VIEW OUTER explode(l) AS o ORDER BY 1",
         [(None,), (5,)]),
        ("SELECT filter(array(1, 2, 3), x -> x > 1)", [([2, 3],)]),
        ("SELECT exists(array(1, 2), x -> x = 2), transform(array(1), x -> x + 1)", [(True, [2])]),
        ("SELECT a FROM VALUES (2), (NULL), (1) AS v(a) ORDER BY a", [(None,), (1,), (2,)]),
        ("SELECT count_if(a > 1), bool_or(a > 1), max_by(a, a) FROM VALUES (1), (2) AS v(a)", [(1, True, 2)]),
        ("SELECT count_if(CASE WHEN a > 9 THEN true END) FROM VALUES (1), (2) AS v(a)", [(0,)]),
        ("SELECT count_if(a > 1), count_if(a > 1) FILTER (WHERE a > 0) FROM VALUES (1) AS v(a) WHERE a > 9",
         [(0, 0)]),
        ("SELECT date_trunc('HOUR', TIMESTAMP '2026-01-01 10:11:12')", [(TEN,)]),
        ("SELECT if(1 > 2, 'a', 'b'), 'a' RLIKE '^a', nvl(NULL, 1)", [("b", True, 1)]),
    ],
)  # fmt: skip
def test_functions(text, rows):
    """Those of Spark that the samples and views use, and that people who know Spark would write."""
    assert answer(text) == rows


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("SELECT * FROM account_usage.access_history WHERE query_start_time >= '2026-11-20'",
         ["query_date >= CAST('2026-11-20' AS DATE)"]),
        ("SELECT * FROM account_usage.access_history WHERE '2026-11-20' < query_start_time",
         ["query_date >= CAST('2026-11-20' AS DATE)"]),
        ("SELECT * FROM account_usage.query_history q WHERE q.start_time BETWEEN '2026-11-20' AND now()",
         ["q.query_date >= CAST('2026-11-20' AS DATE)", "q.query_date <= CAST(CAST('2026-11-25"]),
        ("SELECT 1 FROM account_usage.access_history a, mine.q WHERE a.query_start_time > '2026-11-20'",
         ["a.query_date >= CAST('2026-11-20' AS DATE)"]),
        ("WITH c AS (SELECT * FROM account_usage.query_history WHERE start_time = '2026-11-20') FROM c",
         ["query_date = CAST('2026-11-20' AS DATE)"]),
        # Not told which table the time is of, or it is not the one that the days are made of.
        ("SELECT 1 FROM account_usage.query_history, account_usage.statements WHERE start_time > '2'", []),
        ("SELECT * FROM account_usage.query_history WHERE end_time > '2026-11-20'", []),
        ("SELECT * FROM mine.query_history WHERE start_time > '2026-11-20'", []),
        ("SELECT * FROM account_usage.query_history WHERE start_time > end_time", []),
        ("WITH query_history AS (SELECT 1 AS start_time) FROM query_history WHERE start_time > 0", []),
    ],
)  # fmt: skip
def test_a_bound_on_the_time_bounds_the_day(text, days):
    """The tables are partitioned by it: files of other days are not opened."""
    found = translated(text)
    assert [one for one in days if one not in found] == []
    assert found.count("query_date") == len(days)


_LEFT = "(SELECT * FROM VALUES (1, array(5, 6)), (2, array())) AS a(id, items)"
_RIGHT = "(SELECT * FROM VALUES (1, array(array(7), array(8, 9)))) AS b(id, lists)"


@pytest.mark.parametrize(
    ("joined", "unnested", "rows"),
    [
        (f"SELECT a.id, o FROM {_LEFT} JOIN {_RIGHT} ON A.id = b.id LATERAL VIEW explode(A.items) AS o",
         True, [(1, 5), (1, 6)]),
        ((f"SELECT a.id, o FROM {_LEFT} LEFT JOIN {_RIGHT} ON a.id = b.id"
          " LATERAL VIEW OUTER explode(a.items) AS o"), True, [(1, 5), (1, 6), (2, None)]),
        ((f"SELECT a.id, o FROM {_LEFT} JOIN {_RIGHT} ON a.id = b.id LATERAL VIEW explode(b.lists) AS l"
          " LATERAL VIEW explode(l) AS o"), True, [(1, 7), (1, 8), (1, 9)]),
        # Rows without a partner have one element, NULL; with a star the order of columns counts.
        ((f"SELECT a.id, l FROM {_LEFT} LEFT JOIN {_RIGHT} ON a.id = b.id"
          " LATERAL VIEW OUTER explode(b.lists) AS l"), False, [(1, [7]), (1, [8, 9]), (2, None)]),
        (f"SELECT * FROM {_LEFT} JOIN {_RIGHT} ON a.id = b.id LATERAL VIEW explode(a.items) AS o WHERE o = 5",
         False, [(1, [5, 6], 1, [[7], [8, 9]], 5)]),
        ((f"SELECT a.id, o FROM {_LEFT} JOIN {_RIGHT} ON a.id = b.id"
          " LATERAL VIEW explode(concat(a.items, flatten(b.lists))) AS o WHERE o > 6"),
         False, [(1, 7), (1, 8), (1, 9)]),
        # All columns of one table, which has no element in Spark; and names that could be meant otherwise.
        (f"SELECT DISTINCT a.* FROM {_LEFT} JOIN {_RIGHT} ON a.id = b.id LATERAL VIEW explode(a.items) AS o",
         False, [(1, [5, 6])]),
        (f"SELECT a.* FROM {_LEFT} LATERAL VIEW explode(a.items) AS o", False, [(1, [5, 6]), (1, [5, 6])]),
        (f"SELECT t.o FROM {_LEFT} JOIN {_RIGHT} ON a.id = b.id LATERAL VIEW explode(a.items) t AS o",
         False, [(5,), (6,)]),
        ((f"SELECT a.id, w FROM {_LEFT} JOIN (SELECT 1 AS w) AS c ON w = a.id"
          " LATERAL VIEW explode(a.items) AS z"),
         True, [(1, 1), (1, 1)]),
        ((f"SELECT a.id, z FROM {_LEFT} JOIN (SELECT 1 AS z) AS c ON z = a.id"
          " LATERAL VIEW explode(a.items) AS y"), True, [(1, 1), (1, 1)]),
        (f"SELECT count(*) FROM {_LEFT} NATURAL JOIN {_RIGHT} LATERAL VIEW explode(a.items) AS lists",
         False, [(2,)]),
        ((f"SELECT a.id, e FROM {_LEFT} JOIN (SELECT 1 AS id) AS items ON a.id = items.id"
          " LATERAL VIEW explode(a.items) AS e"), True, [(1, 5), (1, 6)]),
        (("SELECT id, y FROM (SELECT id, x FROM (SELECT * FROM VALUES (1, array(array(5)))) AS a(id, lists)"
          " LATERAL VIEW explode(lists) AS x) LATERAL VIEW explode(x) AS y"), True, [(1, 5)]),
        (f"SELECT b.id, o FROM {_LEFT} FULL JOIN {_RIGHT} ON a.id = b.id LATERAL VIEW explode(a.items) AS o",
         False, [(1, 5), (1, 6)]),
    ],
)  # fmt: skip
def test_arrays_of_joined_tables(joined, unnested, rows):
    """In the table that has them, where that gives the same rows: no filter gets below a lateral join."""
    assert answer(f"{joined} ORDER BY ALL") == rows
    assert ("CROSS JOIN UNNEST" not in translated(joined)) == unnested


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DROP TABLE account_usage.query_history", "DROP is no query"),
        ("INSERT INTO account_usage.query_history SELECT 1", "INSERT is no query"),
        ("SELECT FROM WHERE", "the query has a mistake"),
        ("COPY x TO '/tmp/y'", "COPY"),
        ("SELECT 1; SELECT 2", "several queries"),
    ],
)
def test_what_is_no_query(text, said):
    """Nothing is changed by `audit query`."""
    with pytest.raises(QueryFailed, match=said):
        translated(text)


_ARRAYS = "(SELECT array(named_struct('columnName', 'a'), named_struct('columnName', 'b')) AS columns)"
_NESTED = "array(named_struct('columns', columns))"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"SELECT columns.columnName FROM {_ARRAYS}", ["a", "b"]),
        (f"SELECT t.columns.columnName FROM {_ARRAYS} t", ["a", "b"]),
        (f"SELECT T.Columns.COLUMNNAME FROM {_ARRAYS} t", ["a", "b"]),
        (f"SELECT max(C.columnName) FROM {_ARRAYS} LATERAL VIEW explode(columns) AS c", "b"),
        (f"SELECT array_contains(columns.columnName, 'b') FROM {_ARRAYS}", True),
        (f"SELECT exists({_NESTED}, o -> o.columns.columnName = array('a', 'b')) FROM {_ARRAYS}", True),
        (f"SELECT get({_NESTED}, 0).columns.columnName FROM {_ARRAYS}", ["a", "b"]),
        (f"SELECT max(columns.columnName) FROM (SELECT explode(columns) AS columns FROM {_ARRAYS})", "b"),
        (f"SELECT max(c.columnName) FROM {_ARRAYS} LATERAL VIEW explode(columns) AS c", "b"),
        ("SELECT columns.column_name FROM (SELECT 'a' AS column_name) AS columns", "a"),
    ],
)  # fmt: skip
def test_a_field_of_an_array_of_structs(text, found):
    """An array of the fields, as in Spark; of an element it is the field."""
    assert answer(text, {("columns", "columnname"), ("objects", "columns")}) == [(found,)]
