"""Policies and tags inside CREATE TABLE and CREATE VIEW: there from the first row on, or nothing is there."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

import audit
from audit.core.errors import AuditError
from audit.policies.errors import AccessDeniedError, BadPolicyError, PolicyExistsError, UnknownPolicyError
from audit.time_travel.errors import ObjectExistsError, UnknownObjectError, UnprotectableError
from lineage.sql.parse import parse

SEEN = [(1, "***", "eu")]
"""Of the rows of `source`: what somebody sees who is no administrator."""
_FAILED = (PySparkException, Py4JJavaError)


@pytest.fixture(scope="module")
def policies(session):
    """Policies, functions and a tag that administrators see through, and a plain table to copy from."""
    see, ann = "is_role_in_session('ACCOUNTADMIN')", "current_user() = 'ann'"
    for text in (
        "CREATE SCHEMA creating",
        "USE creating",
        f"CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> if({see}, val, '***')",
        (
            "CREATE MASKING POLICY by_area AS (v STRING, a STRING) RETURNS STRING ->"
            f" if({see} OR a = '', v, '***')"
        ),
        "CREATE MASKING POLICY other AS (val STRING) RETURNS STRING -> 'other'",
        f"CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> {see} OR a = 'eu'",
        f"CREATE FUNCTION f(x STRING) RETURNS STRING RETURN if({ann}, x, '***')",
        f"CREATE FUNCTION g(x STRING) RETURNS BOOLEAN RETURN {ann} OR x = 'eu'",
        "CREATE TAG pii ALLOWED_VALUES 'high', 'low'",
        "ALTER TAG pii SET MASKING POLICY m",
        "CREATE TAG cost",
        "CREATE TABLE source (id INT, ssn STRING, region STRING)",
        "INSERT INTO source VALUES (1, '111', 'eu'), (2, '222', 'us')",
    ):
        session.sql(text)
    yield
    session.sql("USE default")
    session.sql("DROP SCHEMA creating CASCADE")


@pytest.fixture
def gov(session, policies):
    """What a test has made is gone after it, and no view is left sealed."""
    yield "creating"
    assert not any(one.sealed for one in _state(session).objects.values())
    for name, is_view in [
        (row.tableName, "VIEW" in row.information.split("Type: ")[1][:8])
        for row in session.sql("SHOW TABLE EXTENDED IN creating LIKE '*'").collect()
    ]:
        if name != "source":
            session.sql(f"DROP {'VIEW' if is_view else 'TABLE'} `{name}`")


def _state(session):
    return session._audit.services.policies._event_log.state()


def _rows(session, name, columns="id, ssn, region"):
    return [tuple(row) for row in session.sql(f"SELECT {columns} FROM {name} ORDER BY ALL").collect()]


def _others(session, name, columns="id, ssn, region"):
    with audit.as_user(session, "sam"):
        return _rows(session, name, columns)


def _ids(session):
    """What protects something at the moment, by key."""
    objects = _state(session).objects
    return {key for key, one in objects.items() if one.masks or one.rows or one.tags or one.column_tags}


TABLES = [
    "CREATE TABLE t (id INT, ssn STRING MASKING POLICY m, region STRING) ROW ACCESS POLICY r ON (region)",
    (
        "CREATE TABLE t (id INT NOT NULL, ssn STRING NOT NULL WITH MASKING POLICY by_area USING (ssn, region)"
        " COMMENT 'MASKING POLICY m', region STRING DEFAULT 'eu') USING delta PARTITIONED BY (region)"
        " COMMENT 'x'"
        " WITH ROW ACCESS POLICY r ON (region)"
        " TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    ),
    (
        "CREATE OR REPLACE TABLE t (id INT, ssn STRING WITH TAG (pii = 'high'), region STRING)"
        " WITH ROW ACCESS POLICY r ON (region) WITH TAG (cost = 'x')"
    ),
    (
        "CREATE TABLE IF NOT EXISTS t (id INT, ssn STRING MASK f, region STRING) USING delta"
        " WITH ROW FILTER g ON (region)"
    ),
    (
        "CREATE TRANSIENT TABLE t (id INT, ssn STRING MASKING POLICY m, region STRING)"
        " DATA_RETENTION_TIME_IN_DAYS = 1 WITH ROW ACCESS POLICY r ON (region)"
    ),
    (
        "CREATE TABLE t (id INT, ssn STRING MASKING POLICY m, region STRING) CLUSTER BY (id)"
        " ROW ACCESS POLICY r ON (region) TBLPROPERTIES ('delta.columnMapping.mode' = 'name');"
    ),
]


@pytest.mark.one_in(3, "each form of the clauses")
@pytest.mark.parametrize("text", TABLES)
def test_tables(session, gov, text):
    """Whoever is no administrator sees what the policies show, from the first row on."""
    session.sql(text)
    session.sql("INSERT INTO t SELECT * FROM source")
    assert (_others(session, "t"), len(_rows(session, "t"))) == (SEEN, 2)
    session.sql("DROP TABLE t")
    session.sql("UNDROP TABLE t")
    assert _others(session, "t") == SEEN


FROM_QUERIES = [
    (
        "CREATE TABLE t (id INT, ssn STRING MASKING POLICY m, region STRING)"
        " WITH ROW ACCESS POLICY r ON (region) AS SELECT * FROM source"
    ),
    (
        "CREATE TABLE t (id, ssn MASKING POLICY m, region) WITH ROW ACCESS POLICY r ON (region) AS"
        " WITH tag (a, b, c) AS (SELECT * FROM source) SELECT a, b, c FROM tag -- the end"
    ),
    (
        "CREATE TABLE t USING delta WITH ROW ACCESS POLICY r ON (region) WITH TAG (pii = 'low')"
        " SELECT * FROM source ORDER BY id"
    ),
    (
        "CREATE OR REPLACE TABLE t (id, ssn WITH MASKING POLICY m, region) ROW ACCESS POLICY r ON (region)"
        " AS VALUES (1, '111', 'eu'), (2, '222', 'us');"
    ),
    (
        "CREATE TABLE t (id BIGINT, ssn STRING MASK f, region STRING) WITH ROW FILTER g ON (region)"
        " AS FROM source SELECT *"
    ),
    (
        "CREATE TABLE t (id, ssn MASKING POLICY m, region) WITH ROW ACCESS POLICY r ON (region)"
        " AS SELECT * FROM source AT (OFFSET => 0)"
    ),
]


@pytest.mark.one_in(3, "each form of the clauses")
@pytest.mark.parametrize("text", FROM_QUERIES)
def test_tables_from_queries(session, gov, text):
    """CREATE TABLE … AS SELECT, with names, with columns, with the query's own."""
    session.sql(text)
    seen = [(1, "***", "***")] if "WITH TAG" in text else SEEN  # the table's tag masks each text
    assert (_others(session, "t"), len(_rows(session, "t"))) == (seen, 2)
    assert {row.userMetadata for row in session.sql("DESCRIBE HISTORY t").collect()} != {None}


