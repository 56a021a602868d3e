"""Every statement needs its privileges: who may read, write, create and change what, by which way."""

from __future__ import annotations

import pytest
from delta import DeltaTable

import audit
from audit.policies.errors import AccessDeniedError
from tests.sessions import NO_TABLES

ATTACH = {"enforce_privileges": True, **NO_TABLES}


@pytest.fixture(scope="module")
def schema(session):
    """A schema of ann's, the current one: a table, a view and a function over it; zoe has role HR."""
    session.sql("CREATE ROLE hr")
    session.sql("GRANT ROLE hr TO USER zoe")
    session.sql("CREATE SCHEMA enforced")
    session.sql("USE enforced")
    session.sql("CREATE TABLE t (a INT, s STRING) TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    session.sql("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    session.sql("CREATE FUNCTION f(n INT) RETURNS BIGINT RETURN (SELECT count(*) FROM t WHERE a >= n)")
    yield "enforced"
    session.sql("USE default")
    session.sql("DROP SCHEMA enforced CASCADE")


def run(session, user, *texts):
    """Statements of a user's; the rows of the last."""
    with audit.as_user(session, user):
        rows = []
        for text in texts:
            rows = session.sql(text).collect()
    return [tuple(row) for row in rows]


def refused(session, user, text, said):
    """A statement that its user may not run."""
    with audit.as_user(session, user), pytest.raises(AccessDeniedError, match=said):
        session.sql(text).collect()


READS = {
    "name": lambda s: s.sql("SELECT a FROM t"),
    "alias": lambda s: s.sql("SELECT x.a FROM t x JOIN t y USING (a)"),
    "subquery": lambda s: s.sql("SELECT 1 WHERE EXISTS (SELECT 1 FROM t)"),
    "scalar": lambda s: s.sql("SELECT (SELECT max(a) FROM t)"),
    "cte": lambda s: s.sql("WITH c AS (SELECT * FROM t) SELECT * FROM c"),
    "set": lambda s: s.sql("SELECT 1 a UNION ALL SELECT a FROM t"),
    "count": lambda s: s.sql("SELECT count(*) FROM t"),
    "empty": lambda s: s.sql("SELECT a FROM t WHERE false"),
    "table": lambda s: s.table("t"),
    "reader": lambda s: s.read.table("t"),
    "version": lambda s: s.sql("SELECT * FROM t VERSION AS OF 1"),
    "at": lambda s: s.sql("SELECT * FROM t AT (OFFSET => 0)"),
    "changes": lambda s: s.sql("SELECT * FROM table_changes('t', 1)"),
    "delta": lambda s: DeltaTable.forName(s, "t").toDF(),
    "immediate": lambda s: s.sql("EXECUTE IMMEDIATE 'SELECT a FROM t'"),
    "script": lambda s: s.sql("BEGIN SELECT a FROM t; END"),
    "values": lambda s: s.sql("SELECT f.a FROM (SELECT a FROM `t`) AS f"),
    "unnamed": lambda s: s.sql("TABLE t"),
}


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(3, id="short", marks=pytest.mark.slow("many queries, each refused and granted")),
        pytest.param(1, id="long", marks=pytest.mark.long("every query after every grant")),
    ],
)
def test_reads(session, schema, part):
    """SELECT on the table, and some privilege on its schema; whoever lacks one is told which.

    In short every query is refused and granted once, and the other grants are tried by a part of them.
    """
    numbers = iter(range(9))

    def some():
        """Other ones each time."""
        return list(READS)[next(numbers) % part :: part]

    def rows(user, way):
        with audit.as_user(session, user):
            return READS[way](session).collect()

    def refuses(user, said, ways):
        for way in ways:
            with pytest.raises(AccessDeniedError, match=said):
                rows(user, way)

    seen = {way: rows("ann", way) for way in READS}
    refuses("bob", r"bob may not read table spark_catalog\.enforced\.t: SELECT is missing on table", READS)
    session.sql("GRANT SELECT ON TABLE t TO USER bob")
    refuses("bob", r"USAGE is missing on schema spark_catalog\.enforced", some())
    session.sql("GRANT USAGE ON SCHEMA enforced TO USER bob")
    assert {way: rows("bob", way) for way in READS} == seen
    session.sql("REVOKE SELECT ON TABLE t FROM USER bob")
    refuses("bob", "SELECT is missing", some())
    session.sql("GRANT SELECT ON SCHEMA enforced TO ROLE hr")
    ways = some()
    assert {way: rows("zoe", way) for way in ways} == {way: seen[way] for way in ways}
    session.sql("REVOKE SELECT ON SCHEMA enforced FROM ROLE hr")
    session.sql("REVOKE USAGE ON SCHEMA enforced FROM USER bob")


