"""The statements: what they do, what they refuse, and what is on record of them."""

from __future__ import annotations

import json
import time

import pytest

import audit
from audit.policies.errors import (
    AccessDeniedError,
    BadPolicyError,
    PolicyExistsError,
    PolicyInUseError,
    UnknownPolicyError,
)


@pytest.fixture
def table(session, schema):
    """A table with a masking policy `m` beside it, not yet on it."""
    session.sql("CREATE TABLE t (id INT, ssn STRING, pay DECIMAL(10,2), region STRING)")
    session.sql("INSERT INTO t VALUES (1, '111', 10.00, 'eu'), (2, '222', 20.00, 'us')")
    session.sql("CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> '***'")
    return f"{schema}.t"


def _seen(session, columns="*", name="t"):
    return [tuple(row) for row in session.sql(f"SELECT {columns} FROM {name} ORDER BY ALL").collect()]


def test_a_policy_of_many_kinds(session, table):
    """Conditional masks, other types, a changed body, a new name, and off again."""
    session.sql(
        "CREATE MASKING POLICY pays AS (val DECIMAL(10,2), region VARCHAR) RETURNS DECIMAL(10,2) ->"
        " CASE WHEN region = 'eu' THEN val ELSE 0 END COMMENT = 'eu alone'"
    )
    session.sql("ALTER TABLE t ALTER COLUMN pay SET MASKING POLICY pays USING (pay, region)")
    assert [float(row[0]) for row in _seen(session, "pay")] == [0.0, 10.0]
    session.sql("ALTER MASKING POLICY pays SET BODY -> CASE WHEN region = 'us' THEN val ELSE -1 END")
    assert [float(row[0]) for row in _seen(session, "pay")] == [-1.0, 20.0]
    session.sql("ALTER MASKING POLICY pays RENAME TO pay_mask")
    assert [float(row[0]) for row in _seen(session, "pay")] == [-1.0, 20.0]
    session.sql("ALTER TABLE t ALTER COLUMN pay UNSET MASKING POLICY")
    assert [float(row[0]) for row in _seen(session, "pay")] == [10.0, 20.0]
    session.sql("DROP MASKING POLICY pay_mask")
    with pytest.raises(UnknownPolicyError):
        session.sql("DROP MASKING POLICY pay_mask")
    session.sql("DROP MASKING POLICY IF EXISTS pay_mask")


def test_a_row_access_policy_of_two_columns(session, table):
    """Its body is changed, it is shown, gets another name, is replaced where nothing uses it, and dropped."""
    run = session.sql
    both = "CREATE OR REPLACE ROW ACCESS POLICY near AS (area STRING, n INT) RETURNS BOOLEAN ->"
    run(f"{both} true")
    run(f"{both} area = 'eu' OR n = 2")
    run("ALTER TABLE t ADD ROW ACCESS POLICY near ON (region, id)")
    assert _seen(session, "id") == [(1,), (2,)]
    with pytest.raises(PolicyInUseError, match="near"):
        run(f"{both} true")
    run("ALTER ROW ACCESS POLICY near SET BODY -> area = 'eu' AND n = 1")
    assert _seen(session, "id") == [(1,)]
    run("ALTER ROW ACCESS POLICY near RENAME TO nearer")
    assert _seen(session, "id") == [(1,)]
    row = run("DESCRIBE ROW ACCESS POLICY nearer").first().asDict()
    assert row == {
        "name": "nearer", "signature": "(area STRING, n INT)", "return_type": "BOOLEAN",
        "body": "area = 'eu' AND n = 1", "version": 2,
    }  # fmt: skip
    run("ALTER TABLE t DROP ROW ACCESS POLICY nearer")
    run("DROP ROW ACCESS POLICY nearer")
    assert _seen(session, "id") == [(1,), (2,)]


def test_views_have_policies_of_their_own(session, table):
    """Below a masked column of a view another mask may lie."""
    session.sql("CREATE VIEW v AS SELECT id, ssn, region FROM t")
    session.sql("CREATE MASKING POLICY first AS (val STRING) RETURNS STRING -> left(val, 1)")
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY first")
    session.sql("ALTER VIEW v ALTER COLUMN ssn SET MASKING POLICY m")
    session.sql("CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> a = 'eu'")
    session.sql("ALTER VIEW v ADD ROW ACCESS POLICY r ON (region)")
    assert _seen(session, name="v") == [(1, "***", "eu")]
    assert _seen(session, "ssn") == [("1",), ("2",)]
    session.sql("ALTER VIEW v DROP ALL ROW ACCESS POLICIES")
    assert _seen(session, "id", "v") == [(1,), (2,)]