def test_parameters(session, gov):
    """What is filled in stands in the query alone."""
    text = "CREATE TABLE {} (id, ssn MASKING POLICY m) AS SELECT id, ssn FROM source WHERE id = {}"
    session.sql(text.format("t", ":id"), args={"id": 1})
    session.sql(text.format("u", "?"), args=[1])
    assert _others(session, "t", "*") == _others(session, "u", "*") == [(1, "***")]


VIEWS = [
    (
        "CREATE VIEW t (id, ssn MASKING POLICY m, region) WITH ROW ACCESS POLICY r ON (region)"
        " AS SELECT * FROM source"
    ),
    (
        "CREATE OR REPLACE VIEW t (id COMMENT 'tag', ssn WITH MASKING POLICY by_area USING (ssn, region)"
        " WITH TAG (pii = 'low') COMMENT 'x', region) COMMENT 'y' ROW ACCESS POLICY r ON (region)"
        " AS SELECT * FROM source"
    ),
    (
        "CREATE VIEW IF NOT EXISTS t WITH TAG (pii = 'high') WITH ROW ACCESS POLICY r ON (region)"
        " AS SELECT * FROM source -- WITH TAG (pii = 'none')"
    ),
    "CREATE VIEW t (id, ssn MASK f, region) WITH ROW FILTER g ON (region) AS SELECT * FROM source",
]


@pytest.mark.one_in(3, "each form of the clauses")
@pytest.mark.parametrize("text", VIEWS)
def test_views(session, gov, text):
    """A view is behind its policies as soon as it is there."""
    session.sql(text)
    seen = [(1, "***", "***")] if "t WITH TAG" in text else SEEN
    assert (_others(session, "t"), len(_rows(session, "t"))) == (seen, 2)


