"""GRANT and REVOKE, without Spark: who may, in whose name, and what goes with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from audit.policies.errors import (
    AccessDeniedError,
    BadPolicyError,
    PolicyInUseError,
    UnknownPolicyError,
    UnknownPrivilegeError,
)
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import ADMIN, PRIVILEGES, Holder, ObjectCreation, privileges_named
from audit.policies.model.shown_grants import rows_on, rows_to
from lineage.model import Domain

from .told_governance import SCHEMA, Governance, table

T, V = table("t", "a INT"), table("v", "a INT", is_view=True)
BOB, ZOE = Holder("USER", "bob"), Holder("USER", "zoe")


def governance(*statements):
    """Roles A and B, of which zoe has A, a table and a view."""
    return Governance("CREATE ROLE a", "CREATE ROLE b", "GRANT ROLE a TO USER zoe", tables=(T, V)).run(
        *statements
    )


def shown(of, holder):
    """What SHOW GRANTS says of a holder: privilege, on what, option, grantor."""
    return {(row[1], row[3], row[6], row[7]) for row in rows_to(of.state, holder)}


# -- which privileges there are ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("on", "there", "not_there"),
    [
        (Domain.TABLE, "SELECT INSERT UPDATE DELETE TRUNCATE REFERENCES", "USAGE APPLY MODIFY"),
        (Domain.VIEW, "SELECT REFERENCES", "INSERT TRUNCATE"),
        (Domain.FUNCTION, "USAGE", "SELECT EXECUTE"),
        (Domain.SCHEMA, "USAGE MODIFY MONITOR SELECT INSERT", "APPLY"),
        (Domain.ACCOUNT, "USAGE SELECT TRUNCATE", "APPLY"),
        (Domain.MASKING_POLICY, "APPLY", "USAGE"),
        (Domain.ROW_ACCESS_POLICY, "APPLY", "SELECT"),
        (Domain.TAG, "APPLY", "READ"),
        (Domain.BACKUP_POLICY, "APPLY", "USAGE"),
    ],
)
def test_each_kind_of_object_has_its_privileges(on, there, not_there):
    """A privilege of another kind of object is refused, alone and among others."""
    assert privileges_named(", ".join(there.split()), on) == tuple(there.split())
    for name in not_there.split():
        for text in (name, f"{there.split()[0]}, {name}"):
            with pytest.raises(UnknownPrivilegeError, match=f"no privilege {name} on a {on.value.lower()}"):
                privileges_named(text, on)


def test_of_a_backup_set_there_is_ownership_alone():
    """So ALL, which leaves it out, would be nothing: it is refused with the way to OWNERSHIP."""
    for name in ("ALL", "APPLY", "SELECT"):
        with pytest.raises(UnknownPrivilegeError, match=f"no privilege {name} on a backup set"):
            privileges_named(name, Domain.BACKUP_SET)
    for name in ("ALL", "READ"):
        with pytest.raises(UnknownPrivilegeError, match="no privilege but OWNERSHIP: GRANT OWNERSHIP ON"):
            privileges_named(name, Domain.BACKUP_SET)


@pytest.mark.parametrize("name", ["APPLY BACKUP POLICY", "APPLY BACKUP RETENTION LOCK", "APPLY LEGAL HOLD"])
def test_locks_and_holds_are_privileges_of_the_account(name):
    """Of nothing else, and of nobody by another privilege."""
    assert name in privileges_named("ALL", Domain.ACCOUNT)
    for on in (Domain.SCHEMA, Domain.BACKUP_POLICY, Domain.TABLE):
        with pytest.raises(UnknownPrivilegeError, match=f"{name} is granted ON ACCOUNT"):
            privileges_named(name, on)


@pytest.mark.parametrize("on", PRIVILEGES, ids=lambda on: on.value)
def test_ownership_is_never_among_others(on):
    """ALL leaves it out, and naming it leads to the statement that gives it."""
    if PRIVILEGES[on]:
        assert "OWNERSHIP" not in privileges_named("ALL", on)
    with pytest.raises(UnknownPrivilegeError, match="GRANT OWNERSHIP ON"):
        privileges_named("OWNERSHIP", on)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("CREATE SCHEMA", ("CREATE SCHEMA",)),
        ("CREATE DATABASE", ("CREATE SCHEMA",)),
        ("CREATE NAMESPACE, CREATE SCHEMA", ("CREATE SCHEMA",)),
        ("APPLY TAG, MANAGE GRANTS, APPLY TAG", ("APPLY TAG", "MANAGE GRANTS")),
    ],
)
def test_one_privilege_by_several_names_is_one(text, named):
    """SCHEMA, DATABASE and NAMESPACE mean the same; a privilege that is named twice is granted once."""
    assert privileges_named(text, Domain.ACCOUNT) == named


# -- where a privilege holds -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("granted", "privilege", "on", "holds"),
    [
        ("SELECT ON TABLE t", "SELECT", "TABLE t", True),
        ("SELECT ON TABLE t", "SELECT", "VIEW v", False),
        ("SELECT ON TABLE t", "SELECT", "SCHEMA s", False),
        ("SELECT ON SCHEMA s", "SELECT", "VIEW v", True),
        ("SELECT ON SCHEMA s", "SELECT", "ACCOUNT", False),
        ("SELECT ON SCHEMA o", "SELECT", "TABLE t", False),
        ("SELECT ON ACCOUNT", "SELECT", "TABLE t", True),
        ("ALL ON ACCOUNT", "OWNERSHIP", "TABLE t", False),
        ("USAGE ON SCHEMA s", "USAGE", "FUNCTION f", False),
        ("USAGE ON ACCOUNT", "USAGE", "FUNCTION f", False),
        ("USAGE ON ACCOUNT", "USAGE", "SCHEMA s", True),
        ("CREATE TABLE ON ACCOUNT", "CREATE TABLE", "SCHEMA s", True),
        ("MANAGE GRANTS ON ACCOUNT", "SELECT", "TABLE t", False),
    ],
)
def test_a_privilege_holds_on_the_object_and_below(granted, privilege, on, holds):
    """A schema's privileges are those of what is in it, and the account's of all, but for USAGE."""
    of = governance(f"GRANT {granted} TO USER bob")
    domain, _, name = on.partition(" ")
    securable = of.securable(Domain.TABLE if domain == "TABLE" else Domain(domain), (name,))
    assert of.state.holds(of.who("bob"), privilege, securable) is holds


def test_an_owner_owns_the_object_and_not_what_is_in_it():
    """Who owns a schema holds all on the schema, and grants all on it; its tables are another's."""
    of = governance("GRANT OWNERSHIP ON SCHEMA s TO USER bob").run(
        "GRANT USAGE ON SCHEMA s TO USER zoe", user="bob"
    )
    assert shown(of, ZOE) == {("USAGE", "c.s", "false", "bob"), ("USAGE", "A", "false", ADMIN)}
    assert not of.state.holds(of.who("bob"), "SELECT", of.securable(Domain.TABLE, ("t",)))
    with pytest.raises(AccessDeniedError, match=r"bob may not grant SELECT on table c\.s\.t, which role ACC"):
        of.run("GRANT SELECT ON TABLE t TO USER zoe", user="bob")


