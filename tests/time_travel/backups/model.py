"""A model of the rules of backups: what has to happen, in the plainest words.

In: an operation. Out: the reasons for which it has to be refused; none where it has to be done, and then the
model is as the state has to be. It knows nothing of events, ids or the trusted time: it counts the days that
somebody has witnessed, as a stopwatch would.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from audit.time_travel.backups.model.state import DAY

DENIED, LOCKED, HELD = "BACKUP_DENIED", "BACKUP_LOCKED", "BACKUP_HELD"
UNKNOWN, EXISTS, IN_USE, BAD = "BACKUP_UNKNOWN", "BACKUP_EXISTS", "BACKUP_POLICY_IN_USE", "BACKUP_BAD_POLICY"
MINUTE = 60_000_000


@dataclass
class Policy:
    """A policy; days and minutes are None for none."""

    days: int | None
    minutes: int | None
    lock: bool


@dataclass
class Kept:
    """A backup: when it was made, by the machine's clock, by the stopwatch, and truly."""

    made: int
    witnessed: int
    real: int
    held: bool = False


@dataclass
class Set:
    """A set, with its policy's name."""

    since: int
    policy: str | None = None
    creation: bool = True
    expiration: bool = True
    last_run: int | None = None
    backups: dict[str, Kept] = field(default_factory=dict)


