"""What was in force when: rows of `object_governance`, held against models of dicts after each statement."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.policies.errors import GovernanceError, PolicyError
from audit.policies.history.rows import governance_rows
from audit.policies.model.events import GovernanceEvent
from lineage.catalog.object_ids import object_id
from lineage.model import Domain

from . import test_protection_model as protection
from . import test_roles_and_privileges_model as privileges
from .history_rows import all_rows, at, micros
from .told_governance import Governance, table

POLICY_DOMAINS = {"MASKING": Domain.MASKING_POLICY, "ROW ACCESS": Domain.ROW_ACCESS_POLICY, "TAG": Domain.TAG}
PLACES = {
    "t": object_id("TABLE", "t"), "k": object_id("TABLE", "k"), "b": object_id("TABLE", "b"),
    "v": object_id("VIEW", "c.s.v"), "s": object_id("SCHEMA", "c.s"),
}  # fmt: skip


def of_protection(model, state):
    """What the model says now: policies and tags that are there, and where each is; by ids."""

    def identity(kind, name):
        return state.identity(POLICY_DOMAINS[kind], f"c.s.{name}")

    named = {number: identity(kind, name) for (kind, name), number in model.names.items()}
    kinds = {(name, number): kind for (kind, name), number in model.names.items()}
    policy = {name: identity(kind, name) for (name, _), kind in kinds.items() if kind != "TAG"}
    return {
        "POLICY": {named[number] for (kind, _), number in model.names.items() if kind != "TAG"},
        "TAG": {named[number] for (kind, _), number in model.names.items() if kind == "TAG"},
        "POLICY_USE": {
            (PLACES[on], column, policy[name], tag) for on, column, name, tag in model.references()
        },
        "TAG_USE": {
            (PLACES[on], column, named[number], value)
            for (on, column), tags in model.tags.items() for number, value in tags.items()
            if number in named  # a dropped tag tags nothing
        },
    }  # fmt: skip


def shown_protection(rows, moment):
    """The same, from rows."""
    return {
        "POLICY": {row.policy_id for row in at(rows["POLICY"], moment)},
        "TAG": {row.tag_id for row in at(rows["TAG"], moment)},
        "POLICY_USE": {
            (row.ref_entity_id, row.ref_column_name, row.policy_id, row.tag_name is not None)
            for row in at(rows["POLICY_USE"], moment)
        },
        "TAG_USE": {
            (row.object_id, row.column_name, row.tag_id, row.tag_value) for row in at(rows["TAG_USE"], moment)
        },
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(protection.STATEMENTS, min_size=20, max_size=60))
def test_what_protected_what_at_each_moment(statements):
    """After any statements the rows say of each moment what the model said then."""
    governance, model = Governance(tables=protection.TABLES.values()), protection.Model()
    then = {}
    for name, *words in (*protection.BEFORE, *statements):
        protection.outcome(model, governance, name, words)
        said = of_protection(model, governance.state)
        # A tag may be called otherwise later, and names are the last ones known.
        said["POLICY_USE"] = {(*rest, tag is not None) for *rest, tag in said["POLICY_USE"]}
        then[governance.time] = said
    rows = {kind: all_rows(governance.log, kind) for kind in ("POLICY", "TAG", "POLICY_USE", "TAG_USE")}
    for moment, said in then.items():
        assert shown_protection(rows, moment) == said
    for row in at(rows["POLICY"], governance.time):
        kind = "MASKING" if row.policy_kind == "MASKING_POLICY" else "ROW ACCESS"
        body, version = model.bodies[model.names[kind, row.policy_name]][1:]
        assert (row.policy_body, row.policy_version) == (body, version)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["ann", *privileges.USERS]), privileges.STATEMENTS),
        min_size=20,
        max_size=60,
    )
)
def test_who_could_what_at_each_moment(statements):
    """The same of roles, members, privileges with grantor and option, and owners."""
    governance, model = Governance(tables=privileges.TABLES), privileges.Model()
    then = {}
    for user, (kind, *words) in (*privileges.BEFORE, *statements):
        who = "ann" if kind.endswith("_role") else user
        try:
            governance.run(privileges.text_of(kind, *words), user=who)
        except PolicyError:
            continue
        privileges.told(model, governance, who, kind, *words)
        then[governance.time] = (
            {*model.roles, "ACCOUNTADMIN", "PUBLIC"},
            {(holder, role) for holder, roles in model.under.items() for role in roles},
            {
                (on, holder, what, grantor, option)
                for (on, holder, what), (grantor, option) in model.given.items()
            },
            set(model.owners.items()),
        )
    roles, held = all_rows(governance.log, "ROLE"), all_rows(governance.log, "PRIVILEGE")
    for moment, said in then.items():
        shown = [(_on(row), (row.granted_to, row.grantee_name), row) for row in at(held, moment)]
        assert said == (
            {row.name for row in at(roles, moment)},
            {(holder, row.name) for on, holder, row in shown if on == f"ROLE {row.name}"},
            {
                (on, holder, row.privilege, (row.granted_by_role_type, row.granted_by), row.grant_option)
                for on, holder, row in shown
                if row.privilege != "OWNERSHIP" and not on.startswith("ROLE")
            },
            {(on, holder) for on, holder, row in shown if row.privilege == "OWNERSHIP"},
        )


def _on(row):
    return f"{row.granted_on} {row.name}" if row.name else row.granted_on


def test_times():
    """A value that changes, an option that is taken back, a tag that comes back: each is a row of its own."""
    told = Governance(
        "CREATE ROLE a", "CREATE TAG g", "ALTER TABLE t SET TAG g = 'x'", "ALTER TABLE t SET TAG g = 'x'",
        "ALTER TABLE t SET TAG g = 'y'", "DROP TAG g", "UNDROP TAG g",
        "GRANT SELECT ON TABLE t TO ROLE a WITH GRANT OPTION",
        "REVOKE GRANT OPTION FOR SELECT ON TABLE t FROM ROLE a", "DROP ROLE a", "CREATE ROLE a",
        tables=[table("t", "a INT")],
    )  # fmt: skip
    rows = {kind: all_rows(told.log, kind) for kind in ("ROLE", "TAG", "TAG_USE", "PRIVILEGE")}
    assert [(row.tag_value, *micros(row)) for row in rows["TAG_USE"]] == [
        ("x", 30, 50), ("y", 50, 60), ("y", 70, None),
    ]  # fmt: skip
    assert [(row.tag_name, *micros(row)) for row in rows["TAG"]] == [("g", 20, 60), ("g", 70, None)]
    assert [(row.grant_option, *micros(row)) for row in rows["PRIVILEGE"]] == [
        (True, 80, 90), (False, 90, 100),
    ]  # fmt: skip
    assert [micros(row) for row in rows["ROLE"] if row.name == "A"] == [(10, 100), (110, None)]
    assert [(row.name, *micros(row)) for row in rows["ROLE"]][:2] == [
        ("ACCOUNTADMIN", 0, None), ("PUBLIC", 0, None),
    ]  # fmt: skip


def test_names_and_places():
    """What a row is about has its catalog, schema and name, as of the last time that it was told."""
    told = Governance(
        "CREATE MASKING POLICY m AS (v STRING) RETURNS STRING -> 'x' COMMENT = 'why'",
        "ALTER VIEW v ALTER COLUMN a SET MASKING POLICY m", "ALTER MASKING POLICY m RENAME TO n",
        "ALTER VIEW v ALTER COLUMN a UNSET MASKING POLICY", "CREATE ROLE r",
        "GRANT APPLY ON MASKING POLICY n TO ROLE r",
        "GRANT OWNERSHIP ON MASKING POLICY n TO ROLE r COPY CURRENT GRANTS",
        "GRANT USAGE ON SCHEMA s TO USER bob", "GRANT CREATE SCHEMA ON ACCOUNT TO ROLE r",
        "DROP MASKING POLICY n",
        tables=[table("v", "a STRING", is_view=True)],
    )  # fmt: skip
    (policy,), (use,) = all_rows(told.log, "POLICY"), all_rows(told.log, "POLICY_USE")
    assert (policy.policy_catalog, policy.policy_schema, policy.policy_name) == ("c", "s", "n")
    assert (policy.policy_owner, policy.owner_role_type, policy.policy_comment) == ("R", "ROLE", "why")
    assert (policy.policy_signature, policy.policy_return_type) == ("(v STRING)", "STRING")
    assert micros(policy) == (10, 100)
    assert (use.policy_db, use.policy_schema, use.policy_name, use.ref_database_name) == ("c", "s", "n", "c")
    assert (use.ref_schema_name, use.ref_entity_name, use.ref_entity_domain) == ("s", "v", "VIEW")
    assert (use.ref_arg_column_names, micros(use)) == (["a"], (20, 40))
    held = {
        (row.privilege, row.granted_on, row.table_catalog, row.table_schema, row.name, row.grantee_name):
        micros(row)[1] for row in all_rows(told.log, "PRIVILEGE")
    }  # fmt: skip
    assert held == {
        # With a policy its grants are gone; a new owner has granted what the old one did.
        ("APPLY", "MASKING POLICY", "c", "s", "n", "R"): 100,
        ("OWNERSHIP", "MASKING POLICY", "c", "s", "n", "R"): 100,
        ("USAGE", "SCHEMA", "c", None, "s", "bob"): None,
        ("CREATE SCHEMA", "ACCOUNT", None, None, None, "R"): None,
    }


def test_a_policy_of_a_table():
    """BigQuery's: it is there until it is revoked, its schema is the table's."""
    told = Governance(
        "CREATE ROW ACCESS POLICY f ON t GRANT TO ('user:bob') FILTER USING (a = 'x')",
        "DROP ALL ROW ACCESS POLICIES ON t", tables=[table("t", "a STRING")],
    )  # fmt: skip
    ((policy,), (use,)) = all_rows(told.log, "POLICY"), all_rows(told.log, "POLICY_USE")
    assert (policy.policy_catalog, policy.policy_schema, policy.policy_name) == ("c", "s", "f")
    assert micros(policy) == micros(use) == (10, 20)


def test_who_creates_an_object_owns_it():
    """And who replaces it owns another one: what was granted on the first is over."""
    told = Governance("CREATE ROLE r", tables=[table("t", "a INT")])
    for time, user in ((20, "bob"), (40, "bob")):
        details = {"to": "USER", "grantee": user, "domain": "Table"}
        told.take(
            [GovernanceEvent(time, "CREATE_OBJECT", f"o{time}", None, "delta:t", "c.s.t", details=details)]
        )
        told.run("GRANT SELECT ON TABLE t TO ROLE r", at=time + 10)
    held = [(row.privilege, *micros(row)) for row in all_rows(told.log, "PRIVILEGE")]
    assert held == [
        ("OWNERSHIP", 20, 40), ("SELECT", 30, 40), ("OWNERSHIP", 40, None), ("SELECT", 50, None),
    ]  # fmt: skip


def test_the_order_of_events_counts_not_their_clocks():
    """A driver whose clock is behind: what it has ended was never in force, and nothing fails."""
    events = [
        GovernanceEvent(90, "CREATE_ROLE", "a", name="R"), GovernanceEvent(20, "DROP_ROLE", "b", name="R"),
    ]  # fmt: skip
    (row,) = [one for one in all_rows(events, "ROLE") if one.name == "R"]
    assert micros(row) == (90, 20)
    assert not at([row], 50)
    assert not at([row], 95)


def test_no_events():
    """An empty root: the two roles that every root has."""
    assert [row[0] for row in governance_rows([])] == ["ROLE", "ROLE"]


def test_an_event_of_a_newer_version():
    """It is refused by name, with what to do: rows without it could be wrong."""
    with pytest.raises(GovernanceError, match=r"event MELT of the governance.*install the version"):
        governance_rows([GovernanceEvent(1, "MELT", "e")])