# -- in whose name, and what goes with it ------------------------------------------------------

OPTION = "GRANT SELECT ON TABLE t TO USER bob WITH GRANT OPTION"


def test_a_grant_is_in_the_name_of_the_owner_or_of_who_had_the_option():
    """Administrators and managers grant as the owner, a holder of the option as themselves or a role."""
    of = governance("GRANT OWNERSHIP ON TABLE t TO ROLE b", "GRANT MANAGE GRANTS ON ACCOUNT TO USER max")
    of.run("GRANT SELECT ON TABLE t TO ROLE a WITH GRANT OPTION", "GRANT INSERT ON TABLE t TO USER bob")
    of.run("GRANT DELETE ON TABLE t TO USER bob", user="max")
    of.run("GRANT SELECT ON TABLE t TO USER bob", user="zoe")
    assert shown(of, BOB) == {
        ("INSERT", "c.s.t", "false", "B"),
        ("DELETE", "c.s.t", "false", "B"),
        ("SELECT", "c.s.t", "false", "A"),
    }


def test_all_grants_what_its_user_may_grant():
    """GRANT ALL of who has the option on one privilege grants that one; without any it is refused."""
    of = governance(OPTION).run("GRANT ALL ON TABLE t TO ROLE b", user="bob")
    assert shown(of, Holder("ROLE", "B")) == {("SELECT", "c.s.t", "false", "bob")}
    with pytest.raises(
        AccessDeniedError, match="may not grant SELECT, INSERT, UPDATE, DELETE, TRUNCATE and REF"
    ):
        of.run("GRANT ALL ON TABLE t TO ROLE b", user="zoe")


