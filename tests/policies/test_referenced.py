"""What policies_referenced says beyond the document: which body was in force, what it came to."""

from __future__ import annotations

import pytest

import audit
from audit.testing import records

MASK = "CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> "
HR = "CASE WHEN is_role_in_session('HR') THEN val ELSE '***' END"
ROWS = "CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> "
EU = "is_role_in_session('HR') OR a = 'eu'"


@pytest.fixture
def table(session, schema):
    """A table with a row of each region."""
    session.sql("CREATE TABLE t (id INT, ssn STRING, region STRING)")
    session.sql("INSERT INTO t VALUES (1, '111', 'eu'), (2, '222', 'us')")
    return f"{schema}.t"


def _said(session, schema, marker):
    """The policies of the statements that have a marker in their text, by name, in order."""
    found = []
    for record in records(session):
        if record.query.schema_name != schema or marker not in record.query.query_text or not record.access:
            continue
        items = [item.asDict(recursive=True) for item in record.access[0].policies_referenced or ()]
        policies = [p for item in items for p in item["policies"] or ()]
        policies += [
            p for item in items for column in item["columns"] or () for p in column["policies"] or ()
        ]
        found.append({p["policyName"].rpartition(".")[2]: p for p in policies})
    return found


def test_ids_and_kinds(session, table, schema):
    """As the document has them: an id for each policy, and the word for its kind."""
    session.sql(MASK + HR)
    session.sql(ROWS + EU)
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    _ask(session, ["hr"])
    [found] = _said(session, schema, "asked")
    assert [found[name]["policyKind"] for name in "mr"] == ["MASKING_POLICY", "ROW_ACCESS_POLICY"]
    first = {name: found[name]["policyId"] for name in "mr"}
    assert len(set(first.values())) == 2
    session.sql("ALTER MASKING POLICY m RENAME TO n")
    _ask(session, ["hr"])
    assert [one for one in _said(session, schema, "asked") if one][1]["n"]["policyId"] == first["m"]


def _changed(found):
    return [{name: policy.get("changedResult") for name, policy in one.items()} for one in found]


def _ask(session, roles, text="SELECT id, ssn FROM t -- asked"):
    with audit.as_user(session, "bob", roles=roles):
        return [tuple(row) for row in session.sql(text).collect()]


def test_who_sees_the_value_and_who_does_not(session, table, schema):
    """By text and by plan, through a view, and in a write: what the policies came to for each user."""
    session.sql(MASK + HR)
    session.sql(ROWS + EU)
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    session.sql("CREATE VIEW v AS SELECT ssn FROM t")
    assert _ask(session, ["hr"]) == [(1, "111"), (2, "222")]
    assert _ask(session, ["other"]) == [(1, "***")]
    for roles in (["hr"], ["other"]):
        _ask(session, roles, "SELECT ssn AS asked FROM v")
        _ask(session, roles, f"CREATE TABLE asked_{roles[0]} AS SELECT ssn FROM t")
        with audit.as_user(session, "bob", roles=roles):
            session.table("t").select("ssn").withColumnRenamed("ssn", "asked").collect()
    hr, other = {"r": False, "m": False}, {"r": True, "m": True}
    assert _changed(_said(session, schema, "asked")) == [hr, other, *[hr] * 3, *[other] * 3]


BODIES = [
    ("MASKING", "val", False),
    ("MASKING", "coalesce(val, NULL)", True),
    ("MASKING", "concat(val, '')", True),
    ("ROW ACCESS", "true OR a = 'eu'", False),
    ("ROW ACCESS", "a = 'eu'", True),
    ("ROW ACCESS", "false", True),
    ("ROW ACCESS", "EXISTS (SELECT 1 FROM t WHERE region = a)", True),
]