def test_a_column_with_another_name(session, table):
    """A mask follows its column."""
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    session.sql("ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    session.sql("ALTER TABLE t RENAME COLUMN ssn TO number")
    assert _seen(session, "number") == [("***",), ("***",)]


def test_a_column_that_may_not_be_null(session, schema):
    """A mask may give null where the column cannot: what is made of it knows."""
    session.sql("CREATE TABLE n (id INT NOT NULL, a STRING NOT NULL)")
    session.sql("INSERT INTO n VALUES (1, 'x'), (2, 'y')")
    session.sql("CREATE MASKING POLICY none AS (val INT) RETURNS INT -> NULL")
    session.sql("ALTER TABLE n ALTER COLUMN id SET MASKING POLICY none")
    assert _seen(session, "id, id IS NULL, coalesce(id, -1), id + 1", "n") == [(None, True, -1, None)] * 2
    assert _seen(session, "count(id), count(*)", "n") == [(0, 2)]


WRONG = [
    ("CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> val", PolicyExistsError, "is there already"),
    ("CREATE MASKING POLICY x AS (val STRING) RETURNS INT -> 1", BadPolicyError, "takes STRING and returns"),
    ("CREATE MASKING POLICY x AS (val INT) RETURNS INT -> 'a'", BadPolicyError, "gives"),
    ("CREATE MASKING POLICY x AS (val INT) RETURNS INT -> max(val)", BadPolicyError, "no expression over"),
    ("CREATE MASKING POLICY x AS (val INT) RETURNS INT -> nope(val)", BadPolicyError, "nope"),
    ("CREATE MASKING POLICY x AS (val INT) RETURNS INT -> other", BadPolicyError, "other"),
    ("CREATE MASKING POLICY x AS (v INT, V INT) RETURNS INT -> 1", BadPolicyError, "two parameters"),
    ("CREATE ROW ACCESS POLICY x AS (v INT) RETURNS INT -> 1", BadPolicyError, "BOOLEAN"),
    ("CREATE ROW ACCESS POLICY x AS (v INT) RETURNS BOOLEAN -> v IN (TABLE gone)", BadPolicyError, "gone"),
    ("ALTER MASKING POLICY nope SET BODY -> val", UnknownPolicyError, "no masking policy"),
    ("ALTER MASKING POLICY m SET BODY -> length(val) > 1 AND", BadPolicyError, "cannot be read"),
    ("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY nope", UnknownPolicyError, "no masking policy"),
    ("ALTER TABLE t ALTER COLUMN nope SET MASKING POLICY m", UnknownPolicyError, "has no column nope"),
    ("ALTER TABLE t ALTER COLUMN id SET MASKING POLICY m", BadPolicyError, "is int"),
    ("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m USING (ssn, id)", BadPolicyError, "2 are given"),
    ("ALTER TABLE t ALTER COLUMN ssn UNSET MASKING POLICY", UnknownPolicyError, "has no masking policy"),
    ("GRANT ROLE nope TO USER bob", UnknownPolicyError, "no role NOPE"),
    ("DROP ROLE nope", UnknownPolicyError, "no role NOPE"),
    ("USE ROLE nope", AccessDeniedError, "not granted"),
]  # fmt: skip


def test_bad_input(session, table):
    """Each mistake has an error that names the object, and nothing half done."""
    for text, error, said in WRONG:
        with pytest.raises(error, match=said):
            session.sql(text)
    assert _seen(session, "ssn") == [("111",), ("222",)]


def test_in_use(session, table):
    """A policy in use is not dropped or replaced; a column has one mask, a table one row access policy."""
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    with pytest.raises(PolicyInUseError, match=r"in_use\.t"):
        session.sql("DROP MASKING POLICY m")
    with pytest.raises(PolicyInUseError):
        session.sql("CREATE OR REPLACE MASKING POLICY m AS (val STRING) RETURNS STRING -> val")
    session.sql("CREATE MASKING POLICY other AS (val STRING) RETURNS STRING -> 'other'")
    with pytest.raises(PolicyExistsError, match="FORCE"):
        session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY other")
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY other FORCE")
    assert _seen(session, "ssn") == [("other",), ("other",)]
    session.sql("CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> a = 'eu'")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    with pytest.raises(PolicyExistsError, match="has row access policy"):
        session.sql("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    with pytest.raises(PolicyInUseError, match=r"in_use\.t"):
        session.sql("DROP ROW ACCESS POLICY r")


def test_a_policy_that_reads_its_own_table(session, table):
    """Neither by itself nor through a view."""
    session.sql("CREATE VIEW over AS SELECT region FROM t")
    session.sql(
        "CREATE ROW ACCESS POLICY own AS (a STRING) RETURNS BOOLEAN -> a IN (SELECT region FROM over)"
    )
    with pytest.raises(BadPolicyError, match="which it is to protect"):
        session.sql("ALTER TABLE t ADD ROW ACCESS POLICY own ON (region)")


def test_policies_that_read_each_others_tables(session, table):
    """Each reads the other's table as it is, so neither waits for the other."""
    session.sql("CREATE TABLE u AS SELECT 'eu' AS area")
    session.sql("CREATE ROW ACCESS POLICY by_u AS (a STRING) RETURNS BOOLEAN -> a IN (SELECT area FROM u)")
    session.sql("CREATE ROW ACCESS POLICY by_t AS (a STRING) RETURNS BOOLEAN -> a IN (SELECT region FROM t)")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY by_u ON (region)")
    session.sql("ALTER TABLE u ADD ROW ACCESS POLICY by_t ON (area)")
    assert [_seen(session, "id"), _seen(session, "area", "u")] == [[(1,)], [("eu",)]]


def test_who_may_change_it(session, table):
    """Policies and roles are an administrator's; nobody else takes a mask off, or a role."""
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    tries = (
        "ALTER TABLE t ALTER COLUMN ssn UNSET MASKING POLICY",
        "ALTER MASKING POLICY m SET BODY -> val",
        "GRANT ROLE accountadmin TO USER mallory",
        "CREATE ROLE mine",
    )
    with audit.as_user(session, "mallory"):
        for text in tries:
            with pytest.raises(AccessDeniedError, match="mallory may not change"):
                session.sql(text)
        assert _seen(session, "ssn") == [("***",), ("***",)]
    session.sql("GRANT ROLE accountadmin TO USER mallory")
    with audit.as_user(session, "mallory"):
        session.sql("ALTER TABLE t ALTER COLUMN ssn UNSET MASKING POLICY")
        assert _seen(session, "ssn") == [("111",), ("222",)]
    session.sql("REVOKE ROLE accountadmin FROM USER mallory")


def test_mapping_tables_are_read_as_they_are(session, table):
    """What a policy reads is behind no policy, and as of now."""
    session.sql("CREATE TABLE map (area STRING)")
    session.sql("CREATE ROW ACCESS POLICY none AS (a STRING) RETURNS BOOLEAN -> false")
    session.sql("ALTER TABLE map ADD ROW ACCESS POLICY none ON (area)")
    session.sql(
        "CREATE ROW ACCESS POLICY mapped AS (a STRING) RETURNS BOOLEAN -> a IN (SELECT area FROM map)"
    )
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY mapped ON (region)")
    assert _seen(session, "id") == []
    session.sql("INSERT INTO map VALUES ('us')")
    assert _seen(session, "id") == [(2,)]
    assert _seen(session, "count(*)", "map") == [(0,)]
    session.sql("CREATE MASKING POLICY hush AS (v STRING) RETURNS STRING -> 'eu'")
    session.sql("ALTER TABLE map DROP ROW ACCESS POLICY none")
    session.sql("ALTER TABLE map ALTER COLUMN area SET MASKING POLICY hush")
    assert _seen(session, "area", "map") == [("eu",)]
    assert _seen(session, "id") == [(2,)]


@pytest.mark.long("waits for what was looked up to grow old")
def test_a_mapping_table_made_anew(session, table):
    """Counts after ten seconds at the latest: the body is looked up again."""
    session.sql("CREATE TABLE map AS SELECT 'us' AS area")
    session.sql(
        "CREATE ROW ACCESS POLICY mapped AS (a STRING) RETURNS BOOLEAN -> a IN (SELECT area FROM map)"
    )
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY mapped ON (region)")
    assert _seen(session, "id") == [(2,)]
    session.sql("DROP TABLE map")
    session.sql("CREATE TABLE map AS SELECT 'eu' AS area")
    time.sleep(10)
    assert _seen(session, "id") == [(1,)]


def test_names_that_a_user_gives_mean_nothing_to_a_policy(session, table):
    """Temporary views and functions of a session do not get into a policy's body."""
    session.sql("CREATE TABLE allowed (area STRING)")
    session.sql(
        "CREATE ROW ACCESS POLICY hidden AS (a STRING) RETURNS BOOLEAN -> a IN (SELECT area FROM allowed)"
    )
    session.sql(
        "CREATE MASKING POLICY low AS (v STRING) RETURNS STRING -> if(current_role() = 'BOSS', v, upper('n'))"
    )
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY hidden ON (region)")
    with audit.as_user(session, "mallory"):
        session.sql("CREATE TEMP VIEW allowed AS SELECT 'eu' area UNION SELECT 'us'")
        session.udf.register("current_role", lambda: "BOSS")
        session.sql("CREATE TEMPORARY FUNCTION upper(x STRING) RETURNS STRING RETURN 'seen'")
        assert _seen(session, "id") == []
    session.sql("DROP VIEW allowed")
    session.sql("ALTER TABLE t DROP ROW ACCESS POLICY hidden")
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY low")
    with audit.as_user(session, "mallory"):
        assert _seen(session, "ssn") == [("N",), ("N",)]
    session.sql("DROP TEMPORARY FUNCTION upper")


def test_who_asks(session, schema):
    """Context functions tell of the audited user, in views and functions, too."""
    session.sql("CREATE ROLE analyst")
    session.sql("CREATE ROLE chief")
    session.sql("GRANT ROLE analyst TO ROLE chief")
    session.sql("GRANT ROLE chief TO USER zoe")
    with pytest.raises(BadPolicyError, match="cannot hold each other"):
        session.sql("GRANT ROLE chief TO ROLE analyst")
    ask = (
        "current_user() a, session_user() b, current_role() c, is_role_in_session('analyst') d,"
        " is_member('CHIEF') e, is_account_group_member('ANALYST') f, current_account() g"
    )
    session.sql(f"CREATE VIEW who AS SELECT {ask}")
    session.sql("CREATE FUNCTION me() RETURNS STRING RETURN current_user()")
    frame = session.sql(f"SELECT {ask}")
    with audit.as_user(session, "zoe"):
        assert tuple(frame.first()) == ("zoe", "zoe", "PUBLIC", True, True, True, "local")
        assert tuple(session.table("who").first()) == tuple(frame.first())
        assert session.sql("SELECT me()").first()[0] == "zoe"
        session.sql("USE ROLE chief")
        assert session.sql("SELECT current_role()").first()[0] == "CHIEF"
    assert tuple(frame.first()) == ("ann", "ann", "PUBLIC", False, False, False, "local")
    with audit.as_user(session, "app", roles=["analyst"]):
        assert session.sql("SELECT current_role(), is_role_in_session('chief')").first() == ("ANALYST", False)
    session.sql("REVOKE ROLE chief FROM USER zoe")
    with audit.as_user(session, "zoe"):
        assert tuple(frame.first()) == ("zoe", "zoe", "PUBLIC", False, False, False, "local")
    session.sql("DROP ROLE chief")
    session.sql("DROP ROLE analyst")


def test_on_record(session, table, schema):
    """policies_referenced of a query, object_modified_by_ddl of the statements."""
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    session.sql("CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> a = 'eu'")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    session.sql("CREATE VIEW v AS SELECT ssn FROM t")
    session.sql("SELECT ssn FROM v").collect()
    session.sql("SELECT id FROM t").collect()
    session.table("t").select("ssn").collect()
    audit.flush(session)
    found = {
        row.query_text: row
        for row in session.sql(
            "SELECT query_text, to_json(policies_referenced) p, to_json(object_modified_by_ddl) d,"
            " analysis FROM account_usage.access_history JOIN account_usage.query_history USING (query_id)"
            f" WHERE schema_name = '{schema}'"
        ).collect()
    }
    by_view = json.loads(found["SELECT ssn FROM v"].p)
    assert [one["objectName"] for one in by_view] == [f"spark_catalog.{table}"]
    assert by_view[0]["columns"][0]["policies"][0]["policyName"] == f"spark_catalog.{schema}.m"
    assert by_view[0]["policies"][0]["policyKind"] == "ROW_ACCESS_POLICY"
    assert "columns" not in json.loads(found["SELECT id FROM t"].p)[0]
    ddl = json.loads(found["ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m"].d)
    assert (ddl["objectName"], ddl["operationType"]) == (f"spark_catalog.{table}", "ALTER")
    assert {row.analysis for row in found.values()} == {"full"}
    frame = next(row for text, row in found.items() if text.startswith("DataFrame.collect"))
    assert json.loads(frame.p) == by_view


def test_drivers_take_turns(session, schema, spark):
    """Each decides on all that the others have done, and sees it with its next statement."""
    from audit.policies.model.event_log import EventLog
    from audit.policies.model.events import GovernanceEvent

    root = session._audit.services.config.root + "/ledger"  # a governance of its own
    one, two = EventLog(spark, root), EventLog(spark, root)

    def create(name):
        def decide(state):
            return [] if name in state.roles else [GovernanceEvent(1, "CREATE_ROLE", name, name=name)]

        return decide

    one.change(create("A"))
    assert set(two.state().roles) == {"A"}
    two.change(create("B"))
    one.change(create("B"))
    one.change(create("C"))
    assert set(one.state().roles) == set(two.state().roles) == {"A", "B", "C"}
    events = spark.read.format("delta").load(one.location).orderBy("sequence")
    assert [tuple(row) for row in events.select("sequence", "name").collect()] == [
        (0, "A"),
        (1, "B"),
        (2, "C"),
    ]
