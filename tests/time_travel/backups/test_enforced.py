"""Backups where each statement needs its privileges: who may restore, and whose it is then."""

from __future__ import annotations

import pytest

import audit
from audit.policies.errors import AccessDeniedError
from audit.time_travel.errors import BackupDeniedError
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

ATTACH = {"enforce_privileges": True, **NO_TABLES}


@pytest.fixture
def backup(session, schema):
    """Of a table of bob's with a view and a function, and of its schema; both sets are bob's."""
    session.sql(f"GRANT ALL PRIVILEGES ON SCHEMA {schema} TO USER bob")
    session.sql(f"GRANT OWNERSHIP ON SCHEMA {schema} TO USER bob COPY CURRENT GRANTS")
    with audit.as_user(session, "bob"):
        session.sql("CREATE TABLE t AS SELECT 1 AS a")
        session.sql("CREATE VIEW v AS SELECT a FROM t")
        session.sql("CREATE FUNCTION f() RETURNS INT RETURN 3")
        session.sql("CREATE BACKUP SET s FOR TABLE t")
        session.sql(f"CREATE BACKUP SET m FOR SCHEMA {schema}")
        found = []
        for name in ("s", "m"):
            session.sql(f"ALTER BACKUP SET {name} ADD BACKUP")
            found.append(session.sql(f"SHOW BACKUPS IN BACKUP SET {name}").first().backup_id)
    return found


def owner(session, domain, name):
    """Who owns it."""
    rows = session.sql(f"SHOW GRANTS ON {domain} {name}").collect()
    return next(row.grantee_name for row in rows if row.privilege == "OWNERSHIP")


def test_a_table_is_its_restorers(session, schema, backup):
    """Who restores it must be allowed to create it, owns it, and may read it; another may not."""
    restore = f"CREATE TABLE again FROM BACKUP SET s IDENTIFIER '{backup[0]}'"
    with audit.as_user(session, "eve"), pytest.raises(BackupDeniedError):
        session.sql(restore)
    session.sql(f"REVOKE CREATE TABLE ON SCHEMA {schema} FROM USER bob")
    session.sql(f"GRANT OWNERSHIP ON SCHEMA {schema} TO ROLE accountadmin COPY CURRENT GRANTS")
    with audit.as_user(session, "bob"), pytest.raises(AccessDeniedError, match="CREATE TABLE is missing"):
        session.sql(restore)
    assert not session.catalog.tableExists("again")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql(restore)
        assert session.table("again").collect() == [(1,)]
    assert owner(session, "TABLE", "again") == "bob"
    with audit.as_user(session, "eve"), pytest.raises(AccessDeniedError):
        session.table("again").collect()


def test_grants_come_back(session, schema, backup):
    """As they were when the backup was made; none to a role that is gone; in place those of today stay."""
    for role in ("hr", "gone"):
        session.sql(f"CREATE ROLE {role}")
    session.sql("GRANT ROLE hr TO USER zoe")
    with audit.as_user(session, "bob"):
        session.sql("GRANT SELECT ON TABLE t TO ROLE hr WITH GRANT OPTION")
        session.sql("GRANT SELECT ON TABLE t TO ROLE gone")
        session.sql("GRANT SELECT ON VIEW v TO USER kim")
        for name in ("s", "m"):
            session.sql(f"ALTER BACKUP SET {name} ADD BACKUP")
        session.sql("REVOKE SELECT ON TABLE t FROM ROLE hr")
    session.sql("DROP ROLE gone")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER bob")
    session.sql("GRANT CREATE SCHEMA ON ACCOUNT TO USER bob")
    of_table, of_schema = (
        session.sql(f"SHOW BACKUPS IN BACKUP SET {name}").collect()[-1].backup_id for name in ("s", "m")
    )
    new = f"new_{schema}"
    with audit.as_user(session, "bob"):
        session.sql(f"CREATE TABLE again FROM BACKUP SET s IDENTIFIER '{of_table}'")
        session.sql(f"CREATE SCHEMA {new} FROM BACKUP SET m IDENTIFIER '{of_schema}'")
        session.sql(f"CREATE OR REPLACE TABLE t FROM BACKUP SET s IDENTIFIER '{of_table}'")

    def granted(domain, name):
        rows = session.sql(f"SHOW GRANTS ON {domain} {name}").collect()
        kept = [row for row in rows if row.privilege != "OWNERSHIP"]
        return [(row.privilege, row.grantee_name, row.grant_option, row.granted_by) for row in kept]

    expected = [("SELECT", "HR", "true", "bob")]
    assert granted("TABLE", "again") == granted("TABLE", f"{new}.t") == expected
    assert granted("VIEW", f"{new}.v") == [("SELECT", "kim", "false", "bob")]
    assert granted("TABLE", "t") == []
    session.sql(f"GRANT USAGE ON SCHEMA {schema} TO ROLE hr")
    with audit.as_user(session, "zoe"):
        assert session.table(f"{schema}.again").collect() == [(1,)]
    session.sql(f"DROP SCHEMA {new} CASCADE")
    session.sql("REVOKE CREATE SCHEMA ON ACCOUNT FROM USER bob")
    session.sql("DROP ROLE hr")


def test_what_is_replaced_must_be_owned(session, schema, backup):
    """And keeps its owner."""
    session.sql("CREATE TABLE other (a INT)")
    session.sql(f"GRANT CREATE TABLE ON SCHEMA {schema} TO USER bob")
    replace = f"CREATE OR REPLACE TABLE other FROM BACKUP SET s IDENTIFIER '{backup[0]}'"
    with audit.as_user(session, "bob"), pytest.raises(AccessDeniedError, match="OWNERSHIP is missing"):
        session.sql(replace)
    assert session.table("other").count() == 0
    session.sql("GRANT OWNERSHIP ON TABLE other TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql(replace)
        assert session.table("other").collect() == [(1,)]
    assert owner(session, "TABLE", "other") == "bob"


def test_a_schema_is_its_restorers(session, schema, backup):
    """With all that is in it."""
    new = f"new_{schema}"
    restore = f"CREATE SCHEMA {new} FROM BACKUP SET {schema}.m IDENTIFIER '{backup[1]}'"
    with audit.as_user(session, "bob"), pytest.raises(AccessDeniedError, match="CREATE SCHEMA is missing"):
        session.sql(restore)
    session.sql("GRANT CREATE SCHEMA ON ACCOUNT TO USER bob")
    with audit.as_user(session, "bob"):
        session.sql(restore)
        assert session.sql(f"SELECT a, {new}.f() AS f FROM {new}.v").collect() == [(1, 3)]
        session.sql(f"INSERT INTO {new}.t VALUES (2)")
    for domain, name in (("TABLE", "t"), ("VIEW", "v"), ("FUNCTION", "f")):
        assert owner(session, domain, f"{new}.{name}") == "bob"
    assert owner(session, "SCHEMA", new) == "bob"
    session.sql(f"DROP SCHEMA {new} CASCADE")
