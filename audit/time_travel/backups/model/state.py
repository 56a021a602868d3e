"""The state of backups: policies, sets, backups and the trusted time. Pure values; no Spark.

In: names and moments. Out: what there is, and until when it is bound. A state is never changed:
`apply_events.state_after` makes the next one.

Two clocks decide when a backup has expired. Without a retention lock it is the machine's, as for everything
else. With one it is the trusted time (`trusted_time`), from the mark at which the backup was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.time_travel.backups.model.trusted_time import TrustedTime
from lineage.model import Domain

DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class BackupPolicy:
    """A backup policy.

    Attributes:
        policy_id: of the event that created it; a rename keeps it.
        name: fully qualified.
        owner: who created it.
        created: UTC microseconds.
        schedule: the text of SCHEDULE; None for no scheduled backups.
        expire_after_days: None for backups that do not expire.
        has_retention_lock: nobody deletes a backup under it before it has expired.
        comment: None for none.
        tags: values by the full name of the tag.
    """

    policy_id: str
    name: str
    owner: str | None
    created: int
    schedule: str | None = None
    expire_after_days: int | None = None
    has_retention_lock: bool = False
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BackupSet:
    """A backup set.

    Attributes:
        set_id: of the event that created it; a rename keeps it.
        name: fully qualified.
        owner: who created it.
        created: UTC microseconds.
        domain: TABLE or SCHEMA: of what its backups are.
        of: the table or schema, fully qualified, as it was called at the last backup.
        location: where the table lies, which a rename keeps; None for a schema.
        policy: the id of its policy; None for none.
        scheduled_since: when its schedule came into force or was resumed, UTC microseconds.
        last_run: the run of the schedule that the last scheduled backup was made for, which may be deleted
            meanwhile; None before the first.
        is_creation_suspended: no scheduled backups are made.
        is_expiration_suspended: expired backups are kept.
        comment: None for none.
        tags: values by the full name of the tag.
    """

    set_id: str
    name: str
    owner: str | None
    created: int
    domain: Domain
    of: str
    policy: str | None = None
    scheduled_since: int = 0
    last_run: int | None = None
    is_creation_suspended: bool = False
    is_expiration_suspended: bool = False
    comment: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup of a set.

    Attributes:
        backup_id: its identifier.
        set_id: its set.
        created: by the machine's clock, UTC microseconds.
        mark: the trusted time at which it was made.
        planned: the run of the schedule that it was made for; None for ADD BACKUP.
        is_held: under a legal hold.
        content: what its maker notes of it: folder, bytes, versions.
    """

    backup_id: str
    set_id: str
    created: int
    mark: int
    planned: int | None = None
    is_held: bool = False
    content: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BackupState:
    """All backups at one moment.

    Attributes:
        policies: by id.
        policy_ids: by full name in lower case.
        sets: by id.
        set_ids: by full name in lower case.
        backups: by the id of their set, then by their own, in the order in which they were made.
        time: the trusted time.
    """

    policies: Mapping[str, BackupPolicy] = field(default_factory=dict)
    policy_ids: Mapping[str, str] = field(default_factory=dict)
    sets: Mapping[str, BackupSet] = field(default_factory=dict)
    set_ids: Mapping[str, str] = field(default_factory=dict)
    backups: Mapping[str, Mapping[str, Backup]] = field(default_factory=dict)
    time: TrustedTime = field(default_factory=TrustedTime)

    def policy_named(self, name: str) -> BackupPolicy | None:
        """A policy by its full name."""
        found = self.policy_ids.get(name.casefold())
        return None if found is None else self.policies[found]

    def set_named(self, name: str) -> BackupSet | None:
        """A set by its full name."""
        found = self.set_ids.get(name.casefold())
        return None if found is None else self.sets[found]

    def policy_of(self, backup_set: BackupSet) -> BackupPolicy | None:
        """The policy that is applied to a set."""
        return None if backup_set.policy is None else self.policies[backup_set.policy]

    def users_of(self, policy: BackupPolicy) -> list[BackupSet]:
        """The sets that a policy is applied to."""
        return [one for one in self.sets.values() if one.policy == policy.policy_id]

    def backups_of(self, backup_set: BackupSet) -> Mapping[str, Backup]:
        """The backups of a set by their ids, in the order in which they were made."""
        return self.backups.get(backup_set.set_id, {})

    def is_locked(self, backup_set: BackupSet) -> bool:
        """Whether a retention lock is on a set: it is there for good."""
        policy = self.policy_of(backup_set)
        return policy is not None and policy.has_retention_lock

    def expires(self, backup: Backup) -> int | None:
        """When a backup expires, by the clock that decides it; None for never.

        "Retention lock: … You can't decrease the backup expiration period, although you can increase the
        expiration period" (Backups): the period of the policy holds for the backups that are there, too, and
        that of a locked one only grows.
        """
        policy = self.policy_of(self.sets[backup.set_id])
        if policy is None or policy.expire_after_days is None:
            return None
        begin = backup.mark if policy.has_retention_lock else backup.created
        return begin + policy.expire_after_days * DAY

    def is_expired(self, backup: Backup, now: int) -> bool:
        """Whether a backup has expired; `now` by the machine's clock, which a locked one does not ask."""
        expires = self.expires(backup)
        moment = self.time.now if self.is_locked(self.sets[backup.set_id]) else now
        return expires is not None and expires <= moment

    def expiration_scheduled_for(self, backup: Backup, now: int) -> int | None:
        """When a backup will expire, as the machine's calendar is expected to say; None for never.

        Of a locked one it is what is left of its period, from now on. A legal hold does not change it.
        """
        expires = self.expires(backup)
        if expires is None or not self.is_locked(self.sets[backup.set_id]):
            return expires
        return now + expires - self.time.now

    def is_bound(self, backup: Backup, now: int) -> bool:
        """Whether nobody may delete a backup: it is under a legal hold, or locked and not expired."""
        locked = self.is_locked(self.sets[backup.set_id])
        return backup.is_held or (locked and not self.is_expired(backup, now))

    def all_backups(self) -> Iterator[Backup]:
        """The backups of all sets."""
        for backups in self.backups.values():
            yield from backups.values()