def test_what_a_body_comes_to(session, table, schema):
    """A value that is worked out is a change, whatever comes of it, and so is what depends on the row."""
    for number, (kind, body, _) in enumerate(BODIES):
        session.sql(f"CREATE TABLE t{number} AS SELECT * FROM t")
        parameter = "val STRING) RETURNS STRING" if kind == "MASKING" else "a STRING) RETURNS BOOLEAN"
        session.sql(f"CREATE {kind} POLICY p{number} AS ({parameter} -> {body}")
        change = (
            "ALTER COLUMN ssn SET MASKING POLICY p{0}"
            if kind == "MASKING"
            else "ADD ROW ACCESS POLICY p{0} ON (region)"
        )
        session.sql(f"ALTER TABLE t{number} " + change.format(number))
        _ask(session, [], f"SELECT id, ssn FROM t{number} -- asked")
    expected = [{f"p{number}": said} for number, (_, _, said) in enumerate(BODIES)]
    assert _changed(_said(session, schema, "-- asked")) == expected


SCRIPTS = [
    "BEGIN SELECT ssn FROM t; SELECT id FROM t; END",
    "BEGIN EXECUTE IMMEDIATE 'SELECT ssn FROM t'; END",
]


def test_what_runs_inside(session, table, schema):
    """The statements of a script, and of EXECUTE IMMEDIATE: with what the policies came to for their user."""
    session.sql(MASK + HR)
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    for text in SCRIPTS:
        for roles in (["hr"], ["other"]):
            with audit.as_user(session, "bob", roles=roles):
                session.sql(text).collect()
    inside = _changed(_said(session, schema, "SELECT ssn FROM t"))
    assert [one for one in inside if one] == [{"m": False}, {"m": True}] * len(SCRIPTS)


def test_what_runs_past_the_front_door(session, table, schema):
    """Java's own calls: the policy is known, and not what it came to."""
    session.sql(MASK + "'***'")
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    rows = session._jsparkSession.sql("SELECT ssn FROM t -- past it").collectAsList()
    assert {row.getString(0) for row in rows} == {"***"}
    audit.flush(session)
    [row] = session.sql(
        "SELECT captured_by, get(get(get(policies_referenced, 0).columns, 0).policies, 0) p"
        " FROM account_usage.access_history JOIN account_usage.query_history USING (query_id)"
        " WHERE endswith(query_text, '-- past it')"
    ).collect()
    assert (row.captured_by, row.p.policyKind, row.p.changedResult) == ("listener", "MASKING_POLICY", None)


def test_micro_batches(session, table, schema, tmp_path):
    """Each with the policies of its own moment."""
    session.sql(MASK + HR)
    session.sql("CREATE TABLE out (ssn STRING)")

    def run():
        with audit.as_user(session, "bob", roles=["hr"]):
            writer = session.readStream.table("t").select("ssn").writeStream.trigger(availableNow=True)
            writer.option("checkpointLocation", str(tmp_path)).toTable("out").awaitTermination()
        session.sql("INSERT INTO t VALUES (3, '333', 'eu')")

    run()
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    run()
    audit.flush(session)
    rows = session.sql(
        "SELECT to_json(policies_referenced) p FROM account_usage.access_history JOIN"
        " account_usage.query_history USING (query_id, user_name)"
        f" WHERE schema_name = '{schema}' AND query_type = 'STREAM_BATCH' ORDER BY query_id"
    ).collect()
    assert ["policyName" in row.p for row in rows] == [False, True]


def test_statements_of_a_script(session, table, schema):
    """Each with the policies of its own moment, though all are recorded when the script has ended."""
    session.sql(MASK + HR)
    with audit.as_user(session, "ann"):
        session.sql(
            "BEGIN SELECT ssn FROM t; ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m;"
            " SELECT ssn FROM t; ALTER TABLE t ALTER COLUMN ssn UNSET MASKING POLICY; SELECT ssn FROM t; END"
        )
    audit.flush(session)
    rows = session.sql(
        "SELECT to_json(policies_referenced) p FROM account_usage.access_history JOIN"
        " account_usage.query_history USING (query_id, user_name)"
        f" WHERE schema_name = '{schema}' AND query_text = 'SELECT ssn FROM t' ORDER BY query_start_time"
    ).collect()
    assert ["policyName" in (row.p or "") for row in rows] == [False, True, False]