def test_paths(session, schema, tmp_path):
    """A path is the table that lies there; files that are no table's need SELECT on the account."""
    place = session.sql("DESCRIBE DETAIL t").first().location
    session.sql(f"GRANT USAGE ON SCHEMA {schema} TO USER bob")
    refused(session, "bob", f"SELECT * FROM delta.`{place}`", "SELECT is missing")
    refused(session, "bob", f"SELECT * FROM parquet.`{place}`", "SELECT is missing on the account")
    session.sql("GRANT SELECT ON TABLE t TO USER bob")
    assert len(run(session, "bob", f"SELECT * FROM delta.`{place}`")) == 2
    session.sql("CREATE SCHEMA bobs")
    session.sql("GRANT OWNERSHIP ON SCHEMA bobs TO USER bob")
    session.range(1).write.parquet(f"{tmp_path}/files")
    for text, said in (
        (f"CREATE TABLE mine USING delta LOCATION '{place}'", "CREATE TABLE is missing on schema"),
        (f"CREATE TABLE bobs.mine USING delta LOCATION '{place}'", "OWNERSHIP is missing on table"),
        (f"CREATE TABLE bobs.mine USING parquet LOCATION '{place}'", "lie files of table"),
        (f"CREATE TABLE bobs.mine USING parquet LOCATION '{tmp_path}/files'", "SELECT is missing on the a"),
        (
            f"INSERT OVERWRITE DIRECTORY '{tmp_path}/o' USING parquet SELECT 1",
            "INSERT is missing on the account",
        ),
    ):
        refused(session, "bob", text, said)
    with (
        audit.as_user(session, "bob"),
        pytest.raises(AccessDeniedError, match="INSERT is missing on the account"),
    ):
        session.range(1).write.parquet(f"{tmp_path}/out")
    session.sql("DROP SCHEMA bobs CASCADE")


MERGED = """
MERGE INTO t USING (SELECT 9 a) u ON t.a = u.a
WHEN MATCHED THEN UPDATE SET s = 'q' WHEN NOT MATCHED THEN INSERT (a) VALUES (u.a)"""

