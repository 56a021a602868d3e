"""The errors of governance: one root, a stable code each.

In: the policy, object or role, what was asked of it. Out: an exception whose text is `[CODE] problem; way
out`, whose parts stay readable as attributes and survive pickling.
"""

from __future__ import annotations

from audit.errors import AuditError, StatementDeniedError


class PolicyError(AuditError):
    """The root of every error that governance raises on purpose."""

    code = "POLICY"


class AccessDeniedError(PolicyError, StatementDeniedError):
    """A statement that its user may not run, or that cannot be governed."""

    code = "ACCESS_DENIED"


class BadPolicyError(PolicyError):
    """A policy whose body, parameters or types cannot be."""

    code = "POLICY_BAD"


class PolicyExistsError(PolicyError):
    """A name that is taken, or a second policy where one is allowed."""

    code = "POLICY_EXISTS"


class UnknownPolicyError(PolicyError):
    """A policy, role, object or column that is not there."""

    code = "POLICY_UNKNOWN"


class UnknownPrivilegeError(UnknownPolicyError):
    """A privilege that there is not, on that kind of object."""

    code = "PRIVILEGE_UNKNOWN"


class PolicyInUseError(PolicyError):
    """A policy that cannot go because something is behind it."""

    code = "POLICY_IN_USE"


class GovernanceError(PolicyError):
    """What is kept of the governance cannot be understood."""

    code = "POLICY_UNREADABLE"


class GovernanceConflictError(PolicyError):
    """Other drivers change the governance faster than this one can."""

    code = "POLICY_CONFLICT"
