"""SHOW and DESCRIBE of policies and roles."""

from __future__ import annotations

import pytest

import audit
from audit.policies.errors import UnknownPolicyError
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.statements.show_policies import ShowContext, describe_row, show_rows
from audit.time_travel.errors import NotAQueryError
from lineage.model import Domain
from lineage.sql.commands.command import CURRENT_SCHEMA, Shows
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES

HERE = ("c", "g")
ANN = ShowContext(HERE, frozenset({"A", "PUBLIC"}), "A")


def _policy(name, kind=Domain.MASKING_POLICY, comment=None):
    details = {
        "domain": kind.value, "body": "val", "parameters": [["val", "STRING"]], "returns": "STRING",
        "comment": comment,
    }  # fmt: skip
    return GovernanceEvent(1_000_000, "CREATE_POLICY", name, name=name, user="ann", details=details)


STATE = state_after([
    _policy("c.g.m1", comment="hides"), _policy("c.g.M2"), _policy("c.h.m1"), _policy("d.g.m1"),
    _policy("c.g.r", Domain.ROW_ACCESS_POLICY),
    GovernanceEvent(2_000_000, "SET_BODY", "e", "c.g.m1", name="c.g.m1", details={"body": "'*'"}),
    GovernanceEvent(3, "CREATE_ROLE", "a", name="A", user="ann", details={"comment": "first"}),
    GovernanceEvent(3, "CREATE_ROLE", "b", name="B", user="bob"),
    GovernanceEvent(3, "GRANT_ROLE", "x", name="A", details={"to": "ROLE", "grantee": "B"}),
    GovernanceEvent(3, "GRANT_ROLE", "y", name="A", details={"to": "USER", "grantee": "zoe"}),
])  # fmt: skip


@pytest.mark.parametrize(
    ("shows", "names"),
    [
        (Shows(Domain.MASKING_POLICY), ["c.g.M2", "c.g.m1", "c.h.m1"]),
        (Shows(Domain.MASKING_POLICY, schema=("C",)), ["c.g.M2", "c.g.m1", "c.h.m1"]),
        (Shows(Domain.MASKING_POLICY, schema=CURRENT_SCHEMA), ["c.g.M2", "c.g.m1"]),
        (Shows(Domain.MASKING_POLICY, "%1"), ["c.g.m1", "c.h.m1"]),
        (Shows(Domain.MASKING_POLICY, schema=("H",)), ["c.h.m1"]),
        (Shows(Domain.MASKING_POLICY, schema=("d", "g")), ["d.g.m1"]),
        (Shows(Domain.MASKING_POLICY, "m1", None), ["c.g.m1", "c.h.m1", "d.g.m1"]),
        (Shows(Domain.ROW_ACCESS_POLICY), ["c.g.r"]),
    ],
)
def test_which_policies(shows, names):
    """Those of the current catalog, of the schema asked for, or of all, whose name fits; by name."""
    assert [f"{row[2]}.{row[3]}.{row[1]}" for row in show_rows(shows, STATE, ANN)] == names


def test_what_a_policy_is():
    """Who made it when, as what, with which words; the body with its version."""
    row = show_rows(Shows(Domain.MASKING_POLICY, "m1"), STATE, ANN)[0]
    assert row[0].isoformat() == "1970-01-01T00:00:01+00:00"
    assert row[4:] == ("MASKING_POLICY", "ann", "hides", 2)
    found = describe_row(Shows(Domain.MASKING_POLICY, name=("m1",)), STATE, HERE)
    assert found == [("m1", "(val STRING)", "STRING", "'*'", 2)]
    with pytest.raises(UnknownPolicyError, match=r"c\.g\.r"):
        describe_row(Shows(Domain.MASKING_POLICY, name=("r",)), STATE, HERE)