WRONG = [
    ("CREATE TABLE t (a STRING MASKING POLICY nope)", UnknownPolicyError, "no masking policy"),
    ("CREATE TABLE t (a INT MASKING POLICY m)", BadPolicyError, "is int"),
    ("CREATE TABLE t (a STRING MASKING POLICY m MASKING POLICY other)", PolicyExistsError, "is masked by"),
    ("CREATE TABLE t (a STRING MASKING POLICY by_area)", BadPolicyError, "takes 2 columns"),
    ("CREATE TABLE t (a STRING MASKING POLICY m, b INT) PARTITIONED BY (a)", BadPolicyError, "partitioned"),
    ("CREATE TABLE t (a STRING) ROW ACCESS POLICY r ON (b)", UnknownPolicyError, "no column b"),
    ("CREATE TABLE t (a STRING) WITH TAG (pii = 'none')", BadPolicyError, "does not take"),
    ("CREATE TABLE t (a STRING) WITH TAG (nope = 'none')", UnknownPolicyError, "no tag"),
    ("CREATE TABLE t (a STRING MASK nope)", UnknownPolicyError, "no function"),
    ("CREATE TABLE t (a STRING MASKING POLICY m) USING parquet", UnprotectableError, "no Delta table"),
    ("CREATE TABLE t LIKE source WITH TAG (cost = '1')", UnprotectableError, "LIKE"),
    ("CREATE TABLE nope.t (a STRING MASKING POLICY m)", UnknownObjectError, "no schema"),
    ("REPLACE TABLE t (a STRING MASKING POLICY m)", UnknownObjectError, "to replace"),
    ("CREATE TABLE delta.`/tmp/nope` (a STRING MASKING POLICY m)", UnprotectableError, "no table of"),
    ("CREATE TABLE t WITH TAG (cost = '1') (SELECT 1 a)", UnprotectableError, "its list of columns"),
    ("CREATE TABLE t (a STRING MASKING POLICY m) AS SELECT raise_error('x')", _FAILED, "x"),
    ("CREATE TABLE t (a, b MASKING POLICY m) AS SELECT 'x'", AnalysisException, "column"),
    ("CREATE TABLE t (a STRING MASKING POLICY m) AS SELECT nope", AnalysisException, "nope"),
    ("CREATE TABLE t (a STRING MASKING POLICY m USING (a, 1))", PySparkException, "MASKING"),
    ("CREATE TABLE t (a STRING MASKING POLICY m) AS DELETE FROM source", PySparkException, "DELETE"),
    ("CREATE TABLE source (a STRING MASKING POLICY m)", ObjectExistsError, "there already"),
    ("CREATE VIEW t (a MASKING POLICY nope) AS SELECT 'x'", UnknownPolicyError, "no masking policy"),
    ("CREATE VIEW t (a MASKING POLICY m) AS SELECT 1", BadPolicyError, "is int"),
    ("CREATE VIEW t (a, b MASKING POLICY m) AS SELECT 'x'", AccessDeniedError, "names 2 columns"),
    ("CREATE VIEW t (a MASKING POLICY m) AS SELECT nope", AnalysisException, "nope"),
    ("CREATE VIEW t (a MASKING POLICY m, a) AS SELECT 'x', 'y'", PySparkException, "a"),
    ("CREATE TEMPORARY VIEW t (a MASKING POLICY m) AS SELECT 'x'", BadPolicyError, "temporary"),
    ("CREATE VIEW nope.t (a MASKING POLICY m) AS SELECT 'x'", UnknownPolicyError, "no schema"),
    ("CREATE VIEW source (a MASKING POLICY m) AS SELECT 'x'", PolicyExistsError, "there already"),
    ("CREATE OR REPLACE VIEW source (a MASKING POLICY m) AS SELECT 'x'", PySparkException, "source"),
    ("CREATE VIEW t (a MASKING POLICY m) AS DELETE FROM source", PySparkException, "DELETE"),
]


