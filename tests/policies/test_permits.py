"""Who may change the governance, without being an administrator: each statement and its privilege."""

from __future__ import annotations

from uuid import uuid4

import pytest

import audit
from audit.policies.errors import AccessDeniedError

STATEMENTS = [
    ("CREATE MASKING POLICY q AS (v STRING) RETURNS STRING -> 'x'", "CREATE MASKING POLICY ON SCHEMA {s}"),
    (
        "CREATE ROW ACCESS POLICY q AS (v STRING) RETURNS BOOLEAN -> true",
        "CREATE ROW ACCESS POLICY ON SCHEMA {s}",
    ),
    (
        "CREATE OR REPLACE MASKING POLICY spare AS (v STRING) RETURNS STRING -> 'x'",
        "OWNERSHIP ON MASKING POLICY spare",
    ),
    ("ALTER MASKING POLICY m SET BODY -> 'y'", "OWNERSHIP ON MASKING POLICY m"),
    ("ALTER MASKING POLICY m SET COMMENT = 'y'", "OWNERSHIP ON MASKING POLICY m"),
    ("DROP MASKING POLICY spare", "OWNERSHIP ON MASKING POLICY spare"),
    ("CREATE TAG q", "CREATE TAG ON SCHEMA {s}"),
    ("ALTER TAG g SET COMMENT = 'y'", "OWNERSHIP ON TAG g"),
    ("DROP TAG g", "OWNERSHIP ON TAG g"),
    ("ALTER TABLE t ALTER COLUMN a SET MASKING POLICY m", "APPLY MASKING POLICY ON ACCOUNT"),
    ("ALTER TABLE t ALTER COLUMN b UNSET MASKING POLICY", "APPLY MASKING POLICY ON ACCOUNT"),
    ("ALTER TABLE t ADD ROW ACCESS POLICY r ON (a)", "APPLY ROW ACCESS POLICY ON ACCOUNT"),
    ("ALTER TABLE t SET TAG g = 'x'", "APPLY TAG ON ACCOUNT"),
    ("ALTER SCHEMA {s} SET TAG g = 'x'", "APPLY TAG ON ACCOUNT"),
    ("CREATE ROW ACCESS POLICY q ON t FILTER USING (a = 'x')", "APPLY ROW ACCESS POLICY ON ACCOUNT"),
]


@pytest.fixture
def schema(session):
    """A current schema of a name of its own: policies outlive theirs."""
    name = f"permits_{uuid4().hex[:12]}"
    session.sql(f"CREATE SCHEMA {name}")
    session.sql(f"USE {name}")
    yield name
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {name} CASCADE")


@pytest.fixture
def objects(session, schema):
    """A table of ann's, masks, a filter and a tag."""
    session.sql("CREATE TABLE t (a STRING, b STRING)")
    session.sql("CREATE MASKING POLICY m AS (v STRING) RETURNS STRING -> 'x'")
    session.sql("CREATE MASKING POLICY spare AS (v STRING) RETURNS STRING -> 'x'")
    session.sql("CREATE ROW ACCESS POLICY r AS (v STRING) RETURNS BOOLEAN -> true")
    session.sql("CREATE TAG g")
    session.sql("ALTER TABLE t ALTER COLUMN b SET MASKING POLICY m")
    yield schema
    for privilege in ("APPLY MASKING POLICY", "APPLY ROW ACCESS POLICY", "APPLY TAG"):
        grants = session.sql("SHOW GRANTS TO USER bob").collect()
        if any(row.privilege == privilege and row.granted_on == "ACCOUNT" for row in grants):
            session.sql(f"REVOKE {privilege} ON ACCOUNT FROM USER bob")


def refused(session, user, text, said):
    """A statement that its user may not run."""
    with audit.as_user(session, user), pytest.raises(AccessDeniedError, match=said):
        session.sql(text)