def test_a_refused_revoke_names_what_was_granted_on_and_to_whom_once():
    """Of the privileges that are revoked only those granted on stand in the way, by each holder once."""
    of = governance("GRANT SELECT, INSERT, DELETE ON TABLE t TO USER bob WITH GRANT OPTION")
    of.run("GRANT SELECT, INSERT ON TABLE t TO ROLE b", "GRANT SELECT ON TABLE t TO USER zoe", user="bob")
    with pytest.raises(PolicyInUseError) as refused:
        of.run("REVOKE ALL ON TABLE t FROM USER bob")
    assert refused.value.problem == (
        "user bob has granted SELECT and INSERT on table c.s.t on to role B and user zoe"
    )
    of.run("REVOKE DELETE ON TABLE t FROM USER bob RESTRICT", "REVOKE ALL ON TABLE t FROM USER bob CASCADE")
    assert [row[1] for row in rows_on(of.state, of.securable(Domain.TABLE, ("t",)))] == ["OWNERSHIP"]


def test_cascade_goes_along_the_chain_and_no_further():
    """What came from the holder in turn is gone; what somebody else granted, and other privileges, stay."""
    of = governance(OPTION, "GRANT SELECT ON TABLE t TO USER max")
    of.run("GRANT SELECT ON TABLE t TO ROLE a WITH GRANT OPTION", user="bob")
    of.run("GRANT SELECT ON TABLE t TO ROLE b WITH GRANT OPTION", user="zoe")
    of.run("GRANT INSERT ON TABLE t TO ROLE b", "REVOKE SELECT ON TABLE t FROM USER bob CASCADE")
    left = rows_on(of.state, of.securable(Domain.TABLE, ("t",)))[1:]
    assert [(row[1], row[5]) for row in left] == [("INSERT", "B"), ("SELECT", "max")]


def test_without_the_option_a_holder_keeps_the_privilege_and_no_more():
    """REVOKE GRANT OPTION FOR … CASCADE takes from those who got it, and leaves the holder's own."""
    of = governance(OPTION).run("GRANT SELECT ON TABLE t TO USER zoe", user="bob")
    with pytest.raises(PolicyInUseError, match="on to user zoe; add CASCADE"):
        of.run("REVOKE GRANT OPTION FOR SELECT ON TABLE t FROM USER bob")
    of.run("REVOKE GRANT OPTION FOR SELECT ON TABLE t FROM USER bob CASCADE")
    assert shown(of, BOB) == {("SELECT", "c.s.t", "false", ADMIN)}
    assert shown(of, ZOE) == {("USAGE", "A", "false", ADMIN)}


def test_roles_that_grant_each_other_leave_together():
    """A circle of grants ends where it began: the REVOKE ends, and nobody is left with the privilege."""
    of = governance("GRANT ROLE b TO USER bob", "GRANT SELECT ON TABLE t TO ROLE a WITH GRANT OPTION")
    of.run("GRANT SELECT ON TABLE t TO ROLE b WITH GRANT OPTION", user="zoe")
    of.run("GRANT SELECT ON TABLE t TO ROLE a WITH GRANT OPTION", user="bob")
    of.run("REVOKE SELECT ON TABLE t FROM ROLE a CASCADE")
    assert len(rows_on(of.state, of.securable(Domain.TABLE, ("t",)))) == 1


@pytest.mark.xfail(strict=True, reason="CASCADE looks at grants on the object of the REVOKE alone")
def test_cascade_takes_what_was_granted_on_below_the_schema():
    """A grant on a table by the option on its schema goes with what was granted on the schema."""
    of = governance("GRANT SELECT ON SCHEMA s TO USER bob WITH GRANT OPTION")
    of.run("GRANT SELECT ON TABLE t TO USER zoe", user="bob")
    of.run("REVOKE SELECT ON SCHEMA s FROM USER bob CASCADE")
    assert not of.state.holds(of.who("zoe"), "SELECT", of.securable(Domain.TABLE, ("t",)))


def test_a_new_role_is_not_held_to_what_the_dropped_one_granted():
    """What role A granted on is revoked by administrators, and neither by nor through a later role A."""
    of = governance("GRANT SELECT ON TABLE t TO ROLE a WITH GRANT OPTION")
    of.run("GRANT SELECT ON TABLE t TO USER bob", user="zoe").run("CREATE OR REPLACE ROLE a")
    of.run("GRANT ROLE a TO USER zoe", "GRANT SELECT ON TABLE t TO ROLE a")
    with pytest.raises(AccessDeniedError, match="zoe may not revoke SELECT"):
        of.run("REVOKE SELECT ON TABLE t FROM USER bob", user="zoe")
    of.run("REVOKE SELECT ON TABLE t FROM ROLE a")
    assert shown(of, BOB) == {("SELECT", "c.s.t", "false", ADMIN)}


