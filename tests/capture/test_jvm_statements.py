"""Statements of ours on every way in: scripts, EXECUTE IMMEDIATE, parameters, and callers in the JVM."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException

import audit
from audit.capture.result_columns import columns_of
from audit.policies.errors import AccessDeniedError
from audit.testing import records
from audit.time_travel.errors import NothingDroppedError, RetainedError
from lineage.sql.own_statements import is_own
from lineage.sql.parse import parse
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES


@pytest.fixture
def table(session, schema):
    """A table whose version 1 holds 1, version 2 holds 1 and 2."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    return "t"


@pytest.fixture(scope="module")
def unchanged_schema(session):
    """A schema with that table, for all tests that change nothing."""
    session.sql("CREATE SCHEMA unchanged")
    session.sql("USE unchanged")
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("INSERT INTO t VALUES (2)")
    yield "unchanged"
    session.sql("USE default")
    session.sql("DROP SCHEMA unchanged CASCADE")


@pytest.fixture
def unchanged(session, unchanged_schema):
    """That table, with its schema as the current one."""
    session.sql(f"USE {unchanged_schema}")
    yield "t"
    session.sql("USE default")


def values(frame):
    """The first column, sorted."""
    return sorted(row[0] for row in frame.collect())


def rows(dataset):
    """The rows of a Dataset of the JVM, as text."""
    return dataset.collectAsList().toString()


def known(session, text):
    """The records of a statement."""
    return [record.query for record in records(session) if record.query.query_text == text]


VACUUM = "VACUUM t RETAIN 0 HOURS"


@pytest.mark.one_in(3, "each way to Spark; tests/policies/matrix and the model take them too")
@pytest.mark.parametrize(
    "text",
    [
        VACUUM,
        f"EXECUTE IMMEDIATE '{VACUUM}'",
        f"BEGIN {VACUUM}; END",
        f"BEGIN IF 1 = 1 THEN\n  -- all of it\n  {VACUUM};\nEND IF; END",
        f"BEGIN EXECUTE IMMEDIATE '{VACUUM}'; END",
        "VACUUM ${zz.table} RETAIN 0 HOURS",
        "EXECUTE IMMEDIATE 'VACUUM ${zz.table} RETAIN 0 HOURS'",
    ],
)
def test_vacuum_of_what_is_kept_is_refused(session, unchanged, text):
    """However it comes to Spark; the error is that of the statement itself."""
    session.conf.set("zz.table", unchanged)
    with pytest.raises(RetainedError, match="192 hours"):
        session.sql(text)


def test_vacuum_by_a_caller_in_the_jvm(session, unchanged):
    """JVM code that has the session, and one that it has made."""
    session.sql(f"USE {session.catalog.currentDatabase()}")
    fresh = session._jsparkSession.newSession()
    fresh.sql(f"USE {session.catalog.currentDatabase()}")
    for java in (session._jsparkSession, session._jsparkSession.cloneSession(), fresh):
        with pytest.raises(Py4JJavaError, match="TIME_TRAVEL_RETAINED"):
            java.sql(VACUUM)


@pytest.mark.one_in(3, "each way to Spark; tests/policies/matrix and the model take them too")
@pytest.mark.parametrize(
    "drop",
    [
        "EXECUTE IMMEDIATE 'DROP TABLE t'",
        "BEGIN DROP TABLE t; END",
        "BEGIN DECLARE n INT DEFAULT 2; WHILE n > 0 DO DROP TABLE IF EXISTS t; SET n = n - 1; END WHILE; END",
        "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1; DROP TABLE t; UNDROP TABLE nothing; END",
    ],
)
def test_what_a_script_drops_comes_back(session, table, drop):
    """It is on record as dropped, and UNDROP has it."""
    session.sql(drop)
    assert not session.catalog.tableExists(table)
    session.sql("BEGIN UNDROP TABLE t; END")
    assert values(session.table(table)) == [1, 2]


def test_a_drop_that_does_not_run_drops_nothing(session, unchanged):
    """Nothing happens when a script is parsed."""
    session.sql("BEGIN IF 1 = 2 THEN DROP TABLE t; END IF; END")
    session._jsparkSession.sessionState().sqlParser().parsePlan("DROP TABLE t")
    session.sql("EXPLAIN DROP TABLE t")
    assert session.catalog.tableExists(unchanged)


