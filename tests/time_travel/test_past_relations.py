"""What stands at a point in time is what Spark resolves there: tables at rest, views of every kind."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

import audit
from audit.testing import records
from audit.time_travel import errors
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES

SHORT = ("a_query_of_with_is_named_as_the_table", "a_scalar_function_reads", "a_hint", "by_identifier")
VIEWS = {
    "a_query_of_with_is_named_as_the_table": "WITH t AS (SELECT a + 10 AS a FROM t) SELECT a FROM t",
    "a_query_of_with_is_read_twice": "WITH q AS (SELECT a FROM t) SELECT q.a FROM q JOIN q AS r ON q.a = r.a",
    "a_scalar_function_reads": "SELECT u.a, biggest() AS m FROM u WHERE u.a <= biggest()",
    "a_table_function_reads": "SELECT * FROM rows_from(0)",
    "a_hint": "SELECT /*+ BROADCAST(u) */ t.a, u.c FROM t JOIN u ON t.a = u.a",
    "by_identifier": "SELECT a FROM IDENTIFIER('t')",
    "by_table": "TABLE t",
    "constants": "SELECT t.a, x.n FROM t CROSS JOIN VALUES (1), (2) AS x(n) JOIN range(1) ON TRUE",
    "subqueries": (
        "SELECT a, (SELECT max(x.b) FROM t x WHERE x.a = y.a) AS m FROM t y"
        " WHERE EXISTS (SELECT 1 FROM u WHERE u.a = y.a)"
    ),
    "by_lateral": "SELECT y.a, z.b FROM u y, LATERAL (SELECT b FROM t WHERE t.a = y.a) z",
    "a_pipe": "FROM t |> WHERE a > 0 |> SELECT a",
    "metadata_of_files": "SELECT a, _metadata.file_name IS NOT NULL AS f FROM t",
    "a_version_of_its_own": "SELECT x.a, y.a AS b FROM t VERSION AS OF 1 x JOIN u y ON TRUE",
    "a_view": "SELECT a + 1 AS a FROM a_query_of_with_is_named_as_the_table",
}


def rows(session, sql, **named):
    """As tuples, in order."""
    return sorted((tuple(row) for row in session.sql(sql, **named).collect()), key=str)


def tables_and_views(session, schema, views):
    """Tables and views, what these have shown, and the moment; then the tables change."""
    session.sql(f"CREATE SCHEMA {schema}")
    session.sql(f"USE {schema}")
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    session.sql("CREATE TABLE u (a INT, c STRING)")
    session.sql("INSERT INTO u VALUES (1, 'u1')")
    session.sql(f"CREATE FUNCTION biggest() RETURNS INT RETURN (SELECT max(a) FROM {schema}.t)")
    session.sql(
        "CREATE FUNCTION rows_from(n INT) RETURNS TABLE (a INT, b STRING)"
        f" RETURN SELECT a, b FROM {schema}.t WHERE a >= n"
    )
    for name in views:
        session.sql(f"CREATE VIEW {name} AS {VIEWS[name]}")
    session.table("t").selectExpr("a * 100 AS h").createOrReplaceTempView("frame")
    names = [*views, "frame"]
    if len(views) == len(VIEWS):
        place = session.sql("DESCRIBE DETAIL t").first().location
        session.sql(f"CREATE VIEW by_path AS SELECT a FROM delta.`{place}`")
        session.read.load(place).createOrReplaceGlobalTempView("everywhere")
        session.sql(f"CREATE TEMPORARY VIEW over_frame AS SELECT t.a, h FROM frame JOIN {schema}.t ON TRUE")
        names += ["by_path", "global_temp.everywhere", "over_frame"]
    shown = {name: rows(session, f"SELECT * FROM {name}") for name in names}
    then = max(session.sql(f"DESCRIBE HISTORY {name}").first().timestamp for name in ("t", "u"))
    session.sql("INSERT INTO t VALUES (2, 'y')")
    session.sql("UPDATE t SET b = 'z' WHERE a = 1")
    session.sql("INSERT INTO u VALUES (2, 'u2')")
    return shown, f"AT (TIMESTAMP => '{then.isoformat(sep=' ')}')"


@pytest.fixture(scope="module")
def past(session):
    """Some views."""
    yield tables_and_views(session, "past", SHORT)
    session.sql("USE default")
    session.sql("DROP VIEW frame")
    session.sql("DROP SCHEMA past CASCADE")


def _read_at_the_point(session, shown, point):
    found = {name: rows(session, f"SELECT * FROM {name} {point}") for name in shown}
    assert found == shown
    changed = {name for name in shown if rows(session, f"SELECT * FROM {name}") != shown[name]}
    assert changed == set(shown)


def test_views_are_read_at_the_point(session, past):
    """Whatever their text says, and if they have none."""
    _read_at_the_point(session, *past)


@pytest.mark.long("eighteen views; five are in the test above")
def test_every_view_is_read_at_the_point(session, past):
    """Whatever its text says, and if it has none."""
    shown, point = tables_and_views(session, "past_of_all", VIEWS)
    try:
        _read_at_the_point(session, shown, point)
    finally:
        session.sql("DROP VIEW over_frame")
        session.sql("DROP VIEW global_temp.everywhere")
        session.sql("DROP SCHEMA past_of_all CASCADE")
        session.sql("USE past")
        session.table("t").selectExpr("a * 100 AS h").createOrReplaceTempView("frame")


def test_a_view_stands_everywhere_a_table_can(session, past):
    """Beside itself, in WITH, a subquery, MERGE, a script, EXECUTE IMMEDIATE and EXPLAIN."""
    _, point = past
    view = "by_identifier"
    assert rows(session, f"SELECT x.a, y.a FROM {view} {point} x JOIN {view} y ON x.a < y.a") == [(1, 2)]
    assert rows(
        session,
        f"WITH c AS (SELECT * FROM {view} {point}) SELECT c.a, (SELECT max(a) FROM t {point}) FROM c"
        f" WHERE a IN (SELECT a FROM {view} {point})",
    ) == [(1, 1)]
    session.sql(f"CREATE TABLE kept AS SELECT * FROM {view} {point}")
    session.sql(f"MERGE INTO kept USING {view} {point} AS s ON kept.a = s.a WHEN MATCHED THEN DELETE")
    session.sql(f"INSERT INTO kept SELECT a + 5 FROM {view} {point}")
    assert rows(session, "SELECT * FROM kept") == [(6,)]
    quoted = point.replace("'", "\\'")
    assert rows(session, f"EXECUTE IMMEDIATE 'SELECT a FROM {view} {quoted}'") == [(1,)]
    script = f"BEGIN DECLARE n INT; SET n = (SELECT max(a) FROM {view} {point}); SELECT n; END"
    assert rows(session, script) == [(1,)]
    assert "PreparedDeltaFileIndex" in session.sql(f"EXPLAIN SELECT * FROM {view} {point}").first()[0]


def test_the_record_says_the_versions_below_a_view(session, past):
    """The view is what was accessed, its tables what was read, at the version that was read."""
    _, point = past
    text = f"SELECT a, m FROM a_scalar_function_reads {point}"
    session.sql(text).collect()
    (found,) = [one for one in records(session) if one.query.query_text == text]
    (access,) = found.access
    read = {(one.objectName, one.version) for one in access.object_versions}
    assert read == {("spark_catalog.past.t", 1), ("spark_catalog.past.u", 1)}
    assert [one.objectName for one in access.direct_objects_accessed] == [
        "spark_catalog.past.a_scalar_function_reads"
    ]


@pytest.mark.parametrize(
    ("view", "error", "text"),
    [
        ("in_memory", errors.NoHistoryError, "the view in_memory reads rows of Spark's"),
        ("over_parquet", errors.NoHistoryError, r"over_parquet reads spark_catalog\.past\.p, which has no"),
        ("nothing", PySparkException, "nothing"),
    ],
)
def test_what_has_no_past_is_refused(session, past, view, error, text):
    """By the view's name and what it reads; never are rows of today in it."""
    session.createDataFrame([(1,)], ["a"]).createOrReplaceTempView("in_memory")
    session.sql("CREATE TABLE IF NOT EXISTS p USING parquet AS SELECT 1 AS a")
    session.sql("CREATE OR REPLACE VIEW over_parquet AS SELECT t.a FROM t JOIN p ON TRUE")
    with pytest.raises(error, match=text):
        session.sql(f"SELECT * FROM {view} {past[1]}")
    session.sql("DROP VIEW in_memory")


