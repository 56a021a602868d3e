"""Privileges in Spark: who may bring back what was dropped, who may grant, and what is on record of it."""

from __future__ import annotations

import json

import pytest
from pyspark.errors import AnalysisException

import audit
from audit.policies.errors import (
    AccessDeniedError,
    PolicyInUseError,
    UnknownPolicyError,
    UnknownPrivilegeError,
)


@pytest.fixture
def roles(session):
    """HR, which BOSS holds, which zoe has."""
    session.sql("CREATE ROLE hr")
    session.sql("CREATE ROLE boss")
    session.sql("GRANT ROLE hr TO ROLE boss")
    session.sql("GRANT ROLE boss TO USER zoe")
    yield
    session.sql("DROP ROLE IF EXISTS hr")
    session.sql("DROP ROLE IF EXISTS boss")


def run(session, user, *texts):
    """Statements of a user's."""
    with audit.as_user(session, user):
        for text in texts:
            frame = session.sql(text)
    return frame


def refused(session, user, text, said):
    """A statement that its user may not run."""
    with audit.as_user(session, user), pytest.raises(AccessDeniedError, match=said):
        session.sql(text)


def grants(session, text):
    """A SHOW GRANTS without its times."""
    return [tuple(row)[1:] for row in session.sql(text).collect()]


@pytest.mark.slow("refusals and an UNDROP")
def test_who_created_a_table_may_undrop_it(session, schema):
    """Where they may create tables, too; nobody else may, whoever has dropped it."""
    run(session, "bob", "CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
    run(session, "eve", "DROP TABLE t")
    refused(
        session, "eve", "UNDROP TABLE t", rf"eve may not undrop table spark_catalog\.{schema}\.t: OWNERSHIP"
    )
    refused(session, "bob", "UNDROP TABLE t", rf"CREATE TABLE is missing on schema spark_catalog\.{schema}")
    assert not session.catalog.tableExists("t")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER bob")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER eve")
    refused(session, "eve", "UNDROP TABLE t", r"OWNERSHIP is missing, it is owned by user bob")
    run(session, "bob", "UNDROP TABLE t")
    assert session.table("t").count() == 1


@pytest.mark.long("each way to make a table; test_who_created_a_table_may_undrop_it has the first")
def test_of_writers_clones_and_a_select(session, schema):
    """Each way to make a table names its owner; a clone is its maker's, whose ever the source is."""
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql("CREATE TABLE selected AS SELECT 1 a")
        session.range(3).write.saveAsTable("saved")
        session.range(3).writeTo("written").create()
    run(session, "eve", "CREATE TABLE cloned CLONE selected")
    for name in ("selected", "saved", "written", "cloned"):
        session.sql(f"DROP TABLE {name}")
    run(session, "bob", "UNDROP TABLE selected", "UNDROP TABLE saved", "UNDROP TABLE written")
    refused(session, "bob", "UNDROP TABLE cloned", "owned by user eve")


@pytest.mark.slow("many grants and refusals")
def test_ownership_goes_to_a_role(session, schema, roles):
    """By GRANT OWNERSHIP; who holds the role that has it owns it, and who created it no longer does."""
    run(session, "bob", "CREATE TABLE t (a INT)", "GRANT OWNERSHIP ON TABLE t TO ROLE hr")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO ROLE public")
    run(session, "bob", "DROP TABLE t")
    refused(session, "bob", "UNDROP TABLE t", "owned by role HR")
    run(session, "zoe", "UNDROP TABLE t", "DROP TABLE t")
    with audit.as_user(session, "app", roles=["hr"]):
        session.sql("UNDROP TABLE t")
    session.sql("DROP ROLE hr")
    run(session, "zoe", "DROP TABLE t")
    refused(session, "zoe", "UNDROP TABLE t", "owned by role ACCOUNTADMIN")
    session.sql("UNDROP TABLE t")


