"""Privileges as values: statements and a state in, events and answers out; no Spark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

import pytest

import lineage
from audit.core.actor import Actor
from audit.policies.errors import (
    AccessDeniedError,
    BadPolicyError,
    PolicyInUseError,
    UnknownPolicyError,
    UnknownPrivilegeError,
)
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import ADMIN, PUBLIC, Holder, ObjectCreation, Principal, Securable
from audit.policies.model.shown_grants import rows_of, rows_on, rows_to
from audit.policies.statements.grant_ddl import (
    grant_events,
    ownership_events,
    require_create,
    require_ownership,
    revoke_events,
)
from audit.store.records.creations import creation_of_id, creation_of_name
from lineage.model import Domain

SCHEMA = Securable("schema:c.s", Domain.SCHEMA, "c.s", (ACCOUNT,))
TABLE = Securable("delta:u-1", Domain.TABLE, "c.s.t", (SCHEMA, ACCOUNT))
VIEW = Securable("name:c.s.v", Domain.VIEW, "c.s.v", (SCHEMA, ACCOUNT))
ANN = Principal("ann", frozenset({ADMIN, PUBLIC}))
BOB = Principal("bob", frozenset({PUBLIC}))
ROLES = state_after(
    [
        GovernanceEvent(1, "CREATE_ROLE", "1", name="A"),
        GovernanceEvent(1, "CREATE_ROLE", "2", name="B"),
        GovernanceEvent(1, "GRANT_ROLE", "3", name="A", details={"to": "ROLE", "grantee": "B"}),
        GovernanceEvent(1, "GRANT_ROLE", "4", name="B", details={"to": "USER", "grantee": "zoe"}),
    ]
)
ZOE = Principal("zoe", ROLES.roles_of("zoe", ()))
CHANGES = {"GRANT": grant_events, "REVOKE": revoke_events, "GRANT_OWNERSHIP": ownership_events}


def after(state, text, on=TABLE, who=ANN, time=10):
    """The state after a statement of somebody's about an object, whatever name the text has for it."""
    command = lineage.parse(text).command
    ids = count()
    actor = Actor(time, who.user, "q", lambda: f"{time}-{next(ids)}")
    return state_after(CHANGES[command.kind](command, on, who, actor, state), state)


def test_a_privilege_on_a_table():
    """Who has it by a role that their role holds; nobody else, and no other privilege."""
    state = after(ROLES, "GRANT SELECT, INSERT ON TABLE t TO ROLE a")
    assert state.holds(ZOE, "SELECT", TABLE)
    assert state.holds(ZOE, "INSERT", TABLE)
    assert not state.holds(ZOE, "DELETE", TABLE)
    assert not state.holds(BOB, "SELECT", TABLE)
    assert not state.holds(ZOE, "SELECT", VIEW)
    state = after(state, "REVOKE SELECT ON TABLE t FROM ROLE a", time=11)
    assert (state.holds(ZOE, "SELECT", TABLE), state.holds(ZOE, "INSERT", TABLE)) == (False, True)


def test_what_a_schema_and_the_account_hold():
    """SELECT on a schema is SELECT on its tables, on the account on all; PUBLIC is everybody."""
    state = after(ROLES, "GRANT SELECT ON SCHEMA s TO USER bob", SCHEMA)
    assert state.holds(BOB, "SELECT", TABLE)
    assert not state.holds(ZOE, "SELECT", TABLE)
    state = after(state, "GRANT UPDATE ON ACCOUNT TO ROLE public", ACCOUNT)
    assert state.holds(ZOE, "UPDATE", TABLE)


def test_all_is_each_but_ownership():
    """ALL on a view and on the account."""
    state = after(ROLES, "GRANT ALL PRIVILEGES ON VIEW v TO USER bob", VIEW)
    assert {row[1] for row in rows_to(state, Holder("USER", "bob"))} == {"SELECT", "REFERENCES"}
    assert not state.holds(BOB, "OWNERSHIP", VIEW)
    state = after(state, "REVOKE ALL ON VIEW v FROM USER bob", VIEW)
    assert rows_to(state, Holder("USER", "bob")) == []


