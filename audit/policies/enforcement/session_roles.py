"""The roles of a user in a session: set by USE ROLE, given to the session, granted, or configured (`admins`).

In: a state, a session, a user. Out: roles, and the token that names user and roles to the JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from audit.policies.model.privileges import ADMIN, PUBLIC, Holder
from audit.policies.model.state import GovernanceState

if TYPE_CHECKING:
    from audit.policies.enforcement.enforcer import Enforcer


class SessionRoles:
    """The roles of the users of one root.

    Args:
        enforcer: learns which user and roles a token stands for.
        admins: users who have role ACCOUNTADMIN, whatever is granted to them.
    """

    def __init__(self, enforcer: Enforcer, admins: Sequence[str]) -> None:
        self._enforcer = enforcer
        self._admins = frozenset(admin.strip() for admin in admins)
        # By session and user: `audit.as_user` lets several users share a session.
        self._taken: dict[tuple[str, str], str] = {}
        self._tokens: tuple[GovernanceState, dict[tuple[Any, ...], str]] = (GovernanceState(), {})
        self._sessions: dict[str, tuple[str, tuple[str, ...]]] = {}

    def roles_of(self, state: GovernanceState, user: str, roles: Sequence[str]) -> frozenset[str]:
        """All roles of a user; roles given to the session replace those granted to the user."""
        found = state.roles_of(user, roles)
        # Administrators have ACCOUNTADMIN with the roles that are granted to it.
        return found | state.roles_under([ADMIN]) if user in self._admins and not roles else found

    def primary(self, session_id: str, user: str, roles: Sequence[str]) -> str:
        """The primary role: the one set by USE ROLE, else the first that the session was given."""
        return self.role_in_use(session_id, user) or (roles[0].upper() if roles else PUBLIC)

    def role_in_use(self, session_id: str, user: str) -> str | None:
        """The role that a user has set by USE ROLE in a session; None for none."""
        return self._taken.get((session_id, user))

    def use_role(self, state: GovernanceState, session_id: str, user: str, role: str) -> None:
        """USE ROLE: set a user's primary role in a session."""
        self._taken[session_id, user] = role
        # USE ROLE changes tokens without a change of the state, so the cached tokens are dropped.
        self._tokens = GovernanceState(), {}
        if session_id in self._sessions:
            self._set_default(state, session_id)

    def add_session(self, state: GovernanceState, session_id: str, user: str, roles: Sequence[str]) -> None:
        """Set the user of the threads of a session that name no other."""
        self._sessions[session_id] = (user, tuple(roles))
        self._set_default(state, session_id)

    def refresh(self, state: GovernanceState) -> None:
        """Set the default identity of each session again, after a change of roles."""
        for session_id in list(self._sessions):
            self._set_default(state, session_id)

    def token(self, state: GovernanceState, session_id: str, user: str, roles: Sequence[str]) -> str:
        """The token of a user in a session.

        Every statement needs it twice, so tokens are cached for as long as the state is the same.
        """
        under, kept = self._tokens
        if under is not state:
            under, kept = self._tokens = state, {}
        key = session_id, user, tuple(roles)
        found = kept.get(key)
        if found is None:
            primary, granted = self.primary(session_id, user, roles), self.roles_of(state, user, roles)
            # A role that was revoked after USE ROLE is no longer the primary one.
            found = kept[key] = self._enforcer.token(user, primary if primary in granted else PUBLIC, granted)
        return found

    def roles_by_holder(self, state: GovernanceState) -> dict[Holder, list[Holder]]:
        """The roles of each role and user: a view runs with the roles of its owner."""
        found = {Holder("ROLE", name): state.held_by(Holder("ROLE", name)) for name in (*state.roles, ADMIN)}
        for user in {*state.granted, *self._admins}:
            # The configuration `admins` gives ACCOUNTADMIN without any event of a grant.
            granted = state.held_by(Holder("ROLE", ADMIN)) if user in self._admins else []
            held = [*state.held_by(Holder("USER", user)), *granted]
            found[Holder("USER", user)] = list(dict.fromkeys(held))
        return found

    def _set_default(self, state: GovernanceState, session_id: str) -> None:
        user, roles = self._sessions[session_id]
        self._enforcer.set_default_identity(session_id, self.token(state, session_id, user, roles))