@pytest.mark.one_in(3, "each statement of a kind")
@pytest.mark.parametrize(("text", "privilege"), STATEMENTS)
def test_statements(session, objects, text, privilege):
    """Refused without its privilege, which the error names; run with it."""
    text, privilege = text.format(s=objects), privilege.format(s=objects)
    refused(session, "bob", text, rf"bob may not .*: {privilege.partition(' ON ')[0]} is missing on")
    session.sql(f"GRANT {privilege} TO USER bob")
    if text.startswith("CREATE OR REPLACE"):
        session.sql(f"GRANT CREATE MASKING POLICY ON SCHEMA {objects} TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql(text)


def test_who_owns_the_table(session, objects):
    """OWNERSHIP of the table, and APPLY on the policy; on no other table."""
    session.sql("GRANT APPLY ON MASKING POLICY m TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql("CREATE TABLE mine (a STRING)")
        session.sql("ALTER TABLE mine ALTER COLUMN a SET MASKING POLICY m")
    refused(
        session,
        "bob",
        "ALTER TABLE mine ALTER COLUMN a SET MASKING POLICY spare FORCE",
        "APPLY is missing on",
    )
    refused(
        session,
        "bob",
        "ALTER TABLE t ALTER COLUMN a SET MASKING POLICY m",
        "APPLY MASKING POLICY is missing on account",
    )
    refused(session, "bob", "ALTER TABLE mine SET TAG g = 'x'", "APPLY is missing on tag")
    session.sql("GRANT APPLY ON TAG g TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql("ALTER TABLE mine SET TAG g = 'x'")
        session.sql("ALTER TABLE mine ALTER COLUMN a UNSET MASKING POLICY")


def test_what_one_has_made(session, objects):
    """Policies and tags are their creator's."""
    session.sql(f"GRANT CREATE MASKING POLICY, CREATE TAG ON SCHEMA {objects} TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql("CREATE MASKING POLICY own AS (v STRING) RETURNS STRING -> 'x'")
        session.sql("ALTER MASKING POLICY own RENAME TO other")
        session.sql("CREATE TAG owned")
        session.sql("DROP TAG owned")
    refused(session, "eve", "DROP MASKING POLICY other", "OWNERSHIP is missing on masking policy")
    refused(session, "bob", "ALTER TAG g SET MASKING POLICY other", "OWNERSHIP is missing on tag")
    session.sql("GRANT OWNERSHIP ON TAG g TO USER bob")
    refused(
        session, "bob", "ALTER TAG g SET MASKING POLICY other", "APPLY MASKING POLICY is missing on account"
    )


@pytest.mark.parametrize(
    "body",
    [
        "(SELECT max(a) FROM t)",
        "f(v)",
        "g()",
        "(SELECT f('x'))",
        "CASE WHEN v IN (SELECT a FROM t) THEN v END",
    ],
)
def test_bodies_that_read(session, objects, body):
    """A body reads with nobody's policies: what it reads an administrator allows."""
    session.sql("CREATE FUNCTION f(v STRING) RETURNS STRING RETURN upper(v)")
    session.sql("CREATE FUNCTION g() RETURNS STRING RETURN 'x'")
    session.sql(f"GRANT CREATE MASKING POLICY ON SCHEMA {objects} TO USER bob")
    text = f"CREATE MASKING POLICY spy AS (v STRING) RETURNS STRING -> {body}"
    refused(session, "bob", text, "it reads tables or calls functions")
    session.sql("GRANT OWNERSHIP ON MASKING POLICY spare TO USER bob")
    refused(session, "bob", f"ALTER MASKING POLICY spare SET BODY -> {body}", "it reads tables")
    session.sql(text)


def test_roles(session):
    """Are for administrators."""
    refused(session, "bob", "CREATE ROLE bobs", "bob may not change roles")
    refused(session, "bob", "GRANT ROLE accountadmin TO USER bob", "bob may not change roles")


INVOKED = [
    ("SELECT a FROM t", "HR"),
    ("SELECT a FROM by_role", "PAY"),
    ("SELECT a FROM by_user", None),
    ("SELECT a FROM over_it", None),
    ("SELECT a FROM (SELECT a FROM by_role)", "PAY"),
    ("SELECT reads() a", "PAY"),
    ("SELECT a FROM unknown", "HR"),
    ("SELECT invoker_role() a", "HR"),
    ("SELECT role a FROM by_role", "PAY"),
]


def test_invoker_role(session, schema):
    """The role of the session; inside a view or function the role that owns it, null where a user does."""
    for role in ("hr", "pay"):
        session.sql(f"CREATE ROLE {role}")
    session.sql("GRANT ROLE hr TO USER zoe")
    session.sql("CREATE TABLE t (a STRING)")
    session.sql("INSERT INTO t VALUES ('real')")
    session.sql("CREATE VIEW unknown AS SELECT a FROM t")
    session.sql("CREATE MASKING POLICY who AS (v STRING) RETURNS STRING -> invoker_role()")
    session.sql("ALTER TABLE t ALTER COLUMN a SET MASKING POLICY who")
    with audit.as_user(session, "app", roles=["pay"]):
        session.sql("CREATE VIEW by_role AS SELECT a, invoker_role() role FROM t")
        session.sql("CREATE FUNCTION reads() RETURNS STRING RETURN (SELECT max(a) FROM t)")
    with audit.as_user(session, "bob"):
        session.sql("CREATE VIEW by_user AS SELECT a FROM t")
        session.sql("CREATE VIEW over_it AS SELECT a FROM by_user")
    with audit.as_user(session, "zoe", roles=["hr"]):
        assert {text: session.sql(text).first().a for text, _ in INVOKED} == dict(INVOKED)
    session.sql("GRANT OWNERSHIP ON VIEW unknown TO ROLE pay")
    with audit.as_user(session, "zoe", roles=["hr"]):
        assert session.sql("SELECT a FROM unknown").first().a == "PAY"


def test_the_role_on_record(session, schema):
    """A record has the role that USE ROLE has taken on."""
    session.sql("CREATE ROLE IF NOT EXISTS clerk")
    session.sql("GRANT ROLE clerk TO USER max")
    with audit.as_user(session, "max"):
        session.sql("USE ROLE clerk")
        session.sql("SELECT 1 AS as_a_clerk").collect()
    audit.flush(session)
    history = session.table("account_usage.query_history")
    found = history.where("query_text = 'SELECT 1 AS as_a_clerk'").collect()
    assert [row.role_name for row in found] == ["CLERK"]