def test_roles():
    """Those made and the system's own; which are the asker's, how often each is granted."""
    rows = {row[1]: row for row in show_rows(Shows(Domain.ROLE), STATE, ANN)}
    assert list(rows) == ["A", "ACCOUNTADMIN", "B", "PUBLIC"]
    assert rows["A"][2:] == ("N", "Y", "N", 1, 1, 0, "ann", "first")
    assert rows["B"][2:] == ("N", "N", "N", 0, 0, 1, "bob", "")
    assert rows["PUBLIC"][:5] == (None, "PUBLIC", "Y", "N", "Y")


def test_in_a_session(session, schema):
    """They are DataFrames under Snowflake's column names, and anybody may look."""
    session.sql("CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> '***' COMMENT = 'hides'")
    session.sql("CREATE ROLE looker COMMENT = 'looks'")
    with audit.as_user(session, "mallory"):
        frame = session.sql("SHOW MASKING POLICIES IN SCHEMA")
        assert frame.columns[:4] == ["created_on", "name", "database_name", "schema_name"]
        assert [(row.name, row.schema_name, row.owner) for row in frame.collect()] == [("m", schema, "ann")]
        row = session.sql(f"DESC MASKING POLICY {schema}.m").first()
        assert row.asDict() == {
            "name": "m", "signature": "(val STRING)", "return_type": "STRING", "body": "'***'", "version": 1,
        }  # fmt: skip
        assert session.sql("SHOW ROLES LIKE 'look%'").first().comment == "looks"
    session.sql("ALTER ROLE looker UNSET COMMENT")
    assert session.sql("SHOW ROLES LIKE 'look%'").first().comment == ""
    with pytest.raises(UnknownPolicyError, match="no schema"):
        session.sql("SHOW MASKING POLICIES IN SCHEMA nowhere")
    session.sql("DROP ROLE looker")


CHAINS = {
    """SHOW MASKING POLICIES IN SCHEMA ->> SELECT "name" FROM $1 WHERE "kind" = 'MASKING_POLICY'""": [("m",)],
    """SHOW ROW ACCESS POLICIES LIKE 'r%' IN SCHEMA ->> SELECT "name", "owner" FROM $1""": [("r", "ann")],
    """SHOW TAGS IN SCHEMA ->> SELECT explode("allowed_values") FROM $1 ->> SELECT max("col") FROM $1""": [
        ("b",)
    ],
    """SHOW ROLES LIKE 'flow%' ->> SELECT "name", "owner" FROM $1""": [("FLOWER", "ann")],
    """SHOW GRANTS TO ROLE flower ->> SELECT "privilege" FROM $1 WHERE "granted_on" = 'ROLE'""": [],
    """SHOW GRANTS OF ROLE flower ->> SELECT "grantee_name" FROM $1""": [("zoe",)],
    """DESC MASKING POLICY m ->> SELECT "body" || '!' FROM $1""": [("val!",)],
    """DESCRIBE t ->> SELECT "col_name" FROM $1 WHERE "data_type" = 'int'""": [("a",)],
    """SHOW MASKING POLICIES LIKE 'none' ->> SELECT count(*) FROM $1""": [(0,)],
}


def test_what_is_shown_is_asked(session, schema):
    """`->>` hands on what any SHOW or DESCRIBE shows."""
    del schema
    for text in (
        "CREATE MASKING POLICY m AS (val STRING) RETURNS STRING -> val",
        "CREATE ROW ACCESS POLICY r AS (val STRING) RETURNS BOOLEAN -> true",
        "CREATE TAG g ALLOWED_VALUES 'a', 'b'",
        "CREATE ROLE flower",
        "GRANT ROLE flower TO USER zoe",
        "CREATE TABLE t (a INT, b STRING)",
    ):
        session.sql(text)
    with audit.as_user(session, "mallory"):
        found = {text: [tuple(row) for row in session.sql(text).collect()] for text in CHAINS}
    assert found == CHAINS
    with pytest.raises(NotAQueryError, match="DROP"):
        session.sql("SHOW TABLES ->> DROP TABLE t")
    assert session.catalog.tableExists("t")