@pytest.mark.long("the matrix renames what is granted")
def test_a_rename_keeps_grants(session, schema, roles):
    """A Delta table is known by its id."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("GRANT OWNERSHIP ON TABLE t TO ROLE hr")
    session.sql("GRANT SELECT ON TABLE t TO ROLE boss")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO ROLE hr")
    session.sql("ALTER TABLE t RENAME TO u")
    owner, boss = grants(session, "SHOW GRANTS ON TABLE u")
    assert owner == ("OWNERSHIP", "TABLE", f"spark_catalog.{schema}.u", "ROLE", "HR", "true", "HR")
    assert (boss[0], boss[4]) == ("SELECT", "BOSS")
    session.sql("DROP TABLE u")
    run(session, "zoe", "UNDROP TABLE u")
    session.sql("CREATE TABLE t (a INT)")
    assert [row[4] for row in grants(session, "SHOW GRANTS ON TABLE t")] == ["ann"]


@pytest.mark.long("test_ownership_goes_to_a_role has roles")
def test_in_a_role(session, schema, roles):
    """What somebody creates in a role the role owns, as in Snowflake."""
    with audit.as_user(session, "app", roles=["boss"]):
        session.sql("CREATE TABLE t (a INT)")
        session.sql("DROP TABLE t")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO ROLE public")
    refused(session, "app", "UNDROP TABLE t", "owned by role BOSS")
    run(session, "zoe", "UNDROP TABLE t")


def test_a_role_taken_from_a_role(session, roles):
    """What came with it is gone at the next statement."""
    session.sql("CREATE ROLE above")
    session.sql("GRANT ROLE hr TO ROLE above")
    session.sql("GRANT ROLE above TO USER sue")
    asked = session.sql("SELECT is_role_in_session('HR')")
    with audit.as_user(session, "sue"):
        assert asked.first()[0] is True
    session.sql("REVOKE ROLE hr FROM ROLE above")
    with audit.as_user(session, "sue"):
        assert asked.first()[0] is False
    session.sql("DROP ROLE above")


@pytest.mark.long("as tables; test_who_created_a_table_may_undrop_it has these")
def test_views(session, schema):
    """Known by their name: the newest object of a name is its creator's."""
    session.sql(f"GRANT CREATE VIEW ON SCHEMA {schema} TO ROLE public")
    run(session, "bob", "CREATE VIEW v AS SELECT 1 a", "DROP VIEW v")
    refused(session, "eve", "UNDROP VIEW v", "owned by user bob")
    run(session, "bob", "UNDROP VIEW v", "DROP VIEW v")
    run(session, "eve", "CREATE VIEW v AS SELECT 2 a", "DROP VIEW v")
    refused(session, "bob", "UNDROP VIEW v", "owned by user eve")
    run(session, "eve", "UNDROP VIEW v")
    assert session.table("v").first().a == 2


@pytest.mark.slow("many grants and refusals")
def test_schemas(session, schema):
    """UNDROP SCHEMA needs its OWNERSHIP, and CREATE SCHEMA on the account; what is in it comes with it."""
    run(session, "bob", "CREATE SCHEMA mine", "CREATE TABLE mine.t (a INT)", "DROP SCHEMA mine CASCADE")
    refused(session, "eve", "UNDROP SCHEMA mine", r"undrop schema spark_catalog\.mine: OWNERSHIP")
    refused(session, "bob", "UNDROP DATABASE mine", "CREATE SCHEMA is missing on account")
    session.sql("GRANT CREATE DATABASE ON ACCOUNT TO USER bob")
    run(session, "bob", "UNDROP SCHEMA mine")
    assert session.catalog.tableExists("mine.t")
    run(session, "bob", "USE mine", "DROP TABLE t", "UNDROP TABLE t", f"USE {schema}")
    session.sql("REVOKE CREATE SCHEMA ON ACCOUNT FROM USER bob")
    session.sql("DROP SCHEMA mine CASCADE")


