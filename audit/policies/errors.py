"""The errors of policies, tags, roles and grants: one root, a stable code each.

In: the problem and the way out. Out: an exception whose text is `[CODE] problem; way
out`, whose parts stay readable as attributes and survive pickling.
"""

from __future__ import annotations

from audit.core.errors import AuditError, StatementDeniedError


class PolicyError(AuditError):
    """The root of every error that governance raises on purpose."""

    code = "POLICY"


class AccessDeniedError(PolicyError, StatementDeniedError):
    """A statement that its user has no privilege for, or that policies cannot be enforced on."""

    code = "ACCESS_DENIED"


class BadPolicyError(PolicyError):
    """A policy with an invalid body, parameter or type."""

    code = "POLICY_BAD"


class PolicyExistsError(PolicyError):
    """A name that is in use, or a second policy where only one is allowed."""

    code = "POLICY_EXISTS"


class UnknownPolicyError(PolicyError):
    """A policy, role, object or column that does not exist."""

    code = "POLICY_UNKNOWN"


class UnknownPrivilegeError(UnknownPolicyError):
    """A privilege that does not exist for that kind of object."""

    code = "PRIVILEGE_UNKNOWN"


class PolicyInUseError(PolicyError):
    """A policy that cannot be dropped because it is set on something."""

    code = "POLICY_IN_USE"


class GovernanceError(PolicyError):
    """The table `governance_history` cannot be read."""

    code = "POLICY_UNREADABLE"


class GovernanceConflictError(PolicyError):
    """Other drivers changed the governance at each attempt of this one."""

    code = "POLICY_CONFLICT"