@pytest.mark.one_in(3, "each way to Spark; tests/policies/matrix and the model take them too")
@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("SELECT a FROM t AT (VERSION => :v)", {"v": 1}),
        ("SELECT a FROM t AT (VERSION => ?) WHERE a < ?", [1, 9]),
        ("EXECUTE IMMEDIATE 'SELECT a FROM t AT (VERSION => 1)'", None),
        ("EXECUTE IMMEDIATE 'SELECT a FROM t AT (VERSION => :v) WHERE a < :w' USING 1 AS v, 9 AS w", None),
        ("EXECUTE IMMEDIATE 'SELECT a, ? FROM t AT (VERSION => ?) WHERE a < ?' USING 'x', 1, 9", None),
        ("BEGIN SELECT a FROM t AT (VERSION => 1); END", None),
        ("BEGIN DECLARE v INT DEFAULT 1; SELECT a FROM t AT (VERSION => v); END", None),
        ("BEGIN DECLARE v INT DEFAULT 9; SELECT a FROM t AT (VERSION => 1) WHERE a < v; END", None),
        ("BEGIN FOR r AS SELECT a FROM t AT (VERSION => 1) DO SELECT r.a; END FOR; END", None),
        ("BEGIN IF EXISTS (SELECT * FROM t AT (VERSION => 1)) THEN SELECT 1; END IF; END", None),
        (
            "BEGIN CREATE TABLE u AS SELECT 1 AS a; DELETE FROM u; SELECT a FROM u AT (VERSION => 0); END",
            None,
        ),
    ],
)
def test_the_past_on_every_way(session, unchanged, text, args):
    """Version 1 holds the one row."""
    frame = session.sql(text, args=args) if args else session.sql(text)
    assert values(frame) == [1]


def test_the_past_by_a_timestamp(session, unchanged):
    """`AT (TIMESTAMP => :t)` with a value of Python's, and with one of a script."""
    (moment,) = session.sql("DESCRIBE HISTORY t").where("version = 1").select("timestamp").first()
    frame = session.sql("SELECT a FROM t AT (TIMESTAMP => :t)", args={"t": moment})
    assert values(frame) == [1]
    text = f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
    script = f"BEGIN DECLARE m TIMESTAMP DEFAULT {text}; SELECT a FROM t AT (TIMESTAMP => m); END"
    assert values(session.sql(script)) == [1]


def test_the_past_of_a_caller_in_the_jvm(session, unchanged):
    """Its text is rewritten as that of `spark.sql` is."""
    java = session._jsparkSession
    assert rows(java.sql("SELECT a FROM t AT (VERSION => 1)")) == "[[1]]"
    assert rows(java.sql("EXECUTE IMMEDIATE 'SELECT a FROM t AT (VERSION => 1)'")) == "[[1]]"


RUN = (
    "CREATE TABLE c CLONE t",
    "CREATE SCHEMA {schema}_2 CLONE {schema}",
    "CREATE SCHEMA {schema}_3 DATA_RETENTION_TIME_IN_DAYS = 2",
    "CREATE TRANSIENT TABLE brief (a INT)",
    "CREATE OR REPLACE TABLE brief DATA_RETENTION_TIME_IN_DAYS = 0 AS SELECT 1 AS a",
    "RESTORE TABLE t TO VERSION AS OF 1",
    "RESTORE TABLE t TO AT (VERSION => 1)",
    "ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 3",
    "SHOW PARAMETERS IN TABLE t",
    "SHOW TABLES HISTORY",
    "SHOW SCHEMAS HISTORY",
    "DROP TABLE t",
    "UNDROP TABLE t",
    "VACUUM t",
    "CREATE MASKING POLICY p AS (v INT) RETURNS INT -> 0",
    "ALTER TABLE t ALTER COLUMN a SET MASKING POLICY p",
    "SHOW MASKING POLICIES",
    "DESCRIBE MASKING POLICY p",
    "ALTER TABLE t ALTER COLUMN a UNSET MASKING POLICY",
    "DROP MASKING POLICY p",
    "CREATE TAG g",
    "ALTER TABLE t SET TAG g = 'v'",
    "SHOW TAGS",
    "DROP TAG g",
    "CREATE ROLE rr",
    "SHOW ROLES",
    "GRANT SELECT ON TABLE t TO ROLE rr",
    "SHOW GRANTS TO ROLE rr",
    "REVOKE SELECT ON TABLE t FROM ROLE rr",
    "GRANT ROLE rr TO USER ann",
    "USE ROLE rr",
    "USE ROLE ACCOUNTADMIN",
    "DROP ROLE rr",
    "CREATE ROW ACCESS POLICY q AS (v INT) RETURNS BOOLEAN -> v > 1",
    "CREATE TABLE d (a INT) WITH ROW ACCESS POLICY q ON (a)",
    "CREATE VIEW w WITH ROW ACCESS POLICY q ON (a) AS SELECT a FROM t",
    "SHOW ROW ACCESS POLICIES",
    "COPY INTO '{folder}' FROM t FILEFORMAT = CSV",
    "COPY INTO t FROM '{folder}' FILEFORMAT = CSV",
)


