"""AT | BEFORE on an audited session: what it reads, and what it says when it cannot."""

from __future__ import annotations

import pytest

import audit
from audit.testing import records
from audit.time_travel import errors

pytestmark = pytest.mark.spark


@pytest.fixture
def told(session, schema):
    """A table of three versions: empty, one row, two; and the ids of the statements that wrote the rows."""
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("INSERT INTO t VALUES (1, 'x')")
    session.sql("INSERT INTO t VALUES (2, 'y')")
    history = session.sql("DESCRIBE HISTORY t").collect()
    commits = {row.version: row for row in history}
    assert sorted(commits) == [0, 1, 2]
    return commits


def rows(session, sql):
    """As tuples, in order."""
    return sorted(tuple(row) for row in session.sql(sql).collect())


def test_statement(session, told):
    """AT includes what a statement wrote, BEFORE does not; the id stands in Delta's own log."""
    first, second = told[1].userMetadata, told[2].userMetadata
    assert rows(session, f"SELECT a FROM t AT (STATEMENT => '{first}')") == [(1,)]
    assert rows(session, f"SELECT a FROM t BEFORE (STATEMENT => '{first}')") == []
    assert rows(session, f"SELECT a FROM t BEFORE (STATEMENT => '{second}')") == [(1,)]
    with pytest.raises(
        errors.BeforeCreationError, match=r"spark_catalog.statement.t was created by statement"
    ):
        session.sql(f"SELECT a FROM t BEFORE (STATEMENT => '{told[0].userMetadata}')")


def test_timestamp_and_offset(session, told):
    """A commit's own time belongs to it; BEFORE it is the version before."""
    at = told[1].timestamp.isoformat(sep=" ")
    assert rows(session, f"SELECT a FROM t AT (TIMESTAMP => '{at}')") == [(1,)]
    assert rows(session, f"SELECT a FROM t BEFORE (TIMESTAMP => '{at}'::timestamp_tz)") == []
    assert rows(session, "SELECT a FROM t AT (OFFSET => 0)") == [(1,), (2,)]
    assert rows(session, "SELECT a FROM t TIMESTAMP AS OF current_timestamp()") == [(1,), (2,)]
    session.sql("DECLARE OR REPLACE VARIABLE then TIMESTAMP")
    session.sql(f"SET VAR then = TIMESTAMP '{at}'")
    assert rows(session, "SELECT a FROM t AT (TIMESTAMP => then)") == [(1,)]


def test_everywhere(session, told):
    """Joins, CTEs, subqueries, INSERT … SELECT, MERGE, CTAS."""
    point = f"AT (STATEMENT => '{told[1].userMetadata}')"
    assert rows(session, f"SELECT x.a, y.a FROM t {point} x JOIN t y ON x.a < y.a") == [(1, 2)]
    assert rows(session, f"WITH c AS (SELECT * FROM t {point}) SELECT a FROM c") == [(1,)]
    assert rows(session, f"SELECT a FROM t WHERE a NOT IN (SELECT a FROM t {point})") == [(2,)]
    session.sql(f"CREATE TABLE copy AS SELECT * FROM t {point}")
    session.sql(f"INSERT INTO copy SELECT a + 10, b FROM t {point}")
    session.sql(
        f"MERGE INTO copy USING t {point} AS s ON copy.a = s.a WHEN MATCHED THEN UPDATE SET b = 'merged'"
    )
    assert rows(session, "SELECT * FROM copy") == [(1, "merged"), (11, "x")]


def test_views(session, told):
    """Each table below a view is read at that point, through views over views and CTEs."""
    session.sql("CREATE VIEW v AS WITH q AS (SELECT * FROM t) SELECT a AS k FROM q JOIN t USING (a)")
    session.sql("CREATE VIEW w (n) AS SELECT k FROM v WHERE k > 0")
    session.sql("CREATE TEMPORARY VIEW tv AS SELECT n FROM w")
    point = f"AT (STATEMENT => '{told[1].userMetadata}')"
    assert rows(session, f"SELECT w.n FROM w {point}") == [(1,)]
    assert rows(session, f"SELECT n FROM tv {point} AS z") == [(1,)]
    session.sql("DROP VIEW tv")


def test_columns(session, told):
    """The document's form gives today's columns, Spark's those of then."""
    session.sql("ALTER TABLE t ADD COLUMN (c STRUCT<d: INT>)")
    session.sql("INSERT INTO t VALUES (3, 'z', named_struct('d', 9))")
    point = f"AT (STATEMENT => '{told[1].userMetadata}')"
    assert rows(session, f"SELECT t.a, t.b, t.c FROM t {point}") == [(1, "x", None)]
    assert session.sql("SELECT * FROM t VERSION AS OF 1").columns == ["a", "b"]
    assert session.sql("SELECT * FROM t@v1").columns == ["a", "b"]