def test_any_of_several_may_let_all_rows_through(session, table, schema):
    """BigQuery's: where one shows somebody all rows, the others hide none from them."""
    session.sql("CREATE ROW ACCESS POLICY g1 ON t GRANT TO ('user:bob') FILTER USING (true)")
    session.sql("CREATE ROW ACCESS POLICY g2 ON t GRANT TO ('user:bob') FILTER USING (region = 'eu')")
    _ask(session, [])
    session.sql("DROP ROW ACCESS POLICY g1 ON t")
    _ask(session, [])
    assert _changed(_said(session, schema, "-- asked")) == [{"g1": False, "g2": False}, {"g2": True}]


def test_the_version_is_what_describe_shows(session, table, schema):
    """SQL works it out; another body, or another signature, is another version, another name the same."""
    session.sql(MASK + HR)
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")

    def version():
        row = session.sql("DESCRIBE MASKING POLICY m").first()
        text = f"{row.signature} RETURNS {row.return_type} -> {row.body}".replace("\\", "\\\\").replace(
            "'", "\\'"
        )
        return session.sql(f"SELECT sha2('{text}', 256)").first()[0]

    first = version()
    _ask(session, [])
    session.sql("ALTER MASKING POLICY m RENAME TO n")
    _ask(session, [])
    session.sql("ALTER MASKING POLICY n RENAME TO m")
    session.sql("ALTER MASKING POLICY m SET BODY -> 'x'")
    _ask(session, [])
    found = [policy["policyVersion"] for one in _said(session, schema, "-- asked") for policy in one.values()]
    assert found == [first, first, version()]
    assert first != version()


def test_as_it_was_when_the_statement_ran(session, table, schema):
    """The worker comes later: by then the policy says something else, and the user has another role."""
    session.sql(MASK + HR)
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASKING POLICY m")
    services = session._audit.services
    old, token = services.policies.set_identity(session._audit.session_id, "bob", ["hr"])
    session._audit._enter()
    relation = services.catalog.look_up(("spark_catalog", schema, "t"), ("", ""))
    session.sql("ALTER MASKING POLICY m SET BODY -> 'x'")
    new, _ = services.policies.set_identity(session._audit.session_id, "ann", [])

    def came_to(state, token):
        (one,) = services.policies.attachments(relation, state, token)
        return one.policy.body, one.changes

    assert [came_to(old, token), came_to(new, token)] == [(HR, False), ("'x'", True)]
    session.sql("ALTER TABLE t ALTER COLUMN ssn UNSET MASKING POLICY")
    session.sql("DROP MASKING POLICY m")
    assert came_to(old, services.policies.set_identity(session._audit.session_id, "bob", ["other"])[1]) == (
        HR,
        True,
    )
    assert [came_to(old, None), came_to(old, "nobody's")] == [(HR, None), (HR, None)]


def test_what_cannot_be_told(session, table, schema):
    """A body that can be resolved no longer: its version is known, what it came to is not."""
    session.sql("CREATE TABLE map AS SELECT 'eu' AS b")
    session.sql(ROWS + "EXISTS (SELECT 1 FROM map WHERE b = a)")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    services = session._audit.services
    state, token = services.policies.set_identity(session._audit.session_id, "bob", [])
    session._audit._enter()
    session.sql("ALTER TABLE t DROP ROW ACCESS POLICY r")
    session.sql("DROP ROW ACCESS POLICY r")
    session.sql("DROP TABLE map")
    relation = services.catalog.look_up(("spark_catalog", schema, "t"), ("", ""))
    (one,) = services.policies.attachments(relation, state, token)
    assert (one.changes, len(one.policy.version)) == (None, 64)