@pytest.mark.long("every statement of ours; test_the_columns_are_those_of_the_front_door has ten")
def test_every_statement_by_a_caller_in_the_jvm(session, table, schema, tmp_path):
    """Each runs, and its columns are those that were said before, which are those of `spark.sql`."""
    java = session._jsparkSession
    undo = {"CREATE TABLE c": "DROP TABLE c", "DROP TABLE t": "UNDROP TABLE t"}
    for form in RUN:
        text = form.format(schema=schema, folder=tmp_path / "files")
        assert is_own(parse(text)), text
        if text == "UNDROP TABLE t":
            session.sql("DROP TABLE t")
        dataset = java.sql(text)
        declared = columns_of(parse(text))
        found = dict(session.createDataFrame([], declared).dtypes) if declared else {}
        assert {field.name(): field.dataType().simpleString() for field in dataset.schema().fields()} == found
        for start, back in undo.items():
            if text.startswith(start):
                session.sql(back)
    session.sql("DROP VIEW w")
    session.sql("DROP TABLE d")
    session.sql(f"DROP SCHEMA {schema}_2 CASCADE")
    session.sql(f"DROP SCHEMA {schema}_3 CASCADE")


def test_a_create_with_retention_in_a_script(session, schema):
    """Snowflake's clauses of CREATE work there, and set what they set in `spark.sql`."""
    session.sql(
        "BEGIN CREATE TRANSIENT TABLE brief (a INT);"
        f" CREATE SCHEMA {schema}_4 OPTIONS (max_time_travel_hours = 72);"
        " EXECUTE IMMEDIATE 'CREATE TABLE kept (a INT) DATA_RETENTION_TIME_IN_DAYS = 3'; END"
    )
    days = {
        (row.key, row.value)
        for on in ("TABLE kept", f"SCHEMA {schema}_4")
        for row in session.sql(f"SHOW PARAMETERS IN {on}").collect()
    }
    assert {("DATA_RETENTION_TIME_IN_DAYS", "3"), ("MAX_TIME_TRAVEL_HOURS", "72")} <= days
    session.sql("DROP TABLE brief")
    assert session.sql("SHOW TABLES HISTORY").where("name = 'brief' AND kind = 'TRANSIENT'").count() == 1
    session.sql(f"DROP SCHEMA {schema}_4")


@pytest.mark.slow("ten statements")
def test_the_columns_are_those_of_the_front_door(session, table):
    """What `columns_of` says holds for the DataFrame of `spark.sql` as well."""
    for text in (
        "SHOW TABLES HISTORY", "SHOW SCHEMAS HISTORY", "SHOW PARAMETERS IN TABLE t", "SHOW MASKING POLICIES",
        "SHOW TAGS", "SHOW ROLES", "SHOW GRANTS ON TABLE t", "VACUUM t", "RESTORE TABLE t TO VERSION AS OF 1",
        "CREATE TABLE front CLONE t",
    ):  # fmt: skip
        declared = session.createDataFrame([], columns_of(parse(text))).dtypes
        assert session.sql(text).dtypes == declared, text


def test_it_is_on_record_as_a_part_of_what_ran_it(session, table):
    """User, parent and end are those of the statement, which is on record once."""
    with audit.as_user(session, "bob"):
        session.sql("EXECUTE IMMEDIATE 'CREATE TABLE taken CLONE t AT (VERSION => 1)'")
    (outer,) = known(session, "EXECUTE IMMEDIATE 'CREATE TABLE taken CLONE t AT (VERSION => 1)'")
    (inner,) = known(session, "CREATE TABLE taken CLONE t AT (VERSION => 1)")
    assert inner.parent_query_id == outer.query_id
    assert (inner.user_name, inner.execution_status) == ("bob", "SUCCESS")


