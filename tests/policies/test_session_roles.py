"""Which roles somebody has, and which one is the primary one."""

from __future__ import annotations

import pytest

from audit.policies.enforcement.session_roles import SessionRoles
from audit.policies.model.apply_events import state_after
from audit.policies.model.events import GovernanceEvent
from audit.policies.model.privileges import ADMIN, PUBLIC, Holder


def granted(role: str, kind: str, grantee: str) -> GovernanceEvent:
    """The event of a GRANT ROLE."""
    details = {"to": kind, "grantee": grantee}
    return GovernanceEvent(
        2, "GRANT_ROLE", f"{role}-{grantee}", None, None, role, "root", None, None, details
    )


ROLES = [
    GovernanceEvent(1, "CREATE_ROLE", name, None, None, name, "root", None, None, {}) for name in ("R", "S")
]
STATE = state_after([*ROLES, granted("R", "USER", "ann"), granted("S", "ROLE", "R")])


class Tokens:
    """Gives tokens that say whom they stand for, and keeps the defaults of sessions."""

    def __init__(self):
        self.defaults = {}
        self.given = 0

    def token(self, user, role, roles):
        """A token that one can read."""
        self.given += 1
        return f"{user} {role} {' '.join(sorted(roles))}"

    def set_default_identity(self, session_id, token):
        """The default of a session."""
        self.defaults[session_id] = token


@pytest.fixture
def tokens():
    """What learns of tokens."""
    return Tokens()


@pytest.fixture
def roles(tokens):
    """The roles in force of a root with one administrator."""
    return SessionRoles(tokens, [" root "])


@pytest.mark.parametrize(
    ("user", "given", "expected"),
    [
        ("ann", (), {"R", "S", PUBLIC}),
        ("bob", (), {PUBLIC}),
        ("bob", ("s",), {"S", PUBLIC}),
        ("root", (), {ADMIN, PUBLIC}),
        ("root", ("s",), {"S", PUBLIC}),
    ],
)
def test_held(roles, user, given, expected):
    """Granted roles and those below; an administrator is one, unless the caller has given other roles."""
    assert roles.roles_of(STATE, user, given) == expected


def test_the_primary_role(roles):
    """The first that was given, until USE ROLE takes on another in that session."""
    assert roles.primary("one", "ann", ()) == PUBLIC
    assert roles.primary("one", "ann", ("r",)) == "R"
    roles.use_role(STATE, "one", "ann", "S")
    assert (roles.primary("one", "ann", ("r",)), roles.primary("two", "ann", ("r",))) == ("S", "R")


def test_a_role_that_is_no_longer_held_is_not_the_primary_one(roles):
    """REVOKE takes it away, whatever USE ROLE has said before."""
    roles.use_role(STATE, "one", "ann", "S")
    assert roles.token(STATE, "one", "ann", ()) == f"ann S {PUBLIC} R S"
    assert roles.token(state_after(ROLES), "one", "ann", ()) == f"ann {PUBLIC} {PUBLIC}"


def test_a_token_is_asked_for_once_in_a_state(roles, tokens):
    """Each statement asks twice; another state is asked anew."""
    assert roles.token(STATE, "one", "ann", ()) == roles.token(STATE, "one", "ann", ())
    assert tokens.given == 1
    roles.token(state_after(ROLES), "one", "ann", ())
    assert tokens.given == 2


def test_the_default_of_a_session_follows_its_roles(roles, tokens):
    """USE ROLE and a change of roles reach the threads that name nobody."""
    roles.add_session(state_after(ROLES), "one", "ann", ())
    assert tokens.defaults == {"one": f"ann {PUBLIC} {PUBLIC}"}
    roles.refresh(STATE)
    assert tokens.defaults == {"one": f"ann {PUBLIC} {PUBLIC} R S"}
    roles.use_role(STATE, "one", "ann", "R")
    roles.use_role(STATE, "other", "ann", "S")
    assert tokens.defaults == {"one": f"ann R {PUBLIC} R S"}


def test_members(roles):
    """What a role or a user owns runs with all that it holds; administrators hold theirs."""
    found = roles.roles_by_holder(STATE)
    assert found[Holder("USER", "root")][-1] == Holder("ROLE", ADMIN)
    assert Holder("ROLE", "S") in found[Holder("ROLE", "R")]
    assert Holder("ROLE", "S") in found[Holder("USER", "ann")]