def test_what_cannot_be_leaves_nothing(session, gov):
    """No table, no view, no policy on anything, no folder; and the source is as it was."""
    before, folders = _ids(session), _folders(session)
    for text, error, said in WRONG:
        with pytest.raises(error, match=said):
            session.sql(text)
        assert not session.catalog.tableExists("t"), text
        assert (_ids(session), _folders(session)) == (before, folders), text
    with audit.as_user(session, "sam"), pytest.raises(AccessDeniedError, match="sam may not"):
        session.sql("CREATE TABLE t (a STRING MASKING POLICY m)")
    assert _others(session, "source") == _rows(session, "source")
    session.sql("CREATE MASKING POLICY unused AS (val STRING) RETURNS STRING -> val")
    with pytest.raises(BadPolicyError):
        session.sql("CREATE TABLE t (a STRING MASKING POLICY unused, b INT MASKING POLICY unused)")
    session.sql("DROP MASKING POLICY unused")  # nothing holds it


def _folders(session):
    import pathlib

    place = session.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    return sorted(one.name for one in pathlib.Path(place, "_tables").glob("t-*"))


def test_what_is_there_stays(session, gov):
    """IF NOT EXISTS does nothing; a protected table is not replaced."""
    session.sql("CREATE TABLE IF NOT EXISTS source (a STRING MASKING POLICY nope)")
    session.sql("CREATE VIEW v AS SELECT * FROM source")
    session.sql("CREATE VIEW IF NOT EXISTS v (a MASKING POLICY nope) AS SELECT 1")
    assert _others(session, "source") == _others(session, "v") == _rows(session, "source")
    session.sql("CREATE TABLE t (ssn STRING MASKING POLICY m) AS SELECT ssn FROM source")
    for text in (
        "CREATE OR REPLACE TABLE t (ssn STRING MASKING POLICY other) AS SELECT ssn FROM source",
        "CREATE OR REPLACE TABLE t (ssn STRING) WITH TAG (cost = '1')",
        "CREATE OR REPLACE TABLE t AS SELECT ssn FROM source",
    ):
        with pytest.raises(AuditError, match="would be gone"):
            session.sql(text)
    assert _others(session, "t", "ssn") == [("***",), ("***",)]


def test_a_table_that_is_replaced(session, gov):
    """Its name leads to the old table or to the new one behind its policies; a failure leaves the old one."""
    session.sql("CREATE TABLE t (old INT) COMMENT 'old'")
    session.sql("INSERT INTO t VALUES (1)")
    before, folders = _ids(session), _folders(session)
    for text in (
        "CREATE OR REPLACE TABLE t (ssn STRING MASKING POLICY m) AS SELECT raise_error('x')",
        "CREATE OR REPLACE TABLE t (ssn INT MASKING POLICY m)",
    ):
        with pytest.raises((*_FAILED, BadPolicyError)):
            session.sql(text)
        assert _others(session, "t", "*") == [(1,)]
        assert (_ids(session), _folders(session)) == (before, folders)
    session.sql(
        "CREATE OR REPLACE TABLE t (id, ssn MASKING POLICY m, region) COMMENT 'new'"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
        " WITH ROW ACCESS POLICY r ON (region) AS SELECT * FROM source"
    )
    assert (_others(session, "t", "*"), len(_rows(session, "t"))) == (SEEN, 2)
    assert _folders(session) == folders
    assert session.sql("DESCRIBE DETAIL t").first().description == "new"
    assert _rows(session, "t VERSION AS OF 1", "*") == [(1,)]
    with pytest.raises(AccessDeniedError, match="what it held before"):
        _others(session, "t VERSION AS OF 1", "*")
    assert len(_ids(session) - before) == 1
    session.sql("INSERT INTO t VALUES (3, '333', 'eu')")
    assert _others(session, "t", "id, ssn") == [(1, "***"), (3, "***")]


def test_a_replacement_that_fails_at_the_end(session, gov, monkeypatch):
    """Before the commit nothing has changed; after it the policies stay."""
    from audit.spark.delta.delta_catalog import DeltaCatalog

    session.sql("CREATE TABLE t (a STRING)")
    session.sql("INSERT INTO t VALUES ('x')")
    before, replace = _ids(session), DeltaCatalog.replace
    text = "CREATE OR REPLACE TABLE t (a STRING MASKING POLICY m) AS SELECT 'y'"
    for done, seen in ((False, "x"), (True, "***")):

        def fails(self, *given, _done=done):
            if _done:
                replace(self, *given)
            raise OSError("the store is full")

        monkeypatch.setattr(DeltaCatalog, "replace", fails)
        with pytest.raises(OSError, match="full"):
            session.sql(text)
        assert _others(session, "t", "*") == [(seen,)]
        assert len(_ids(session) - before) == done