def test_who_may_grant(session, schema, roles):
    """The owner and administrators; a refusal changes nothing and is on record as DENIED."""
    run(session, "bob", "CREATE TABLE t (a INT)")
    refused(session, "eve", "GRANT SELECT ON TABLE t TO USER eve", "may not grant SELECT .* user bob owns")
    refused(session, "eve", "GRANT OWNERSHIP ON TABLE t TO ROLE hr", "another owner")
    refused(session, "eve", "GRANT CREATE TABLE ON ACCOUNT TO USER eve", "role ACCOUNTADMIN owns")
    run(session, "bob", "GRANT SELECT ON TABLE t TO USER zoe WITH GRANT OPTION")
    run(session, "zoe", "GRANT SELECT ON TABLE t TO ROLE hr")
    with pytest.raises(PolicyInUseError, match="CASCADE"):
        run(session, "bob", "REVOKE SELECT ON TABLE t FROM USER zoe")
    name = f"spark_catalog.{schema}.t"
    assert grants(session, "SHOW GRANTS ON TABLE t") == [
        ("OWNERSHIP", "TABLE", name, "USER", "bob", "true", "bob"),
        ("SELECT", "TABLE", name, "ROLE", "HR", "false", "zoe"),
        ("SELECT", "TABLE", name, "USER", "zoe", "true", "bob"),
    ]
    run(session, "bob", "REVOKE SELECT ON TABLE t FROM USER zoe CASCADE")
    assert len(grants(session, "SHOW GRANTS ON TABLE t")) == 1
    audit.flush(session)
    found = session.sql(
        "SELECT user_name, query_type, error_code FROM account_usage.query_history"
        f" WHERE execution_status = 'DENIED' AND schema_name = '{schema}' ORDER BY start_time"
    ).collect()
    assert [tuple(row) for row in found] == [
        ("eve", "GRANT", "ACCESS_DENIED"),
        ("eve", "GRANT_OWNERSHIP", "ACCESS_DENIED"),
        ("eve", "GRANT", "ACCESS_DENIED"),
    ]


@pytest.mark.long("test_who_created_a_table_may_undrop_it has the refusal")
def test_a_refused_undrop_is_on_record(session, schema):
    """As DENIED, with the object and the way out; the object stays dropped."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("DROP TABLE t")
    refused(session, "eve", "UNDROP TABLE t", "GRANT OWNERSHIP ON TABLE")
    audit.flush(session)
    row = session.sql(
        "SELECT user_name, query_type, error_message, objects_tried FROM account_usage.query_history"
        f" WHERE execution_status = 'DENIED' AND schema_name = '{schema}'"
    ).first()
    assert (row.user_name, row.query_type) == ("eve", "UNDROP_TABLE")
    assert f"spark_catalog.{schema}.t" in row.error_message
    assert row.objects_tried == [f"spark_catalog.{schema}.t"]
    gone = session.sql("SHOW TABLES HISTORY").collect()
    assert [(one.name, one.dropped_on is not None) for one in gone] == [("t", True)]


def test_show_grants(session, schema, roles):
    """On an object, to somebody, of a role; what is shown can be asked."""
    session.sql(f"GRANT USAGE, CREATE TABLE ON SCHEMA {schema} TO ROLE hr")
    session.sql("GRANT MANAGE GRANTS ON ACCOUNT TO ROLE hr")
    session.sql("CREATE FUNCTION f(x INT) RETURNS INT RETURN x")
    session.sql("GRANT USAGE ON FUNCTION f(INT) TO ROLE hr")
    session.sql("CREATE MASKING POLICY m AS (v INT) RETURNS INT -> 0")
    session.sql("GRANT APPLY ON MASKING POLICY m TO ROLE hr")
    name = f"spark_catalog.{schema}"
    admin = ("false", "ACCOUNTADMIN")
    assert set(grants(session, "SHOW GRANTS TO ROLE hr")) == {
        ("APPLY", "MASKING POLICY", f"{name}.m", "ROLE", "HR", "false", "ann"),
        ("CREATE TABLE", "SCHEMA", name, "ROLE", "HR", *admin),
        ("MANAGE GRANTS", "ACCOUNT", "", "ROLE", "HR", *admin),
        ("USAGE", "FUNCTION", f"{name}.f", "ROLE", "HR", *admin),
        ("USAGE", "SCHEMA", name, "ROLE", "HR", *admin),
    }
    assert grants(session, "SHOW GRANTS OF ROLE hr") == [
        ("USAGE", "ROLE", "HR", "ROLE", "BOSS", "false", "ACCOUNTADMIN")
    ]
    assert grants(session, "SHOW GRANTS TO USER zoe") == grants_of(session, "zoe")
    assert grants(session, f"SHOW GRANTS ON SCHEMA {schema}")[0][:5] == (
        "OWNERSHIP", "SCHEMA", name, "USER", "ann",
    )  # fmt: skip
    shown = session.sql(
        'SHOW GRANTS TO ROLE hr ->> SELECT "privilege" FROM $1 WHERE "granted_on" = \'FUNCTION\''
    )
    assert [tuple(row) for row in shown.collect()] == [("USAGE",)]
    session.sql("CREATE OR REPLACE ROLE hr")
    assert grants(session, "SHOW GRANTS TO ROLE hr") == []


def grants_of(session, user):
    """SHOW GRANTS of a user's own."""
    return [tuple(row)[1:] for row in run(session, user, "SHOW GRANTS").collect()]


