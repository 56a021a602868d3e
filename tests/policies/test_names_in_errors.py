"""A refusal names its object as people write it, whatever catalog it is of and whatever is in the name."""

from __future__ import annotations

import pytest

from audit.core.errors import AuditError
from lineage.names import quote_name, sql_name
from tests.sessions import NO_TABLES, add_derby_catalog

ATTACH = NO_TABLES
ELSEWHERE = [("derb", "APP2", "PEOPLE"), ("derb", "APP2", "odd.name")]
STATEMENTS = (
    "ALTER TABLE {} ALTER COLUMN a SET MASKING POLICY m",
    "ALTER TABLE {} ALTER COLUMN a UNSET MASKING POLICY",
    "ALTER TABLE {} ALTER COLUMN a SET MASK f",
    "ALTER TABLE {} ALTER COLUMN a DROP MASK",
    "ALTER TABLE {} ADD ROW ACCESS POLICY r ON (a)",
    "ALTER TABLE {} DROP ROW ACCESS POLICY r",
    "ALTER TABLE {} SET ROW FILTER g ON (a)",
    "ALTER TABLE {} DROP ROW FILTER",
    "ALTER TABLE {} SET TAG t = 'x'",
    "ALTER TABLE {} UNSET TAG t",
    "ALTER TABLE {} ALTER COLUMN a SET TAG t = 'x'",
    "CREATE ROW ACCESS POLICY big ON {} GRANT TO ('user:a@x.org') FILTER USING (a > 1)",
    "GRANT SELECT ON TABLE {} TO ROLE readers",
    "REVOKE SELECT ON TABLE {} FROM ROLE readers",
    "SHOW GRANTS ON TABLE {}",
)


@pytest.fixture(scope="module")
def objects(session):
    """Policies, functions and a role here; tables of another catalog, and a temporary view with a dot."""
    add_derby_catalog(session, "derb")
    for text in (
        "CREATE SCHEMA names_in_errors",
        "USE names_in_errors",
        "CREATE MASKING POLICY m AS (v INT) RETURNS INT -> 0",
        "CREATE ROW ACCESS POLICY r AS (v INT) RETURNS BOOLEAN -> v > 0",
        "CREATE FUNCTION f(v INT) RETURNS INT RETURN 0",
        "CREATE FUNCTION g(v INT) RETURNS BOOLEAN RETURN v > 0",
        "CREATE TAG t",
        "CREATE ROLE readers",
        "CREATE TEMPORARY VIEW `with.dot` AS SELECT 1 AS a",
        "CREATE NAMESPACE IF NOT EXISTS derb.APP2",
        *(f"CREATE TABLE {sql_name(name)} (a INT)" for name in ELSEWHERE),
    ):
        session.sql(text)
    yield
    for text in (
        "DROP VIEW `with.dot`",
        *(f"DROP TABLE {sql_name(name)}" for name in ELSEWHERE),
        "DROP ROLE readers",
        "USE default",
        "DROP SCHEMA names_in_errors CASCADE",
    ):
        session.sql(text)


@pytest.mark.one_in(3, "each kind of object")
@pytest.mark.parametrize("text", STATEMENTS)
def test_a_refusal_names_the_object_once_quoted(session, objects, text):
    """Never in back-ticks of back-ticks."""
    for name in (*ELSEWHERE, ("with.dot",)):
        with pytest.raises(AuditError) as refused:
            session.sql(text.format(sql_name(name)))
        message = str(refused.value)
        assert quote_name(name) in message
        assert "``" not in message


def test_a_table_by_its_path_is_named_by_it(session, objects, tmp_path):
    """It is protected, and shown under a name that can be read."""
    session.sql(f"CREATE TABLE delta.`{tmp_path}/t` (a INT) USING delta")
    session.sql(f"ALTER TABLE delta.`{tmp_path}/t` ALTER COLUMN a SET MASKING POLICY m")
    with pytest.raises(AuditError) as refused:
        session.sql(f"ALTER TABLE delta.`{tmp_path}/t` ALTER COLUMN a SET MASKING POLICY m")
    assert quote_name(("delta", f"{tmp_path}/t")) in str(refused.value)
    assert "``" not in str(refused.value)
    session.sql(f"ALTER TABLE delta.`{tmp_path}/t` ALTER COLUMN a UNSET MASKING POLICY")