def test_a_view_that_is_replaced(session, gov):
    """Clauses replace the policies of a view; without any it keeps them; a failure changes nothing."""
    session.sql("CREATE VIEW v (id, ssn MASKING POLICY m, region) AS SELECT * FROM source")
    with pytest.raises(UnknownPolicyError):
        session.sql("CREATE OR REPLACE VIEW v (ssn MASKING POLICY nope) AS SELECT ssn FROM source")
    with pytest.raises(PySparkException):
        session.sql("CREATE OR REPLACE VIEW v (ssn MASKING POLICY other) AS SELECT ssn FROM v")
    assert _others(session, "v") == [(1, "***", "eu"), (2, "***", "us")]
    session.sql("CREATE OR REPLACE VIEW v AS SELECT ssn, id FROM source")
    assert _others(session, "v", "id, ssn") == [(1, "***"), (2, "***")]
    session.sql("CREATE OR REPLACE VIEW v AS SELECT ssn AS bare FROM source")
    with audit.as_user(session, "sam"), pytest.raises(AccessDeniedError, match="is not there any longer"):
        session.sql("SELECT bare FROM v").collect()
    session.sql(
        "CREATE OR REPLACE VIEW v (ssn MASKING POLICY other, region) ROW ACCESS POLICY r ON (region)"
        " AS SELECT ssn, region FROM source"
    )
    assert _others(session, "v", "*") == [("other", "eu")]
    session.sql(
        "CREATE OR REPLACE VIEW v (ssn, region) WITH TAG (cost = '1') AS SELECT ssn, region FROM source"
    )
    assert _others(session, "v", "*") == [("111", "eu"), ("222", "us")]


def test_a_view_is_read_by_nobody_while_it_is_replaced(session, gov, monkeypatch):
    """Nor after a driver that has died meanwhile, until an administrator replaces it again."""
    from audit.policies.statements.protected_create import ProtectedCreate

    session.sql("CREATE VIEW v (ssn MASKING POLICY m) AS SELECT ssn FROM source")
    again = "CREATE OR REPLACE VIEW v (ssn MASKING POLICY other) AS SELECT ssn FROM source"
    found = []

    def dies(self, known, kind, state):
        if kind == "UNSEAL":
            raise KeyboardInterrupt
        return found.append(kind) or sealed(self, known, kind, state)

    sealed = ProtectedCreate._sealed
    with monkeypatch.context() as patch:
        patch.setattr(ProtectedCreate, "_sealed", dies)
        with pytest.raises(KeyboardInterrupt):
            session.sql(again)
    assert found == ["SEAL"]
    for user in ("ann", "sam"):
        with audit.as_user(session, user), pytest.raises(AccessDeniedError, match="is being replaced"):
            session.sql("SELECT * FROM (SELECT upper(ssn) FROM v)").collect()
    session.sql(again)
    assert _others(session, "v", "ssn") == [("other",), ("other",)]


def test_no_moment_without(session, gov, monkeypatch):
    """A table has no name before it has policies and rows; its place has no rows before policies."""
    from audit.time_travel.clones.staged_create import StagedTable

    seen = []

    def look(self):
        with ThreadPoolExecutor(1) as another:
            return another.submit(_others, session, f"delta.`{self.place}`", "*").result()

    def step(name):
        original = getattr(StagedTable, name)

        def call(self):
            there = session.catalog.tableExists(f"{gov}.t")
            seen.append((name, there, name != "create_empty" and look(self)))
            result = original(self)
            if name != "create_empty":
                seen.append((f"{name} done", look(self)))
            return result

        monkeypatch.setattr(StagedTable, name, call)

    for name in ("create_empty", "fill", "publish"):
        step(name)
    session.sql("CREATE TABLE t (ssn MASKING POLICY m) AS SELECT ssn FROM source WHERE id = 1")
    assert seen == [
        ("create_empty", False, False),
        ("fill", False, []),
        ("fill done", [("***",)]),
        ("publish", False, [("***",)]),
        ("publish done", [("***",)]),
    ]


