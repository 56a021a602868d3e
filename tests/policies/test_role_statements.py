"""Statements about roles, without Spark: what each does to the roles there are, and what it refuses."""

from __future__ import annotations

from itertools import pairwise

import pytest

from audit.policies.enforcement.session_roles import SessionRoles
from audit.policies.errors import BadPolicyError, PolicyExistsError, UnknownPolicyError
from audit.policies.model.privileges import ADMIN, PUBLIC, Holder
from audit.policies.model.shown_grants import rows_of, rows_to

from .told_governance import Governance

TWO = (
    "CREATE ROLE hr COMMENT = 'people'",
    "CREATE ROLE pay",
    "GRANT ROLE pay TO ROLE hr",
    "GRANT ROLE hr TO USER zoe",
)


@pytest.mark.parametrize(
    ("text", "events"),
    [
        ("CREATE ROLE it", ["CREATE_ROLE IT"]),
        ("CREATE ROLE `it`", ["CREATE_ROLE it"]),
        ("CREATE ROLE `Größe 9`", ["CREATE_ROLE Größe 9"]),
        ("CREATE ROLE IF NOT EXISTS hr", []),
        ("CREATE ROLE IF NOT EXISTS public", []),
        ("CREATE ROLE IF NOT EXISTS accountadmin", []),
        ("CREATE OR REPLACE ROLE it", ["CREATE_ROLE IT"]),
        ("CREATE OR REPLACE ROLE hr", ["DROP_ROLE HR", "CREATE_ROLE HR"]),
        ("ALTER ROLE hr SET COMMENT = 'x'", ["SET_ROLE_COMMENT HR"]),
        ("ALTER ROLE IF EXISTS nope SET COMMENT = 'x'", []),
        ("DROP ROLE pay", ["DROP_ROLE PAY"]),
        ("DROP ROLE IF EXISTS nope", []),
        ("GRANT ROLE hr TO USER zoe", []),
        ("GRANT ROLE pay TO ROLE hr", []),
        ("GRANT ROLE pay TO USER zoe", ["GRANT_ROLE PAY"]),
        ("GRANT ROLE accountadmin TO USER zoe", ["GRANT_ROLE ACCOUNTADMIN"]),
        ("GRANT ROLE hr TO ROLE accountadmin", ["GRANT_ROLE HR"]),
        ("REVOKE ROLE hr FROM USER zoe", ["REVOKE_ROLE HR"]),
    ],
)
def test_a_statement_comes_to_events(text, events):
    """A statement gives the events that it needs, and none where all is as it asks."""
    log = Governance(*TWO).run(text).log[4:]
    assert [f"{event.event} {event.name}" for event in log] == events


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("CREATE ROLE hr", PolicyExistsError, "role HR is there already; grant it"),
        ("CREATE ROLE public", PolicyExistsError, "role PUBLIC is there already"),
        ("CREATE OR REPLACE ROLE public", PolicyExistsError, "role PUBLIC is there already"),
        ("CREATE OR REPLACE ROLE accountadmin", PolicyExistsError, "role ACCOUNTADMIN is there already"),
        ("ALTER ROLE nope SET COMMENT = 'x'", UnknownPolicyError, "no role NOPE; create it first"),
        ("ALTER ROLE `hr` SET COMMENT = 'x'", UnknownPolicyError, "no role hr"),
        ("ALTER ROLE IF EXISTS public SET COMMENT = 'x'", BadPolicyError, "role PUBLIC is the system's own"),
        ("DROP ROLE nope", UnknownPolicyError, "no role NOPE"),
        ("DROP ROLE IF EXISTS accountadmin", BadPolicyError, "ACCOUNTADMIN is the system's own; it"),
        ("GRANT ROLE nope TO USER zoe", UnknownPolicyError, "no role NOPE"),
        ("GRANT ROLE hr TO ROLE nope", UnknownPolicyError, "no role NOPE"),
        ("GRANT ROLE public TO USER zoe", BadPolicyError, "PUBLIC is everybody's"),
        ("REVOKE ROLE public FROM USER zoe", BadPolicyError, "PUBLIC is everybody's"),
        ("GRANT ROLE hr TO ROLE public", BadPolicyError, "grant privileges to it"),
        ("GRANT ROLE hr TO ROLE hr", BadPolicyError, "role HR holds role HR, and would be held by it"),
        ("GRANT ROLE hr TO ROLE pay", BadPolicyError, "role HR holds role PAY, and .* revoke that first"),
        ("REVOKE ROLE hr FROM USER bob", UnknownPolicyError, "role HR is not granted to user bob"),
        ("REVOKE ROLE pay FROM USER zoe", UnknownPolicyError, "role PAY is not granted to user zoe"),
        ("REVOKE ROLE hr FROM ROLE pay", UnknownPolicyError, "role HR is not granted to role PAY"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_role_and_the_way_out(text, error, said):
    """A statement that cannot be has an error, and nothing has happened."""
    governance = Governance(*TWO)
    with pytest.raises(error, match=said):
        governance.run(text)
    assert len(governance.log) == 4


def test_a_long_chain_of_roles_is_held_by_its_end_and_closes_nowhere():
    """A user of the last of 300 roles has all; no link of the chain takes the last one in."""
    names = [f"R{number}" for number in range(300)]
    governance = Governance(*(f"CREATE ROLE {name}" for name in names))
    governance.run(*(f"GRANT ROLE {low} TO ROLE {high}" for low, high in pairwise(names)))
    governance.run(f"GRANT ROLE {names[-1]} TO USER zoe")
    assert governance.state.roles_of("zoe", ()) == {*names, PUBLIC}
    for low in (names[0], names[150], names[298]):
        with pytest.raises(BadPolicyError, match="would be held by it"):
            governance.run(f"GRANT ROLE {names[-1]} TO ROLE {low}")


def test_a_role_by_two_ways_is_held_until_both_are_gone():
    """Of a diamond of roles one side may go."""
    governance = Governance("CREATE ROLE low", "CREATE ROLE l", "CREATE ROLE r", "CREATE ROLE top")
    governance.run("GRANT ROLE low TO ROLE l", "GRANT ROLE low TO ROLE r", "GRANT ROLE l TO ROLE top")
    governance.run("GRANT ROLE r TO ROLE top", "GRANT ROLE top TO USER zoe", "REVOKE ROLE low FROM ROLE l")
    assert "LOW" in governance.state.roles_of("zoe", ())
    governance.run("DROP ROLE r")
    assert governance.state.roles_of("zoe", ()) == {"TOP", "L", PUBLIC}


def test_names_in_quotes_are_other_roles():
    """A quoted name keeps its letters: it holds nothing of the role whose name is folded to the same."""
    governance = Governance("CREATE ROLE hr", "CREATE ROLE `hr`", "CREATE ROLE `low`", "CREATE ROLE `top`")
    governance.run("GRANT ROLE `low` TO ROLE `hr`", "GRANT ROLE `hr` TO USER bob")
    state = governance.state
    assert state.roles_of("bob", ()) == {"hr", "low", PUBLIC}
    assert state.held_by(Holder("ROLE", "hr")) == [
        Holder("ROLE", "hr"), Holder("ROLE", PUBLIC), Holder("ROLE", "low")
    ]  # fmt: skip
    with pytest.raises(BadPolicyError, match="role hr holds role low"):
        governance.run("GRANT ROLE `hr` TO ROLE `low`")


def test_a_user_may_be_called_like_a_role():
    """A user HR who has role HR holds what either was granted; without it only what the user was."""
    governance = Governance("CREATE ROLE hr", "GRANT ROLE hr TO USER HR", "GRANT ROLE hr TO USER zoe")
    user, role = Holder("USER", "HR"), Holder("ROLE", "HR")
    assert set(governance.state.held_by(user)) == {user, role, Holder("ROLE", PUBLIC)}
    governance.run("REVOKE ROLE hr FROM USER HR")
    assert set(governance.state.held_by(user)) == {user, Holder("ROLE", PUBLIC)}


def test_a_role_that_is_replaced_starts_anew():
    """CREATE OR REPLACE keeps neither members nor what the role held, nor its comment."""
    governance = Governance(*TWO).run(
        "GRANT MANAGE GRANTS ON ACCOUNT TO ROLE hr", "CREATE OR REPLACE ROLE hr"
    )
    assert governance.state.roles_of("zoe", ()) == {PUBLIC}
    assert governance.state.roles_under(["HR"]) == {"HR"}
    assert rows_to(governance.state, Holder("ROLE", "HR")) == rows_of(governance.state, "HR") == []
    record = governance.state.role_records["HR"]
    assert (record.owner, record.comment, record.created) == ("ann", None, governance.time)


def test_show_grants_has_a_granted_role_as_usage():
    """SHOW GRANTS TO a user lists the roles of the first step, and OF ROLE its holders, users last."""
    governance = Governance(*TWO).run("GRANT ROLE pay TO USER bob", "GRANT ROLE pay TO USER `a b`")
    assert [row[1:] for row in rows_to(governance.state, Holder("USER", "zoe"))] == [
        ("USAGE", "ROLE", "HR", "USER", "zoe", "false", ADMIN)
    ]
    assert [row[4:6] for row in rows_of(governance.state, "PAY")] == [
        ("ROLE", "HR"), ("USER", "a b"), ("USER", "bob"),
    ]  # fmt: skip


class Tokens:
    """Tokens that one can read."""

    def token(self, user, role, roles):
        """A user, the primary role, all roles."""
        return f"{user} {role} {' '.join(sorted(roles))}"


def test_administrators_have_the_roles_granted_to_accountadmin():
    """Who is an administrator by the configuration has what who was granted ACCOUNTADMIN has."""
    state = Governance(
        *TWO, "GRANT ROLE hr TO ROLE accountadmin", "GRANT ROLE accountadmin TO USER gil"
    ).state
    roles = SessionRoles(Tokens(), ["root"])
    expected = {"HR", "PAY", ADMIN, PUBLIC}
    assert [roles.roles_of(state, user, ()) for user in ("root", "gil")] == [expected, expected]
    assert roles.roles_of(state, "root", ["pay"]) == {"PAY", PUBLIC}
    held = roles.roles_by_holder(state)
    for user in ("root", "gil"):
        assert set(held[Holder("USER", user)]) == {
            Holder("USER", user), *(Holder("ROLE", role) for role in expected),
        }  # fmt: skip
    assert roles.token(state, "one", "root", ()) == f"root {PUBLIC} {' '.join(sorted(expected))}"
