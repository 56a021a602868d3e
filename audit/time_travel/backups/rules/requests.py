"""Who asks for a change of backups, and what they may do.

In: an actor, the current schema, and what tells privileges. Out: full names, the securable objects of
backups, and a refusal where a privilege is missing.

The privileges are Snowflake's (Backups, Access control): CREATE BACKUP POLICY and CREATE BACKUP SET on a
schema, OWNERSHIP of a policy, a set or what is backed up, APPLY on a policy or APPLY BACKUP POLICY on the
account, APPLY BACKUP RETENTION LOCK and APPLY LEGAL HOLD on the account. What a retention lock or a legal
hold forbids is asked of no privilege: nobody has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from audit.time_travel.backups.model.state import BackupPolicy, BackupSet
from audit.time_travel.errors import BackupDeniedError
from lineage.model import Domain
from lineage.names import qualify, quote_name, split_name

if TYPE_CHECKING:
    from audit.core.actor import Actor

OWNERSHIP = "OWNERSHIP"
APPLY = "APPLY"
APPLY_POLICY = "APPLY BACKUP POLICY"
APPLY_LOCK = "APPLY BACKUP RETENTION LOCK"
APPLY_HOLD = "APPLY LEGAL HOLD"
CREATE_POLICY = "CREATE BACKUP POLICY"
CREATE_SET = "CREATE BACKUP SET"


@dataclass(frozen=True, slots=True)
class BackupSecurable:
    """An object that a privilege is asked on.

    Attributes:
        domain: ACCOUNT, SCHEMA, TABLE, BACKUP_POLICY or BACKUP_SET.
        name: fully qualified; "" for the account.
        identity: of a policy or set; "" for any other.
        owner: who created the policy or set.
        created: when, UTC microseconds.
    """

    domain: Domain
    name: str
    identity: str = ""
    owner: str | None = None
    created: int | None = None

    def __str__(self) -> str:
        return f"{self.domain.value.upper()} {self.name}".rstrip()


ACCOUNT = BackupSecurable(Domain.ACCOUNT, "")


class Privileges(Protocol):
    """What a user may do."""

    def holds(self, privilege: str, on: BackupSecurable) -> bool:
        """Whether the user has a privilege, by themselves or by a role, or administers."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """A statement's actor with all that a rule asks for.

    Attributes:
        actor: user, query id and moment.
        privileges: of that user.
        current: the current catalog and schema.
        location: where the table lies that CREATE BACKUP SET names; None for anything else.
    """

    actor: Actor
    privileges: Privileges
    current: tuple[str, str]
    location: str | None = None

    def full(self, parts: tuple[str, ...]) -> str:
        """The full name of a policy, set or table."""
        return quote_name(qualify(parts, self.current))

    def full_new(self, parts: tuple[str, ...], old: str) -> str:
        """The full name that RENAME TO gives: one part stays in the schema of the old name."""
        return quote_name((*split_name(old)[:-1], *parts)) if len(parts) == 1 else self.full(parts)

    def full_schema(self, parts: tuple[str, ...]) -> str:
        """The full name of a schema."""
        return quote_name(parts if len(parts) > 1 else (self.current[0], *parts))

    def require(self, privilege: str, on: BackupSecurable) -> None:
        """Refuse without a privilege.

        Raises:
            BackupDeniedError: the user does not have it.
        """
        if not self.privileges.holds(privilege, on):
            raise _denied(self.actor.user, privilege, on)

    def require_apply(self, policy: BackupPolicy) -> None:
        """Refuse to put a policy on a set without the privileges for it.

        Raises:
            BackupDeniedError: APPLY is missing, or APPLY BACKUP RETENTION LOCK for a policy with a lock.
        """
        on = of_policy(policy)
        if not self.privileges.holds(APPLY_POLICY, ACCOUNT) and not self.privileges.holds(APPLY, on):
            raise _denied(self.actor.user, APPLY, on)
        if policy.has_retention_lock:
            self.require(APPLY_LOCK, ACCOUNT)


def of_policy(policy: BackupPolicy) -> BackupSecurable:
    """A policy, as privileges are asked on it."""
    return BackupSecurable(
        Domain.BACKUP_POLICY, policy.name, policy.policy_id, policy.owner, policy.created
    )  # fmt: skip


def of_set(backup_set: BackupSet) -> BackupSecurable:
    """A set, as privileges are asked on it."""
    return BackupSecurable(
        Domain.BACKUP_SET, backup_set.name, backup_set.set_id, backup_set.owner, backup_set.created
    )  # fmt: skip


def schema_of(name: str) -> BackupSecurable:
    """The schema of a full name, as privileges are asked on it."""
    return BackupSecurable(Domain.SCHEMA, quote_name(split_name(name)[:-1]))


def _denied(user: str, privilege: str, on: BackupSecurable) -> BackupDeniedError:
    grant = f"GRANT {privilege} ON {on} TO ROLE …"
    return BackupDeniedError(f"{user} has no privilege {privilege} on {on}", f"ask its owner for {grant}")