def test_an_administrator_may_everything():
    """And owns what nobody is known to have created."""
    assert ROLES.holds(ANN, "OWNERSHIP", TABLE)
    assert ROLES.owner(TABLE) == Holder("ROLE", ADMIN)
    assert not ROLES.holds(BOB, "OWNERSHIP", TABLE)


def test_who_created_it_owns_it():
    """And may all on it, not on what is in it; until OWNERSHIP goes to another."""
    made = replace(SCHEMA, creation=ObjectCreation(5, Holder("USER", "bob")))
    assert ROLES.holds(BOB, "CREATE TABLE", made)
    assert not ROLES.holds(BOB, "SELECT", replace(TABLE, above=(made, ACCOUNT)))
    state = after(ROLES, "GRANT OWNERSHIP ON SCHEMA s TO ROLE a", made, BOB)
    assert state.owner(made) == Holder("ROLE", "A")
    assert not state.holds(BOB, "CREATE TABLE", made)
    assert state.holds(ZOE, "CREATE TABLE", made)


def test_a_name_is_another_objects():
    """What was granted before the object was created that has the name now."""
    state = after(ROLES, "GRANT OWNERSHIP ON VIEW v TO ROLE a", VIEW)
    state = after(state, "GRANT SELECT ON VIEW v TO USER bob", VIEW)
    later = replace(VIEW, creation=ObjectCreation(20, Holder("USER", "eve")))
    assert state.owner(later) == Holder("USER", "eve")
    assert not state.holds(BOB, "SELECT", later)
    assert [row[1] for row in rows_on(state, later)] == ["OWNERSHIP"]


def test_who_may_grant():
    """The owner, who has MANAGE GRANTS, who has the privilege with grant option; nobody else."""
    text = "GRANT SELECT ON TABLE t TO ROLE b"
    with pytest.raises(AccessDeniedError, match=r"bob may not grant SELECT on table c\.s\.t"):
        after(ROLES, text, who=BOB)
    plain = after(ROLES, "GRANT SELECT ON TABLE t TO USER bob")
    with pytest.raises(AccessDeniedError):
        after(plain, text, who=BOB)
    option = after(ROLES, "GRANT SELECT ON TABLE t TO USER bob WITH GRANT OPTION")
    assert {row[7] for row in rows_to(after(option, text, who=BOB), Holder("ROLE", "B"))} == {"bob", ADMIN}
    with pytest.raises(AccessDeniedError, match="INSERT"):
        after(option, "GRANT SELECT, INSERT ON TABLE t TO ROLE b", who=BOB)
    some = after(option, "GRANT ALL ON TABLE t TO ROLE b", who=BOB)
    assert some.holds(ZOE, "SELECT", TABLE)
    assert not some.holds(ZOE, "INSERT", TABLE)
    manager = after(ROLES, "GRANT MANAGE GRANTS ON ACCOUNT TO USER bob", ACCOUNT)
    assert after(manager, text, who=BOB).holds(ZOE, "SELECT", TABLE)
    assert not manager.holds(BOB, "SELECT", TABLE)