# Each statement with what has to be there, and the privileges that it needs: on table t where none is named.
STATEMENTS = [
    ("INSERT INTO t VALUES (3, 'z')", [], ["INSERT"]),
    ("INSERT INTO t SELECT 4, s FROM t", [], ["SELECT", "INSERT"]),
    ("INSERT OVERWRITE o VALUES (3)", ["o"], ["INSERT ON TABLE o", "DELETE ON TABLE o"]),
    ("UPDATE t SET s = 'n' WHERE a = 1", [], ["SELECT", "UPDATE"]),
    ("DELETE FROM t WHERE a = 7", [], ["SELECT", "DELETE"]),
    ("MERGE INTO t USING (SELECT 8 a) u ON t.a = u.a WHEN MATCHED THEN DELETE", [], ["SELECT", "DELETE"]),
    (MERGED, [], ["SELECT", "INSERT", "UPDATE"]),
    ("ALTER TABLE t ADD COLUMN b INT", [], ["OWNERSHIP"]),
    ("ALTER TABLE t SET TBLPROPERTIES (x = 'y')", [], ["OWNERSHIP"]),
    ("COMMENT ON TABLE t IS 'mine'", [], ["OWNERSHIP"]),
    ("OPTIMIZE t", [], ["OWNERSHIP"]),
    ("VACUUM t RETAIN 1000 HOURS", [], ["OWNERSHIP"]),
    ("ALTER TABLE t SET DATA_RETENTION_TIME_IN_DAYS = 3", [], ["OWNERSHIP"]),
    ("RESTORE TABLE t TO VERSION AS OF 1", [], ["OWNERSHIP"]),
    ("DROP TABLE d", ["d"], ["OWNERSHIP ON TABLE d"]),
    ("TRUNCATE TABLE e", ["e"], ["TRUNCATE ON TABLE e"]),
    ("ALTER VIEW w AS SELECT 1 a", ["VIEW w"], ["OWNERSHIP ON VIEW w"]),
    ("DROP VIEW x", ["VIEW x"], ["OWNERSHIP ON VIEW x"]),
    ("CREATE OR REPLACE VIEW y AS SELECT 1 a", ["VIEW y"], ["OWNERSHIP ON VIEW y", "CREATE VIEW"]),
    ("DROP FUNCTION g", ["FUNCTION g"], ["OWNERSHIP ON FUNCTION g"]),
    ("CREATE TABLE c1 (a INT)", [], ["CREATE TABLE"]),
    ("CREATE TABLE c2 AS SELECT a FROM t", [], ["SELECT", "CREATE TABLE"]),
    ("CREATE OR REPLACE TABLE c3 (a INT)", [], ["CREATE TABLE"]),
    ("CREATE OR REPLACE TABLE r (a INT)", ["r"], ["OWNERSHIP ON TABLE r", "CREATE TABLE"]),
    ("CREATE TABLE c4 LIKE t", [], ["CREATE TABLE", "SELECT"]),
    ("CREATE TABLE c5 CLONE t", [], ["CREATE TABLE", "SELECT"]),
    ("CREATE VIEW c6 AS SELECT 1 a", [], ["CREATE VIEW"]),
    ("CREATE FUNCTION c7() RETURNS INT RETURN 1", [], ["CREATE FUNCTION"]),
    ("ALTER TABLE n RENAME TO m", ["n"], ["OWNERSHIP ON TABLE n", "CREATE TABLE"]),
    ("DESCRIBE TABLE t", [], ["SELECT"]),
    ("DESCRIBE HISTORY t", [], ["SELECT"]),
    ("SHOW CREATE TABLE v", [], ["SELECT ON VIEW v"]),
    ("SHOW COLUMNS IN t", [], ["SELECT"]),
    ("SELECT f(1)", [], ["USAGE ON FUNCTION f"]),
    ("SELECT a FROM v", [], ["SELECT ON VIEW v"]),
    ("CREATE SCHEMA e_other", [], ["CREATE SCHEMA ON ACCOUNT"]),
    ("CREATE SCHEMA e_clone CLONE enforced", [], ["SELECT ON SCHEMA enforced", "CREATE SCHEMA ON ACCOUNT"]),
    ("ALTER SCHEMA enforced SET DBPROPERTIES (x = 'y')", [], ["OWNERSHIP ON SCHEMA enforced"]),
    ("COMMENT ON SCHEMA enforced IS 'x'", [], ["OWNERSHIP ON SCHEMA enforced"]),
    ("DROP SCHEMA e_gone CASCADE", ["SCHEMA e_gone"], ["OWNERSHIP ON SCHEMA e_gone"]),
]
_MADE = {"VIEW": "AS SELECT 2 a", "FUNCTION": "() RETURNS INT RETURN 2", "SCHEMA": "", "TABLE": "(a INT)"}


def _there(session, what):
    """Something of ann's that a statement is about."""
    noun, _, name = what.rpartition(" ")
    session.sql(f"CREATE {noun or 'TABLE'} {name} {_MADE[noun or 'TABLE']}")


@pytest.mark.one_in(3, "each statement of a kind; the matrix has all that users run")
@pytest.mark.parametrize(
    ("number", "text", "there", "needed"), [(n, *one) for n, one in enumerate(STATEMENTS)]
)
def test_statements(session, schema, number, text, there, needed):
    """Refused as long as one of its privileges is missing, with nothing changed until then."""
    user = f"eve{number}"
    for what in there:
        _there(session, what)
    session.sql(f"GRANT USAGE ON SCHEMA {schema} TO USER {user}")
    before = session.sql("SELECT * FROM t").collect()
    for privilege in needed:
        refused(session, user, text, "is missing")
        where = (
            "" if " ON " in privilege else f"ON SCHEMA {schema}" if "CREATE" in privilege else "ON TABLE t"
        )
        copy = "COPY CURRENT GRANTS" if "OWNERSHIP" in privilege else ""
        session.sql(f"GRANT {privilege} {where} TO USER {user} {copy}")
    assert session.sql("SELECT * FROM t").collect() == before
    run(session, user, text)