def test_killed(session, gov, monkeypatch):
    """At the worst point nothing has the name, what lies there is masked, and the statement runs again."""
    from audit.time_travel.clones.staged_create import StagedTable

    places = []

    def dies(self):
        places.append(self.place)
        raise KeyboardInterrupt

    text = "CREATE TABLE IF NOT EXISTS t (ssn STRING MASKING POLICY m) AS SELECT ssn FROM source"
    with monkeypatch.context() as patch:
        patch.setattr(StagedTable, "publish", dies)
        with pytest.raises(KeyboardInterrupt):
            session.sql(text)
    assert not session.catalog.tableExists("t")
    assert _others(session, f"delta.`{places[0]}`", "*") == [("***",), ("***",)]
    session.sql(text)
    assert _others(session, "t", "ssn") == [("***",), ("***",)]


HOSTILE = [
    (
        "/* MASKING POLICY no */ create--\n table `t` (`mask` int, `ROW ACCESS POLICY` string"
        " masking\n/* x */ policy"
        " `m`, tag string comment 'it''s MASKING POLICY m, tag string)' ) row /**/ access policy r on\t(tag)"
        " tblproperties ('delta.columnMapping.mode'='name')"
    ),
    (
        "CREATE TABLE t (mask BOOLEAN DEFAULT 1 < 2, `ROW ACCESS POLICY` STRING MASKING POLICY m, tag STRING)"
        " TBLPROPERTIES ('MASKING POLICY' = 'm', 'delta.columnMapping.mode' = 'name',"
        " 'delta.feature.allowColumnDefaults' = 'supported')"
        " ROW ACCESS POLICY r ON (tag)"
    ),
    (
        "CREATE TABLE t (mask STRUCT<tag: INT COMMENT 'MASK f', b: ARRAY<ARRAY<INT>>>,"
        " `ROW ACCESS POLICY` STRING"
        " COMMENT '😀' MASKING POLICY m, tag STRING) ROW ACCESS POLICY r ON (tag)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    ),
    (
        "CREATE TABLE t (mask, `ROW ACCESS POLICY` MASKING POLICY m, tag) ROW ACCESS POLICY r ON (tag)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
        " AS SELECT CAST(NULL AS INT) AS row, 'x' AS access, 'eu' WHERE 1 = 0"
    ),
]


@pytest.mark.one_in(3, "each form of the clauses")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_spelling(session, gov, text):
    """Words in comments, strings, names and types are not taken for clauses, nor clauses for these."""
    session.sql(text)
    assert session.table("t").columns == ["mask", "ROW ACCESS POLICY", "tag"]
    session.sql("INSERT INTO t SELECT NULL, 'secret', r FROM VALUES ('eu'), ('us') AS v(r)")
    assert _others(session, "t", "`ROW ACCESS POLICY`, tag") == [("***", "eu")]


def test_unicode(session, gov):
    """Names with any characters are the same to the statement, to Spark and to the policies."""
    session.sql(
        "CREATE TABLE t_1 (`Straße 😀` STRING MASKING POLICY m, ```` STRING)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    session.sql("INSERT INTO t_1 VALUES ('secret', 'x')")
    assert _others(session, "t_1", "*") == [("***", "x")]
    session.sql("CREATE VIEW `VUE_1` (`Straße 😀` MASKING POLICY other, b) AS SELECT * FROM t_1")
    assert _others(session, "vue_1", "*") == [("other", "x")]


def test_only_the_clauses_go():
    """What remains is the user's text, each character in its place."""
    text = (
        "CREATE TABLE t (a STRING\r\n\tWITH  MASKING POLICY s.p USING (a, `b c`)  TAG (x = 'y''z'), 😀 INT)"
        " -- TAG (a)"
        "\nWITH ROW ACCESS POLICY r ON (a) USING delta AS SELECT tag (a = 'x') /* MASKING POLICY p */ FROM u"
    )
    plain, changes = parse(text).without_changes, parse(text).changes
    assert len(plain) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, plain, strict=True))
    assert plain.split() == [
        "CREATE",
        "TABLE",
        "t",
        "(a",
        "STRING",
        ",",
        "😀",
        "INT)",
        "--",
        "TAG",
        "(a)",
        "USING",
        "delta",
        "AS",
        "SELECT",
        "tag",
        "(a",
        "=",
        "'x')",
        "/*",
        "MASKING",
        "POLICY",
        "p",
        "*/",
        "FROM",
        "u",
    ]
    assert [(c.column, c.name, c.columns, c.value) for c in changes] == [
        ("a", ("s", "p"), ("a", "b c"), None), ("a", ("x",), (), "y'z"), (None, ("r",), ("a",), None)
    ]  # fmt: skip


