"""What a user may do with backups: the privileges that the rules of backups ask for.

In: who asks, the state of governance, and what an object of the catalog stands for. Out: a value with the
method `holds` of `audit.time_travel.backups.rules.requests.Privileges`.

These privileges are always asked for, as those on masking policies and tags are, whether or not each
statement needs its privileges: a lock or a hold that everybody could put or take off would mean nothing.
Without `enforce_privileges` the owner of a table or a schema is who created it, by the audit's records; with
it, by the events of governance alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.policies.enforcement.governance_permits import schema_of
from audit.policies.model.grants import ACCOUNT
from audit.policies.model.privileges import Holder, ObjectCreation, Principal, Securable
from lineage.model import Domain

if TYPE_CHECKING:
    from audit.policies.model.state import GovernanceState
    from audit.time_travel.backups.rules.requests import BackupSecurable

BackupLookup = Callable[[Domain, str], "BackupSecurable | None"]
"""A backup policy or backup set by its domain and full name; None where there is none."""
BACKUPS = frozenset({Domain.BACKUP_POLICY, Domain.BACKUP_SET})
"""The domains of what the state of backups has, and not that of governance."""


@dataclass(frozen=True, slots=True)
class BackupPrivileges:
    """The privileges of one user.

    Attributes:
        who: the user with all active roles.
        state: the governance, as of the statement.
        in_catalog: the securable object of a table or a schema, with its creator.
    """

    who: Principal
    state: GovernanceState
    in_catalog: Callable[[BackupSecurable], Securable]

    def holds(self, privilege: str, on: BackupSecurable) -> bool:
        """Whether the user has a privilege, by themselves or by a role, or administers.

        Args:
            privilege: as it is granted; OWNERSHIP, too.
            on: the account, a schema, a table, a backup policy or a backup set.

        Raises:
            UnknownPolicyError: there is no such schema; for a table Spark raises its own error.
        """
        # An administrator may do all, so the creator need not be looked up in the records.
        return self.who.is_admin or self.state.holds(self.who, privilege, self._securable(on))

    def _securable(self, on: BackupSecurable) -> Securable:
        if on.domain is Domain.ACCOUNT:
            return ACCOUNT
        return backup_securable(on) if on.domain in BACKUPS else self.in_catalog(on)


def backup_securable(on: BackupSecurable) -> Securable:
    """A backup policy or set, as the holder of privileges.

    It is known by the event that created it, so a rename keeps its grants. Whoever created it owns it until
    an event of governance names another owner, or the role that was current.

    >>> from audit.time_travel.backups.rules.requests import BackupSecurable
    >>> found = backup_securable(BackupSecurable(Domain.BACKUP_SET, "c.s.b", "e-1", "ann", 7))
    >>> found.key, str(found.creation.owner), [str(one) for one in found.above]
    ('backup_set:e-1', 'user ann', ['schema c.s', 'account'])
    """
    made = None
    if on.owner is not None and on.created is not None:
        made = ObjectCreation(on.created, Holder("USER", on.owner))
    key = f"{on.domain.value.lower().replace(' ', '_')}:{on.identity}"
    return Securable(key, on.domain, on.name, (schema_of(on.name), ACCOUNT), made)