OWNED = ["VIEW made_view", "FUNCTION made_function", "SCHEMA made_schema", "TABLE made"]


def test_who_makes_something_owns_it(session, schema):
    """At once, in the very script too; by a writer and a clone as well. A role owns what is made in it."""
    for privilege in ("CREATE TABLE", "CREATE VIEW", "CREATE FUNCTION", "SELECT"):
        session.sql(f"GRANT {privilege} ON SCHEMA {schema} TO USER max")
    session.sql("GRANT CREATE SCHEMA ON ACCOUNT TO USER max")
    run(
        session, "max",
        "BEGIN CREATE TABLE made (a INT); INSERT INTO made VALUES (1); UPDATE made SET a = 2; END",
        "CREATE VIEW made_view AS SELECT a FROM made",
        "CREATE FUNCTION made_function() RETURNS INT RETURN 1",
        "CREATE SCHEMA made_schema",
        "CREATE TABLE made_schema.t (a INT)",
        "CREATE TABLE made_clone CLONE t",
        "CREATE TABLE made_copy AS SELECT * FROM t",
    )  # fmt: skip
    with audit.as_user(session, "max"):
        session.range(3).write.saveAsTable("made_saved")
        session.range(3).writeTo("made_written").create()
        session.range(3).write.mode("append").saveAsTable("made_saved")
    for what in [*OWNED, "TABLE made_clone", "TABLE made_copy", "TABLE made_saved", "TABLE made_written"]:
        owner = session.sql(f"SHOW GRANTS ON {what}").first()
        assert (what, owner.privilege, owner.grantee_name) == (what, "OWNERSHIP", "max")
        if what in OWNED:
            run(session, "max", f"DROP {what}" + (" CASCADE" if "SCHEMA" in what else ""))
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO ROLE hr")
    with audit.as_user(session, "app", roles=["hr"]):
        session.sql("CREATE TABLE of_role (a INT)")
    assert session.sql("SHOW GRANTS ON TABLE of_role").first().grantee_name == "HR"
    run(session, "zoe", "INSERT INTO of_role VALUES (1)", "DROP TABLE of_role")


def test_owners_rights(session, schema):
    """A view and a function read what their owner may, and no longer when the owner may not."""
    session.sql("CREATE TABLE base (a INT)")
    session.sql("INSERT INTO base VALUES (5)")
    session.sql("CREATE TABLE plain (a INT) USING parquet")
    session.sql("INSERT INTO plain VALUES (6)")
    for privilege in ("CREATE VIEW", "CREATE FUNCTION"):
        session.sql(f"GRANT {privilege} ON SCHEMA {schema} TO USER kim")
    for name in ("base", "plain"):
        session.sql(f"GRANT SELECT ON TABLE {name} TO USER kim")
    run(
        session, "kim",
        "CREATE VIEW kims AS SELECT base.a, plain.a b FROM base, plain",
        "CREATE FUNCTION sums() RETURNS INT RETURN (SELECT sum(a) FROM base)",
        "CREATE FUNCTION rows() RETURNS TABLE (a INT) RETURN SELECT a FROM base",
    )  # fmt: skip
    session.sql(f"GRANT USAGE ON SCHEMA {schema} TO USER lee")
    for what in ("SELECT ON VIEW kims", "USAGE ON FUNCTION sums", "USAGE ON FUNCTION rows"):
        session.sql(f"GRANT {what} TO USER lee")
    refused(session, "lee", "SELECT a FROM base", "SELECT is missing on table")
    reads = {"SELECT a, b FROM kims": (5, 6), "SELECT sums()": (5,), "SELECT a FROM rows()": (5,)}
    for text, row in reads.items():
        assert run(session, "lee", text) == [row]
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER lee")
    run(session, "lee", "CREATE TABLE lees AS SELECT * FROM kims", "INSERT INTO lees SELECT * FROM kims")
    assert session.table("lees").count() == 2
    session.sql("REVOKE SELECT ON TABLE base FROM USER kim")
    for text in reads:
        refused(
            session, "lee", text, "lee may not read table .* through what user kim owns: SELECT is missing"
        )
    session.sql("CREATE VIEW lent AS SELECT a FROM base")
    session.sql("GRANT SELECT ON VIEW lent TO USER lee")
    assert run(session, "lee", "SELECT a FROM lent") == [(5,)]