def test_on_record(session, gov):
    """One statement is one row, whose DDL has the policies; what failed is FAIL; sources are sources."""
    texts = [
        "CREATE TABLE t (id INT, ssn STRING MASKING POLICY m, region STRING) ROW ACCESS POLICY r ON (region)",
        "CREATE TABLE u (id, ssn MASKING POLICY m, region) WITH TAG (cost = '1') AS SELECT * FROM source",
        "CREATE OR REPLACE TABLE w (ssn STRING MASKING POLICY m) AS SELECT ssn FROM source",
        "CREATE OR REPLACE TABLE x (ssn STRING MASKING POLICY m) AS SELECT ssn FROM source",
        "CREATE VIEW v (id, ssn MASKING POLICY m) AS SELECT id, ssn FROM u",
        "CREATE TABLE z (ssn STRING MASKING POLICY nope)",
    ]
    session.sql("CREATE TABLE x (a INT)")
    for text in texts[:-1]:
        session.sql(text)
    with pytest.raises(UnknownPolicyError):
        session.sql(texts[-1])
    audit.flush(session)
    rows = session.sql(
        "SELECT q.query_text, q.query_type, q.execution_status, q.error_code, q.rows_produced, a.*"
        " FROM account_usage.query_history q LEFT JOIN account_usage.access_history a USING (query_id)"
        f" WHERE q.schema_name = '{gov}' ORDER BY q.start_time"
    ).collect()
    found = {row.query_text: row for row in rows}
    assert [row.query_text for row in rows][-6:] == texts  # no more rows than statements
    assert {found[text].analysis for text in texts[:-1]} == {"full"}
    failed = found[texts[-1]]
    assert (failed.execution_status, failed.error_code) == ("FAIL", "POLICY_UNKNOWN")
    ddl = json.loads(found[texts[0]].object_modified_by_ddl.properties)
    masked = ddl["columns"]["ssn"]["maskingPolicies"]
    assert masked[f"spark_catalog.{gov}.m"]["subOperationType"] == "ADD"
    assert list(ddl["rowAccessPolicies"]) == [f"spark_catalog.{gov}.r"]
    assert "objectId" in ddl["columns"]["ssn"]
    made = found[texts[1]]
    assert (made.query_type, made.rows_produced) == ("CREATE_TABLE_AS_SELECT", 2)
    assert made.object_modified_by_ddl.operationType == "CREATE"
    assert json.loads(made.object_modified_by_ddl.properties)["tags"]
    assert [one.objectName for one in made.direct_objects_accessed] == [f"spark_catalog.{gov}.source"]
    [written] = made.objects_modified
    assert written.objectName == f"spark_catalog.{gov}.u"
    assert [one.columnName for one in written.columns[1].directSources] == ["ssn"]
    assert {(v.objectName.rpartition(".")[2], v.access) for v in made.object_versions} == {
        ("source", "read"), ("u", "write")
    }  # fmt: skip
    made_of_none, replaced, defined = found[texts[2]], found[texts[3]], found[texts[4]]
    for row, name, operation in ((made_of_none, "w", "CREATE"), (replaced, "x", "REPLACE")):
        assert row.object_modified_by_ddl.operationType == operation
        masked = json.loads(row.object_modified_by_ddl.properties)["columns"]["ssn"]["maskingPolicies"]
        assert list(masked) == [f"spark_catalog.{gov}.m"]
        assert [one.objectName for one in row.objects_modified] == [f"spark_catalog.{gov}.{name}"]
        assert {(v.objectName.rpartition(".")[2], v.access) for v in row.object_versions} == {
            ("source", "read"), (name, "write")
        }  # fmt: skip
    assert defined.object_modified_by_ddl.operationType == "CREATE"
    session.sql("INSERT INTO u VALUES (3, '333', 'eu')")
    assert session.sql(f"SELECT * FROM u AT (STATEMENT => '{made.query_id}')").count() == 2