def test_what_delta_counts_for_a_script_is_no_statement(session, table):
    """`count(*)` is answered by the table's state, which Delta reads before the query runs."""
    text = f"BEGIN SELECT count(*) AS n FROM {table}; END"
    assert session.sql(text).collect() == [(2,)]
    (script,) = known(session, text)
    inside = [one for one in records(session) if one.query.parent_query_id == script.query_id]
    assert [(one.query.query_type, one.access[0].analysis) for one in inside] == [("SELECT", "full")]


def test_a_failure_inside_is_on_record(session, table):
    """Of the script, and of the statement; a script that handles it has succeeded."""
    with pytest.raises(NothingDroppedError):
        session.sql("BEGIN UNDROP TABLE nothing_1; END")
    handled = "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 'caught'; UNDROP TABLE nothing_2; END"
    assert values(session.sql(handled)) == ["caught"]
    assert [q.execution_status for q in known(session, "UNDROP TABLE nothing_1")] == ["FAIL"]
    assert [q.execution_status for q in known(session, "BEGIN UNDROP TABLE nothing_1; END")] == ["FAIL"]
    assert [q.execution_status for q in known(session, "UNDROP TABLE nothing_2")] == ["FAIL"]
    assert next(q.execution_status for q in known(session, handled)) == "SUCCESS"


def test_sparks_own_errors_stay_as_they_are(session, unchanged):
    """What Spark raises for a statement that is watched over: class, condition and text are the same."""
    java = session._jsparkSession.newSession()
    for run in (session.sql, java.sql, lambda text: java.sql(f"EXECUTE IMMEDIATE '{text}'")):
        with pytest.raises(AnalysisException) as caught:
            run("DROP TABLE not_there_at_all")
        assert caught.value.getCondition() == "TABLE_OR_VIEW_NOT_FOUND"


def test_a_thread_of_its_own(session, table):
    """Whose connection to the JVM is younger than the attach."""
    found = []

    def work():
        session.sql("BEGIN DROP TABLE t; UNDROP TABLE t; END")
        found.extend(values(session.sql("SELECT a FROM t AT (VERSION => 1)")))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [1]


def test_governance_in_a_session_of_nobody_is_refused(session, table):
    """Who runs it is not known, so nobody can say whether they may."""
    fresh = session._jsparkSession.newSession()
    with pytest.raises(Py4JJavaError, match="nobody is known to run this session"):
        fresh.sql("CREATE ROLE nobodys")
    assert rows(fresh.sql(f"SELECT count(*) FROM {session.catalog.currentDatabase()}.t")) == "[[2]]"


def test_functions_in_a_session_of_nobody(session, table):
    """As in plain Spark, unless a policy calls the function: nobody can say whether they may change it."""
    schema = session.catalog.currentDatabase()
    fresh = session._jsparkSession.newSession()
    fresh.sql(f"USE {schema}")
    fresh.sql("CREATE FUNCTION more(n INT) RETURNS INT RETURN n + 1")
    fresh.sql("CREATE OR REPLACE FUNCTION more(n INT) RETURNS INT RETURN n + 2")
    assert rows(fresh.sql("SELECT more(a) FROM t ORDER BY a")) == "[[3], [4]]"
    fresh.sql("DROP FUNCTION more")
    fresh.sql("DROP FUNCTION IF EXISTS more")
    session.sql("CREATE FUNCTION hush(n INT) RETURNS INT RETURN -1")
    session.sql("ALTER TABLE t ALTER COLUMN a SET MASK hush")
    for text in ("DROP FUNCTION hush", f"DROP FUNCTION IF EXISTS {schema}.hush"):
        with pytest.raises(Py4JJavaError, match="nobody is known to run this session"):
            fresh.sql(text)
    assert values(session.sql("SELECT a FROM t")) == [-1, -1]
    session.sql("ALTER TABLE t ALTER COLUMN a DROP MASK")


def test_a_session_of_nobody_stays_one(session, table):
    """What runs for it, and after it on its thread, is nobody's: policies are not passed by."""
    schema = session.catalog.currentDatabase()
    session.sql("CREATE ROW ACCESS POLICY hides AS (v INT) RETURNS BOOLEAN -> v > 1")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY hides ON (a)")
    fresh, read = session._jsparkSession.newSession(), f"SELECT a FROM {schema}.t"
    found = []

    def is_refused(text):
        with pytest.raises(Py4JJavaError) as caught:
            rows(fresh.sql(text))
        return "nobody is known to run it" in str(caught.value)

    def work():
        copy = f"COPY INTO '/tmp/none' FROM {schema}.t"
        found.extend(is_refused(text) for text in (read, f"{read} AT (VERSION => 1)", copy, read))
        fresh.sql("SHOW TABLES HISTORY")
        found.append(is_refused(read))

    thread = threading.Thread(target=work)  # with a thread of the JVM that nobody has used
    thread.start()
    thread.join()
    assert found == [True] * 5
    assert values(session.sql("SELECT a FROM t")) == [2]