# -- owners ------------------------------------------------------------------------------------


def test_ownership_is_given_on_and_comes_back():
    """The owner may give it away, and may nothing after that; a second time to the same changes nothing."""
    of = governance("GRANT OWNERSHIP ON VIEW v TO USER bob").run(
        "GRANT OWNERSHIP ON VIEW v TO ROLE a", user="bob"
    )
    size = len(of.log)
    of.run("GRANT OWNERSHIP ON VIEW v TO ROLE a", user="zoe")
    assert len(of.log) == size
    with pytest.raises(
        AccessDeniedError, match=r"bob may not give view c\.s\.v another owner, which role A owns"
    ):
        of.run("GRANT OWNERSHIP ON VIEW v TO USER bob", user="bob")
    assert ("OWNERSHIP", "c.s.v", "true", "A") in shown(of, Holder("ROLE", "A"))


@pytest.mark.parametrize(
    ("granted", "made", "dropped", "owner"),
    [
        (None, None, None, "role ACCOUNTADMIN"),
        (None, 5, None, "role A"),
        (4, 5, None, "role A"),
        (5, 5, None, "user bob"),
        (6, 5, None, "user bob"),
        (6, None, None, "user bob"),
        (None, 5, 4, "role A"),
        (None, 5, 5, "role ACCOUNTADMIN"),
        (None, 5, 6, "role ACCOUNTADMIN"),
    ],
)
def test_the_newest_of_grant_and_creation_names_the_owner(granted, made, dropped, owner):
    """A grant before the creation was on another object of that name; a creator that was dropped is none."""
    of = governance()
    for time, text in ((dropped, "DROP ROLE a"), (granted, "GRANT OWNERSHIP ON VIEW v TO USER bob")):
        if time is not None:
            of.run(text, at=time)
    creation = None if made is None else ObjectCreation(made, Holder("ROLE", "A"))
    on = replace(of.securable(Domain.VIEW, ("v",)), creation=creation)
    assert str(of.state.owner(on)) == owner


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("GRANT OWNERSHIP ON ACCOUNT TO ROLE a", BadPolicyError, "GRANT ROLE ACCOUNTADMIN TO USER"),
        ("GRANT MANAGE GRANTS ON TABLE t TO ROLE a", UnknownPrivilegeError, "is granted ON ACCOUNT"),
        ("GRANT APPLY ON TABLE t TO ROLE a", UnknownPrivilegeError, "ON MASKING POLICY, .* or BACKUP POLICY"),
        ("GRANT Größe ON TABLE t TO ROLE a", UnknownPrivilegeError, "grant SELECT, INSERT, .*, or ALL"),
        ("GRANT SELECT ON TABLE t TO ROLE `a`", UnknownPolicyError, "no role a; create it"),
        ("REVOKE SELECT ON TABLE t FROM USER bob", UnknownPolicyError, "granted on its schema or account"),
        ("REVOKE OWNERSHIP ON TABLE t FROM USER bob", UnknownPrivilegeError, "GRANT OWNERSHIP ON"),
    ],
)  # fmt: skip
def test_a_mistake_names_the_privilege_and_the_way_out(text, error, said):
    """A statement that cannot be has an error, and nothing has happened."""
    of = governance()
    with pytest.raises(error, match=said):
        of.run(text)
    assert len(of.log) == 3


def test_users_of_any_name_hold_what_they_were_granted():
    """A user's name is taken letter by letter: blanks, back-ticks, quotes and any script."""
    names = ["O'Hara", "a b", "İstanbul", "用户", "x@y.z", "ROLE A", "bob ", "BOB", "q`t"]
    of = governance(*(f"GRANT SELECT ON TABLE t TO USER `{name.replace('`', '``')}`" for name in names))
    on = of.securable(Domain.TABLE, ("t",))
    assert [name for name in names if of.state.holds(of.who(name), "SELECT", on)] == names
    for other in ("o'hara", "bob", "a", "ISTANBUL", "istanbul"):
        assert not of.state.holds(of.who(other), "SELECT", on)
    assert on.above == (SCHEMA, ACCOUNT)