@dataclass
class Model:
    """All policies and sets, and three clocks.

    `real` is true time, `now` the machine's clock, `stopwatch` what was witnessed up to the last look that
    was kept; `looked` are true time and the machine's clock of that look, None after a boot.
    """

    now: int
    real: int = 0
    stopwatch: int = 0
    looked: tuple[int, int] | None = None
    policies: dict[str, Policy] = field(default_factory=dict)
    sets: dict[str, Set] = field(default_factory=dict)

    # -- time ----------------------------------------------------------------------------------

    def pass_time(self, micros):
        """Everybody's time."""
        self.real += micros
        self.now += micros

    def witnessed(self):
        """What the stopwatch shows with a look now."""
        if self.looked is None:
            return self.stopwatch
        real, machine = self.looked
        return self.stopwatch + max(0, min(self.real - real, self.now - machine))

    def look(self):
        """A look that is kept."""
        self.stopwatch = self.witnessed()
        self.looked = (self.real, self.now)

    # -- what is -------------------------------------------------------------------------------

    def is_locked(self, one):
        """For good."""
        return one.policy is not None and self.policies[one.policy].lock

    def is_expired(self, one, backup):
        """By the stopwatch under a lock, by the machine's clock without."""
        days = None if one.policy is None else self.policies[one.policy].days
        if days is None:
            return False
        age = self.witnessed() - backup.witnessed if self.is_locked(one) else self.now - backup.made
        return age >= days * DAY

    def binds(self, one, backup):
        """Why nobody may delete a backup."""
        locked = self.is_locked(one) and not self.is_expired(one, backup)
        return ({HELD} if backup.held else set()) | ({LOCKED} if locked else set())

    def binds_set(self, one):
        """Why nobody may drop a set."""
        return set().union(*(self.binds(one, backup) for backup in one.backups.values()))

    def users(self, policy):
        """The sets under a policy."""
        return [one for one in self.sets.values() if one.policy == policy]

    def due(self, one):
        """The run that a backup has to be made for."""
        minutes = None if one.policy is None else self.policies[one.policy].minutes
        if minutes is None or not one.creation:
            return None
        step = minutes * MINUTE
        count = (self.now - one.since) // step
        if count < 1 and one.since <= self.now:
            return None
        run = one.since + count * step
        done = one.last_run is not None and run <= one.last_run <= self.now
        return None if done else run

    # -- operations: reasons, or the change ---------------------------------------------

    def create_policy(self, name, days, minutes, lock, admin):
        """CREATE BACKUP POLICY."""
        why = {EXISTS} if name in self.policies else set()
        why |= {BAD} if (days is None and (minutes is None or lock)) else set()
        why |= {DENIED} if lock and not admin else set()
        if not why:
            self.policies[name] = Policy(days, minutes, lock)
        return why

    def alter_policy(self, name, days, admin):
        """ALTER BACKUP POLICY … SET | UNSET EXPIRE_AFTER_DAYS."""
        if name not in self.policies:
            return {UNKNOWN}
        policy, why = self.policies[name], set()
        if policy.lock and days != policy.days:
            why |= {LOCKED} if days is None or days < policy.days else set()
            why |= {DENIED} if not admin else set()
        why |= {BAD} if days is None and policy.minutes is None else set()
        if not why:
            policy.days = days
        return why

    def drop_policy(self, name, admin):
        """DROP BACKUP POLICY."""
        del admin
        why = set() if name in self.policies else {UNKNOWN}
        why |= {IN_USE} if self.users(name) else set()
        if not why:
            del self.policies[name]
        return why

    def create_set(self, name, policy, replace, admin):
        """CREATE [OR REPLACE] BACKUP SET."""
        why = set()
        if name in self.sets:
            why |= self.binds_set(self.sets[name]) if replace else {EXISTS}
        why |= self._applying(policy, admin)
        if not why:
            self.sets[name] = Set(self.now, policy)
        return why

    def drop_set(self, name, admin):
        """DROP BACKUP SET."""
        del admin
        if name not in self.sets:
            return {UNKNOWN}
        why = self.binds_set(self.sets[name])
        if not why:
            del self.sets[name]
        return why

    def apply_policy(self, name, policy, force, admin):
        """ALTER BACKUP SET … APPLY BACKUP POLICY."""
        if name not in self.sets:
            return {UNKNOWN}
        one, why = self.sets[name], self._applying(policy, admin)
        if one.policy not in (None, policy):
            why |= {LOCKED} if self.is_locked(one) else set() if force else {IN_USE}
        if not why and one.policy != policy:
            one.policy, one.since = policy, self.now
            one.expiration |= self.policies[policy].lock
        return why

    def suspend(self, name, creation, expiration, resume, admin):
        """SUSPEND | RESUME BACKUP [CREATION | EXPIRATION] POLICY."""
        del admin
        if name not in self.sets or self.sets[name].policy is None:
            return {UNKNOWN}
        one = self.sets[name]
        if expiration and not resume and self.is_locked(one):
            return {LOCKED}
        if creation and resume and not one.creation:
            one.since = self.now
        one.creation = resume if creation else one.creation
        one.expiration = resume if expiration else one.expiration
        return set()

    def add(self, name, backup, admin):
        """ADD BACKUP."""
        del admin
        if name not in self.sets:
            return {UNKNOWN}
        self.sets[name].backups[backup] = self._made()
        return set()

    def delete(self, name, backup, admin):
        """DELETE BACKUP."""
        del admin
        if name not in self.sets or backup not in self.sets[name].backups:
            return {UNKNOWN}
        one = self.sets[name]
        why = self.binds(one, one.backups[backup])
        if not why:
            del one.backups[backup]
        return why

    def hold(self, name, backup, add, admin):
        """ADD | REMOVE LEGAL HOLD."""
        why = set() if admin else {DENIED}
        known = name in self.sets and backup in self.sets[name].backups
        why |= set() if known else {UNKNOWN}
        if not why:
            self.sets[name].backups[backup].held = add
        return why

    def drop_schema(self, admin):
        """DROP SCHEMA … CASCADE of the schema that has them all."""
        del admin
        why = set().union(*map(self.binds_set, self.sets.values()))
        if not why:
            self.sets, self.policies = {}, {}
        return why

    def run(self, new):
        """A run: a backup for each set that has one due, whose ids `new` makes; what has expired goes."""
        self.look()
        made, gone = {}, set()
        for name, one in self.sets.items():
            planned = self.due(one)
            if planned is not None:
                one.last_run, made[name] = planned, planned
                one.backups[new(name)] = self._made()
            expired = {
                backup
                for backup, kept in one.backups.items()
                if one.expiration and not kept.held and self.is_expired(one, kept)
            }
            for backup in expired:
                self.require_due(one, one.backups.pop(backup))
            gone |= expired
        return made, gone

    def require_due(self, one, kept):
        """The promise itself: under a lock a backup has truly been there for its days."""
        if self.is_locked(one):
            assert self.real - kept.real >= self.policies[one.policy].days * DAY
        assert not kept.held

    def _made(self):
        return Kept(self.now, self.witnessed(), self.real)

    def _applying(self, policy, admin):
        if policy is None:
            return set()
        if policy not in self.policies:
            return {UNKNOWN}
        return {DENIED} if self.policies[policy].lock and not admin else set()