def test_revoking_what_was_granted_on():
    """CASCADE takes it from those, too; the option alone can be taken, and who granted may revoke."""
    state = after(ROLES, "GRANT SELECT ON TABLE t TO USER bob WITH GRANT OPTION")
    state = after(state, "GRANT SELECT ON TABLE t TO ROLE b", who=BOB)
    with pytest.raises(PolicyInUseError, match="role B"):
        after(state, "REVOKE SELECT ON TABLE t FROM USER bob")
    assert not after(state, "REVOKE SELECT ON TABLE t FROM USER bob CASCADE").holds(ZOE, "SELECT", TABLE)
    state = after(state, "REVOKE SELECT ON TABLE t FROM ROLE b", who=BOB)
    state = after(state, "REVOKE GRANT OPTION FOR SELECT ON TABLE t FROM USER bob")
    assert state.holds(BOB, "SELECT", TABLE)
    with pytest.raises(AccessDeniedError):
        after(state, "GRANT SELECT ON TABLE t TO ROLE b", who=BOB)
    with pytest.raises(AccessDeniedError, match="may not revoke"):
        after(state, "REVOKE SELECT ON TABLE t FROM USER bob", who=ZOE)


def test_another_owner():
    """What was granted as the old one says what becomes of it."""
    state = after(ROLES, "GRANT SELECT ON TABLE t TO USER bob")
    with pytest.raises(PolicyInUseError, match="COPY CURRENT GRANTS"):
        after(state, "GRANT OWNERSHIP ON TABLE t TO ROLE a")
    copied = after(state, "GRANT OWNERSHIP ON TABLE t TO ROLE a COPY CURRENT GRANTS")
    assert [row[7] for row in rows_on(copied, TABLE)] == ["A", "A"]
    gone = after(state, "GRANT OWNERSHIP ON TABLE t TO ROLE a REVOKE CURRENT GRANTS")
    assert [row[1] for row in rows_on(gone, TABLE)] == ["OWNERSHIP"]
    with pytest.raises(AccessDeniedError, match="another owner"):
        after(copied, "GRANT OWNERSHIP ON TABLE t TO USER bob", who=BOB)
    with pytest.raises(BadPolicyError):
        after(ROLES, "GRANT OWNERSHIP ON ACCOUNT TO ROLE a", ACCOUNT)


def test_a_role_that_is_dropped():
    """Its grants are gone, what it owned or had created is the administrators'; a new one has none of it."""
    made = replace(VIEW, creation=ObjectCreation(5, Holder("ROLE", "A")))
    state = after(ROLES, "GRANT SELECT ON TABLE t TO ROLE a")
    state = after(state, "GRANT OWNERSHIP ON SCHEMA s TO ROLE a", SCHEMA)
    assert state.owner(made) == Holder("ROLE", "A")
    state = state_after(
        [GovernanceEvent(20, "DROP_ROLE", "d", name="A"), GovernanceEvent(20, "CREATE_ROLE", "n", name="A")],
        state,
    )
    assert rows_to(state, Holder("ROLE", "A")) == []
    assert rows_of(state, "A") == []
    assert {state.owner(SCHEMA), state.owner(made)} == {Holder("ROLE", ADMIN)}


def test_what_undrop_needs():
    """OWNERSHIP of the object, and CREATE where it returns to."""
    owned = after(ROLES, "GRANT OWNERSHIP ON TABLE t TO ROLE a")
    with pytest.raises(AccessDeniedError, match=r"undrop table c\.s\.t: OWNERSHIP .* role ACCOUNTADMIN"):
        require_ownership(TABLE, ZOE, ROLES)
    require_ownership(TABLE, ZOE, owned)
    require_ownership(TABLE, ANN, ROLES)
    with pytest.raises(AccessDeniedError, match=r"CREATE TABLE is missing on schema c\.s"):
        require_create(TABLE, SCHEMA, "CREATE TABLE", ZOE, owned)
    require_create(TABLE, SCHEMA, "CREATE TABLE", ANN, owned)
    for text, on in (("ON SCHEMA s", SCHEMA), ("ON ACCOUNT", ACCOUNT)):
        state = after(owned, f"GRANT CREATE TABLE {text} TO ROLE b", on)
        require_create(TABLE, SCHEMA, "CREATE TABLE", ZOE, state)
        with pytest.raises(AccessDeniedError):
            require_create(TABLE, SCHEMA, "CREATE TABLE", BOB, state)