def test_a_text_that_is_kept_has_numbers(session, past):
    """A view over a table's past works anywhere; one over a view's past would have to keep its text."""
    session.sql(f"CREATE VIEW of_then AS SELECT a FROM t {past[1]}")
    assert "VERSION AS OF 1" in session.sql("SHOW CREATE TABLE of_then").first()[0]
    assert rows(session, "SELECT * FROM of_then") == [(1,)]
    for create in ("CREATE VIEW w AS", "CREATE FUNCTION f() RETURNS TABLE (a INT) RETURN"):
        with pytest.raises(errors.BadClauseError, match="keeps its text, and by_identifier is a view"):
            session.sql(f"{create} SELECT a FROM by_identifier {past[1]}")


def test_columns_of_a_replaced_table_are_its_own(session, schema):
    """REPLACE makes another table: nothing is NULL or cut off, and a view says what it cannot show."""
    session.sql("CREATE TABLE r (a DOUBLE, b STRING)")
    session.sql("INSERT INTO r VALUES (1.5, 'x')")
    session.sql("CREATE VIEW seen AS SELECT b FROM r")
    session.sql(
        "CREATE OR REPLACE TABLE r (a INT, b STRING, c INT)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    session.sql("CREATE VIEW numbers AS SELECT a, b FROM r")
    frame = session.sql("SELECT * FROM r AT (VERSION => 1)")
    assert (frame.columns, [tuple(row) for row in frame.collect()]) == (["a", "b"], [(1.5, "x")])
    assert rows(session, "SELECT * FROM seen AT (VERSION => 1)") == [("x",)]
    assert rows(session, "SELECT b FROM numbers AT (VERSION => 1)") == [("x",)]
    with pytest.raises(PySparkException, match=r"column `a` of spark_catalog.*r at version 1 is DOUBLE"):
        session.sql("SELECT a FROM numbers AT (VERSION => 1)").collect()


def test_a_type_that_cannot_hold_old_values(session, schema):
    """Without a REPLACE, too: overwriteSchema keeps the table and changes a type."""
    session.sql("CREATE TABLE o (a DOUBLE)")
    session.sql("INSERT INTO o VALUES (1.5)")
    session.sql("SELECT 1 AS a").write.mode("overwrite").option("overwriteSchema", "true").saveAsTable("o")
    assert rows(session, "SELECT * FROM o AT (VERSION => 1)") == [(1.5,)]


def test_policies_hold_below_a_view_of_the_past(session, schema):
    """Who may not see a table's past does not see it through a view either."""
    session.sql("CREATE TABLE secret (id INT, name STRING)")
    session.sql("INSERT INTO secret VALUES (1, 'ann')")
    session.sql("CREATE VIEW shown AS SELECT id, name FROM secret")
    session.sql("CREATE MASKING POLICY hide AS (v STRING) RETURNS STRING -> '***'")
    session.sql("ALTER TABLE secret ALTER COLUMN name SET MASKING POLICY hide")
    session.sql("INSERT INTO secret VALUES (2, 'bob')")
    with audit.as_user(session, "mallory"):
        for asked in ("shown AT (OFFSET => 0)", "shown AT (VERSION => 1)", "secret AT (VERSION => 1)"):
            try:
                found = rows(session, f"SELECT name FROM {asked}")
            except PySparkException as error:
                found = str(error)
            assert "ann" not in str(found)
            assert found in ([("***",)], [("***",), ("***",)]) or "secret" in found


def test_a_policy_of_a_view_holds_in_its_past(session, schema):
    """The view itself is in the plan: its own policies are, too, in every form of a point."""
    session.sql("CREATE TABLE open_table (id INT, name STRING)")
    session.sql("INSERT INTO open_table VALUES (1, 'ann')")
    session.sql("CREATE VIEW veiled AS SELECT id, name FROM open_table")
    session.sql("INSERT INTO open_table VALUES (2, 'bob')")
    session.sql("CREATE MASKING POLICY hide AS (v STRING) RETURNS STRING -> '***'")
    session.sql("ALTER VIEW veiled ALTER COLUMN name SET MASKING POLICY hide")
    session.sql("CREATE ROW ACCESS POLICY first AS (i INT) RETURNS BOOLEAN -> i = 1")
    session.sql("ALTER VIEW veiled ADD ROW ACCESS POLICY first ON (id)")
    session.sql("CREATE VIEW over AS SELECT id, name FROM veiled")
    with audit.as_user(session, "mallory"):
        session.sql("CREATE TEMPORARY VIEW mine AS SELECT * FROM veiled")
        for view in ("veiled", "over", "mine"):
            for form in ("", " VERSION AS OF 2", "@v2", " AT (OFFSET => 0)", " AT (VERSION => 2)"):
                assert rows(session, f"SELECT * FROM {view}{form}") == [(1, "***")], (view, form)
        session.sql("DROP VIEW mine")