def test_a_frame_is_read_by_whoever_runs_it(session, schema):
    """Privileges are those of now, and of whoever asks; what another has cached is not for all."""
    session.sql("CREATE TABLE kept (a INT)")
    session.sql("INSERT INTO kept VALUES (1)")
    frame = session.table("kept").cache()
    assert frame.count() == 1
    with audit.as_user(session, "pam"), pytest.raises(AccessDeniedError, match="pam may not read"):
        frame.collect()
    session.sql(f"GRANT USAGE ON SCHEMA {schema} TO USER pam")
    session.sql("GRANT SELECT, INSERT ON TABLE kept TO USER pam")
    with audit.as_user(session, "pam"):
        mine = session.table("kept")
        assert mine.count() == 1
    session.sql("REVOKE SELECT ON TABLE kept FROM USER pam")
    with audit.as_user(session, "pam"), pytest.raises(AccessDeniedError, match="SELECT is missing"):
        mine.collect()
    run(session, "pam", "INSERT INTO kept VALUES (2)")  # the cache is ann's to read
    assert session.table("kept").count() == 2
    frame.unpersist()


def test_streams(session, schema, tmp_path):
    """SELECT on the source, INSERT on the sink, CREATE TABLE for one that is made."""
    session.sql("CREATE TABLE source (a BIGINT)")
    session.sql("CREATE TABLE sink (a BIGINT)")
    session.sql("INSERT INTO source VALUES (1)")
    session.sql(f"GRANT USAGE ON SCHEMA {schema} TO USER sue")

    def stream(table):
        with audit.as_user(session, "sue"):
            writer = session.readStream.table("source").writeStream.trigger(availableNow=True)
            query = writer.option("checkpointLocation", str(tmp_path / table)).toTable(table)
            query.awaitTermination()

    for privilege, on, said in (
        ("SELECT", "TABLE source", "may not read table"),
        ("INSERT", "TABLE sink", "may not insert into table"),
    ):
        with pytest.raises(AccessDeniedError, match=said):
            stream("sink")
        session.sql(f"GRANT {privilege} ON {on} TO USER sue")
    stream("sink")
    assert session.table("sink").count() == 1
    with pytest.raises(AccessDeniedError, match="may not create table"):
        stream("fresh")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER sue")
    stream("fresh")
    assert session.sql("SHOW GRANTS ON TABLE fresh").first().grantee_name == "sue"


def test_settings(session):
    """Parameters of the account are an administrator's."""
    refused(session, "bob", "ALTER ACCOUNT SET DATA_RETENTION_TIME_IN_DAYS = 3", "may not change parameters")


def test_an_owner_by_privileges_alone(session, schema):
    """What is replaced has lost what was granted on it; a refusal leaves no trace."""
    session.sql("CREATE VIEW turn AS SELECT 1 a")
    session.sql("GRANT SELECT ON VIEW turn TO USER old")
    session.sql(f"GRANT USAGE ON SCHEMA {schema} TO USER old")
    assert run(session, "old", "SELECT a FROM turn") == [(1,)]
    refused(session, "old", "CREATE OR REPLACE VIEW turn AS SELECT 2 a", "OWNERSHIP is missing on view")
    assert session.sql("SHOW GRANTS ON VIEW turn").first().grantee_name == "ann"
    session.sql("CREATE OR REPLACE VIEW turn AS SELECT 3 a")
    refused(session, "old", "SELECT a FROM turn", "SELECT is missing on view")