def test_on_record(session, schema):
    """object_modified_by_ddl says what was granted on what to whom."""
    session.sql("CREATE TABLE t (a INT)")
    text = "GRANT SELECT ON TABLE t TO USER bob"
    session.sql(text)
    audit.flush(session)
    ddl = json.loads(
        session.sql(
            "SELECT to_json(object_modified_by_ddl) FROM account_usage.access_history"
            " JOIN account_usage.query_history USING (query_id)"
            f" WHERE schema_name = '{schema}' AND query_text = '{text}'"
        ).first()[0]
    )
    assert (ddl["objectName"], ddl["operationType"]) == (f"spark_catalog.{schema}.t", "ALTER")
    assert json.loads(ddl["properties"])["privileges"] == {"value": "SELECT"}


WRONG = [
    ("GRANT SELECT ON TABLE nope TO USER wil", AnalysisException, "nope"),
    ("GRANT SELECT ON VIEW t TO USER wil", UnknownPolicyError, "write ON TABLE"),
    ("GRANT USAGE ON SCHEMA nope TO USER wil", UnknownPolicyError, "no schema spark_catalog.nope"),
    ("GRANT USAGE ON FUNCTION nope TO USER wil", UnknownPolicyError, "no function"),
    ("GRANT APPLY ON MASKING POLICY nope TO USER wil", UnknownPolicyError, "no masking policy"),
    ("GRANT FLY ON TABLE t TO USER wil", UnknownPrivilegeError, "no privilege FLY"),
    ("GRANT SELECT, FLY ON TABLE t TO USER wil", UnknownPrivilegeError, "no privilege FLY"),
    ("GRANT SELECT ON TABLE t TO ROLE nope", UnknownPolicyError, "no role NOPE"),
    ("REVOKE SELECT ON TABLE t FROM USER wil", UnknownPolicyError, "nothing to revoke"),
    ("SHOW GRANTS TO ROLE nope", UnknownPolicyError, "no role NOPE"),
]  # fmt: skip


def test_bad_input(session, schema):
    """Each mistake has an error that names the object, and nothing half done."""
    session.sql("CREATE TABLE t (a INT)")
    for text, error, said in WRONG:
        with pytest.raises(error, match=said):
            session.sql(text)
    assert grants(session, "SHOW GRANTS TO USER wil") == []