@pytest.mark.parametrize(
    ("text", "on", "error", "said"),
    [
        ("GRANT FLY ON TABLE t TO ROLE a", TABLE, UnknownPrivilegeError, "no privilege FLY on a table"),
        ("GRANT CREATE TABLE ON TABLE t TO ROLE a", TABLE, UnknownPrivilegeError, "ON SCHEMA or ACCOUNT"),
        ("GRANT SELECT, OWNERSHIP ON TABLE t TO ROLE a", TABLE, UnknownPrivilegeError, "of its own"),
        ("GRANT SELECT ON TABLE t TO ROLE nope", TABLE, UnknownPolicyError, "no role NOPE"),
        ("GRANT OWNERSHIP ON TABLE t TO ROLE nope", TABLE, UnknownPolicyError, "no role NOPE"),
        ("REVOKE SELECT ON TABLE t FROM ROLE a", TABLE, UnknownPolicyError, "nothing to revoke"),
        ("REVOKE ALL ON TABLE t FROM ROLE a", TABLE, UnknownPolicyError, "nothing to revoke"),
        ("GRANT CREATE SCHEMA ON SCHEMA s TO ROLE a", SCHEMA, UnknownPrivilegeError, "granted ON ACCOUNT"),
    ],
)
def test_bad_input(text, on, error, said):
    """Each mistake says what is wrong and what to do."""
    with pytest.raises(error, match=said):
        after(ROLES, text, on)


def test_a_second_time_is_nothing():
    """What is granted already is no change; the option on top is."""
    state = after(ROLES, "GRANT SELECT ON TABLE t TO ROLE a")
    assert after(state, "GRANT SELECT ON TABLE t TO ROLE a", time=20) == state
    more = after(state, "GRANT SELECT ON TABLE t TO ROLE a WITH GRANT OPTION", time=20)
    assert [row[6] for row in rows_to(more, Holder("ROLE", "A"))] == ["true"]


# -- who created an object ---------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A row of access_history, as far as it counts."""

    user: str
    operation: str
    is_whole: bool = False
    is_renamed: bool = False


def _user(found):
    return None if found is None else found.user


def test_the_first_creation_of_an_id():
    """Who replaces a table, or registers its files once more, does not own it by that."""
    assert (
        _user(creation_of_id([Change("bob", "CREATE"), Change("eve", "REPLACE"), Change("eve", "CREATE")]))
        == "bob"
    )
    assert creation_of_id([Change("bob", "ALTER")]) is None


@pytest.mark.parametrize(
    ("changes", "owner"),
    [
        ("bob CREATE", "bob"),
        ("bob CREATE, eve REPLACE", "bob"),
        ("bob REPLACE", "bob"),
        ("bob CREATE, bob DROP", "bob"),
        ("bob CREATE, bob DROP, eve CREATE", "eve"),
        ("bob CREATE, bob DROP, eve REPLACE, eve DROP", "eve"),
        ("bob CREATE, bob DROP, eve CREATE, eve DROP, eve UNDROP, eve renamed", "bob"),
        ("bob CREATE, bob DROP, eve CREATE, eve renamed, eve UNDROP", "bob"),
        ("bob CREATE, ann DROP whole", "bob"),
        ("bob CREATE, ann DROP whole, ann CREATE whole, eve CREATE", "eve"),
        ("bob CREATE, ann DROP whole, ann UNDROP whole, eve REPLACE", "bob"),
        ("ann ALTER", None),
    ],
)
def test_the_creation_of_what_has_a_name(changes, owner):
    """Of the object that has it now, or would come back by UNDROP."""
    made = []
    for one in changes.split(", "):
        user, operation, *rest = one.split()
        is_renamed = operation == "renamed"
        made.append(Change(user, "ALTER" if is_renamed else operation, rest == ["whole"], is_renamed))
    assert _user(creation_of_name(made)) == owner