def test_renamed_columns(session, schema):
    """By column mapping a column is the same under its new name; a dropped one is gone, the past's, too."""
    session.sql("CREATE TABLE m (a INT, b STRING) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    session.sql("INSERT INTO m VALUES (1, 'x')")
    session.sql("ALTER TABLE m RENAME COLUMN a TO k")
    session.sql("ALTER TABLE m DROP COLUMN b")
    session.sql("ALTER TABLE m ADD COLUMN a STRING")
    version_1 = session.sql("DESCRIBE HISTORY m").where("version = 1").collect()[0].userMetadata
    frame = session.sql(f"SELECT * FROM m AT (STATEMENT => '{version_1}')")
    assert (frame.columns, [tuple(row) for row in frame.collect()]) == (["k", "a"], [(1, None)])


def test_a_statement_on_record(session, told):
    """Any that has ended is a point: a SELECT, of another table, a script and what it ran, a failure, DDL."""
    session.sql("CREATE TABLE other AS SELECT 1 AS one")
    session.sql("CREATE VIEW both AS SELECT a, one FROM t JOIN other ON TRUE")
    texts = {
        "read": "SELECT max(a) FROM t",
        "old": "SELECT min(a) FROM t VERSION AS OF 1",
        "third": "INSERT INTO t VALUES (3, 'z')",
        "none": "INSERT INTO t SELECT * FROM t WHERE false",
        "script": "BEGIN INSERT INTO t VALUES (4, 'w'); INSERT INTO other VALUES (2); END",
        "immediate": "EXECUTE IMMEDIATE 'INSERT INTO t VALUES (5, \\'v\\')'",
        "layout": "OPTIMIZE t",
        "elsewhere": "INSERT INTO other VALUES (3)",
    }
    for text in texts.values():
        session.sql(text).collect()
    with pytest.raises(Exception, match="NOT_FOUND"):
        session.sql("INSERT INTO t SELECT * FROM nothing")
    # A mark of the user's own in the commit takes the place of ours.
    session.conf.set("spark.databricks.delta.commitInfo.userMetadata", "mine")
    marked = "INSERT INTO t VALUES (6, 'own')"
    session.sql(marked)
    session.conf.unset("spark.databricks.delta.commitInfo.userMetadata")
    session.sql("ALTER TABLE t RENAME TO renamed")
    ids = {one.query.query_text: one.query.query_id for one in records(session)}
    inner = "INSERT INTO t VALUES (5, 'v')"
    found = {}
    for name, text in {
        **texts, "failed": "INSERT INTO t SELECT * FROM nothing", "marked": marked, "inner": inner,
    }.items():  # fmt: skip
        for point in ("BEFORE", "AT"):
            sql = f"SELECT max(a) FROM renamed {point} (STATEMENT => '{ids[text].upper()}')"
            found[name, point] = session.sql(sql).collect()[0][0]
    assert found == {
        ("read", "BEFORE"): 2, ("read", "AT"): 2, ("old", "BEFORE"): 2, ("old", "AT"): 2,
        ("third", "BEFORE"): 2, ("third", "AT"): 3, ("none", "BEFORE"): 3, ("none", "AT"): 3,
        ("script", "BEFORE"): 3, ("script", "AT"): 4, ("immediate", "BEFORE"): 4, ("immediate", "AT"): 5,
        ("inner", "BEFORE"): 4, ("inner", "AT"): 5, ("layout", "BEFORE"): 5, ("layout", "AT"): 5,
        ("elsewhere", "BEFORE"): 5, ("elsewhere", "AT"): 5, ("failed", "BEFORE"): 5, ("failed", "AT"): 5,
        ("marked", "BEFORE"): 5, ("marked", "AT"): 6,
    }  # fmt: skip
    session.sql("ALTER TABLE renamed RENAME TO t")
    # Of two tables in one query the statement touched one.
    point = f"BEFORE (STATEMENT => '{ids[texts['third']]}')"
    joined = f"SELECT max(a), count(DISTINCT one) FROM t {point} JOIN other {point} ON TRUE"
    assert rows(session, joined) == [(2, 1)]
    # A view over two tables, of which the statement touched one.
    before = f"SELECT max(a), count(DISTINCT one) FROM both BEFORE (STATEMENT => '{ids[texts['third']]}')"
    assert rows(session, before) == [(2, 1)]
    with pytest.raises(errors.UnknownStatementError, match="no statement on record"):
        session.sql("SELECT a FROM t AT (STATEMENT => '8e5d0ca9-005e-44e6-b858-a8f5b37c5726')")
    # Of a table that has been dropped since, the new one of its name has no version.
    session.sql("DROP TABLE t")
    session.sql("CREATE TABLE t (a INT, b STRING)")
    session.sql("INSERT INTO t VALUES (7, 'new')")
    session.sql("INSERT INTO t VALUES (8, 'new')")
    for name in ("read", "third"):
        with pytest.raises(errors.BeforeCreationError, match="the table of that name is another one now"):
            session.sql(f"SELECT * FROM t AT (STATEMENT => '{ids[texts[name]]}')")


@pytest.mark.parametrize(("values", "marker"), [({"p": None}, ":p"), ([None], "?")])
def test_parameters(session, told, values, marker):
    """A point may be a parameter, of the caller or of EXECUTE IMMEDIATE."""
    at = told[1].timestamp.isoformat(sep=" ")
    given = {"p": at} if isinstance(values, dict) else [at]
    asked = f"SELECT a FROM t AT (TIMESTAMP => {marker})"
    assert [tuple(row) for row in session.sql(asked, args=given).collect()] == [(1,)]
    using = f"USING '{at}'" + (" AS p" if marker == ":p" else "")
    assert rows(session, f"EXECUTE IMMEDIATE '{asked}' {using}") == [(1,)]
    session.sql(f"DECLARE OR REPLACE VARIABLE asked STRING DEFAULT '{at}'")
    using = "USING asked" + (" AS p" if marker == ":p" else "")
    assert rows(session, f"EXECUTE IMMEDIATE '{asked}' {using}") == [(1,)]


@pytest.mark.one_in(3, "each error")
@pytest.mark.parametrize(
    ("point", "error", "text"),
    [
        ("AT (OFFSET => 60)", errors.BadOffsetError, "60 seconds ahead"),
        ("AT (OFFSET => -86000)", errors.BeforeCreationError, "the earliest moment that can be read is"),
        ("AT (OFFSET => -90000)", errors.BeforeCreationError, "the earliest moment that can be read is"),
        ("AT (TIMESTAMP => '2999-01-01')", errors.FutureMomentError, "2999-01-01 00:00:00 UTC"),
        ("TIMESTAMP AS OF '2999-01-01'", errors.FutureMomentError, "2999-01-01 00:00:00 UTC"),
        ("AT (TIMESTAMP => 'hello')", errors.BadMomentError, "no constant that Spark can evaluate"),
        ("AT (TIMESTAMP => a)", errors.BadMomentError, "without columns"),
        ("VERSION AS OF 77", errors.UnknownVersionError, "it has 0 to 2"),
    ],
)
def test_refused(session, schema, point, error, text):
    """Each wrong point has an error of its own that names the table and what can be read."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    with pytest.raises(error, match=text) as caught:
        session.sql(f"SELECT * FROM t {point}")
    assert " t " in f"{caught.value} ".replace("refused.t", " t ").replace(";", " ")


def test_other_tables_have_no_past(session, schema):
    """A clear word for what is no Delta table."""
    session.sql("CREATE TABLE p USING parquet AS SELECT 1 AS a")
    with pytest.raises(errors.NoHistoryError, match="a table of parquet and has no versions"):
        session.sql("SELECT * FROM p AT (OFFSET => -1)")


def test_is_on_record(session, told):
    """The record has the text as written, the version read, and a failure with its code."""
    text = f"SELECT a, b FROM t AT (STATEMENT => '{told[1].userMetadata}')"
    session.sql(text).collect()
    with pytest.raises(errors.UnknownVersionError):
        session.sql("SELECT b FROM t@v99")
    audit.flush(session)
    found = session.sql(
        "SELECT q.query_text, q.execution_status, q.error_code, a.analysis, a.object_versions"
        " FROM account_usage.query_history q LEFT JOIN account_usage.access_history a USING (query_id)"
    ).collect()
    by_text = {row.query_text: row for row in found}
    assert (by_text[text].execution_status, by_text[text].analysis) == ("SUCCESS", "full")
    assert [(v.objectName, v.version) for v in by_text[text].object_versions] == [
        ("spark_catalog.is_on_record.t", 1)
    ]
    failed = by_text["SELECT b FROM t@v99"]
    assert (failed.execution_status, failed.error_code) == ("FAIL", "TIME_TRAVEL_UNKNOWN_VERSION")


def test_two_versions_are_one_object(session, told):
    """A record lists a table once, with all columns read, and each version; so do the views."""
    text = "SELECT x.a, y.b FROM t@v1 x JOIN t@v2 y ON x.a < y.a"
    assert rows(session, text) == [(1, "y")]
    (found,) = [one for one in records(session) if one.query.query_text == text]
    (access,) = found.access
    name = "spark_catalog.two_versions_are_one_object.t"
    for listed in (access.direct_objects_accessed, access.base_objects_accessed):
        assert [(one.objectName, {c.columnName for c in one.columns}) for one in listed] == [
            (name, {"a", "b"})
        ]
    assert {(one.objectName, one.version) for one in access.object_versions} == {(name, 1), (name, 2)}


def test_sessions_keep_what_they_have(session, schema):
    """A write runs in a clone that has the session's variables, temporary views and functions."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("DECLARE OR REPLACE VARIABLE n INT DEFAULT 7")
    session.sql("CREATE TEMPORARY VIEW one AS SELECT 1 AS a")
    session.sql("CREATE TEMPORARY FUNCTION plus(x INT) RETURNS INT RETURN x + 1")
    frame = session.sql("INSERT INTO t SELECT plus(a) + n FROM one")
    assert frame.sparkSession is session
    assert rows(session, "SELECT a FROM t") == [(9,)]
    session.sql("DROP VIEW one")
    session.sql("DROP TEMPORARY FUNCTION plus")
