"""Where masked data has gone: `policies.leaks`."""

from __future__ import annotations

import pytest

import audit
from audit import policies
from audit.policies.errors import PolicyError


def test_what_was_made_of_a_masked_column(session, schema):
    """Copies, and copies of these, are found with who wrote them; what is masked or gone is not."""
    run = session.sql
    run("CREATE TABLE t (id INT, ssn STRING, mail STRING)")
    run("INSERT INTO t VALUES (1, '111', 'a@x')")
    run(
        "CREATE MASKING POLICY hush AS (val STRING) RETURNS STRING ->"
        " CASE WHEN is_role_in_session('HR') THEN val ELSE '***' END"
    )
    run("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY hush")
    run("CREATE TAG pii")
    run("ALTER TABLE t ALTER COLUMN mail SET TAG pii = 'x'")
    assert [leak for leak in policies.leaks(session) if schema in leak.source] == []
    with audit.as_user(session, "hal", ["HR"]):
        run("CREATE TABLE copy AS SELECT id, ssn AS number FROM t")
    run("CREATE TABLE far AS SELECT upper(number) AS `odd.name`, id FROM copy WHERE number IS NOT NULL")
    run("CREATE TABLE addresses AS SELECT mail FROM t")
    run("CREATE VIEW seen AS SELECT ssn FROM t")
    run("CREATE TABLE counted AS SELECT count(*) AS n FROM t WHERE ssn IS NOT NULL")
    run("CREATE TABLE masked AS SELECT ssn FROM t")
    run("ALTER TABLE masked ALTER COLUMN ssn SET MASKING POLICY hush")
    run("CREATE TABLE gone AS SELECT ssn FROM t")
    run("DROP TABLE gone")
    here = f"spark_catalog.{schema}"
    found = [leak for leak in policies.leaks(session) if leak.source.startswith(here)]
    assert [(leak.column, leak.source, leak.policy, leak.tags, leak.hops, leak.users) for leak in found] == [
        (f"{here}.addresses.mail", f"{here}.t.mail", None, (f"{here}.pii",), 1, ("ann",)),
        (f"{here}.copy.number", f"{here}.t.ssn", f"{here}.hush", (), 1, ("hal",)),
        (f"{here}.far.`odd.name`", f"{here}.t.ssn", f"{here}.hush", (), 2, ("ann",)),
    ]
    asked = found[2].query_ids[0]
    text = run(f"SELECT query_text FROM account_usage.query_history WHERE query_id = '{asked}'").first()[0]
    assert text.startswith("CREATE TABLE far")
    run("ALTER TABLE copy ALTER COLUMN number SET MASKING POLICY hush")
    run("ALTER TABLE addresses ALTER COLUMN mail SET TAG pii = 'y'")
    left = {leak.column for leak in policies.leaks(session) if leak.source.startswith(here)}
    assert left == {f"{here}.far.`odd.name`"}


def test_what_stands_where(session, schema):
    """On a table, a view and columns, by itself and through tags; what is taken off is gone."""
    run = session.sql
    run("CREATE TABLE t (id INT, ssn STRING, mail STRING, region STRING)")
    run("CREATE VIEW v AS SELECT * FROM t")
    run("CREATE MASKING POLICY m AS (v STRING, r STRING) RETURNS STRING -> if(r = 'eu', v, '***')")
    run("CREATE MASKING POLICY n AS (v STRING) RETURNS STRING -> '***'")
    run("CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> a = 'eu'")
    run("CREATE TAG pii")
    run("ALTER TAG pii SET MASKING POLICY n")
    run("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m USING (ssn, region)")
    run("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    run("ALTER TABLE t ALTER COLUMN mail SET TAG pii = 'x'")
    run("ALTER VIEW v SET TAG pii = 'x'")
    here = f"spark_catalog.{schema}."

    def found():
        every = [one for one in policies.references(session) if one.object_name.startswith(here)]
        said = [(one.object_name, one.column, one.policy, one.arguments, one.tag) for one in every]
        return [tuple(x.removeprefix(here) if isinstance(x, str) else x for x in one) for one in said]

    assert found() == [
        ("t", None, "r", ("region",), None),
        ("t", "mail", "n", ("mail",), "pii"),
        ("t", "ssn", "m", ("ssn", "region"), None),
        ("v", None, "n", (), "pii"),
    ]
    run("SELECT ssn FROM t -- refers").collect()
    audit.flush(session)
    [on_record] = run(
        "SELECT get(get(get(policies_referenced, 0).columns, 0).policies, 0).policyId AS policy_id FROM"
        " account_usage.access_history JOIN account_usage.query_history USING (query_id)"
        " WHERE query_text = 'SELECT ssn FROM t -- refers'"
    ).collect()
    [masking] = [one for one in policies.references(session) if one.policy == f"{here}m"]
    assert (masking.policy_id, masking.policy_kind) == (on_record.policy_id, "MASKING_POLICY")
    run("ALTER TABLE t ALTER COLUMN mail UNSET TAG pii")
    run("ALTER TABLE t DROP ALL ROW ACCESS POLICIES")
    assert [one[:2] for one in found()] == [("t", "ssn"), ("v", None)]


@pytest.mark.parametrize("ask", [policies.leaks, policies.references])
def test_of_a_session_that_is_not_audited(spark, ask):
    """It says so."""
    with pytest.raises(PolicyError, match="not audited"):
        ask(spark)