def test_a_refusal_inside_is_denied(session, table):
    """Bob is no administrator."""
    with audit.as_user(session, "bob"), pytest.raises(AccessDeniedError):
        session.sql("EXECUTE IMMEDIATE 'CREATE ROLE bobs'")
    assert [q.execution_status for q in known(session, "CREATE ROLE bobs")] == ["DENIED"]


def test_text_of_sparks_own_is_left_alone(session, table):
    """Columns, aliases and strings with our words in them."""
    assert values(session.sql("SELECT 'UNDROP TABLE t' AS at")) == ["UNDROP TABLE t"]
    java = session._jsparkSession
    assert rows(java.sql("SELECT at.clone FROM VALUES (1) AS at(clone)")) == "[[1]]"
    assert rows(java.sql("SELECT 'DROP TABLE t' AS tag")) == "[[DROP TABLE t]]"
    with pytest.raises(ParseException, match="PARSE_SYNTAX_ERROR"):
        java.sql("SELEC tag")


@pytest.fixture
def thrift(session):
    """A connection to a Thrift server in the driver, over JDBC."""
    jvm = session.sparkContext._jvm
    session._jsparkSession.conf().set("hive.server2.thrift.port", "0")
    server = getattr(jvm, "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2")
    started = server.startWithContext(session._jsparkSession.sqlContext())
    port = next(s for s in started.getServices().toArray() if "Thrift" in s.getName()).getPortNumber()
    getattr(jvm, "java.lang.Class").forName("org.apache.hive.jdbc.HiveDriver")
    manager = getattr(jvm, "java.sql.DriverManager")
    connection = manager.getConnection(f"jdbc:hive2://localhost:{port}/default", "zoe", "")
    yield connection.createStatement()
    connection.close()
    started.stop()


def test_a_thrift_session(session, table, thrift):
    """A session that the server has made itself."""
    schema = session.catalog.currentDatabase()
    thrift.execute(f"USE {schema}")
    thrift.execute("DROP TABLE t")
    rows_of = thrift.executeQuery("EXECUTE IMMEDIATE 'UNDROP TABLE t'")
    rows_of.next()
    assert rows_of.getString(1) == "Table t successfully restored."
    rows_of = thrift.executeQuery("SELECT count(*) FROM t AT (VERSION => 1)")
    rows_of.next()
    assert rows_of.getLong(1) == 1
    with pytest.raises(Py4JJavaError, match="TIME_TRAVEL_RETAINED"):
        thrift.execute(VACUUM)


@pytest.fixture
def connect(session):
    """The address of a Spark Connect server in the driver."""
    context = session._jsc.sc()
    context.conf().set("spark.connect.grpc.binding.port", "0")
    name = "org.apache.spark.sql.connect.service.SparkConnectService$"
    service = getattr(getattr(session.sparkContext._jvm, name), "MODULE$")
    service.start(context)
    yield f"sc://localhost:{service.localPort()}"
    nothing = getattr(session.sparkContext._jvm, "scala.Option").empty()
    service.stop(nothing, nothing)


CLIENT = """
import sys
from pyspark.sql.connect.session import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).create()
spark.sql(f"USE {sys.argv[2]}")
for text, args in (
    ("DROP TABLE t", None),
    ("EXECUTE IMMEDIATE 'UNDROP TABLE t'", None),
    ("SELECT a FROM t AT (VERSION => 1)", None),
    ("SELECT a FROM t AT (VERSION => :v)", {"v": 1}),
    ("BEGIN SELECT a FROM t AT (VERSION => 1); END", None),
    ("VACUUM t RETAIN 0 HOURS", None),
):
    try:
        print([tuple(row) for row in spark.sql(text, args=args).collect()])
    except Exception as error:
        print(str(error).splitlines()[0])
"""


def test_a_connect_session(session, table, connect):
    """A session that the server has made for a client."""
    command = [sys.executable, "-W", "ignore", "-c", CLIENT, connect, session.catalog.currentDatabase()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    *found, refused = done.stdout.splitlines()
    assert found == ["[]", "[('Table t successfully restored.',)]", "[(1,)]", "[(1,)]", "[(1,)]"], done.stderr
    assert "TIME_TRAVEL_RETAINED" in refused
